// `coffret key`: short ways into the store on this computer, a PIN or the computer itself. The one thing to keep
// true: whoever adds or changes one has typed the passphrase, even where the store is unlocked (R24).

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

enum KeyCommand {
    static let home = OptionDescription.value(
        "in", "PLACE", .choice(["tpm", "keyring", "file"]),
        "where the key lies; the best that answers if left out")
    static let withoutPIN = OptionDescription.flag("no-pin", "open without a PIN; needs the TPM or the keyring")
    static let presence = OptionDescription.flag("presence", "ask whether you are there, through PAM, before it opens")
    static let profile = OptionDescription.value(
        "profile", "NAME", "whose PIN it is, where several people or PINs share a store (or COFFRET_PROFILE)")
    static let pinFile = OptionDescription.value(
        "pin-file", "FILE", .file, "read the PIN from a file that nobody else may read, for scripts")
    static let key = ArgumentDescription.required("KEY", "the id or the profile of a key")

    static let description = CommandDescription(
        "key", group: .store, "Open the store with a PIN, or with this computer",
        discussion: [
            "A key opens the store on this computer only, and never comes into a backup. With the TPM a PIN cannot be guessed; without one it is worth little against who has your disk: Docs/unlocking.md says what each is worth. The TPM and the desktop's keyring are used by the agent: run coffret unlock first."
        ],
        subcommands: [
            CommandDescription(
                "add", "Set a PIN, or let the TPM or the keyring open the store",
                options: [home, withoutPIN, presence, profile, pinFile],
                examples: [
                    CommandExample("coffret key add", "sets a PIN, in the TPM if there is one"),
                    CommandExample("coffret key add --in tpm --no-pin --presence", "opens with a fingerprint"),
                ], run: add),
            CommandDescription("change", "Change a PIN", options: [profile, pinFile], run: change),
            CommandDescription("ls", "List the ways into the store, and the tries that are left", run: list),
            CommandDescription(
                "remove", "Take a key away", arguments: [key], options: [CommonArguments.yes], run: remove),
        ])

    private static let pinLengthMin = 4

    // MARK: Changing

    private static func add(_ context: CommandContext) throws {
        if let path = context.arguments.value(pinFile) { try PathCheck.readable(path) }
        let session = try confirmedSession(context)
        let surroundings = try surroundings(context)
        let kind = try kind(context, surroundings)
        let hasPIN = !context.arguments.isSet(withoutPIN)
        let terms = SlotTerms(profile: profileName(context), needsPresence: context.arguments.isSet(presence))
        if terms.needsPresence { try confirmPresence(context) }
        let pin = hasPIN ? try newPIN(context) : nil
        let store = try keyStore(kind, surroundings)
        let prepared = try prepare(session, store, terms, pin)
        try put(prepared, replacing: [], session, store)
        try context.confirmDone(value(SlotSummary(prepared.slot), nil)) {
            "Opens this store now: \(words(SlotSummary(prepared.slot))). Use it with coffret unlock "
                + (hasPIN ? "--pin." : "--no-pin.")
        }
        if kind == .machine {
            context.note(
                "Without a TPM or a keyring, who has this disk can guess a short PIN: Docs/unlocking.md says how fast.")
        }
    }

    private static func change(_ context: CommandContext) throws {
        if let path = context.arguments.value(pinFile) { try PathCheck.readable(path) }
        let name = profileName(context)
        let isMeant = { (slot: SlotSummary) in slot.hasPIN && slot.terms?.profile == name }
        if let summary = try PathCheck.keyring(context), !summary.slots.contains(where: isMeant) { throw missing(name) }
        let session = try confirmedSession(context)
        let surroundings = try surroundings(context)
        let slots = try session.store.keyring.slotSummaries().filter(isMeant)
        guard let old = slots.first, let terms = old.terms else { throw missing(name) }
        let store = try keyStore(old.kind, surroundings)
        let prepared = try prepare(session, store, terms, try newPIN(context))
        try put(prepared, replacing: [old.id], session, store)
        try context.confirmDone(value(SlotSummary(prepared.slot), nil)) { "The PIN is changed." }
    }

