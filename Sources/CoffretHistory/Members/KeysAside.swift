// Keys that came before their epoch's link. The one thing to keep true: they are never used from here, and nobody makes a
// device keep more than a few.

package import CoffretBase
package import CoffretStorage

/// Sealed boxes and letters with keys of epochs that the chain does not have yet (Spec/history.md section 8, Keys).
///
/// They stay sealed: a key is opened and held against its commitment when the chain has its epoch.
package struct KeysAside: Equatable, Sendable {
    package static let countMax = 4
    package static let lifetime: Milliseconds = 30 * 86_400_000

    struct Kept: Equatable, Sendable {
        let epoch: UInt32
        let object: BlobName
        var wait: Waits.Wait
    }

    private(set) var kept: [Kept] = []

    package init() {}

    /// Keeps one, if its epoch is not the chain's and there is room.
    ///
    /// - Returns: whether it is kept, now or before.
    package mutating func keep(_ object: BlobName, ofEpoch epoch: UInt32, newest: UInt32, now: Milliseconds) -> Bool {
        if kept.contains(where: { $0.object == object }) { return true }
        guard epoch > newest, kept.count < Self.countMax else { return false }
        kept.append(Kept(epoch: epoch, object: object, wait: Waits.Wait(passed: 0, lastClock: now)))
        return true
    }

    /// Takes out those of epochs that the chain has now; they are opened and checked by who asks.
    package mutating func take(upTo newest: UInt32) -> [(epoch: UInt32, object: BlobName)] {
        let taken = kept.filter { $0.epoch <= newest }
        kept.removeAll { $0.epoch <= newest }
        return taken.map { ($0.epoch, $0.object) }
    }

    /// Forgets those that came 30 days ago, by N1. Once in a sync.
    package mutating func forgetOld(now: Milliseconds) {
        for index in kept.indices { kept[index].wait = kept[index].wait.grown(to: now) }
        kept.removeAll { $0.wait.passed >= Self.lifetime }
    }
}
