// Vaults of unlocked stores are kept small while they are used. The one thing to keep true: it is no use of a store, and
// nobody waits for it: it takes a vault's lock for the moment of change alone.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage
internal import Glibc

extension AgentService {
    /// How long after a command the vaults are looked at; commands that come meanwhile are one reason with it.
    private static let tendingDelay = Duration.seconds(10)

    func scheduleTending(of store: String) {
        if tendings[store] == nil { tendings[store] = BootClock.now.advanced(by: Self.tendingDelay) }
    }

    /// When vaults are to be looked at next.
    var nextTending: BootInstant? { tendings.values.min() }

    func startDueTendings() {
        let now = BootClock.now
        for (path, due) in tendings where due <= now {
            tendings[path] = nil
            // Keys that the TPM has are not asked for; the next command lets it be tried again.
            guard let store = stores[path], store.check(at: now, isUse: false) == nil, store.sealedKeys == nil else {
                continue
            }
            tend(store)
        }
    }

    private func tend(_ store: UnlockedStore) {
        let (path, variables, parent) = (store.path, store.variables, getpid())
        start(.tending(store: path), for: nil) { control in
            guard let key = store.currentKey else { return 1 }
            forget(except: nil)
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control])
            AgentChild.settle(environment: variables?.values ?? [:], parent: parent)
            // Whatever else runs comes first.
            _ = nice(19)
            guard let stateDirectory = AgentLocation.stateDirectory,
                let opened = try? Store.open(
                    at: path, with: .storageKey(key),
                    environment: StoreEnvironment(
                        stateDirectory: stateDirectory, fileSystem: PosixFileSystem(), random: SystemRandomSource(),
                        clock: SystemWallClock()))
            else { return 1 }
            for record in (try? opened.allVaults) ?? [] {
                // A damaged vault is reported by the commands that meet it, and by the check.
                _ = try? opened.openVault(record.vaultID.hex, isWritable: false).repository.tend()
            }
            return 0
        }
    }
}
