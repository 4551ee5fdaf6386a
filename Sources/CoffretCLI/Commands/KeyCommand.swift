// `coffret key`: short ways into the store on this computer, a PIN or the computer itself. The one thing to keep
// true: whoever adds or changes one has typed the passphrase, even where the store is unlocked (R24).

internal import CoffretApp
internal import CoffretBase
internal import CoffretKeys
internal import CoffretTerminal
internal import CoffretWire

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

    // MARK: Changing

    private static func add(_ context: CommandContext) throws {
        if let path = context.arguments.value(pinFile) { try PathCheck.readable(path) }
        var request = KeyAdd()
        request.profile = profileName(context)
        request.place = context.arguments.value(home).flatMap { KeyAdd.Place(rawValue: $0) }
        (request.withoutPIN, request.needsPresence) = (
            context.arguments.isSet(withoutPIN), context.arguments.isSet(presence)
        )
        let made = try perform(request, on: CommandStore.open(context))
        try context.confirmDone(made.json) {
            "Opens this store now: \(made.words). Use it with coffret unlock " + (made.hasPIN ? "--pin." : "--no-pin.")
        }
        if made.kind == .file {
            context.note(
                "Without a TPM or a keyring, who has this disk can guess a short PIN: Docs/unlocking.md says how fast.")
        }
    }

    private static func change(_ context: CommandContext) throws {
        if let path = context.arguments.value(pinFile) { try PathCheck.readable(path) }
        let name = profileName(context)
        let isMeant = { (slot: SlotSummary) in slot.hasPIN && slot.terms?.profile == name }
        if let summary = try PathCheck.keyring(context), !summary.slots.contains(where: isMeant) {
            throw CommandFailure.keyMissing(name)
        }
        var request = KeyEdit()
        request.profile = name
        let changed = try perform(request, on: CommandStore.open(context))
        try context.confirmDone(changed.json) { "The PIN is changed." }
    }

    private static func remove(_ context: CommandContext) throws {
        let wanted = context.arguments.required(key)
        func isMeant(_ id: String, _ profile: String?) -> Bool {
            profile == wanted || wanted.count >= 4 && id.hasPrefix(wanted)
        }
        if let summary = try PathCheck.keyring(context),
            !summary.slots.contains(where: { $0.kind.isKeyStore && isMeant($0.id.hex, $0.terms?.profile) })
        {
            throw CommandFailure.keyMissing(wanted)
        }
        let store = try CommandStore.open(context)
        let keys = try store.perform(KeyList()).keys.filter { key in
            key.kind != .passphrase && key.kind != .recovery && isMeant(key.id, key.profile)
        }
        guard let found = keys.first else { throw CommandFailure.keyMissing(wanted) }
        guard keys.count == 1 else { throw CommandFailure.keyAmbiguous(wanted, keys) }
        try context.confirmDanger(
            "This takes away: \(found.words). The passphrase and recovery keys stay.", question: "Take it away?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        var request = KeyRemove()
        request.key = found.id
        let removed = try perform(request, on: store)
        try context.confirmDone(.fields(["removed": .string(removed.id)])) { "Taken away: \(removed.words)." }
    }

    private static func perform<Request: PerformedOperation>(
        _ request: Request, on store: CommandStore
    ) throws -> KeyMessage where Request.Answer == KeyChange {
        let answer = try store.perform(request)
        if answer.locksStore { store.context.hasLocked = true }
        return answer.key
    }

    // MARK: Looking

    private static func list(_ context: CommandContext) throws {
        let keys = try CommandStore.open(context).perform(KeyList()).keys
        try context.print(.array(keys.map(\.json))) {
            var table = TextTable([.init(role: .identifier), .init(isFlexible: true), .init(role: .faint)])
            for key in keys { table.add([String(key.id.prefix(8)), key.words, attemptWords(key)]) }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func attemptWords(_ key: KeyMessage) -> String {
        guard let left = key.triesLeft, let seconds = key.waitSeconds else { return "" }
        return left > 0
            ? NumberText.counted(left, "try", "tries") + " left"
            : "no try for \(NumberText.counted((seconds + 59) / 60, "minute"))"
    }

    // MARK: Arguments

    static func profileName(_ context: CommandContext) -> String {
        context.arguments.value(profile) ?? context.environment.value(.profile) ?? SlotTerms.defaultProfile
    }
}
