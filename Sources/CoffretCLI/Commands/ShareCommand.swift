// `coffret share`: vaults that several people have. The one thing to keep true: who will read what is said before it is done,
// and nothing is called done before the server has it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum ShareCommand {
    static let vault = ArgumentDescription.required("VAULT", .stored("vaults"), "the vault's name or id")
    static let waiting = ArgumentDescription.required("VAULT", "its id, or its name as coffret share requests says it")
    static let person = ArgumentDescription.required("NAME", "a contact, a full address, or an account id")
    static let member = ArgumentDescription.required("NAME", "a member's name, or the beginning of its id")
    static let roles = ["viewer", "writer", "owner"]
    static let newRole = ArgumentDescription.required("ROLE", .choice(roles), "viewer, writer or owner")
    static let role = OptionDescription.value(
        "role", "ROLE", .choice(roles),
        "viewer, who reads; writer, who changes items too; owner, who changes members too")
    static let name = OptionDescription.value("name", "NAME", "what it is called on this device")
    static let all = OptionDescription.flag("all", "also vaults of people whom you do not know")

    static let description = CommandDescription(
        "share", group: .devices, "Share vaults with other people, and say what they may do",
        discussion: [
            "A vault's members are people with accounts on your server. A viewer reads; a writer also changes items; an owner also changes members. Who is removed reads nothing that is written later; what was read stays known."
        ],
        subcommands: [
            CommandDescription(
                "add", "Let somebody into a vault",
                discussion: [
                    "The person reads the vault and its history from then on, and changes it, as the role says, once the vault was accepted."
                ],
                arguments: [vault, person], options: [role, CommonArguments.yes], run: add),
            CommandDescription("ls", "List the vaults that others have too", run: list),
            CommandDescription(
                "requests", "List vaults into which contacts added you", options: [all], run: requests),
            CommandDescription(
                "accept", "Accept a vault into which somebody added you", arguments: [waiting], options: [name],
                run: accept),
            CommandDescription("decline", "Decline such a vault", arguments: [waiting], run: decline),
            CommandDescription("members", "Say who has a vault, and who may do what", arguments: [vault], run: members),
            CommandDescription(
                "role", "Change what a member may do", arguments: [vault, member, newRole], run: changeRole),
            CommandDescription(
                "rm", "Remove a member",
                discussion: [
                    "The vault gets a new key in the same moment: the member reads nothing that is written later. Taking it back does not make anybody forget what was read."
                ],
                arguments: [vault, member], options: [CommonArguments.yes], run: remove),
            CommandDescription(
                "leave", "Leave a vault",
                discussion: ["Your copy stays on this device, and can be read until you remove it."],
                arguments: [vault], options: [CommonArguments.yes], run: leave),
            ShareReviewing.description, ShareReviewing.rescue, ShareUndoing.description, ShareItemCommand.description,
            ShareItemCommand.note,
            ShareItemCommand.restart, SharePast.seen, SharePast.activity, SharePast.settings,
        ])

    // MARK: Adding

    private static func add(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = ShareAdd()
        (request.vault, request.person) = (context.arguments.required(vault), context.arguments.required(person))
        request.role = context.arguments.value(role).flatMap(ShareRole.init(rawValue:)) ?? .viewer
        request.isTrial = true
        let found = try request.perform(on: session.desk)
        let (who, name) = (found.person.words, TextWidth.displaySafe(found.vault))
        var text =
            "\(who) (\(found.person.standing(context)), \(NumberText.counted(found.person.deviceCount, "device"))) will \(request.role.verb) the vault "
            + "\"\(name)\": \(NumberText.counted(found.itemCount, "item")), their history, and what comes."
        if request.role == .owner { text += " An owner lets others in and out." }
        text += "\nWhat is read can be copied; taking it back later makes nobody forget."
        try context.confirmDanger(
            text, question: "Share?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        (request.isTrial, request.person) = (nil, found.person.account)
        let added = try request.perform(on: session.desk)
        try context.confirmDone(added.json) {
            "\(who) was added to \"\(name)\"."
                + (added.hasKey
                    ? " There:  coffret share requests"
                    : " No key can be sealed yet\(added.problem.map { " (\($0))" } ?? ""): it follows once a device of that person has synced.")
        }
    }

    // MARK: Lists

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let vaults = try store.perform(ShareList()).vaults
        try context.print(.array(vaults.map(\.json))) {
            guard !vaults.isEmpty else { return "No vault is shared: coffret share add VAULT NAME begins." }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(isFlexible: true),
            ])
            for vault in vaults {
                let others = vault.members.filter { !$0.isSelf }.map(\.words).joined(separator: ", ")
                table.add([
                    String(vault.id.prefix(8)), TextWidth.displaySafe(vault.vault), vault.role?.rawValue ?? "no member",
                    "with \(others)",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func members(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ShareList()
        request.vault = context.arguments.required(vault)
        guard let found = try store.perform(request).vaults.first else { return }
        try context.print(found.json) {
            var table = TextTable([.init(role: .identifier), .init(isFlexible: true), .init(), .init(role: .faint)])
            for member in found.members {
                table.add([
                    String(member.account.prefix(8)), member.words, member.role.rawValue,
                    member.state == .added
                        ? "added; no answer known here" : NumberText.counted(member.deviceCount, "device"),
                ])
            }
            var lines = table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
            if found.members.contains(where: { $0.state == .added }) {
                lines.append("A yes shows once that person and you have synced: coffret sync")
            }
            if found.isEpochStale { lines.append("A new key is due: nothing is sent before.") }
            if !found.ownUnconfirmed.isEmpty {
                lines.append("Links wait for your word: coffret share review \(found.id.prefix(8))")
            } else if !found.unconfirmed.isEmpty {
                lines.append("Links wait for the word of a member who has revoked a device.")
            }
            return lines.joined(separator: "\n")
        }
    }

    private static func requests(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ShareRequests()
        request.includesStrangers = context.arguments.isSet(all)
        let vaults = try store.perform(request).vaults
        try context.print(.array(vaults.map(\.json))) {
            guard !vaults.isEmpty else { return "No vault waits for your word." }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(), .init(role: .faint), .init(role: .faint),
            ])
            for vault in vaults {
                table.add([
                    String(vault.id.prefix(8)), vault.name.map { "\"\(TextWidth.displaySafe($0))\"" } ?? "?",
                    vault.role.rawValue,
                    "from " + (vault.fromName.map { TextWidth.displaySafe($0) } ?? String(vault.from.prefix(8))),
                    vault.problem ?? "",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n") + "\n\nNext:  coffret share accept VAULT"
        }
    }

    // MARK: Answering

    private static func accept(_ context: CommandContext) throws { try answer(context, isAccepted: true) }
    private static func decline(_ context: CommandContext) throws { try answer(context, isAccepted: false) }

    private static func answer(_ context: CommandContext, isAccepted: Bool) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ShareAnswer()
        (request.vault, request.isAccepted) = (context.arguments.required(waiting), isAccepted)
        if isAccepted { request.newName = context.arguments.value(name) }
        let answered = try store.perform(request)
        try context.confirmDone(answered.json) {
            guard let name = answered.name else { return "Declined." }
            return "\"\(TextWidth.displaySafe(name))\" is here with \(NumberText.counted(answered.itemCount, "item")); "
                + "you may \(answered.role.verb) it. Use it with --vault."
        }
    }

    // MARK: Changing

    private static func changeRole(_ context: CommandContext) throws {
        var request = ShareChange()
        request.role = ShareRole(rawValue: context.arguments.required(newRole))
        let changed = try change(request, changing(context))
        try context.confirmDone(changed.json) {
            "\(changed.person.words) may \((request.role ?? .viewer).verb) \"\(TextWidth.displaySafe(changed.vault))\" now."
                + changed.unseenWords
        }
    }

    private static func remove(_ context: CommandContext) throws {
        let (vaultName, who) = (context.arguments.required(vault), context.arguments.required(member))
        // A mistyped name is refused before the question.
        let session = try changing(context)
        let known = try session.desk.member(who, of: vaultName)
        try context.confirmDanger(
            "\(known.words) will read nothing that is written to \"\(TextWidth.displaySafe(vaultName))\" later. "
                + "What was read stays known: change passwords that were in it.",
            question: "Remove?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let changed = try change(ShareChange(), session)
        try context.confirmDone(changed.json) {
            let text = "\(changed.person.words) no longer reads \"\(TextWidth.displaySafe(changed.vault))\"."
            guard let count = changed.seenCount, count > 0 else { return text + changed.unseenWords }
            return text + " \(NumberText.counted(count, "item")) with secrets that this person has seen: "
                + "coffret share seen \(changed.vaultID.prefix(8)) \(changed.person.account.prefix(8))"
                + changed.unseenWords
        }
    }

    private static func changing(_ context: CommandContext) throws -> StoreSession {
        try ServerAccess.checkJoined(context)
        return try StoreSession.open(context, with: .passphraseAnew)
    }

    private static func change(_ change: ShareChange, _ session: StoreSession) throws -> ShareChange.Answer {
        var request = change
        let arguments = session.context.arguments
        (request.vault, request.person) = (arguments.required(vault), arguments.required(member))
        return try request.perform(on: session.desk)
    }

    private static func leave(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ShareLeave()
        request.vault = context.arguments.required(vault)
        try context.confirmDanger(
            "You will get nothing more of \"\(TextWidth.displaySafe(request.vault))\". What is on this device stays.",
            question: "Leave?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let left = try store.perform(request)
        try context.confirmDone(left.json) {
            "You left \"\(TextWidth.displaySafe(left.name))\". The copy here can be read; coffret vault rm "
                + "\(left.id.prefix(8)) removes it."
        }
    }
}

extension ShareChange.Answer {
    fileprivate var unseenWords: String { unseen.map { $0.words(by: person.words) }.joined() }
}

extension ShareRole {
    /// What one may do, as a verb.
    var verb: String {
        switch self {
        case .viewer: "read"
        case .writer: "read and change"
        case .owner: "read, change and own"
        }
    }
}

extension ShareMember {
    /// How sure it is who that is, for the person who lets somebody in.
    func standing(_ context: CommandContext) -> String {
        switch verification {
        case .compared?, .met?:
            let time = verifiedAt.map { " " + context.relativeTime.moment($0.milliseconds) } ?? ""
            return (verification == .met ? "met" : "compared") + time
        case .linked?, .introduced?: return "not compared: on trust at first use"
        case .unverified?, nil: return "no contact: by the id alone"
        }
    }

    /// The name, in quotes; the beginning of the id where no name is known.
    var words: String {
        if isSelf { return "you" }
        return name.map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(account.prefix(8))
    }
}
