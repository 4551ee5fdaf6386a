// Making and opening the keyring of a store. Invariant: nothing inside is used before the MAC, the chains and the
// generation were checked.

package import CoffretBase
package import CoffretCrypto
internal import CoffretTrust
internal import Glibc

/// Where a keyring lies and what it works with.
package struct KeyringEnvironment: Sendable {
    /// The keyring file, such as `<store>/store.keyring`.
    package let keyringPath: String
    /// Outside the store and outside backups, such as `$XDG_STATE_HOME/coffret`.
    package let stateDirectory: String
    package let fileSystem: any FileSystem
    package let random: any RandomSource
    package let clock: any WallClock
    /// Where generations are remembered beside the marker; nil where there is no such place.
    package var memory: GenerationMemory?
    /// Where wrong secrets are counted; nil where nobody guesses, such as in tests.
    package var attempts: AttemptCounting?
    /// Hears of the storage key when a keyring was opened, and whenever the key is made anew. For the agent, which keeps
    /// it; everybody else leaves it out, and the key is gone after use.
    package let keepStorageKey: (@Sendable (KeptStorageKey) -> Void)?
    /// Gives the newest storage key that the agent has, to a process that it gave an earlier one; nil elsewhere.
    package let newestStorageKey: (@Sendable () -> StorageKey?)?

    package init(
        keyringPath: String, stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource,
        clock: any WallClock, memory: GenerationMemory? = nil, attempts: AttemptCounting? = nil,
        keepStorageKey: (@Sendable (KeptStorageKey) -> Void)? = nil,
        newestStorageKey: (@Sendable () -> StorageKey?)? = nil
    ) {
        self.keyringPath = keyringPath
        self.stateDirectory = stateDirectory
        self.fileSystem = fileSystem
        self.random = random
        self.clock = clock
        self.memory = memory
        self.attempts = attempts
        self.keepStorageKey = keepStorageKey
        self.newestStorageKey = newestStorageKey
    }

    /// The key store of files that belongs to this environment.
    package func fileKeyStore(memoryKibibytes: UInt32 = 262_144, passCount: UInt32 = 3) -> FileKeyStore {
        FileKeyStore(
            machineSecret: machineSecret, random: random, memoryKibibytes: memoryKibibytes, passCount: passCount)
    }

    /// The secret that every slot of a key store needs beside the key store.
    package var machineSecret: MachineSecretFile {
        MachineSecretFile(stateDirectory: stateDirectory, fileSystem: fileSystem, random: random)
    }
}

/// The secret with which a person opens a store.
package enum UnlockSecret: Sendable {
    case passphrase(Passphrase)
    /// A key on paper.
    ///
    /// - Parameter acceptsFormer: a person says that the store was restored from a backup of the key's account.
    case recoveryKey(RecoveryKey, acceptsFormer: Bool = false)
    /// A PIN or passphrase for a slot of this machine's `FileKeyStore`.
    case machinePIN(Passphrase)
    /// The key that the agent kept from an earlier opening; opens this one generation of the keyring only.
    case storageKey(StorageKey)
}

