// What the agent holds of one store. The one thing to keep true: the key is asked for through the policy, and is
// zeroed the moment the policy says locked.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretWire

/// A store that is, or was, unlocked.
final class UnlockedStore {
    let path: String
    private var policy: LockPolicy
    private var key: StorageKey?
    private var generation: UInt64 = 0
    private var intervals: LockIntervals

    init(_ opened: OpenedStore, at now: BootInstant) {
        path = opened.store
        intervals = opened.intervals
        policy = LockPolicy(intervals: opened.intervals)
        unlock(opened, at: now)
    }

    func unlock(_ opened: OpenedStore, at now: BootInstant) {
        intervals = opened.intervals
        policy = LockPolicy(intervals: opened.intervals)
        policy.unlock(at: now)
        key = opened.storageKey
        generation = opened.generation
    }

    /// The command changed the keyring; an older report never replaces a newer key.
    func renew(_ key: StorageKey, generation: UInt64) {
        guard self.key != nil, generation > self.generation else { return }
        self.key = key
        self.generation = generation
    }

    func lock(because reason: LockReason) {
        policy.lock(because: reason)
        key = nil
    }

    /// In a child that works for another store.
    func forget() { key = nil }

    /// Why the store is locked; nil while it is unlocked. The keys are gone when this says locked.
    func check(at now: BootInstant, isUse: Bool) -> LockReason? {
        let reason = policy.check(at: now, isUse: isUse)
        if reason != nil { key = nil }
        return reason
    }

    /// The key, for a use now.
    func use(at now: BootInstant) -> (key: StorageKey?, reason: LockReason) {
        if let reason = check(at: now, isUse: true) { return (nil, reason) }
        return (key, .neverUnlocked)
    }

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