    private static func remove(_ context: CommandContext) throws {
        let wanted = context.arguments.required(key)
        let isMeant = { (slot: SlotSummary) in
            slot.kind.isKeyStore
                && (slot.terms?.profile == wanted || wanted.count >= 4 && slot.id.hex.hasPrefix(wanted))
        }
        if let summary = try PathCheck.keyring(context), !summary.slots.contains(where: isMeant) {
            throw missing(wanted)
        }
        let session = try confirmedSession(context)
        let slots = try session.store.keyring.slotSummaries().filter(isMeant)
        guard let found = slots.first else { throw missing(wanted) }
        guard slots.count == 1 else {
            throw CommandFailure(
                .ambiguous, .keyAmbiguous, "\(slots.count) keys are called \"\(TextWidth.displaySafe(wanted))\"",
                details: slots.map { "\($0.id.hex.prefix(8))  \(words($0))" }, hint: "use the id")
        }
        try context.confirmDanger(
            "This takes away: \(words(found)). The passphrase and recovery keys stay.", question: "Take it away?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let removed = try session.store.changeKeyring { (keyring) throws(KeyError) in try keyring.removeSlot(found.id) }
        forget([removed], session, try? keyStore(found.kind, surroundings(context)))
        try context.confirmDone(.fields(["removed": .string(found.id.hex)])) { "Taken away: \(words(found))." }
    }

    /// The store with the passphrase typed for this command, also where the agent has it unlocked.
    private static func confirmedSession(_ context: CommandContext) throws -> StoreSession {
        let session = try StoreSession.open(context, with: .passphrase)
        guard HostedCommand.isRunning else { return session }
        let passphrase = try PassphraseSource(context: context).current("Passphrase, to change who gets in: ")
        _ = try context.deriving {
            try Store.open(
                at: StoreAccess.path(context), with: .passphrase(passphrase),
                environment: StoreAccess.environment(context))
        }
        return session
    }

    private static func prepare(
        _ session: StoreSession, _ store: any KeyStore, _ terms: SlotTerms, _ pin: Passphrase?
    ) throws -> PreparedSlot {
        let (storeID, anchor) = (session.store.keyring.storeID, try session.store.keyring.anchor())
        return try KeyStoreProviders.wait { () async throws(KeyError) in
            try await store.prepareSlot(
                storeID: storeID, anchor: anchor, terms: terms, secret: pin, random: SystemRandomSource())
        }
    }

    private static func put(
        _ prepared: PreparedSlot, replacing old: Set<UniqueID>, _ session: StoreSession, _ store: any KeyStore
    ) throws {
        do {
            let gone = try session.store.changeKeyring { (keyring) throws(KeyError) in
                try keyring.add(prepared, replacing: old, named: prepared.terms.profile)
            }
            forget(gone, session, store)
        } catch {
            forget([prepared.slot], session, store)
            throw error
        }
    }

    /// What a key store still holds of a slot that is gone opens nothing; that it stays is no failure.
    private static func forget(_ slots: [KeySlot], _ session: StoreSession, _ store: (any KeyStore)?) {
        guard let store else { return }
        let storeID = session.store.keyring.storeID
        for slot in slots {
            try? KeyStoreProviders.wait { () async throws(KeyError) in
                try await store.removeKey(of: slot, storeID: storeID)
            }
        }
    }

    // MARK: Looking

    private static func list(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        let slots = try session.store.keyring.slotSummaries()
        var attempts: KeyStoreAttempts?
        if slots.contains(where: { $0.kind == .tpm }),
            let store = KeyStoreProviders.keyStore(.tpm, try surroundings(context))
        {
            attempts = try? KeyStoreProviders.wait { () async throws(KeyError) in try await store.attempts() }
        }
        try context.print(.array(slots.map { value($0, attempts) })) {
            var table = TextTable([.init(role: .identifier), .init(isFlexible: true), .init(role: .faint)])
            for slot in slots {
                let left = slot.kind == .tpm && slot.hasPIN ? attempts.map(attemptWords) ?? "" : ""
                table.add([String(slot.id.hex.prefix(8)), words(slot), left])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func attemptWords(_ attempts: KeyStoreAttempts) -> String {
        attempts.left > 0
            ? NumberText.counted(Int(attempts.left), "try", "tries") + " left"
            : "no try for \(NumberText.counted((Int(attempts.waitSeconds) + 59) / 60, "minute"))"
    }

    private static func words(_ slot: SlotSummary) -> String {
        let place =
            switch slot.kind {
            case .passphrase: "the passphrase"
            case .recovery: "a recovery key"
            case .machine: "a file"
            case .tpm: "the TPM"
            case .secretService: "the desktop's keyring"
            default: "another device's key store"
            }
        guard let terms = slot.terms else { return place }
        let profile =
            terms.profile == SlotTerms.defaultProfile ? "" : " of \(TextWidth.displaySafe(terms.profile))"
        let presence = terms.needsPresence ? ", when you are there" : ""
        return slot.hasPIN ? "a PIN\(profile) in \(place)\(presence)" : "\(place)\(profile)\(presence)"
    }

    private static func value(_ slot: SlotSummary, _ attempts: KeyStoreAttempts?) -> JSONValue {
        let kind =
            switch slot.kind {
            case .passphrase: "passphrase"
            case .recovery: "recovery"
            case .machine: "file"
            case .tpm: "tpm"
            case .secretService: "keyring"
            default: "other"
            }
        let counted = slot.kind == .tpm && slot.hasPIN ? attempts : nil
        return .fields([
            "id": .string(slot.id.hex), "kind": .string(kind), "profile": slot.terms.map { .string($0.profile) },
            "pin": .bool(slot.kind.isKeyStore && slot.hasPIN), "presence": .bool(slot.terms?.needsPresence == true),
            "triesLeft": counted.map { .integer(Int($0.left)) },
            "waitSeconds": counted.map { .integer(Int($0.waitSeconds)) },
        ])
    }

    // MARK: Arguments

    static func profileName(_ context: CommandContext) -> String {
        context.arguments.value(profile) ?? context.environment.value(.profile) ?? SlotTerms.defaultProfile
    }

    private static func newPIN(_ context: CommandContext) throws -> Passphrase {
        let source = PassphraseSource(context: context)
        let pin: Passphrase
        if let path = context.arguments.value(pinFile) {
            pin = try PassphraseSource.passphrase(source.read(file: path))
        } else {
            pin = try source.chooseNew("New PIN: ")
        }
        guard pin.byteCount >= pinLengthMin else {
            throw CommandFailure(
                .badInput, .pinTooShort, "a PIN has at least \(pinLengthMin) characters",
                hint: "letters are allowed; without a TPM longer is better")
        }
        return pin
    }

    private static func surroundings(_ context: CommandContext) throws -> KeyStoreSurroundings {
        let environment = try StoreAccess.environment(context)
        return KeyStoreSurroundings(
            stateDirectory: environment.stateDirectory, fileSystem: environment.fileSystem, random: environment.random,
            tpm: context.environment.value(.tpm))
    }

    private static func kind(_ context: CommandContext, _ surroundings: KeyStoreSurroundings) throws -> SlotKind {
        switch context.arguments.value(home) {
        case "tpm": return .tpm
        case "keyring": return .secretService
        case "file": return .machine
        default:
            // Without the agent nobody knows what there is; a PIN in a file is not chosen for the person in silence.
            guard let provider = KeyStoreProviders.installed else { throw needsAgent() }
            return provider.availableKinds(surroundings).first ?? .machine
        }
    }

    private static func keyStore(_ kind: SlotKind, _ surroundings: KeyStoreSurroundings) throws -> any KeyStore {
        guard let store = KeyStoreProviders.keyStore(kind, surroundings) else { throw needsAgent() }
        return store
    }

    private static func confirmPresence(_ context: CommandContext) throws {
        guard let presence = context.presence else {
            guard KeyStoreProviders.installed != nil else { throw needsAgent() }
            throw KeyError(.keyStoreFailed, cause: KeyStoreError(.presenceNotSetUp))
        }
        guard try presence.ask(reason: "set up a key") else {
            throw KeyError(.keyStoreFailed, cause: KeyStoreError(.presenceDenied))
        }
    }

    private static func needsAgent() -> CommandFailure {
        CommandFailure(
            .unavailable, .keyNeedsAgent, "the TPM, the keyring and PAM are used by the agent, and none runs this",
            hint: "coffret unlock starts it, then do it again; --in file needs none")
    }

    private static func missing(_ name: String) -> CommandFailure {
        CommandFailure(
            .notFound, .keyNotFound, "there is no key \"\(TextWidth.displaySafe(name))\"",
            hint: "coffret key ls lists them")
    }
}