package enum Keyring {
    /// Makes a keyring for a new store: a new account of one device, no vault, one slot.
    ///
    /// - Parameter parameters: of Argon2id, within the bounds.
    /// - Parameter deviceName: seen by the person's own devices only.
    /// - Throws: `.keyringExists`, `.passwordPolicy`, `.fileFailed`.
    package static func create(
        passphrase: Passphrase, parameters: PasswordParameters, deviceName: String,
        environment: KeyringEnvironment
    ) throws(KeyError) -> UnlockedKeyring {
        try create(passphrase: passphrase, parameters: parameters, deviceName: deviceName, environment: environment) {
            _, _ in
        }
    }

    /// Makes a keyring of one new device, with what `fill` puts into it.
    static func create(
        passphrase: Passphrase, parameters: PasswordParameters, deviceName: String, environment: KeyringEnvironment,
        fill: (inout KeyringBody, inout [KeySlot]) throws(KeyError) -> Void
    ) throws(KeyError) -> UnlockedKeyring {
        let storeID = UniqueID.generate(from: environment.random)
        var body = KeyringBody.founded(deviceName: deviceName, random: environment.random, time: environment.clock.now)
        let slot = try PassphraseSlot.make(
            passphrase, parameters: parameters, storeID: storeID, anchor: body.device?.anchor ?? [],
            random: environment.random)
        body.slotDetails = [details(of: slot, name: "", environment)]
        var slots = [slot]
        try fill(&body, &slots)
        return try create(storeID: storeID, slots: slots, body: body, environment: environment)
    }

    static func details(of slot: KeySlot, name: String, _ environment: KeyringEnvironment) -> SlotDetails {
        SlotDetails(slotID: slot.id, kind: slot.kind, name: name, created: environment.clock.now)
    }

    /// Writes the first generation of a keyring.
    static func create(
        storeID: UniqueID, slots: [KeySlot], body: KeyringBody, environment: KeyringEnvironment
    ) throws(KeyError) -> UnlockedKeyring {
        guard
            try withFiles(!environment.fileSystem.exists(environment.keyringPath))
        else { throw KeyError(.keyringExists) }
        let keyring = UnlockedKeyring(
            storeID: storeID, generation: 0, slots: slots, body: body, instanceStatus: .current,
            environment: environment)
        do throws(KeyError) {
            try keyring.save(expectingGeneration: nil)
        } catch {
            // A half-made file would stand in the way of the next attempt.
            if error.code != .keyringExists { try? environment.fileSystem.remove(environment.keyringPath) }
            throw error
        }
        return keyring
    }

    /// Opens a keyring.
    ///
    /// - Parameter acceptsRollback: goes on with a keyring that is older than this machine remembers, or not the one that it
    ///   remembers; `instanceStatus` says so then, and a new instance has to be made.
    ///
    /// A keyring that another process changes meanwhile is read again; what opened its slot is kept, so that `readAgain` can go
    /// on with later changes.
    /// - Throws: `.keyringNotFound`, `.keyringMalformed`, `.keyringOutdated`, `.keyringUnsupported` before any secret is used;
    ///   `.passwordPolicy` before anything is derived; `.attemptsPausing`, `.attemptsUncounted` before the secret is
    ///   looked at; `.unlockFailed` for a wrong secret;
    ///   `.keyringAltered`, `.keyringForeign`, `.recoveryAccountDiffers`, `.keyringInconsistent`, `.keyringRolledBack`,
    ///   `.markerDiffers` afterwards.
    /// - Complexity: one run of Argon2id per slot of the kind until one opens.
    package static func open(
        with secret: UnlockSecret, acceptsRollback: Bool = false, environment: KeyringEnvironment
    ) throws(KeyError) -> UnlockedKeyring {
        let file = try readFile(at: environment.keyringPath, fileSystem: environment.fileSystem)
        try PassphraseSlot.checkPolicy(of: file.slots)
        let opened = try counted(secret, of: file.storeID, environment.attempts) { () throws(KeyError) in
            try openStorageKey(of: file, with: secret, environment: environment)
        }
        let keyring = try settled(file, acceptsRollback: acceptsRollback, environment) {
            (file, acceptsRollback) throws(KeyError) in
            // The slot's own key needs no derivation; a slot that was changed, too, needs the secret again.
            let storageKey =
                if let known = opened.opener?.storageKey(of: file) { known } else {
                    try openStorageKey(of: file, with: secret, environment: environment).storageKey
                }
            return try finish(file, storageKey, opened.origin, acceptsRollback: acceptsRollback, environment)
        }
        keyring.opener = opened.opener
        return keyring
    }

    /// Finishes the opening of a keyring. Between its file and the memory outside of it another process may have changed both:
    /// then the file there is newer than the one that was read, and that one is opened.
    ///
    /// - Parameter finish: opens a file; the other parameter is whether a person accepts a rollback.
    static func settled(
        _ file: KeyringFile, acceptsRollback: Bool, _ environment: KeyringEnvironment,
        _ finish: (KeyringFile, Bool) throws(KeyError) -> UnlockedKeyring
    ) throws(KeyError) -> UnlockedKeyring {
        var file = file
        for _ in 0..<changeCountMax {
            do throws(KeyError) {
                return try finish(file, false)
            } catch {
                guard error.code == .keyringRolledBack || error.code == .markerDiffers else { throw error }
                let newer = try readFile(at: environment.keyringPath, fileSystem: environment.fileSystem)
                guard newer.storeID == file.storeID, newer.generation > file.generation else { break }
                try PassphraseSlot.checkPolicy(of: newer.slots)
                file = newer
            }
        }
        return try finish(file, acceptsRollback)
    }

    /// So many changes by other processes while a keyring is opened are followed.
    private static let changeCountMax = 8

    /// Opens a keyring through a key store.
    ///
    /// - Parameters:
    ///   - profile: whose slot it is; others' slots are not tried, since a wrong PIN may be counted.
    ///   - secret: the PIN; nil for a slot without one.
    ///   - presence: asked before the key store is, if the slot says so.
    /// - Throws: `.slotNotFound`; `.presenceRequired`; what the key store throws; what `open(with:)` throws afterwards.
    package static func open(
        using keyStore: any KeyStore, profile: String = SlotTerms.defaultProfile, secret: Passphrase?,
        presence: (any UserPresence)? = nil, acceptsRollback: Bool = false, environment: KeyringEnvironment
    ) async throws(KeyError) -> UnlockedKeyring {
        let file = try readFile(at: environment.keyringPath, fileSystem: environment.fileSystem)
        let key = try await openStorageKey(
            of: file, using: keyStore, profile: profile, secret: secret, presence: presence)
        return try finish(file, key, .held, acceptsRollback: acceptsRollback, environment)
    }

    /// The storage key alone, through a key store: for `open(with:)`, which checks everything else.
    package static func openStorageKey(
        at path: String, fileSystem: any FileSystem, using keyStore: any KeyStore,
        profile: String = SlotTerms.defaultProfile, secret: Passphrase?, presence: (any UserPresence)? = nil
    ) async throws(KeyError) -> StorageKey {
        let file = try readFile(at: path, fileSystem: fileSystem)
        return try await openStorageKey(
            of: file, using: keyStore, profile: profile, secret: secret, presence: presence)
    }

    private static func openStorageKey(
        of file: KeyringFile, using keyStore: any KeyStore, profile: String, secret: Passphrase?,
        presence: (any UserPresence)?
    ) async throws(KeyError) -> StorageKey {
        try PassphraseSlot.checkPolicy(of: file.slots)
        let slots = file.slots.filter { $0.kind == keyStore.kind && ($0.password != nil) == (secret != nil) }
            .compactMap { slot in (try? SlotReference(decoding: slot.reference)).map { (slot, $0.terms) } }
            .filter { $0.1.profile == profile }
        guard !slots.isEmpty else { throw KeyError(.slotNotFound) }
        for (slot, terms) in slots {
            if terms.needsPresence {
                guard let presence else { throw KeyError(.presenceRequired) }
                try await presence.confirm(reason: "unlock the store")
            }
            do throws(KeyError) {
                let key = try await keyStore.openStorageKey(of: slot, binding: file.binding(of: slot), secret: secret)
                // A slot that was put there by somebody else holds a key of theirs.
                try file.verify(storageKey: key)
                try file.verifyAuthor(slot.anchor)
                return key
            } catch {
                if error.code != .unlockFailed { throw error }
            }
        }
        throw KeyError(.unlockFailed)
    }

    /// Makes an attempt with a secret of a person, counting it; what the agent kept is none.
    static func counted<Value>(
        _ secret: UnlockSecret, of store: UniqueID, _ attempts: AttemptCounting?,
        _ body: () throws(KeyError) -> Value
    ) throws(KeyError) -> Value {
        if case .storageKey = secret { return try body() }
        guard let ledger = attempts?.ledger(ofStore: store) else { return try body() }
        return try ledger.attempt(body)
    }

    /// Waits a moment, at most five seconds, until no process is about to change a keyring. A process that changes one
    /// sends the new key to the agent before it releases the lock.
    package static func awaitChange(of path: String, fileSystem: any FileSystem) {
        guard let file = try? fileSystem.open(path + ".lock", .createIfAbsent) else { return }
        for _ in 0..<500 {
            do throws(FileSystemError) {
                return try file.lock(.shared, waits: false)
            } catch {
                guard error.code == .wouldBlock else { return }
                _ = poll(nil, 0, 10)
            }
        }
    }

    static func readFile(at path: String, fileSystem: any FileSystem) throws(KeyError) -> KeyringFile {
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try fileSystem.readFile(path, byteCountMax: Limits.keyringByteCountMax)
        } catch {
            switch error.code {
            case .notFound: throw KeyError(.keyringNotFound)
            case .noSpace: throw PreviousKeyring(of: path, fileSystem).explaining(KeyError(.keyringMalformed))
            default: throw KeyError(error)
            }
        }
        do throws(KeyError) {
            return try KeyringFile(decoding: bytes)
        } catch {
            throw PreviousKeyring(of: path, fileSystem).explaining(error)
        }
    }

    private static func openStorageKey(
        of file: KeyringFile, with secret: UnlockSecret, environment: KeyringEnvironment
    ) throws(KeyError) -> (storageKey: StorageKey, origin: KeyOrigin, opener: SlotOpener?) {
        let kind: SlotKind
        switch secret {
        case .passphrase: kind = .passphrase
        case .recoveryKey: kind = .recovery
        case .machinePIN: kind = .machine
        // The file's MAC tells whether it is the right one.
        case .storageKey(let storageKey): return (storageKey, .held, nil)
        }
        let slots = file.slots.filter { $0.kind == kind }
        guard !slots.isEmpty else { throw KeyError(.slotNotFound) }
        for slot in slots {
            let binding = file.binding(of: slot)
            switch secret {
            case .passphrase(let passphrase):
                guard let key = try PassphraseSlot.open(slot, passphrase, storeID: file.storeID) else { continue }
                let opener = SlotOpener(slot, key)
                if let storageKey = opener.storageKey(of: file) { return (storageKey, .device(slot.anchor), opener) }
            case .recoveryKey(let recoveryKey, let acceptsFormer):
                let key = recoveryKey.deriveBoxKey(anchor: slot.anchor)
                guard key.publicKey.bytes == slot.publicKey else { continue }
                let opener = SlotOpener(slot, key)
                if let storageKey = opener.storageKey(of: file) {
                    let origin = KeyOrigin.paper(recoveryKey, anchor: slot.anchor, acceptsFormer: acceptsFormer)
                    return (storageKey, origin, opener)
                }
            case .machinePIN(let pin):
                let keyStore = environment.fileKeyStore()
                do throws(KeyError) {
                    let storageKey = try keyStore.openStorageKey(of: slot, binding: binding, secret: pin)
                    return (storageKey, .device(slot.anchor), nil)
                } catch {
                    if error.code != .unlockFailed { throw error }
                }
            case .storageKey: preconditionFailure("returned above")
            }
        }
        throw KeyError(.unlockFailed)
    }

    /// Verifies a file and all that is in it.
    private static func openBody(
        of file: KeyringFile, _ storageKey: StorageKey, _ origin: KeyOrigin, _ environment: KeyringEnvironment
    ) throws(KeyError) -> KeyringBody {
        do throws(KeyError) {
            let body = try file.openDeviceBody(storageKey: storageKey, anchor: origin.anchor)
            try origin.check(body, author: file.author)
            return body
        } catch {
            // Another process has changed the file since; with a secret one finds out whether it is damaged.
            if case .held = origin, error.code == .keyringAltered { throw error }
            throw PreviousKeyring(environment).explaining(error)
        }
    }

    /// Checks everything behind the storage key, the marker last.
    static func finish(
        _ file: KeyringFile, _ storageKey: StorageKey, _ origin: KeyOrigin, acceptsRollback: Bool,
        _ environment: KeyringEnvironment
    ) throws(KeyError) -> UnlockedKeyring {
        let body = try openBody(of: file, storageKey, origin, environment)
        var status = InstanceStatus.current
        var generation = file.generation
        let memory = environment.memory?.isAsked == true ? environment.memory : nil
        let remembered = memory?.generation(of: file.storeID)
        if let remembered, remembered > file.generation {
            guard acceptsRollback else { throw KeyError(.keyringRolledBack) }
            status = .rolledBack
            generation = remembered
        }
        let finding = try Marker.read(
            storeID: file.storeID, key: body.markerKey, stateDirectory: environment.stateDirectory,
            fileSystem: environment.fileSystem)
        switch finding {
        case .missing: if status == .current { status = .markerMissing }
        case .invalid:
            guard acceptsRollback else { throw KeyError(.markerDiffers) }
            if status == .current { status = .markerDiffers }
        case .present(let marker):
            if marker.generation > file.generation {
                guard acceptsRollback else { throw KeyError(.keyringRolledBack) }
                status = .rolledBack
                // The next generation must be newer than any seen.
                generation = max(generation, marker.generation)
            } else if status == .rolledBack {
                break
            } else if marker.instanceID != body.instanceID {
                guard acceptsRollback else { throw KeyError(.markerDiffers) }
                status = .markerDiffers
            } else if marker.generation < file.generation {
                // The power went between the keyring and its marker.
                try Marker(storeID: file.storeID, generation: file.generation, instanceID: body.instanceID).write(
                    key: body.markerKey, stateDirectory: environment.stateDirectory,
                    fileSystem: environment.fileSystem)
            }
        }
        if status == .current, (remembered ?? 0) < file.generation {
            memory?.remember(file.generation, of: file.storeID)
        }
        PreviousKeyring(environment).forget()
        environment.keepStorageKey?(
            KeptStorageKey(storageKey, generation: file.generation, excludesSlot: false, isChange: false))
        return UnlockedKeyring(
            storeID: file.storeID, generation: generation, fileGeneration: file.generation, slots: file.slots,
            body: body, instanceStatus: status, environment: environment)
    }
}

/// The key that opens a slot through all changes of the keyring, for as long as the slot is there.
struct SlotOpener {
    private let slotID: UniqueID
    private let publicKey: [UInt8]
    private let key: AgreementKey

    init(_ slot: KeySlot, _ key: AgreementKey) {
        slotID = slot.id
        publicKey = slot.publicKey
        self.key = key
    }

    /// nil if the slot is there no more.
    func storageKey(of file: KeyringFile) -> StorageKey? {
        guard let slot = file.slots.first(where: { $0.id == slotID && $0.publicKey == publicKey }) else { return nil }
        return X25519Slot.open(
            slot.sealedStorageKey, with: key, context: .slotStorageKey, binding: file.binding(of: slot))
    }
}
