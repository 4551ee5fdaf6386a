// What the agent holds of one store. The one thing to keep true: keys are asked for through the policy, and are
// zeroed the moment the policy says locked.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretWire

/// A store that is, or was, unlocked.
final class UnlockedStore {
    let path: String
    private var policy: LockPolicy
    private var key: StorageKey?
    /// Keys of locked notes that the person opened, by their password records. Unlocking the store adds none.
    private var noteKeys: [UniqueID: HeldNoteKey] = [:]
    /// All of them while they do not lie open here.
    private(set) var sealedKeys: SealedKeys?
    private var idleLock: IdleLock?
    /// The storage key that a process made while the one before lay sealed.
    private var newerKey: StorageKey?
    /// The use after which the TPM did not take the keys; they stay until the next one.
    private var useWithoutLock: BootInstant?
    private var generation: UInt64 = 0
    private var intervals: LockIntervals
    /// How many keys there were; another number is another key.
    private(set) var keyCount = 0
    /// Wrong tokens that were offered.
    var tokenTries = TokenTries()
    /// Of who unlocked it: where home, the desktop and a proxy are.
    private(set) var variables: KeptVariables?

    init(_ opened: OpenedStore, at now: BootInstant) {
        path = opened.store
        intervals = opened.intervals
        policy = LockPolicy(intervals: opened.intervals)
        unlock(opened, at: now)
    }

    /// The most keys of notes that are kept; each takes pages of locked memory.
    static let noteKeyCountMax = 128

    func unlock(_ opened: OpenedStore, at now: BootInstant) {
        // What is past its time now does not come back with another passphrase.
        _ = check(at: now, isUse: false)
        intervals = opened.intervals
        policy = LockPolicy(intervals: opened.intervals)
        policy.unlock(at: now)
        if sealedKeys != nil { forget() }
        key = opened.storageKey
        generation = opened.generation
        variables = opened.variables
        keyCount += 1
    }

    /// Other intervals from now on; what is past its time by them locks at the next look.
    func change(to intervals: LockIntervals) {
        self.intervals = intervals
        policy.change(to: intervals)
    }

    /// The command changed the keyring; an older report never replaces a newer key.
    func renew(_ key: StorageKey, generation: UInt64) {
        guard self.key != nil || sealedKeys != nil, generation > self.generation else { return }
        if sealedKeys == nil { self.key = key } else { newerKey = key }
        self.generation = generation
        keyCount += 1
    }

    /// Takes the key of a keyring that a command beside the agent has changed, if that command had the key that lies here.
    ///
    /// - Returns: false if it had not.
    func renew(_ sealedKey: [UInt8]) -> Bool {
        clearingTraces {
            guard let key, let next = KeptStorageKey(opening: sealedKey, with: key, path: path) else { return false }
            renew(next.key, generation: next.generation)
            return true
        }
    }

    /// Keeps a key of locked notes; without room, the note asks for its passphrase each time.
    func hold(_ noteKey: HeldNoteKey) {
        guard key != nil, noteKeys[noteKey.record] != nil || noteKeys.count < Self.noteKeyCountMax else { return }
        noteKeys[noteKey.record] = noteKey
    }

    /// The person locked the notes of this record again.
    func forgetNoteKey(_ record: UniqueID) { noteKeys[record] = nil }

    func lock(because reason: LockReason) {
        policy.lock(because: reason)
        forget()
    }

    /// Zeroes all keys, and what else may be secret; also in a child that works for another store.
    func forget() {
        forgetKeys()
        variables = nil
    }

    private func forgetKeys() {
        key = nil
        noteKeys = [:]
        sealedKeys = nil
        idleLock = nil
        newerKey = nil
    }

    // MARK: While nobody uses it

    /// When the keys are to be sealed if nobody uses them until then; nil if they are, or are gone.
    var sealDeadline: BootInstant? {
        guard key != nil, let lastUse = policy.lastUse, lastUse != useWithoutLock else { return nil }
        return lastUse.advanced(by: IdleLock.delay)
    }

    /// Takes the lock that the TPM has a key of; nil if it has not.
    func keep(_ lock: IdleLock?) {
        guard key != nil else { return }
        idleLock = lock
        if lock == nil { useWithoutLock = policy.lastUse }
    }

    /// Seals the keys and zeroes them, with what seals them.
    ///
    /// - Returns: false if there is no lock yet.
    func seal(random: any RandomSource) -> Bool {
        guard let key, let idleLock else { return false }
        let sealed = clearingTraces {
            let keys = OpenKeys(storage: key, notes: Array(noteKeys.values))
            return SealedKeys(keys, lock: idleLock, store: path, random: random)
        }
        forgetKeys()
        sealedKeys = sealed
        return true
    }

    /// - Returns: whether the keys lie open now.
    func open(with lock: IdleLock?) -> Bool {
        guard let lock, lock.wrapped == sealedKeys?.wrapped,
            let keys = clearingTraces({ sealedKeys?.opened(with: lock.key) })
        else { return false }
        sealedKeys = nil
        key = newerKey ?? keys.storage
        newerKey = nil
        for note in keys.notes { noteKeys[note.record] = note }
        // The TPM still has this one: the next sealing needs it not.
        idleLock = lock
        return true
    }

    /// Why the store is locked; nil while it is unlocked. The keys are gone when this says locked.
    func check(at now: BootInstant, isUse: Bool) -> LockReason? {
        let reason = policy.check(at: now, isUse: isUse)
        if reason != nil { forget() }
        return reason
    }

    /// The keys, for a use now.
    func use(at now: BootInstant, isUse: Bool = true) -> (key: StorageKey?, noteKeys: [HeldNoteKey], reason: LockReason)
    {
        if let reason = check(at: now, isUse: isUse) { return (nil, [], reason) }
        return (key, Array(noteKeys.values), .neverUnlocked)
    }

    /// The key, for what is no use of a person; the policy is asked before.
    var currentKey: StorageKey? { key }

    /// The key that opens the keyring now, for a process that began with an earlier one; nil while all lie sealed.
    var newestKey: (key: StorageKey, generation: UInt64)? { (newerKey ?? key).map { ($0, generation) } }

    var deadline: BootInstant? { policy.deadline }

    func secondsLeft(at now: BootInstant) -> UInt64? {
        deadline.map { UInt64(max(0, now.duration(to: $0).components.seconds)) }
    }

    func status(at now: BootInstant) -> AgentStoreStatus {
        let reason = check(at: now, isUse: false)
        return AgentStoreStatus(
            store: path, isUnlocked: reason == nil, lockReason: reason?.rawValue ?? "",
            secondsLeft: secondsLeft(at: now),
            idleSeconds: intervals.idleSeconds, absoluteSeconds: intervals.absoluteSeconds)
    }
}
