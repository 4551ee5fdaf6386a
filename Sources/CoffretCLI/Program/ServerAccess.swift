// The way to a server from the command line. The one thing to keep true: on first contact a key is pinned only if an
// authority vouches for it, a fingerprint was given, or the person said yes.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
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

    /// How the server that the command line names is reached, its key included.
    static func settings(_ context: CommandContext) throws -> HTTPSettings {
        let address = try serverAddress(context)
        var settings = HTTPSettings(address)
        settings.authoritiesPath = context.arguments.value(authorities)
        guard !address.isPlain else { return settings }
        if let text = context.arguments.value(fingerprint) {
            guard let pin = ServerPin.parse(text) else {
                throw CommandFailure(
                    .usage, .fingerprintInvalid, "that is not a fingerprint: 64 hex digits are needed")
            }
            try check(pin, HTTPClient(settings))
            settings.pin = pin
            return settings
        }
        settings.pin = try firstPin(of: HTTPClient(settings), context)
        return settings
    }

    /// The address on the command line.
    ///
    /// - Throws: a failure of wrong usage for one that cannot be a server's.
    static func serverAddress(_ context: CommandContext) throws -> ServerAddress {
        do throws(HTTPError) {
            return try ServerAddress(
                context.arguments.required(address), allowsPlain: context.arguments.isSet(plain))
        } catch {
            guard error.place == "plain http" else { throw error }
            throw CommandFailure(
                .usage, code: error.code.rawValue, "without TLS a server is spoken to on this machine only",
                hint: "https:// instead of http://; or --plain-http inside a tunnel that is encrypted itself")
        }
    }

    /// The key of a server that is met for the first time.
    private static func firstPin(of client: HTTPClient, _ context: CommandContext) throws -> ServerPin {
        if let pin = try vouchedPin(of: client) { return pin }
        let pin = try client.readPin(checksCertificate: false)
        try confirm(pin, context)
        return pin
    }

    /// Says which key the server shows where it is not the one that was given.
    private static func check(_ pin: ServerPin, _ client: HTTPClient) throws {
        let shown = try client.readPin(checksCertificate: false)
        guard shown != pin else { return }
        throw CommandFailure(
            .notAuthentic, code: HTTPError.Code.pinDiffers.rawValue,
            "the server's key is not the one that you gave; nothing was sent",
            details: ["given      \(pin.text)", "shown now  \(shown.text)"],
            hint: "compare both with the first line that coffret-server logs")
    }

    /// nil if no authority vouches for it.
    private static func vouchedPin(of client: HTTPClient) throws(HTTPError) -> ServerPin? {
        do throws(HTTPError) {
            return try client.readPin(checksCertificate: true)
        } catch {
            if error.code == .certificateUntrusted { return nil }
            throw error
        }
    }

    private static func confirm(_ pin: ServerPin, _ context: CommandContext) throws {
        let explanation = "No known authority signed this server's certificate. Its key has the fingerprint"
        guard context.terminal.inputIsTerminal, let prompt = context.prompt() else {
            throw CommandFailure(
                .notConfirmed, .serverUnknown, "no known authority signed this server's certificate",
                details: ["fingerprint  \(pin.text)"],
                hint: "compare it with what coffret-server shows, and add --fingerprint")
        }
        prompt.show(
            "\(explanation)\n\n    \(pin.text)\n\nWhoever runs the server finds it in the first line of its log.\n")
        guard try prompt.confirm("Are they the same?", isYesDefault: false) else {
            throw CommandFailure(.notConfirmed, .notConfirmed, "not confirmed; nothing was sent")
        }
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

    func show(code: ShortCode) throws {
        try say(
            "\n    \(code)\n\nType this code on the other device.",
            json: ["event": .string("code"), "code": .string(code.description)])
    }

    func askCode(from other: String, idle: () throws -> Void) throws -> String {
        let name = TextWidth.displaySafe(other)
        if context.isJSON || prompt == nil {
            try say(
                "Waiting for the code that \(name) shows, on standard input.",
                json: ["event": .string("ask"), "device": .string(other)])
        }
        let line: String?
        if let prompt {
            line = try askWhole("Type the code that \(name) shows: ", prompt, idle: idle)
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
