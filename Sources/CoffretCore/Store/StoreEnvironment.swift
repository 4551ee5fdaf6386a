// The world as a store sees it. Nothing below reads the environment, a clock or a disk by any other way.

package import CoffretBase
package import CoffretCrypto
package import CoffretKeys
package import CoffretStorage

/// The seams that a store works through.
package struct StoreEnvironment: Sendable {
    /// Outside the store and outside backups, such as `$XDG_STATE_HOME/coffret`.
    package let stateDirectory: String
    package let fileSystem: any FileSystem
    package let random: any RandomSource
    package let clock: any WallClock
    /// Where generations of keyrings are remembered beside the state directory; nil where there is no such place.
    package var memory: GenerationMemory?
    /// Where wrong secrets are counted, those of locked notes too; nil where nobody guesses.
    package var attempts: AttemptCounting?
    package let tuning: StorageTuning
    /// Where notices of storage go, such as a damaged tail of a journal.
    package let notify: @Sendable (StorageNotice) -> Void
    /// For the agent; see `KeyringEnvironment`.
    package let keepStorageKey: (@Sendable (KeptStorageKey) -> Void)?
    package let newestStorageKey: (@Sendable () -> StorageKey?)?

    package init(
        stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource, clock: any WallClock,
        memory: GenerationMemory? = nil, attempts: AttemptCounting? = nil, tuning: StorageTuning = StorageTuning(),
        notify: @escaping @Sendable (StorageNotice) -> Void = { _ in },
        keepStorageKey: (@Sendable (KeptStorageKey) -> Void)? = nil,
        newestStorageKey: (@Sendable () -> StorageKey?)? = nil
    ) {
        self.stateDirectory = stateDirectory
        self.fileSystem = fileSystem
        self.random = random
        self.clock = clock
        self.memory = memory
        self.attempts = attempts
        self.tuning = tuning
        self.notify = notify
        self.keepStorageKey = keepStorageKey
        self.newestStorageKey = newestStorageKey
    }

    /// The same world for the agent, which keeps the storage key.
    ///
    /// - Parameter newest: as `KeyringEnvironment.newestStorageKey`.
    package func keepingStorageKey(
        newest: (@Sendable () -> StorageKey?)? = nil, _ keep: @escaping @Sendable (KeptStorageKey) -> Void
    ) -> StoreEnvironment {
        StoreEnvironment(
            stateDirectory: stateDirectory, fileSystem: fileSystem, random: random, clock: clock,
            memory: memory, attempts: attempts, tuning: tuning, notify: notify, keepStorageKey: keep,
            newestStorageKey: newest)
    }

    var storage: StorageEnvironment {
        StorageEnvironment(fileSystem: fileSystem, random: random, clock: clock, tuning: tuning, notify: notify)
    }

    func keyring(at path: String) -> KeyringEnvironment {
        KeyringEnvironment(
            keyringPath: path, stateDirectory: stateDirectory, fileSystem: fileSystem, random: random, clock: clock,
            memory: memory, attempts: attempts, keepStorageKey: keepStorageKey, newestStorageKey: newestStorageKey)
    }
}

/// Where the parts of a store lie.
package struct StoreLayout: Equatable, Sendable {
    /// The directory of the store.
    package let path: String

    package init(_ path: String) { self.path = path }

    /// Slots and sealed keys.
    package var keyringPath: String { PathText.join(path, "store.keyring") }
    /// One directory per vault.
    package var vaultsPath: String { PathText.join(path, "vaults") }

    /// The name of a vault's directory: the first 16 bytes of its id in hex.
    package static func directoryName(of vault: VaultID) -> String {
        String(vault.hex.prefix(32))
    }

    /// The directory of a vault.
    package func vaultPath(_ vault: VaultID) -> String {
        PathText.join(vaultsPath, Self.directoryName(of: vault))
    }
}
