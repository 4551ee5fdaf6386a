// Text from pipes and files. The one thing to keep true: what is not UTF-8 is refused, not repaired;
// a note holds exactly what came in.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal
internal import Glibc

enum InputText {
    /// All of standard input.
    static func readAll() throws -> String {
        try text(from: STDIN_FILENO, what: "standard input")
    }

    /// A file, or standard input for `-`.
    static func read(path: String) throws -> String {
        if path == "-" { return try readAll() }
        let shown = TextWidth.displaySafe(path)
        let file: OwnedDescriptor
        do throws(SystemFailure) {
            file = try OwnedDescriptor.open(path, O_RDONLY)
        } catch {
            throw CommandFailure(
                error.number == ENOENT ? .notFound : .permission, .fileUnreadable,
                "\(shown) cannot be read: \(error.message)")
        }
        return try text(from: file.number, what: shown)
    }

    private static func text(from descriptor: Int32, what: String) throws -> String {
        let bytes: [UInt8]?
        do throws(SystemFailure) {
            bytes = try DescriptorIO.readAll(from: descriptor, byteCountMax: Item.textByteCountMax)
        } catch {
            throw CommandFailure(.inputOutput, .fileUnreadable, "\(what) cannot be read: \(error.message)")
        }
        guard let bytes else {
            throw CommandFailure(
                .badInput, .inputTooLarge,
                "\(what) is larger than a note may be (\(NumberText.bytes(Item.textByteCountMax)))",
                hint: "coffret attach add ITEM FILE keeps files of any size")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .badInput, .notText, "\(what) is not UTF-8 text",
                hint: "iconv -t utf-8 converts it; coffret attach add keeps files of any kind")
        }
        guard !bytes.contains(0) else {
            throw CommandFailure(
                .badInput, .notText, "\(what) holds NUL bytes, which no text has",
                hint: "coffret attach add ITEM FILE keeps files of any kind")
        }
        return text
    }

    /// The first line of standard input, and not a byte more.
    static func readLine(_ context: CommandContext) throws -> String {
        var line: [UInt8] = []
        while line.count <= ItemField.valueByteCountMax {
            let part: [UInt8]
            do throws(SystemFailure) {
                part = try DescriptorIO.read(from: STDIN_FILENO, byteCountMax: 1)
            } catch {
                throw CommandFailure(.inputOutput, .fileUnreadable, "standard input cannot be read: \(error.message)")
            }
            guard let byte = part.first, byte != 0x0A else { break }
            line.append(byte)
        }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw CommandFailure(.badInput, .notText, "standard input is not UTF-8 text")
        }
        guard !text.isEmpty else { throw CommandFailure(.badInput, .inputEmpty, "standard input is empty") }
        return text
    }
}
