// The keys of note passphrases that were typed. Invariant: unlocking a vault puts nothing in here, and `lock` leaves
// nothing behind.

package import CoffretBase
internal import Synchronization

/// Keys of password records, held while their notes may be read: for one command, or by the agent until it locks.
///
/// Keys of notes are not kept: each is computed for one use and zeroed. A key is zeroed when the last holder lets go
/// of it, so not before the commands that still use it have ended.
package final class UnlockedNoteKeys: Sendable {
    fileprivate let keys = Mutex<[UniqueID: RecordKey]>([:])

    package init() {}

    /// Keeps a key.
    package func add(_ key: RecordKey) {
        keys.withLock { $0[key.id] = key }
    }

    /// The key of a record, if it is held.
    package func key(of record: UniqueID) -> RecordKey? {
        keys.withLock { $0[record] }
    }

    /// The records whose keys are held.
    package var records: Set<UniqueID> { keys.withLock { Set($0.keys) } }

    package var isEmpty: Bool { keys.withLock { $0.isEmpty } }

    /// Forgets all keys.
    package func lock() {
        keys.withLock { $0 = [:] }
    }

    /// Forgets the key of one record.
    package func lock(_ record: UniqueID) {
        keys.withLock { $0[record] = nil }
    }
}

/// A record's key on its way between the agent and the process that runs a command for it; in locked memory.
package final class HeldNoteKey: Sendable {
    package let record: UniqueID
    package let scheme: LockScheme
    private let secret: SecretBytes

    /// - Parameter secret: what `withUnsafeBytes` lent.
    package init(record: UniqueID, scheme: LockScheme, secret: consuming SecretBytes) {
        self.record = record
        self.scheme = scheme
        self.secret = secret
    }

    /// Lends the key's bytes. Each use stands under a comment `// EXPOSE:`.
    package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // EXPOSE: for the caller, who says why.
        try unsafe secret.withUnsafeBytes(body)
    }

    func duplicateSecret() -> SecretBytes { secret.duplicate() }
}

extension UnlockedNoteKeys {
    /// The keys that are held, to be held elsewhere: a command that runs in a process of its own tells the agent. Keys of
    /// another application's chain end with the command.
    package func held() -> [HeldNoteKey] {
        keys.withLock { $0.values.filter(\.isPortable).sorted { $0.id < $1.id } }.map { key in
            HeldNoteKey(record: key.id, scheme: key.scheme, secret: key.duplicateSecret())
        }
    }

    /// Takes a key that was held elsewhere.
    ///
    /// - Returns: false if it cannot be a key of its scheme.
    @discardableResult
    package func add(_ held: HeldNoteKey) -> Bool {
        guard let key = RecordKey(id: held.record, scheme: held.scheme, secret: held.duplicateSecret()) else {
            return false
        }
        add(key)
        return true
    }
}
