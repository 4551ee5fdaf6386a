// Asking the person where there is no terminal, through a pinentry. The one thing to keep true: the person reads who
// asks and for what, and what is typed goes from the pipe into locked memory.

internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// A dialog with one pinentry program, in the Assuan protocol: lines of a command and its argument, answered by lines
/// `OK`, `ERR code text` and `D data`.
///
/// Source: the manuals of Assuan and pinentry (gnupg.org).
final class Pinentry {
    private static let lineByteCountMax = 1000

    private let input: Int32
    private let output: Int32
    private let processID: pid_t

    /// Starts the pinentry that the agent's variable COFFRET_PINENTRY names; else `coffret-prompt`, where it lies beside the agent
    /// and the person has a screen; else `pinentry` on the agent's PATH.
    ///
    /// - Parameter variables: the agent's own, and where the person is: a display, or a terminal in GPG_TTY.
    /// - Throws: `AgentRefusal` `.pinentryMissing`.
    static func start(_ variables: [String: String]) throws(AgentRefusal) -> Pinentry {
        let places = Self.screens + ["GPG_TTY"]
        guard places.contains(where: { variables[$0] != nil }) else { throw AgentRefusal(.pinentryMissing) }
        if variables["COFFRET_PINENTRY"] == nil, Self.screens.contains(where: { variables[$0] != nil }),
            let prompt = Self.prompt, let started = try? Pinentry(prompt, variables)
        {
            return started
        }
        guard let program = variables["COFFRET_PINENTRY"] ?? ProgramStart.find("pinentry", variables) else {
            throw AgentRefusal(.pinentryMissing)
        }
        return try Pinentry(program, variables)
    }

    private static let screens = ["DISPLAY", "WAYLAND_DISPLAY"]

    private init(_ program: String, _ variables: [String: String]) throws(AgentRefusal) {
        guard let questions = ProgramStart.makePipe(), let answers = ProgramStart.makePipe() else {
            throw AgentRefusal(.pinentryMissing)
        }
        let started = ProgramStart.start(
            [program], input: questions.reading, output: answers.writing, environment: variables)
        close(questions.reading)
        close(answers.writing)
        input = answers.reading
        output = questions.writing
        processID = started ?? -1
        guard started != nil, readAnswer() != nil else { throw AgentRefusal(.pinentryMissing) }
        // Options that a pinentry does not know are its own business.
        if let terminal = variables["GPG_TTY"] { _ = send("OPTION ttyname=\(Self.escaped(terminal))") }
        if let kind = variables["TERM"] { _ = send("OPTION ttytype=\(Self.escaped(kind))") }
        if let locale = variables["LANG"] { _ = send("OPTION lc-ctype=\(Self.escaped(locale))") }
        _ = send("SETTITLE Coffret")
    }

