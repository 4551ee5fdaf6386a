// `coffret agent sessions`: which programs have a store open, and the end of one of them.

internal import CoffretBase
internal import CoffretClient
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum AgentSessionsCommand {
    static let end = OptionDescription.value("end", "NUMBER", "end this session; the store stays unlocked")

    static let description = CommandDescription(
        "sessions", "List the programs that have a store open, or end one",
        discussion: [
            "The window, the page in a browser, a browser's extension and programs with tokens ask in sessions. Commands are not listed. A program whose session was ended can open another one; coffret lock keeps it out."
        ],
        options: [end],
        examples: [CommandExample("coffret agent sessions --end 4711", "ends the session with this number")],
        run: run)

    private static func run(_ context: CommandContext) throws {
        let client = try AgentClient.connect(context.environment)
        let sessions = try client?.sessions(of: nil) ?? []
        if let number = context.arguments.value(end) {
            guard let found = sessions.first(where: { String($0.processID) == number }) else {
                throw CommandFailure(
                    .notFound, code: AgentErrorCode.requestInvalid.rawValue,
                    "there is no session \(TextWidth.displaySafe(number))", hint: "coffret agent sessions")
            }
            try client?.perform(.endSession(processID: found.processID))
            return try context.confirmDone(.fields(["ended": .integer(Int(found.processID))])) {
                "The session of \(TextWidth.displaySafe(found.program)) is over."
            }
        }
        try context.print(.array(sessions.map(json))) {
            guard !sessions.isEmpty else { return "No program has a store open." }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(role: .faint),
            ])
            for session in sessions {
                table.add([
                    String(session.processID), TextWidth.displaySafe(session.program), words(session.kind),
                    session.secondsSinceUse.map { "used \($0) s ago" } ?? "open for \(session.secondsOpen) s",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func words(_ kind: AgentSessionStatus.Kind) -> String {
        switch kind {
        case .program: ""
        case .token: "by a token"
        case .browser: "a browser"
        case .authenticator: "passkeys"
        }
    }

    private static func json(_ session: AgentSessionStatus) -> JSONValue {
        .fields([
            "process": .integer(Int(session.processID)), "store": .string(session.store),
            "program": .string(session.program), "kind": .string(session.kind.rawValue),
            "secondsOpen": .integer(Int(clamping: session.secondsOpen)),
            "secondsSinceUse": session.secondsSinceUse.map { .integer(Int(clamping: $0)) } ?? .null,
        ])
    }
}
