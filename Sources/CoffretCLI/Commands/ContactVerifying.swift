// `coffret contact verify` and `coffret contact requests`: what two people compare, and who wrote. The one thing to keep true:
// a state is recorded by a word of the person, and says what it rests on.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

extension ContactCommand {
    static func verify(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = ContactVerify()
        request.contact = context.arguments.required(contact)
        let shown = try store.perform(request)
        // By now the id alone is meant.
        request.contact = shown.contact.account
        if context.arguments.isSet(scan) { return try scan(shown, &request, store, context) }
        let isConfirmed = context.arguments.isSet(CommonArguments.yes)
        guard isConfirmed || context.terminal.inputIsTerminal && !context.isJSON else {
            return try context.print(shown.json) { text(shown) }
        }
        (request.areEqual, request.stateCode) = (true, shown.stateCode)
        if !isConfirmed {
            guard let prompt = context.prompt() else { return try context.print(shown.json) { text(shown) } }
            prompt.show(text(shown) + "\n\n")
            request.areEqual = try prompt.confirm("Are both person codes equal there?", isYesDefault: false)
            if request.areEqual == true { request.stateCode = try comparedState(shown, store, context, prompt) }
        }
        let done = try store.perform(request)
        try context.confirmDone(done.json) { "\(done.contact.words) is \(done.contact.state.words) now." }
    }

    private static func text(_ shown: ContactVerify.Answer) -> String {
        """
        Read these to \(TextWidth.displaySafe(shown.contact.name)), by voice or face:

            you          \(shown.ownCode)
            the other    \(shown.contact.personCode ?? "")
            both, today  \(shown.stateCode)
        """
    }

    /// The state codes are equal when both know the newest links; they decide nothing, and say whether a server lies.
    ///
    /// - Returns: the one that was shown last.
    private static func comparedState(
        _ shown: ContactVerify.Answer, _ store: CommandStore, _ context: CommandContext, _ prompt: TerminalPrompt
    ) throws -> String {
        if try prompt.confirm("Is the third row equal too?", isYesDefault: false) { return shown.stateCode }
        prompt.show(
            "One of you may not have heard of a new device yet. Run coffret contact verify on both sides again.\n")
        var again = ContactVerify()
        again.contact = shown.contact.account
        let now = try store.perform(again)
        prompt.show("\n    both, today  \(now.stateCode)\n\n")
        if try prompt.confirm("Is it equal now?", isYesDefault: false) { return now.stateCode }
        throw CommandFailure(
            .notAuthentic, code: "trust.chain.forked",
            "one of you is shown old or other devices of the other: the server does not tell both the same; nothing was recorded",
            hint: "coffret sync on all devices of both, then again; if it stays so, do not trust this server")
    }

    private static func scan(
        _ shown: ContactVerify.Answer, _ request: inout ContactVerify, _ store: CommandStore, _ context: CommandContext
    ) throws {
        if let link = shown.ownLink, let prompt = context.prompt() {
            let lines = QRCode.linesToShow(link.uppercased(), isColored: context.terminal.errorStyle.isColored)
            prompt.show("For the other's scanner:\n\n" + lines.map { "  " + $0 }.joined(separator: "\n") + "\n\n")
        }
        let line: String?
        if context.terminal.inputIsTerminal, let prompt = context.prompt() {
            line = try prompt.askLine("Scan the code that the other shows (coffret contact me --qr): ")
        } else {
            line = try DescriptorIO.readLine(from: 0, byteCountMax: 8_192, idle: {})
        }
        guard let text = line?.filter({ !$0.isWhitespace }), !text.isEmpty else {
            throw CommandFailure(.cancelled, .cancelled, "cancelled")
        }
        request.scanned = text
        let done = try store.perform(request)
        try context.confirmDone(done.json) { "\(done.contact.words) is \(done.contact.state.words) now." }
    }

    // MARK: Requests

    static func requests(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        if let action = context.arguments.value(action) {
            return try answer(isAccepted: action == "accept", store, context)
        }
        let waiting = try store.perform(ContactRequests()).requests
        try context.print(.array(waiting.map(\.json))) {
            guard !waiting.isEmpty else { return "Nobody wrote." }
            var lines: [String] = []
            for request in waiting {
                lines.append("\(request.id.prefix(8))  \(request.words)")
                lines += request.details.map { "          " + $0 }
            }
            return lines.joined(separator: "\n") + "\n\nNext:  coffret contact requests accept ID [--name NAME]"
        }
    }

    private static func answer(isAccepted: Bool, _ store: CommandStore, _ context: CommandContext) throws {
        guard let id = context.arguments.value(request) else {
            throw CommandFailure(
                .usage, .inputInvalid, "say which request", hint: "coffret contact requests lists them")
        }
        if isAccepted { try nameYourself(store, context) }
        var answer = ContactAnswer()
        (answer.request, answer.isAccepted) = (id, isAccepted)
        answer.newName = context.arguments.value(name)
        let answered = try store.perform(answer)
        try context.confirmDone(answered.json) {
            guard let contact = answered.contact else { return "Refused." }
            return "\(contact.words) is a contact now, \(contact.state.words).\n"
                + "To be sure, compare codes: coffret contact verify \(TextWidth.displaySafe(contact.name))"
        }
        answered.contact?.warn(context)
    }
}

extension ContactRequestMessage {
    fileprivate var words: String {
        "\"\(TextWidth.displaySafe(claimedName))\""
            + (state == .linked ? " has your link" : " wrote, without a link of yours that counts")
    }

    fileprivate var details: [String] {
        var lines = ["person code  \(personCode)"]
        if !text.isEmpty { lines.append("says         \(TextWidth.displaySafe(text))") }
        if mixesScripts { lines.append("the name mixes scripts") }
        if !looksLike.isEmpty {
            let names = looksLike.map { TextWidth.displaySafe($0) }.joined(separator: ", ")
            lines.append("looks like   \(names), with another account: ask that person (sharing.contact.changed)")
        }
        if problem == "sharing.contact.code-used" {
            lines.append("the link was used already, or is too old: compare codes first (sharing.contact.code-used)")
        }
        return lines
    }
}
