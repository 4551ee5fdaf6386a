// Operations on the ways into a store. Invariant: whoever adds, changes or removes one has given the passphrase for it, also where
// the store is unlocked (R24).

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
package import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension KeyList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let slots = try desk.store.keyring.slotSummaries()
        var attempts: KeyStoreAttempts?
        if slots.contains(where: { $0.kind == .tpm }),
            let store = KeyStoreProviders.keyStore(.tpm, desk.keyStores)
        {
            attempts = try? KeyStoreProviders.wait { () async throws(KeyError) in try await store.attempts() }
        }
        var answer = Answer()
        answer.keys = slots.map { KeyMessage($0, attempts) }
        return answer
    }
}

extension KeyAdd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> KeyChange {
        try desk.requirePassphrase()
        let kind = try kind(desk)
        // The keyring would lie in a store, and be open only once that is.
        if kind == .secretService, SecretServiceGrant.isOn(stateDirectory: desk.surroundings.stateDirectory) {
            throw KeyError(.keyStoreFailed, cause: KeyStoreError(.circular, place: "keyring"))
        }
        let terms = SlotTerms(profile: desk.profile(profile), needsPresence: needsPresence == true)
        if terms.needsPresence { try Self.confirmPresence(desk) }
        let pin = withoutPIN == true ? nil : try desk.newPIN()
        return try desk.put(terms, pin, replacing: [], in: desk.keyStore(kind))
    }

    private func kind(_ desk: StoreDesk) throws -> SlotKind {
        switch place {
        case .tpm: return .tpm
        case .keyring: return .secretService
        case .file: return .machine
        case nil:
            // Without the agent nobody knows what there is; a PIN in a file is not chosen for the person in silence.
            guard let provider = KeyStoreProviders.installed else { throw CommandFailure.keyNeedsAgent }
            let isOwnKeyring = SecretServiceGrant.isOn(stateDirectory: desk.surroundings.stateDirectory)
            return provider.availableKinds(desk.keyStores).first { $0 != .secretService || !isOwnKeyring } ?? .machine
        }
    }

    private static func confirmPresence(_ desk: StoreDesk) throws {
        guard let presence = desk.surroundings.presence else {
            guard KeyStoreProviders.installed != nil else { throw CommandFailure.keyNeedsAgent }
            throw KeyError(.keyStoreFailed, cause: KeyStoreError(.presenceNotSetUp))
        }
        guard try presence.ask(reason: "set up a key") else {
            throw KeyError(.keyStoreFailed, cause: KeyStoreError(.presenceDenied))
        }
    }
}

extension KeyEdit: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> KeyChange {
        let name = desk.profile(profile)
        try desk.requirePassphrase()
        let slots = try desk.store.keyring.slotSummaries().filter { $0.hasPIN && $0.terms?.profile == name }
        guard let old = slots.first, let terms = old.terms else { throw CommandFailure.keyMissing(name) }
        let store = try desk.keyStore(old.kind)
        return try desk.put(terms, desk.newPIN(), replacing: [old.id], in: store)
    }
}

extension KeyRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> KeyChange {
        try desk.requirePassphrase()
        let slots = try desk.store.keyring.slotSummaries().filter {
            $0.kind.isKeyStore && ($0.id.hex == key || $0.terms?.profile == key)
        }
        guard let found = slots.first else { throw CommandFailure.keyMissing(key) }
        guard slots.count == 1 else { throw CommandFailure.keyAmbiguous(key, slots.map { KeyMessage($0, nil) }) }
        let removed = try desk.store.changeKeyring { keyring in try keyring.removeSlot(found.id) }
        desk.forget([removed], try? desk.keyStore(found.kind))
        return KeyChange(KeyMessage(found, nil))
    }
}

extension KeyChange {
    fileprivate init(_ key: KeyMessage) {
        self.init()
        self.key = key
        locksStore = HostedStore.current?.hasLocked == true
    }
}

extension CommandFailure {
    fileprivate static var keyNeedsAgent: CommandFailure {
        CommandFailure(
            .unavailable, .keyNeedsAgent, "the TPM, the keyring and PAM are used by the agent, and none runs this",
            hint: "coffret unlock starts it, then do it again; --in file needs none")
    }

    package static func keyMissing(_ name: String) -> CommandFailure {
        CommandFailure(
            .notFound, .keyNotFound, "there is no key \"\(TextWidth.displaySafe(name))\"",
            hint: "coffret key ls lists them")
    }

    package static func keyAmbiguous(_ name: String, _ keys: [KeyMessage]) -> CommandFailure {
        CommandFailure(
            .ambiguous, .keyAmbiguous, "\(keys.count) keys are called \"\(TextWidth.displaySafe(name))\"",
            details: keys.map { "\($0.id.prefix(8))  \($0.words)" }, hint: "use the id")
    }
}

extension StoreDesk {
    private static let pinLengthMin = 4

    fileprivate var keyStores: KeyStoreSurroundings {
        KeyStoreSurroundings(
            stateDirectory: store.environment.stateDirectory, fileSystem: store.fileSystem,
            random: store.environment.random, tpm: surroundings.tpm)
    }

    fileprivate func profile(_ named: String?) -> String { named ?? surroundings.profile }

    fileprivate func keyStore(_ kind: SlotKind) throws -> any KeyStore {
        guard let store = KeyStoreProviders.keyStore(kind, keyStores) else { throw CommandFailure.keyNeedsAgent }
        return store
    }

    /// Makes sure that whoever asks knows the passphrase now.
    fileprivate func requirePassphrase() throws { try surroundings.requirePassphrase("change who gets in") }

