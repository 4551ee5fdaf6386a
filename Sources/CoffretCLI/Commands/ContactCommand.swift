// `coffret contact`: people with whom vaults are shared. The one thing to keep true: the own name for somebody comes first, and
// what somebody claims is quoted behind it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum ContactCommand {
    static let contact = ArgumentDescription.required("NAME", "a contact's name, or the beginning of its account id")
    static let newName = ArgumentDescription.required("NEW-NAME", "what it is to be called here")
    static let person = ArgumentDescription.required(
        "PERSON", "a link, an address, an account id, or the name of a member of a vault that you have too")
    static let action = ArgumentDescription.optional(
        "ACTION", .choice(["accept", "refuse"]), "what to do with a request")
    static let request = ArgumentDescription.optional("ID", "of the request, or the beginning of it")
    static let name = OptionDescription.value("name", "NAME", "what that person is to be called here")
    static let ownName = OptionDescription.value(
        "name", "NAME", "what others are to call you; they see it as your word")
    static let qr = OptionDescription.flag("qr", "show the link as a QR code too")
    static let guest = OptionDescription.flag("guest", "let that person into the server too, as your guest")
    static let expires = OptionDescription.value(
        "expires", "TIME", "how long the link is good: 14d, if nothing is said")
    static let uses = OptionDescription.value("uses", "COUNT", "for how many people the link is: 1, if nothing is said")
    static let undo = OptionDescription.flag("undo", "let that contact write and add you again")
    static let scan = OptionDescription.flag("scan", "compare by the other's QR code in place of a voice")

    static let description = CommandDescription(
        "contact", group: .devices, "Know people, with whom vaults are shared",
        discussion: [
            "A person is an account, and a name is what you call somebody. A link or a full address that came by a way that you trust is enough to share. Compare the codes by voice or face to be sure."
        ],
        subcommands: [
            CommandDescription("me", "Say how others find you", options: [ownName, qr], run: me),
            CommandDescription(
                "invite", "Make a link with which somebody becomes a contact",
                discussion: [
                    "Send the link by a way that you trust. Whoever has it may write to you once; coffret contact requests shows who did."
                ],
                options: [guest, expires, uses, qr], run: invite),
            CommandDescription(
                "add", "Make somebody a contact, who may then write to you and add you to vaults",
                arguments: [person], options: [name], run: add),
            CommandDescription("ls", "List the contacts", run: list),
            CommandDescription("show", "Show a contact as the server shows it now", arguments: [contact], run: show),
            CommandDescription("rename", "Call a contact otherwise", arguments: [contact, newName], run: rename),
            CommandDescription(
                "block", "Let a contact write and add you no more", arguments: [contact], options: [undo], run: block),
            CommandDescription(
                "rm", "Forget a contact", arguments: [contact], options: [CommonArguments.yes], run: remove),
            CommandDescription(
                "verify", "Compare codes with a contact",
                discussion: [
                    "Read the rows to each other, by voice or face. The person codes never change, and decide. The third row is equal when both have synced."
                ],
                arguments: [contact], options: [scan, CommonArguments.yes], run: verify),
            CommandDescription(
                "requests", "List who wrote; accept or refuse one", arguments: [action, request], options: [name],
                run: requests),
        ])

    // MARK: The own card

    private static func me(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ContactMe()
        request.newName = context.arguments.value(ownName)
        let card = try store.perform(request)
        try context.print(card.json) {
            var lines = [
                "name         " + (card.name.map { "\"\(TextWidth.displaySafe($0))\"" } ?? "none yet: --name NAME"),
                "address      \(card.address)", "person code  \(card.personCode)",
            ]
            if let link = card.link { lines += ["link         \(link)"] + codeLines(link, context) }
            return lines.joined(separator: "\n")
        }
    }

    private static func codeLines(_ link: String, _ context: CommandContext) -> [String] {
        guard context.arguments.isSet(qr) else { return [] }
        // In upper case the code is smaller.
        return [""]
            + QRCode.linesToShow(link.uppercased(), isColored: context.terminal.style.isColored).map { "  " + $0 }
    }

    /// Others see a name in every letter, so there has to be one.
    static func nameYourself(_ store: CommandStore, _ context: CommandContext) throws {
        guard (try? ServerAccess.checkJoined(context)) != nil, try store.perform(ContactsList()).ownName == nil,
            context.terminal.inputIsTerminal, !context.isJSON,
            let prompt = context.prompt(), let name = try prompt.askLine("What do others call you? "), !name.isEmpty
        else { return }
        var request = ContactMe()
        request.newName = name
        _ = try store.perform(request)
    }

    private static func invite(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        var request = ContactInvite()
        request.seconds = try DurationText.seconds(of: expires, context).map { Int(clamping: $0) }
        if let text = context.arguments.value(uses) {
            guard let count = Int(text), 1...255 ~= count else {
                throw CommandFailure(.usage, .inputInvalid, "a link is for 1 to 255 people")
            }
            request.useCount = count
        }
        request.invitesGuest = context.arguments.isSet(guest) ? true : nil
        let store = try CommandStore.open(context)
        try nameYourself(store, context)
        let made = try store.perform(request)
        try context.print(made.json) {
            let who = made.useCount == 1 ? "one person" : "\(made.useCount) people"
            let lines =
                [made.link] + codeLines(made.link, context) + [
                    "",
                    "For \(who), until \(context.relativeTime.moment(made.expires.milliseconds)). Send it by a way that you trust. There:",
                    "    coffret contact add LINK", "Then here:  coffret contact requests",
                ]
            return lines.joined(separator: "\n")
        }
    }

    // MARK: Contacts

    private static func add(_ context: CommandContext) throws {
        let text = context.arguments.required(person)
        let isLink = text.lowercased().hasPrefix("coffret-contact:")
        // A link says where its maker is, to who is nowhere yet.
        if !isLink { try ServerAccess.checkJoined(context) }
        let store = try CommandStore.open(context)
        if isLink { try nameYourself(store, context) }
        var request = ContactAdd()
        (request.person, request.newName) = (text, context.arguments.value(name))
        let added = try store.perform(request)
        try context.confirmDone(added.json) {
            var text = "\(added.contact.words) is a contact now, \(added.contact.state.words)."
            if added.isAsked { text += " That person has to accept you: coffret contact requests, there." }
            switch added.contact.state {
            case .unverified, .introduced:
                text += "\nNothing is shared before you compare codes: coffret contact verify \(added.contact.name)"
            default: text += "\nTo be sure, compare codes: coffret contact verify \(added.contact.name)"
            }
            return text
        }
        added.contact.warn(context)
    }

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let contacts = try store.perform(ContactsList()).contacts
        try context.print(.array(contacts.map(\.json))) {
            guard !contacts.isEmpty else {
                return "There is no contact: coffret contact invite makes a link, coffret contact add takes one."
            }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(), .init(isFlexible: true, role: .faint),
            ])
            for contact in contacts {
                table.add([
                    String(contact.account.prefix(8)), contact.words, contact.state.words,
                    contact.marks.joined(separator: ", "),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func show(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ContactRead()
        request.contact = context.arguments.required(contact)
        let found = try store.perform(request)
        try context.print(found.json) {
            var lines = ["\(found.words)", "state        \(found.state.words)"]
            if let time = found.verifiedAt {
                lines[1] += ", \(context.relativeTime.moment(time.milliseconds))"
            }
            if let address = found.address { lines.append("address      \(address)") }
            if let code = found.personCode { lines.append("person code  \(code)") }
            if let count = found.deviceCount { lines.append("devices      \(count)") }
            if found.isCurrent == false { lines.append("keys         not renewed yet: nothing can be sealed to them") }
            if !found.marks.isEmpty { lines.append("note         " + found.marks.joined(separator: ", ")) }
            return lines.joined(separator: "\n")
        }
    }

    private static func rename(_ context: CommandContext) throws {
        try edit(context, { $0.newName = context.arguments.required(newName) }) { "It is \($0.words) now." }
    }

    private static func block(_ context: CommandContext) throws {
        let isBlocked = !context.arguments.isSet(undo)
        try edit(context, { $0.isBlocked = isBlocked }) { contact in
            isBlocked
                ? "\(contact.words) is blocked, and may not write to you or add you. Vaults that you share stay shared."
                : "\(contact.words) may write to you and add you again."
        }
    }

    private static func edit(
        _ context: CommandContext, _ change: (inout ContactEdit) -> Void, _ words: (ContactMessage) -> String
    ) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ContactEdit()
        request.contact = context.arguments.required(contact)
        change(&request)
        let edited = try store.perform(request)
        try context.confirmDone(edited.json) { words(edited) }
    }

    private static func remove(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ContactRemove()
        request.contact = context.arguments.required(contact)
        try context.confirmDanger(
            "What you compared with \"\(TextWidth.displaySafe(request.contact))\" is forgotten. Vaults that you share stay shared.",
            question: "Forget?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let removed = try store.perform(request)
        try context.confirmDone(removed.json) { "\(removed.words) is no contact any more." }
    }
}

extension ContactStateName {
    /// For people.
    var words: String {
        switch self {
        case .unverified: "not verified"
        case .introduced: "introduced"
        case .linked: "linked"
        case .compared: "compared"
        case .met: "met"
        }
    }
}

extension ContactMessage {
    /// The own name for it, and the claimed one in quotes where it is another.
    var words: String {
        let own = TextWidth.displaySafe(name)
        guard let claimedName, claimedName != name else { return own }
        return own + " (\"\(TextWidth.displaySafe(claimedName))\")"
    }

    /// Short words about what a person should notice.
    var marks: [String] {
        var marks: [String] = []
        if isChanged == true { marks.append("account recovered since: compare again") }
        if isBlocked { marks.append("blocked") }
        if isAwaited { marks.append("has not answered yet") }
        if mixesScripts { marks.append("mixes scripts") }
        if !looksLike.isEmpty {
            marks.append("looks like " + looksLike.map { TextWidth.displaySafe($0) }.joined(separator: ", "))
        }
        return marks
    }

    func warn(_ context: CommandContext) {
        guard !looksLike.isEmpty || mixesScripts else { return }
        let marks = marks.filter { $0.hasPrefix("looks") || $0.hasPrefix("mixes") }.joined(separator: ", ")
        context.warn("\(words): \(marks) (sharing.contact.lookalike)")
    }
}
