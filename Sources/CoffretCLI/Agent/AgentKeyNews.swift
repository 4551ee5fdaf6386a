// What a command that opened a store by itself tells the agent. The one thing to keep true: the agent gets a key only from who
// had the one that it holds, and locks at once where somebody who got in so far does not any more.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretTerminal
internal import CoffretWire
internal import Synchronization

/// Hears of the keys of one store in this process, and passes on those that the agent needs to go on.
final class AgentKeyNews: Sendable {
    private let store: String
    private let environment: ProcessEnvironment
    private let newest = Mutex<StorageKey?>(nil)
    private let locked = Mutex(false)

    /// - Parameter store: a path without links.
    init(store: String, _ environment: ProcessEnvironment) {
        self.store = store
        self.environment = environment
    }

    /// Whether the agent had the store unlocked, and locked it for what this command changed.
    var hasLocked: Bool { locked.withLock { $0 } }

    /// The first key is the one that the store was opened with; each that follows opens it from then on. One that was found on
    /// the disk its maker has told of.
    func hear(_ kept: KeptStorageKey) {
        let before = newest.withLock { newest in
            defer { newest = kept.key }
            return newest
        }
        guard let before, kept.isChange else { return }
        let sealedKey =
            kept.excludesSlot ? nil : kept.sealed(under: before, path: store, random: SystemRandomSource())
        // Where no agent runs, the store is not unlocked, or its key is another one: as if nothing had been said. An agent
        // whose key opens nothing any more finds that out by itself.
        guard let client = try? AgentClient.connect(environment) else { return }
        let isDone = (try? client.perform(.renewed(store: store, sealedKey: sealedKey))) != nil
        if isDone, kept.excludesSlot { locked.withLock { $0 = true } }
    }
}
