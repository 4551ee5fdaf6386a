// Reading what is new in a log. Invariant: what a device knows of a log moves forward only when all entries up to a signed
// root were read, and made that root.

package import CoffretBase

/// A chain that a device follows, as the server gave it.
package struct KeyLogChain: Equatable, Sendable {
    package let label: Bytes32
    /// For people: which chain it is.
    package let name: String
    /// Hashes of its links by number.
    package let links: [Bytes32]
    /// Those of links that recoveries replaced.
    package let replaced: Set<Bytes32>

    /// - Parameter chainID: 32 bytes.
    package init(kind: UInt8, chainID: [UInt8], name: String, links: [Bytes32], replaced: Set<Bytes32> = []) {
        label = KeyLogEntry.label(kind: kind, chainID: chainID)
        (self.name, self.links, self.replaced) = (name, links, replaced)
    }
}

/// All that a device keeps of a log.
package struct KeyLogView: Equatable, Sendable {
    /// Of a chain, what of it the log had.
    struct Chain: Equatable, Sendable {
        /// The links below this number were all there.
        var count: UInt64 = 0
        /// Links that the server had not given when they were read.
        var ahead: [UInt64: Bytes32] = [:]
        /// When a link was first not there.
        var missingSince: Milliseconds?
    }

    package let verifier: KeyLogVerifier
    package var checkpoint: KeyLogCheckpoint?
    var range = KeyLogRange()
    var chains: [Bytes32: Chain] = [:]
    /// When all was last in order.
    package var checkedAt: Milliseconds?
    /// Checkpoints that other devices state, until they were found to be of this log.
    package private(set) var stated: [[UInt8]] = []
    static let statedCountMax = 16

    /// Since when this log is read. What others stated before may be of a log that a server lost.
    var begunAt: Milliseconds

    /// A log of which nothing was read.
    package init(verifier: KeyLogVerifier, begunAt: Milliseconds) {
        (self.verifier, self.begunAt) = (verifier, begunAt)
    }

    /// Whether a log is to be read: for a link that was not looked for, one that did not come, a checkpoint that somebody states,
    /// or after a time without.
    package func isDue(for chains: [KeyLogChain], rest: Milliseconds, now: Milliseconds) -> Bool {
        guard stated.isEmpty, let checkedAt, checkedAt <= now, now - checkedAt < rest else { return true }
        return chains.contains { chain in
            guard let known = self.chains[chain.label] else { return true }
            return known.count != UInt64(chain.links.count) || !known.ahead.isEmpty
        }
    }

    /// Takes checkpoints that others state, with the times of their entries. What is none of this log, or older than the first reading
    /// of it here, says nothing, and the one that is known needs no look.
    package mutating func take(stated notes: [[UInt8]: Milliseconds]) {
        for (note, time) in notes.sorted(by: { $0.value < $1.value }) where time > begunAt { keep(stated: note) }
    }

    /// The view to keep behind a reading: this one, unless another process has kept another since `known`.
    ///
    /// Then its view stays, and the checkpoint of this one waits in it until the next reading has compared both. A server that answers
    /// one of them slowly moves nothing back, and cannot show them different logs.
    package func kept(over current: KeyLogView?, since known: KeyLogView?) -> KeyLogView {
        guard var current, current != known else { return self }
        for note in stated + [checkpoint?.note].compactMap(\.self) { current.keep(stated: note) }
        return current
    }

    mutating func keep(stated note: [UInt8]) {
        guard note != checkpoint?.note, !stated.contains(note),
            (try? KeyLogCheckpoint(verifying: note, by: verifier)) != nil
        else { return }
        stated = stated.suffix(Self.statedCountMax - 1) + [note]
    }

    /// A checkpoint was found to be of this log.
    package mutating func forget(stated note: [UInt8]) { stated.removeAll { $0 == note } }

    /// Forgets what was read, and keeps the key: a person said that the server was put back.
    package func begunAnew(at now: Milliseconds) -> KeyLogView { KeyLogView(verifier: verifier, begunAt: now) }
}