    fileprivate func newPIN() throws -> Passphrase {
        let typed = try asked(SessionQuestion(.newPIN, "New PIN: ", reason: "set up a key"))
        guard typed.byteCount >= Self.pinLengthMin else {
            throw CommandFailure(
                .badInput, .pinTooShort, "a PIN has at least \(Self.pinLengthMin) characters",
                hint: "letters are allowed; without a TPM longer is better")
        }
        return try Passphrase(given: typed)
    }

    /// Makes a slot and puts it into the keyring.
    fileprivate func put(
        _ terms: SlotTerms, _ pin: Passphrase?, replacing old: Set<UniqueID>, in keyStore: any KeyStore
    ) throws -> KeyChange {
        let (storeID, anchor) = (store.keyring.storeID, try store.keyring.anchor())
        let random = store.environment.random
        let prepared = try KeyStoreProviders.wait { () async throws(KeyError) in
            try await keyStore.prepareSlot(storeID: storeID, anchor: anchor, terms: terms, secret: pin, random: random)
        }
        do {
            let gone = try store.changeKeyring { keyring in
                try keyring.add(prepared, replacing: old, named: prepared.terms.profile)
            }
            forget(gone, keyStore)
        } catch {
            forget([prepared.slot], keyStore)
            throw error
        }
        return KeyChange(KeyMessage(SlotSummary(prepared.slot), nil))
    }

    /// A remainder of a removed slot in a key store opens nothing, so it is no failure if it stays.
    fileprivate func forget(_ slots: [KeySlot], _ keyStore: (any KeyStore)?) {
        guard let keyStore else { return }
        let storeID = store.keyring.storeID
        for slot in slots {
            try? KeyStoreProviders.wait { () async throws(KeyError) in
                try await keyStore.removeKey(of: slot, storeID: storeID)
            }
        }
    }
}

extension KeyMessage {
    fileprivate init(_ slot: SlotSummary, _ attempts: KeyStoreAttempts?) {
        self.init()
        id = slot.id.hex
        kind =
            switch slot.kind {
            case .passphrase: .passphrase
            case .recovery: .recovery
            case .machine: .file
            case .tpm: .tpm
            case .secretService: .keyring
            default: .other
            }
        (profile, hasPIN) = (slot.terms?.profile, slot.kind.isKeyStore && slot.hasPIN)
        needsPresence = slot.terms?.needsPresence == true
        guard slot.kind == .tpm, slot.hasPIN, let attempts else { return }
        (triesLeft, waitSeconds) = (Int(attempts.left), Int(attempts.waitSeconds))
    }

    /// `a PIN of alice in the TPM, when you are there`.
    package var words: String {
        let place =
            switch kind {
            case .passphrase: "the passphrase"
            case .recovery: "a recovery key"
            case .file: "a file"
            case .tpm: "the TPM"
            case .keyring: "the desktop's keyring"
            case .other: "another device's key store"
            }
        guard let profile else { return place }
        let owner = profile == SlotTerms.defaultProfile ? "" : " of \(TextWidth.displaySafe(profile))"
        let presence = needsPresence ? ", when you are there" : ""
        return hasPIN ? "a PIN\(owner) in \(place)\(presence)" : "\(place)\(owner)\(presence)"
    }
}

extension RecoveryList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let (keyring, records) = (desk.store.keyring, desk.deviceRecords)
        var answer = Answer()
        for key in try keyring.slotDetails() where key.kind == .recovery {
            var message = RecoveryKeyMessage()
            (message.id, message.name, message.created) = (key.slotID.hex, key.name, WireMoment(key.created))
            (message.isConfirmed, message.isAccepted) = (records.isOnlyPrinted(key.slotID.hex) != true, true)
            answer.keys.append(message)
        }
        for device in try keyring.paperAwaitingConsent() {
            let details = try keyring.details(of: device)
            var message = RecoveryKeyMessage()
            (message.id, message.name) = (device.id.hex, details?.name ?? "")
            message.created = details.map { WireMoment($0.time) }
            answer.keys.append(message)
        }
        return answer
    }
}

extension BackupCreate: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard name.isFileName else { throw OperationError(.requestInvalid, at: "name") }
        let folder = try desk.takeDescriptor(.folder)
        let work = desk.work
        let report = try desk.store.backup(to: "/proc/self/fd/\(folder.number)/\(name)") { done, total in
            try work.checkCancelled()
            work.report(OperationProgress(done: done, total: total, byteCount: done))
        }
        var answer = Answer()
        (answer.backup, answer.vaults, answer.fileCount) = (report.name.text, report.vaultNames, report.fileCount)
        (answer.byteCount, answer.writtenByteCount) = (report.byteCount, report.writtenByteCount)
        answer.faultyAttachments = report.faulty.map { FaultyFileMessage($0) }
        return answer
    }
}

extension BackupVerify: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let folder = try desk.takeDescriptor(.folder)
        let work = desk.work
        let backups = try BackupFolder(at: "/proc/self/fd/\(folder.number)", environment: desk.store.environment)
        let report = try desk.store.verifyBackups(in: backups, readsAll: readsAll == true) { done, total in
            try work.checkCancelled()
            work.report(OperationProgress(done: done, total: total, byteCount: done))
        }
        var answer = Answer()
        (answer.backupCount, answer.readByteCount) = (report.backupCount, report.readByteCount)
        answer.unreadable = report.unreadable.map(\.text)
        answer.damaged = report.damaged.sorted { $0.key < $1.key }.map { "\($0.key.text): \($0.value)" }
        return answer
    }
}
