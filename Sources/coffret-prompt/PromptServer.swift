// The prompt's side of Assuan, as pinentry speaks it: lines of a command and its argument, answered by lines `OK`, `ERR code text`
// and `D data`. Invariant: nothing but a person at the screen answers a question.
//
// Source: the manuals of Assuan and pinentry (gnupg.org).

internal import CGTK
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

final class PromptServer {
    /// Codes of libgpg-error, with the number of pinentry in front.
    private enum ErrorCode: Int {
        case timeout = 83_886_142
        case cancelled = 83_886_179
        case notConfirmed = 83_886_194
        case lineTooLong = 83_886_343
        case unknownCommand = 83_886_355
        case unknownOption = 83_886_254
    }

    private static let lineByteCountMax = 1_000
    /// As many bytes of a secret as fit a line when each is escaped.
    private static let dataByteCountMax = 300

    private var question = Question()
    private var waiting: [UInt8] = []
    private var isEnded = false

    /// Answers commands until the client goes.
    func run() {
        say("OK Coffret's prompt")
        while !isEnded, let line = readLine() {
            guard line.count <= Self.lineByteCountMax else {
                refuse(.lineTooLong, "line too long")
                return
            }
            perform(String(decoding: line, as: UTF8.self))
        }
    }

    private func perform(_ line: String) {
        let end = line.firstIndex(of: " ") ?? line.endIndex
        let name = line[..<end].uppercased()
        let argument = Self.unescaped(String(line[end...].drop { $0 == " " }))
        let text = argument.isEmpty ? nil : argument
        switch name {
        case "SETTITLE": question.title = text
        case "SETDESC": question.description = text
        case "SETPROMPT": question.prompt = text
        case "SETERROR": question.complaint = text
        case "SETOK": question.accept = text
        case "SETNOTOK": question.refuse = text
        case "SETCANCEL": question.cancel = text
        case "SETTIMEOUT": question.timeoutSeconds = UInt32(argument).flatMap { $0 > 0 ? $0 : nil }
        case "RESET": question = Question()
        case "OPTION":
            // Terminals and languages are the business of other pinentries; so are keyboards that are grabbed.
            let known = ["ttyname", "ttytype", "ttyalert", "lc-ctype", "lc-messages", "display", "grab", "no-grab"]
            let option = argument.prefix { $0 != "=" && $0 != " " }
            let isKnown = known.contains(String(option)) || option.hasPrefix("default-")
            guard isKnown || option.hasPrefix("allow-") || ["owner", "touch-file", "parent-wid"].contains(option) else {
                return refuse(.unknownOption, "unknown option")
            }
        case "SETKEYINFO", "SETREPEAT", "SETREPEATERROR", "SETREPEATOK", "SETQUALITYBAR", "SETQUALITYBAR_TT",
            "SETGENPIN",
            "SETGENPIN_TT", "NOP", "CLEARPASSPHRASE", "":
            break
        case "GETINFO":
            switch argument {
            case "version": say("D \(CoffretVersion.text)")
            case "pid": say("D \(getpid())")
            case "flavor": say("D coffret")
            default: return refuse(.unknownOption, "unknown value")
            }
        case "GETPIN": return ask(.secret)
        case "CONFIRM": return ask(argument == "--one-button" ? .message : .confirm)
        case "MESSAGE": return ask(.message)
        case "BYE":
            isEnded = true
        default:
            guard !name.hasPrefix("#") else { return }
            return refuse(.unknownCommand, "unknown command")
        }
        say("OK")
    }

