// Other devices of the account, and browsers on other machines, that ask for a value. Invariant: one request of a store is answered at a time, by a process of its own;
// the agent counts, in memory, and reads nothing of what is asked.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import Glibc

extension AgentService {
    /// So many wait; one more is not answered, and its device hears of nobody.
    private static let askCountMax = 4

    /// Takes what the process that syncs has heard of.
    func takeAsks(of child: AgentChild) {
        guard case .sync(let path) = child.work, child.lockReason == nil else { return }
        for case .askWaits(let relayID) in child.reports {
            guard asks[path, default: []].count < Self.askCountMax, asks[path]?.contains(relayID) != true else {
                continue
            }
            asks[path, default: []].append(relayID)
        }
        child.reports.removeAll { if case .askWaits = $0 { true } else { false } }
        startNextAsk(of: path)
    }

    /// Answers the next one, unless one is being answered.
    func startNextAsk(of path: String) {
        guard let store = stores[path], store.check(at: BootClock.now, isUse: false) == nil else {
            asks[path] = nil
            return
        }
        guard !isAnswering(path), let relayID = asks[path]?.first else { return }
        asks[path]?.removeFirst()
        guard browserActs[path, default: BrowserActs()].permit(.join, at: BootClock.now) else { return }
        // Being asked is no use of the store.
        withOpenKeys(of: path, for: nil, isUse: false) {
            guard let store = self.stores[path] else { return }
            // Another one was faster while the keys were opened.
            guard !self.isAnswering(path) else {
                self.asks[path, default: []].insert(relayID, at: 0)
                return
            }
            self.answer(relayID, store)
        }
    }

    private func isAnswering(_ path: String) -> Bool {
        children.values.contains { if case .remote(path) = $0.work { true } else { false } }
    }

    private func answer(_ relayID: UniqueID, _ store: UnlockedStore) {
        let (own, path, variables, parent) = (environment, store.path, store.variables, getpid())
        let (memory, makeRecords) = (memoryOfChanges, makeRecords)
        let child = start(.remote(store: path), for: nil) { control in
            guard let key = store.currentKey else { return 1 }
            forget(except: nil)
            let null = unsafe open("/dev/null", O_RDWR)
            AgentChild.arrange([null, null, null, control])
            let kept = variables?.values ?? [:]
            AgentChild.settle(environment: own.merging(kept) { $1 }, parent: parent)
            let hosted = HostedStore(
                store: path, storageKey: key, memory: memory, askKey: { AgentChild.askKey(over: 3) },
                report: { AgentChild.report($0, over: 3) })
            hosted.enter()
            return RemoteAttendant(
                hosted: hosted, relayID: relayID, places: SecretJudge.places(of: kept, agent: own),
                browsers: { try Self.pairings(of: path, in: makeRecords()) },
                mayAsk: { AgentChild.askPermit(.remote, over: 3) }
            ).serve()
        }
        child?.keyCount = store.keyCount
    }
}
