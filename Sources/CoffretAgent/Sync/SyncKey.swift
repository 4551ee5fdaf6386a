// The storage key of the process that syncs. The one thing to keep true: it lies open while something is being done, and
// with a TPM at no other time.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretScripting
internal import Synchronization

/// A storage key that is open or sealed, as the agent's own.
final class SyncKey: Sendable {
    private struct State {
        var open: StorageKey?
        var sealed: SealedKeys?
        var lock: IdleLock?
    }

    private let state: Mutex<State>
    private let store: String
    private let wrapping: (any IdleWrapping)?

    /// - Parameters:
    ///   - store: the path.
    ///   - wrapping: nil without a TPM: then it is never sealed.
    init(_ key: StorageKey, store: String, wrapping: (any IdleWrapping)?) {
        state = Mutex(State(open: key))
        self.store = store
        // This process sleeps for hours and is to have one thread; nobody waits for it but by ending it.
        self.wrapping = wrapping?.onCallingThread
    }

    /// Whether sealing it is still to be done.
    var isSealable: Bool { wrapping != nil && state.withLock { $0.open != nil } }

    /// The key, which the TPM gives back if it is sealed.
    ///
    /// - Throws: `KeyStoreError` if the TPM does not.
    func opened() throws(KeyStoreError) -> StorageKey {
        if let open = state.withLock({ $0.open }) { return open }
        guard let sealed = state.withLock({ $0.sealed }) else { throw KeyStoreError(.keyUnusable, place: "idle") }
        guard let wrapping else { throw KeyStoreError(.unavailable, place: "idle") }
        let lock = IdleLock(key: IdleKey(try wrapping.unwrap(sealed.wrapped)), wrapped: sealed.wrapped)
        guard let keys = sealed.opened(with: lock.key) else { throw KeyStoreError(.keyUnusable, place: "idle") }
        state.withLock { $0 = State(open: keys.storage, lock: lock) }
        return keys.storage
    }

    /// Seals the key. Where the TPM takes nothing it stays open, until the next call.
    func seal(random: any RandomSource) {
        guard let wrapping, isSealable else { return }
        if state.withLock({ $0.lock == nil }) {
            let key = IdleKey.generate(from: random)
            guard let wrapped = try? wrapping.wrap(key.duplicateSecret()) else { return }
            state.withLock { $0.lock = IdleLock(key: key, wrapped: wrapped) }
        }
        // This process goes on, too, and its last work was with keys.
        clearingTraces {
            state.withLock { state in
                guard let open = state.open, let lock = state.lock else { return }
                let keys = OpenKeys(storage: open, notes: [])
                state = State(sealed: SealedKeys(keys, lock: lock, store: store, random: random))
            }
        }
    }

    /// Takes the key of a keyring that this process opened, or changed.
    ///
    /// - Returns: whether it is another one.
    func replace(by key: StorageKey) -> Bool {
        state.withLock { state in
            guard let open = state.open, !key.isEqual(to: open) else { return false }
            state.open = key
            return true
        }
    }
}