    /// Coffret's own program for the desktop, beside the agent; nil if it is not installed.
    private static let prompt: String? = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &path, path.count - 1)
        guard count > 0 else { return nil }
        let own = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let prompt = PathText.join(PathText.parent(of: own), "coffret-prompt")
        return unsafe access(prompt, X_OK) == 0 ? prompt : nil
    }()

    deinit {
        close(output)
        close(input)
        if processID > 0 {
            var status: Int32 = 0
            while unsafe waitpid(processID, &status, 0) < 0, errno == EINTR {}
        }
    }

    /// Asks once.
    ///
    /// - Parameters:
    ///   - complaint: what was wrong with the last answer.
    ///   - prompt: what is asked for, in a word.
    /// - Throws: `AgentRefusal` `.pinentryCancelled`.
    func ask(_ description: String, complaint: String?, prompt: String = "Passphrase:") throws(AgentRefusal)
        -> SecretBytes
    {
        _ = send("SETPROMPT \(prompt)")
        _ = send("SETDESC \(Self.escaped(description))")
        if let complaint { _ = send("SETERROR \(Self.escaped(complaint))") }
        guard let answer = send("GETPIN"), answer.byteCount > 0 else { throw AgentRefusal(.pinentryCancelled) }
        return answer
    }

    /// Asks for a yes or no.
    ///
    /// - Parameters:
    ///   - isWanted: asked again and again meanwhile; the question goes once it says no.
    /// - Returns: whether the person said yes; a question that went unanswered is a no.
    func confirm(
        _ description: String, accept: String, refuse: String, timeout: Duration, while isWanted: () -> Bool
    ) -> Bool {
        _ = send("SETDESC \(Self.escaped(description))")
        _ = send("SETOK \(accept)")
        _ = send("SETCANCEL \(refuse)")
        // Programs that do not know it are ended below.
        _ = send("SETTIMEOUT \(timeout.components.seconds)")
        guard write("CONFIRM") else { return false }
        let end = BootClock.now.advanced(by: timeout)
        while true {
            var waiting = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&waiting, 1, 250) > 0 { return readAnswer() != nil }
            guard BootClock.now.duration(to: end) > .zero, isWanted() else {
                kill(processID, SIGTERM)
                return false
            }
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": result += "%25"
            case "\n": result += "%0A"
            case "\r": result += "%0D"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Sends a command and reads its answer.
    ///
    /// - Returns: the data that came; nil for an error.
    private func send(_ command: String) -> SecretBytes? { write(command) ? readAnswer() : nil }

    private func write(_ command: String) -> Bool {
        let bytes = Array((command + "\n").utf8)
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(output, $0.baseAddress! + offset, $0.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    private func readAnswer() -> SecretBytes? {
        var data = SecretLine(byteCountMax: 2048)
        while true {
            guard var line = readLine() else { return nil }
            defer { line.zero() }
            if line.starts(with: "OK".utf8) { return data.take() }
            if line.starts(with: "ERR".utf8) { return nil }
            guard line.starts(with: "D ".utf8) else { continue }
            var index = 2
            while index < line.count {
                var byte = line[index]
                index += 1
                if byte == UInt8(ascii: "%"), index + 1 < line.count,
                    let high = Self.digit(line[index]), let low = Self.digit(line[index + 1])
                {
                    byte = high << 4 | low
                    index += 2
                }
                guard data.append(byte) else { return nil }
            }
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    private func readLine() -> [UInt8]? {
        // In one piece, so that growing leaves no copy behind.
        var line: [UInt8] = []
        line.reserveCapacity(Self.lineByteCountMax)
        var byte: UInt8 = 0
        while line.count < Self.lineByteCountMax {
            let count = unsafe read(input, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else {
                line.zero()
                return nil
            }
            if byte == 0x0A { return line }
            line.append(byte)
        }
        line.zero()
        return nil
    }
}

/// Who asks, in words for the person.
enum AskingProgram {
    /// `coffret for /usr/bin/git (process 4711)`: the client and the program that started it.
    static func words(_ processID: Int32) -> String {
        let client = name(processID) ?? "a program"
        guard var parent = parent(of: processID), parent > 1, var program = name(parent) else {
            return "\(client) (process \(processID))"
        }
        // The host of a browser says nothing to a person; the browser does.
        if program.hasSuffix("/coffret-bridge"), let browser = self.parent(of: parent), browser > 1,
            let name = name(browser)
        {
            (parent, program) = (browser, name)
        }
        return "\(client) for \(program) (process \(parent))"
    }

    /// The program that started a process, in words.
    static func starter(of processID: Int32) -> String {
        parent(of: processID).flatMap { name($0) } ?? "a program"
    }

    /// The path of a process's program, as the kernel knows it; for one that hides it, what it calls itself.
    private static func name(_ processID: Int32) -> String? {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/\(processID)/exe", &path, path.count - 1)
        if count > 0 { return printable(path[..<count].map { UInt8(bitPattern: $0) }) }
        guard let name = file(processID, "comm") else { return nil }
        return printable(Array(name.filter { $0 != 0x0A }))
    }

    private static func parent(of processID: Int32) -> Int32? {
        // The name in brackets may hold anything; what follows its last bracket does not.
        guard let text = file(processID, "stat"), let bracket = text.lastIndex(of: UInt8(ascii: ")")) else {
            return nil
        }
        let words = text[(bracket + 1)...].split(separator: 0x20)
        return words.count > 1 ? Int32(String(decoding: words[1], as: UTF8.self)) : nil
    }

    private static func file(_ processID: Int32, _ name: String) -> [UInt8]? {
        guard let file = try? PosixFileSystem().open("/proc/\(processID)/\(name)", .read) else { return nil }
        // Such a file says no size, and ends where it ends.
        return unsafe [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
            let target = unsafe UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: 512)
            count = unsafe (try? file.read(into: target, at: 0)) ?? 0
        }
    }

    /// A name must not be able to add lines of its own to the question.
    private static func printable(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).filter { $0.isASCII ? $0 >= " " && $0 != "\u{7F}" : $0.isLetter }
    }
}