    private func ask(_ kind: Question.Kind) {
        question.kind = kind
        question.asker = AskingParent.words
        let loop = unsafe g_main_loop_new(nil, 0)
        defer { unsafe g_main_loop_unref(loop) }
        var outcome = QuestionWindow.Outcome.cancelled
        let window = QuestionWindow(question) {
            outcome = $0
            unsafe g_main_loop_quit(loop)
        }
        // A complaint about the last answer is shown once.
        question.complaint = nil
        let client = Source.readable(STDIN_FILENO) { [unowned self] in
            guard !fill() else { return true }
            isEnded = true
            window.end(.abandoned)
            return false
        }
        window.show()
        unsafe g_main_loop_run(loop)
        client.remove()
        let isTyped = outcome == .accepted && kind == .secret
        let lines = unsafe isTyped ? window.takeSecret(Self.lines) : nil
        window.close()
        while g_main_context_iteration(nil, 0) != 0 {}
        switch outcome {
        case .accepted:
            if let lines { write(lines) }
            say("OK")
        case .refused: refuse(.notConfirmed, "not confirmed")
        case .cancelled: refuse(.cancelled, "cancelled")
        case .timedOut: refuse(.timeout, "nobody answered")
        case .abandoned: break
        }
    }

    // MARK: Lines

    /// The next line without its end; nil once the client has gone. One that is too long comes with what was read of it.
    private func readLine() -> [UInt8]? {
        while true {
            if let end = waiting.firstIndex(of: 0x0A) {
                let line = Array(waiting[..<end])
                waiting.removeFirst(end + 1)
                return line
            }
            if waiting.count > Self.lineByteCountMax { return waiting }
            guard fill() else { return nil }
        }
    }

    /// - Returns: false once the client has gone.
    private func fill() -> Bool {
        guard let bytes = try? DescriptorIO.read(from: STDIN_FILENO, byteCountMax: 4096), !bytes.isEmpty else {
            return false
        }
        waiting += bytes
        return true
    }

    private func say(_ line: String) { try? DescriptorIO.write(Array((line + "\n").utf8), to: STDOUT_FILENO) }

    private func refuse(_ code: ErrorCode, _ words: String) { say("ERR \(code.rawValue) \(words)") }

    private func write(_ lines: borrowing SecretBytes) {
        // EXPOSE: to the program that asked, which started this one.
        try? unsafe lines.withUnsafeBytes { bytes in try unsafe DescriptorIO.write(bytes, to: STDOUT_FILENO) }
    }

    /// A secret as lines of data. Nobody types more than fits.
    private static func lines(of secret: UnsafeRawBufferPointer) -> SecretBytes {
        var lines = SecretLine(byteCountMax: 3 * secret.count + 3 * (secret.count / dataByteCountMax + 1))
        for index in 0..<secret.count {
            if index % dataByteCountMax == 0 {
                for byte in (index == 0 ? "D " : "\nD ").utf8 { _ = lines.append(byte) }
            }
            let byte = unsafe secret[index]
            if [0x25, 0x0A, 0x0D].contains(byte) {
                _ = lines.append(UInt8(ascii: "%"))
                _ = lines.append(HexDigits.upper[Int(byte >> 4)])
                _ = lines.append(HexDigits.upper[Int(byte & 15)])
            } else {
                _ = lines.append(byte)
            }
        }
        if secret.count > 0 { _ = lines.append(0x0A) }
        return lines.take()
    }

    private enum HexDigits {
        static let upper = Array("0123456789ABCDEF".utf8)
    }

    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                rest = rest.dropFirst(2)
                bytes.append(value)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The program that started this one, by the kernel's word.
enum AskingParent {
    static var words: String {
        let parent = getppid()
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/\(parent)/exe", &path, path.count - 1)
        if count > 0 {
            let bytes = path[..<count].map { UInt8(bitPattern: $0) }
            return "Asked by \(String(decoding: bytes, as: UTF8.self)) (process \(parent))"
        }
        // A process that nobody may look into, such as the agent, has a name all the same.
        guard let file = try? OwnedDescriptor.open("/proc/\(parent)/comm", O_RDONLY),
            let name = try? DescriptorIO.read(from: file.number, byteCountMax: 64)
        else { return "Asked by process \(parent)" }
        return "Asked by \(String(decoding: name.filter { $0 != 0x0A }, as: UTF8.self)) (process \(parent))"
    }
}
