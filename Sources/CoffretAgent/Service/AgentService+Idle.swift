// Keys while nobody uses them: with a TPM, only what it alone opens lies in memory. The one thing to keep true: the
// agent itself never waits for the TPM, but for a child that it ends when it locks; children talk to it, and what they
// work with is the idle key alone.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretWire
internal import Glibc

extension AgentService {
    /// Seals the keys of stores that have not been used for a while.
    func wrapIdleKeys() {
        let now = BootClock.now
        for store in stores.values {
            guard let due = wrapDeadline(of: store), due <= now else { continue }
            if !store.seal(random: SystemRandomSource()) { makeIdleLock(for: store) }
        }
    }

    /// When the next keys are to be sealed.
    var nextWrapDeadline: BootInstant? { stores.values.compactMap(wrapDeadline).min() }

    private func wrapDeadline(of store: UnlockedStore) -> BootInstant? {
        guard wrapping != nil else { return nil }
        let isUsed = children.values.contains { child in
            switch child.work {
            case .tending(store.path), .wrapping(store.path), .unwrapping(store.path): true
            default: child.work.isCommand(of: store.path)
            }
        }
        return isUsed ? nil : store.sealDeadline
    }

    private func makeIdleLock(for store: UnlockedStore) {
        let path = store.path
        let child = startIdleChild(.wrapping(store: path)) { (wrapping) throws(KeyStoreError) in
            let key = IdleKey.generate(from: SystemRandomSource())
            return IdleLock(key: key, wrapped: try wrapping.wrap(key.duplicateSecret()))
        }
        // No process to be had: the next use tries again, not the next turn of the loop.
        if child == nil { store.keep(nil) }
    }

    /// Does something that needs the keys of a store, once they lie open.
    ///
    /// - Parameters:
    ///   - client: waits meanwhile, and is told if they are gone.
    ///   - isUse: whether somebody uses the store; if not, the keys are sealed again right after.
    func withOpenKeys(
        of path: String, for client: AgentPeer?, isUse: Bool = true, _ body: @escaping () -> Void
    ) {
        guard let store = stores[path], store.check(at: BootClock.now, isUse: isUse) == nil,
            let wrapped = store.sealedKeys?.wrapped
        else { return body() }
        let isUnderWay: (AgentChild) -> Bool = { if case .unwrapping(path) = $0.work { true } else { false } }
        let child =
            children.values.first(where: isUnderWay)
            ?? startIdleChild(.unwrapping(store: path)) { (wrapping) throws(KeyStoreError) in
                IdleLock(key: IdleKey(try wrapping.unwrap(wrapped)), wrapped: wrapped)
            }
        guard let child else {
            client?.refuse(.exhausted)
            return
        }
        child.waiting.append((client, body))
        client?.child = child
    }

    @discardableResult
    private func startIdleChild(
        _ work: AgentChild.Work, _ body: (any IdleWrapping) throws(KeyStoreError) -> IdleLock
    ) -> AgentChild? {
        guard let wrapping else { return nil }
        let parent = getpid()
        let environment = environment
        return start(work, for: nil) { control in
            forget(except: nil)
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control])
            AgentChild.settle(environment: environment, parent: parent)
            let report: ChildReport
            do throws(KeyStoreError) {
                report = .idleLock(try body(wrapping))
            } catch {
                report = .refused(code: error.code.rawValue, waitSeconds: nil)
            }
            AgentChild.report(report, over: STDERR_FILENO + 1)
            return 0
        }
    }

    /// The TPM has given back the key of a store, or has not: whoever waits for it goes on, or hears why not.
    func finishOpening(_ child: AgentChild, store path: String) {
        for (client, _) in child.waiting { client?.child = nil }
        let refusal = open(path, after: child)
        // Processes that are started from here have no use for the key that sealed.
        child.reports = []
        guard let refusal else {
            ready += child.waiting
            child.waiting = []
            return goOn()
        }
        let waiting = child.waiting
        child.waiting = []
        for (client, _) in waiting {
            client?.answer(refusal)
            if let client { receive(from: client) }
        }
    }

    /// Does what waited, one by one: no frame here holds what the others want, or each process that is started would have it.
    private func goOn() {
        while !ready.isEmpty {
            let next = ready.removeFirst()
            next.body()
            if let client = next.client { receive(from: client) }
        }
    }

    /// - Returns: the answer to whoever needs the keys, if they do not lie open now.
    private func open(_ path: String, after child: AgentChild) -> AgentResponse? {
        if let reason = child.lockReason { return .locked(reason: reason.rawValue) }
        guard let store = stores[path] else { return .locked(reason: LockReason.neverUnlocked.rawValue) }
        // The person may have been first, with the passphrase.
        if store.sealedKeys == nil || store.open(with: child.idleLock) { return nil }
        // Without a word from it the child was ended by somebody; that is not the TPM's doing.
        if child.reports.isEmpty { return .failed(code: AgentErrorCode.commandFailed.rawValue, waitSeconds: nil) }
        lock(store, because: .tpmGone)
        return .locked(reason: LockReason.tpmGone.rawValue)
    }
}

extension AgentChild {
    /// What the TPM has taken, or given back.
    var idleLock: IdleLock? {
        for case .idleLock(let lock) in reports { return lock }
        return nil
    }
}
