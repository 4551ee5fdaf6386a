// The way to a server from the command line, and the dialogue of a pairing.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretPairing
internal import CoffretTerminal

enum ServerAccess {
    static let address = ArgumentDescription.required("URL", "such as https://vault.example:8443")
    static let fingerprint = OptionDescription.value(
        "fingerprint", "HEX", "SHA-256 of the server's public key, as coffret-server shows it")
    static let authorities = OptionDescription.value(
        "ca", "FILE", .file, "trust the certificate authorities in this file instead of the system's")
    static let plain = OptionDescription.flag(
        "plain-http", "allow http:// to another machine: only inside a tunnel that is encrypted itself")
    static let options = [fingerprint, authorities, plain]

    /// The server that the command line names.
    ///
    /// - Throws: a failure of wrong usage for what can be no server's address or fingerprint.
    static func introduction(_ context: CommandContext) throws -> ServerIntroduction {
        try ServerIntroduction(
            context.arguments.required(address), allowsPlain: context.arguments.isSet(plain),
            fingerprint: context.arguments.value(fingerprint), authorities: context.arguments.value(authorities))
    }

    /// Says before anything is asked that a store has no server, where that is known of the store as it is.
    ///
    /// - Throws: `.notJoined`.
    static func checkJoined(_ context: CommandContext) throws {
        let environment = try StoreAccess.environment(context)
        let layout = StoreLayout(try StoreAccess.path(context))
        let summary = try? KeyringSummary.read(at: layout.keyringPath, fileSystem: environment.fileSystem)
        guard let summary,
            ServerNote.saysNone(
                for: summary, stateDirectory: environment.stateDirectory, fileSystem: environment.fileSystem)
        else { return }
        throw AccountError(.notJoined)
    }
}

/// The person at this device, while it is paired with another one.
struct PairingDialogue: PairingPerson {
    let context: CommandContext
    let prompt: TerminalPrompt?

    init(_ context: CommandContext) {
        self.context = context
        prompt = context.terminal.inputIsTerminal ? context.prompt() : nil
    }

    func say(_ text: String, json: KeyValuePairs<String, JSONValue?>) throws {
        if context.isJSON {
            try context.output.line(JSONValue.fields(json).line)
        } else if let prompt {
            prompt.show(text + "\n")
        } else {
            try context.output.line(text)
        }
        try context.output.flush()
    }

    func show(code: ShortCode) throws { try show(code: code.description) }

    func show(code: String) throws {
        try say(
            "\n    \(code)\n\nType this code on the other device.",
            json: ["event": .string("code"), "code": .string(code)])
    }

    func askCode(from other: String, idle: () throws -> Void) throws -> String {
        try ask("Type the code that \(TextWidth.displaySafe(other)) shows: ", idle: idle)
    }

    /// Asks for a code, on standard input where there is no terminal.
    func ask(_ question: String, idle: () throws -> Void) throws -> String {
        if context.isJSON || prompt == nil {
            try say(question + "on standard input.", json: ["event": .string("ask"), "question": .string(question)])
        }
        let line: String?
        if let prompt {
            line = try askWhole(question, prompt, idle: idle)
        } else {
            line = try DescriptorIO.readLine(from: 0, byteCountMax: 100, idle: idle)
        }
        guard let line else { throw CommandFailure(.cancelled, .cancelled, "cancelled") }
        return line
    }

    /// Half a code is an Enter too early and no guess: it is asked for again, and is not judged.
    private func askWhole(_ question: String, _ prompt: TerminalPrompt, idle: () throws -> Void) throws -> String? {
        while let line = try prompt.askLine(question, idle: idle) {
            let digits = line.filter { !$0.isWhitespace && $0 != "-" }
            if digits.count == ShortCode.digitCount, digits.allSatisfy(\.isNumber) { return line }
            prompt.show("A code has \(ShortCode.digitCount) digits.\n")
        }
        return nil
    }
}
