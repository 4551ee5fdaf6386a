// The agent's side of continuous sync: one child for each unlocked store. The one thing to keep true: it lives only while
// the store is unlocked, and its end never keeps anybody waiting but the lock.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCrypto
internal import CoffretMessages
internal import Glibc

extension AgentService {
    /// Lets the sync of an unlocked store start, if none runs.
    ///
    /// The loop itself starts it, where no frame below holds keys that a process of such a long life would keep.
    func startSync(of store: UnlockedStore) {
        guard !isSyncing(store) else { return }
        syncs[store.path, default: SyncKeeper()].start(at: BootClock.now)
    }

    /// As above, once keys lie open. Where they cannot be had now, because the process that asks the TPM could not be
    /// started or was ended, it is tried again later.
    func startSyncWithOpenKeys(of store: UnlockedStore) {
        syncs[store.path, default: SyncKeeper()].start(at: BootClock.now.advanced(by: IdleLock.delay))
        withOpenKeys(of: store.path, for: nil, isUse: false) { self.startSync(of: store) }
    }

    private func fork(_ store: UnlockedStore) {
        guard !isSyncing(store), store.check(at: BootClock.now, isUse: false) == nil else { return }
        guard store.sealedKeys == nil else { return startSyncWithOpenKeys(of: store) }
        syncs[store.path]?.began(keyCount: store.keyCount, at: BootClock.now)
        let (path, variables, parent) = (store.path, store.variables, getpid())
        let (notify, wrapping, memory) = (notify, wrapping, memoryOfChanges)
        start(.sync(store: path), for: nil) { control in
            // No name in this frame holds on to the key, or sealing it later would be for show.
            guard let key = store.currentKey.map({ SyncKey($0, store: path, wrapping: wrapping) }) else {
                return SyncWorker.Ending.failed.rawValue
            }
            forget(except: nil)
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control])
            AgentChild.settle(environment: variables?.values ?? [:], parent: parent)
            guard let stateDirectory = AgentLocation.stateDirectory,
                let worker = SyncWorker(
                    path: path, key: key, control: 3, stateDirectory: stateDirectory, memory: memory,
                    renewed: { AgentChild.report($0, over: 3) },
                    note: { notify($0) }, asked: { AgentChild.report(.askWaits($0), over: 3) })
            else { return SyncWorker.Ending.failed.rawValue }
            return worker.run().rawValue
        }
    }

    private func isSyncing(_ store: UnlockedStore) -> Bool {
        children.values.contains { if case .sync(store.path) = $0.work { true } else { false } }
    }

    /// A store's sync has ended by itself.
    func finishSync(_ child: AgentChild, store path: String, status: Int32) {
        guard let store = stores[path], child.lockReason == nil, var keeper = syncs[path] else { return }
        let isStale = status & 0x7F == 0 && status >> 8 == SyncWorker.Ending.keyStale.rawValue
        keeper.ended(
            isStale: isStale, keyCount: store.keyCount, at: BootClock.now, random: SystemRandomSource())
        syncs[path] = keeper
    }

    /// The next moment at which a sync that ended starts again.
    var nextSyncStart: BootInstant? { syncs.values.compactMap(\.startAt).min() }

    func startDueSyncs() {
        let now = BootClock.now
        for (path, keeper) in syncs {
            guard let startAt = keeper.startAt, startAt <= now else { continue }
            syncs[path]?.isStarting()
            if let store = stores[path] { fork(store) }
        }
    }
}