/// Reads a log up to a checkpoint: it says which bundle is needed next, and takes its bytes. No I/O.
///
/// Complexity: one hash and one comparison for each entry. Spec: Spec/log.md section 4.
package struct KeyLogReading: Sendable {
    /// More entries than anybody reads: 78 MB of them.
    package static let entryCountMax: UInt64 = 1 << 20
    /// How long a link may be away that the server gave.
    static let missingTolerance: Milliseconds = 600_000

    private var view: KeyLogView
    private let before: KeyLogCheckpoint?
    private let checkpoint: KeyLogCheckpoint
    private let chains: [Bytes32: KeyLogChain]
    /// Links that were in the log the last time, and had not been given.
    private let awaited: [Bytes32: Set<UInt64>]

    /// - Parameters:
    ///   - note: the newest checkpoint, asked for after the chains were followed.
    ///   - chains: all that are followed.
    /// - Throws: `.checkpointInvalid`, `.rolledBack`, `.forked`.
    package init(_ view: KeyLogView, note: [UInt8], chains: [KeyLogChain]) throws(KeyLogError) {
        checkpoint = try KeyLogCheckpoint(verifying: note, by: view.verifier)
        self.chains = Dictionary(chains.map { ($0.label, $0) }) { first, _ in first }
        before = view.checkpoint
        awaited = view.chains.mapValues { Set($0.ahead.keys) }
        self.view = view
        if let before {
            guard checkpoint.size >= before.size else {
                throw KeyLogError(.rolledBack, at: "\(checkpoint.size) < \(before.size)")
            }
            guard checkpoint.size > before.size || checkpoint.root == before.root else {
                throw KeyLogError(.forked, at: String(before.size))
            }
        }
        guard checkpoint.size <= Self.entryCountMax else {
            throw KeyLogError(.checkpointInvalid, at: "\(checkpoint.size) entries")
        }
        // Chains of which nothing was read yet are looked for from the beginning.
        if self.chains.keys.contains(where: { view.chains[$0] == nil }) {
            self.view.range = KeyLogRange()
            self.view.chains = [:]
        }
        for label in self.chains.keys where self.view.chains[label] == nil { self.view.chains[label] = .init() }
    }

    /// The bundle to fetch next; nil when all were read.
    package var wanted: KeyLogTile? {
        guard view.range.size < checkpoint.size else { return nil }
        let index = view.range.size / KeyLogTile.width
        return KeyLogTile(
            level: nil, index: index, count: KeyLogTile.count(level: nil, index: index, size: checkpoint.size))
    }

    /// Takes the bundle that was wanted.
    ///
    /// - Throws: `.checkpointInvalid`, `.forked`, `.entryDiffers`.
    package mutating func take(_ bytes: [UInt8]) throws(KeyLogError) {
        guard let tile = wanted else { throw KeyLogError(.checkpointInvalid, at: "bundle") }
        let entries = try KeyLogBundle.decode(bytes, count: tile.count)
        for entry in entries.dropFirst(Int(view.range.size % KeyLogTile.width)) {
            view.range.append(entry.leafHash)
            if let before, view.range.size == before.size, view.range.root != before.root {
                throw KeyLogError(.forked, at: String(before.size))
            }
            try take(entry)
        }
    }

    private mutating func take(_ entry: KeyLogEntry) throws(KeyLogError) {
        guard let chain = chains[entry.label], var known = view.chains[entry.label] else { return }
        if entry.number < UInt64(chain.links.count) {
            guard chain.links[Int(entry.number)] == entry.linkHash || chain.replaced.contains(entry.linkHash) else {
                throw KeyLogError(.entryDiffers, at: "\(chain.name) \(entry.number)")
            }
        } else if !chain.replaced.contains(entry.linkHash) {
            known.ahead[entry.number] = entry.linkHash
        }
        // A recovery stands at the number of the first link that it replaces.
        if entry.number <= known.count { known.count = entry.number + 1 }
        view.chains[entry.label] = known
    }

    /// What is known of the log now.
    ///
    /// - Parameter isFollowed: the server was asked for all chains just before the checkpoint: a link that the log had the last
    ///   time is withheld if it did not come, and one that came and is not in the log is missing.
    /// - Throws: `.forked`, `.linkWithheld`, `.entryMissing`.
    package func finished(now: Milliseconds, isFollowed: Bool) throws(KeyLogError) -> KeyLogView {
        guard wanted == nil, view.range.root == checkpoint.root else {
            throw KeyLogError(.forked, at: String(checkpoint.size))
        }
        var view = view
        for (label, chain) in chains {
            guard var known = view.chains[label] else { continue }
            for (number, hash) in known.ahead {
                let isHere = number < UInt64(chain.links.count) && chain.links[Int(number)] == hash
                if isHere || chain.replaced.contains(hash) {
                    known.ahead[number] = nil
                } else if number < UInt64(chain.links.count) {
                    throw KeyLogError(.entryDiffers, at: "\(chain.name) \(number)")
                } else if isFollowed, awaited[label]?.contains(number) == true {
                    // It was in the log before the chain was followed this time.
                    throw KeyLogError(.linkWithheld, at: "\(chain.name) \(number)")
                }
            }
            if known.count >= UInt64(chain.links.count) || !isFollowed {
                known.missingSince = nil
            } else if let since = known.missingSince {
                // A clock that was put back begins the wait anew.
                if since > now { known.missingSince = now }
                guard now - since < Self.missingTolerance else {
                    throw KeyLogError(.entryMissing, at: "\(chain.name) \(known.count)")
                }
            } else {
                known.missingSince = now
            }
            view.chains[label] = known
        }
        view.checkpoint = checkpoint
        view.checkedAt = now
        return view
    }
}
