// A store that is being made, by the program `coffret` beside this one. Invariant: its passphrase goes from GTK's locked memory into
// that program's input, and no string of this process holds it.

internal import CGTK
internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

/// Runs `coffret init` or `coffret device pair`, and reads its lines.
final class StoreMaking {
    enum Step {
        /// It waits for another device, which takes this number, or this text of a picture.
        case waiting(String)
        /// A code to be typed on the other device.
        case code(String)
        /// It wants the code that the other device shows.
        case asks
        case made
        case failed(String)
    }

    private static let lineByteCountMax = 1 << 16

    private let processID: pid_t
    private let input: OwnedDescriptor
    private let output: OwnedDescriptor
    private let errors: OwnedDescriptor
    private let told: (Step) -> Void
    private var source: Source?
    private var waiting: [UInt8] = []

    /// - Parameters:
    ///   - words: the command with its options, without the program.
    ///   - entry: has the passphrase.
    ///   - told: is called on GTK's thread; `made` or `failed` comes last, unless it is ended.
    init(_ words: [String], passphrase entry: Widget, told: @escaping (Step) -> Void) throws(SystemFailure) {
        guard let own = AgentLocation.canonical("/proc/self/exe") else { throw SystemFailure(number: ENOENT) }
        let program = PathText.join(PathText.parent(of: own), "coffret")
        let (inputs, outputs, failures) = try (
            ChildProcess.makePipe(), ChildProcess.makePipe(), ChildProcess.makePipe()
        )
        input = OwnedDescriptor(inputs.writing)
        output = OwnedDescriptor(outputs.reading)
        errors = OwnedDescriptor(failures.reading)
        defer { for end in [inputs.reading, outputs.writing, failures.writing] { close(end) } }
        let child = try ChildProcess.start(
            [program] + words + ["--json", "--passphrase-fd", "0"], input: .descriptor(inputs.reading),
            output: .descriptor(outputs.writing), error: .descriptor(failures.writing))
        processID = child.processID
        self.told = told
        let text = unsafe gtk_editable_get_text(entry.opaque)
        try unsafe DescriptorIO.write(
            UnsafeRawBufferPointer(start: text, count: text.map { unsafe strlen($0) } ?? 0), to: input.number)
        try DescriptorIO.write([UInt8(ascii: "\n")], to: input.number)
        source = .readable(output.number) { [unowned self] in read() }
    }

    deinit { end() }

    /// Types the code of the other device.
    func answer(_ code: String) { try? DescriptorIO.write(Array((code + "\n").utf8), to: input.number) }

    /// Ends the program, if it still runs.
    func end() {
        guard let source else { return }
        source.remove()
        self.source = nil
        kill(processID, SIGTERM)
        _ = outcome()
    }

    private func outcome() -> ChildOutcome {
        var status: Int32 = 0
        while unsafe waitpid(processID, &status, 0) < 0 { if errno != EINTR { return .exited(127) } }
        return ChildOutcome(waitStatus: status)
    }

    /// - Returns: whether more is to come.
    private func read() -> Bool {
        let bytes = (try? DescriptorIO.read(from: output.number, byteCountMax: Self.lineByteCountMax)) ?? []
        waiting += bytes
        while let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
            if let step = Self.step(Array(waiting[..<end])) { told(step) }
            waiting.removeSubrange(...end)
        }
        guard bytes.isEmpty || waiting.count > Self.lineByteCountMax else { return true }
        source = nil
        let said = (try? DescriptorIO.readAll(from: errors.number, byteCountMax: Self.lineByteCountMax)) ?? nil
        told(outcome().isSuccess ? .made : .failed(Self.words(said ?? [])))
        return false
    }

    private static func step(_ line: [UInt8]) -> Step? {
        guard let value = try? JSONValue(parsing: line), let event = value["event"]?.string else { return nil }
        switch event {
        case "waiting": return value["pairing"]?.string.map { .waiting($0) }
        case "code": return value["code"]?.string.map { .code($0) }
        case "ask": return .asks
        default: return nil
        }
    }

    /// The last error of the program, in its words.
    private static func words(_ lines: [UInt8]) -> String {
        for line in lines.split(separator: UInt8(ascii: "\n")).reversed() {
            guard let error = (try? JSONValue(parsing: Array(line)))?["error"],
                let message = error["message"]?.string
            else { continue }
            let sentences = [message, error["hint"]?.string].compactMap(\.self).map { words in
                // A command stays as it is typed.
                let first = words.hasPrefix("coffret ") ? String(words.prefix(1)) : words.prefix(1).uppercased()
                return "\(first)\(words.dropFirst())."
            }
            return TextWidth.displaySafe(sentences.joined(separator: " "))
        }
        return "It was not made: coffret ended without a word."
    }
}
