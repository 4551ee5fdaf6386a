// What goes through the commands for other programs' formats. The one thing to keep true: the encoding
// concerns the sealed side only, so the plaintext that comes out is the one that went in; and nothing is
// written before all of it is known to be right.

internal import CoffretBase
internal import CoffretInterop
internal import CoffretTerminal

/// The input and output of one such command.
struct ForeignData {
    static let input = OptionDescription.value("input", short: "i", "FILE", .file, "read FILE, not standard input")
    static let output = OptionDescription.value(
        "output", short: "o", "FILE", .file, "write a new FILE, not standard output")
    static let base64 = OptionDescription.flag("base64", "what is sealed or signed is base64 text")
    static let transport = OptionDescription.flag(
        "transport", "what is sealed is base64 text with percent escapes, as the ZKA sample has it")

    /// How the sealed side is written.
    enum Encoding {
        case binary, base64, transport
    }

    let context: CommandContext
    let encoding: Encoding

    init(_ context: CommandContext) throws {
        self.context = context
        let isBase64 = context.arguments.isSet(Self.base64)
        let isTransport = context.arguments.isSet(Self.transport)
        if isBase64, isTransport { throw Self.conflict("--base64 and --transport exclude each other") }
        encoding = isTransport ? .transport : isBase64 ? .base64 : .binary
        // Found out now, not after a passphrase has been typed.
        try ForeignFile.requireAbsent(context.arguments.values(Self.output))
    }

    static func conflict(_ message: String) -> CommandFailure {
        CommandFailure(.usage, code: UsageError.Code.conflict.rawValue, message)
    }

    // MARK: In

    /// The input as it is.
    func plain() throws -> [UInt8] { try ForeignFile.read(context.arguments.value(Self.input)) }

    /// The input, decoded.
    func sealed() throws -> [UInt8] { try decode(plain(), what: "the input") }

    /// Undoes the encoding.
    func decode(_ bytes: [UInt8], what: String) throws -> [UInt8] {
        switch encoding {
        case .binary: return bytes
        case .transport:
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Self.notText(what, "transport text")
            }
            return try TransportString.decode(text, textByteCountMax: ForeignFile.inputByteCountMax)
        case .base64:
            guard let decoded = Self.base64(bytes) else { throw Self.notText(what, "base64") }
            return decoded
        }
    }

    /// Bytes from base64 text with any line ends; nil for anything else.
    static func base64(_ text: [UInt8]) -> [UInt8]? {
        let characters = text.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return try? Base64.standard.decode(String(decoding: characters, as: UTF8.self))
    }

    private static func notText(_ what: String, _ kind: String) -> CommandFailure {
        CommandFailure(.badInput, .inputInvalid, "\(what) is not \(kind)")
    }

    // MARK: Out

    /// Writes what was sealed or signed, encoded.
    func writeSealed(_ bytes: [UInt8]) throws {
        if context.isJSON, !context.arguments.isSet(Self.output) { return try write(bytes) }
        switch encoding {
        case .binary: try write(bytes)
        case .base64: try write(Array((Base64.standard.encode(bytes) + "\n").utf8))
        case .transport: try write(Array((TransportString.encode(bytes) + "\n").utf8))
        }
    }

    /// Writes bytes as they are.
    func write(_ bytes: [UInt8]) throws {
        if let path = context.arguments.value(Self.output) {
            try ForeignFile.create(path, bytes)
            try context.confirmDone(
                .fields([
                    "event": .string("done"), "file": .string(path), "byteCount": .integer(bytes.count),
                ])
            ) { "Wrote \(TextWidth.displaySafe(path)): \(NumberText.bytes(bytes.count))." }
        } else if context.isJSON {
            try context.output.line(
                JSONValue.fields([
                    "event": .string("done"), "base64": .string(Base64.standard.encode(bytes)),
                ]).line)
        } else {
            guard !context.terminal.outputIsTerminal || Self.isHarmless(bytes) else {
                throw CommandFailure(
                    .usage, .outputBinary, "the result is not text, and would go to the terminal",
                    hint: "use --output FILE or a pipe; what is sealed or signed becomes text with --base64")
            }
            try context.output.write(bytes: bytes)
        }
    }

    /// Whether a terminal shows the bytes and does nothing else with them.
    static func isHarmless(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x09, 0x0A: true
            case 0..<0x20, 0x7F...0x9F: false
            default: true
            }
        }
    }
}

extension CommandContext {
    /// The value of an option that the command cannot do without.
    func required(_ option: OptionDescription) throws -> String {
        guard let value = arguments.value(option) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue,
                "--\(option.name) \(option.valueName ?? "") is missing",
                hint: "coffret help \(arguments.path.joined(separator: " "))")
        }
        return value
    }
}
