// Other programs: editors and clipboards. Invariant: a child gets only the descriptors it is meant to have and the
// signal behaviour it would have from a shell, and secrets reach it through a pipe, never through arguments or the
// environment.

package import CoffretBase
package import Glibc

/// How a child process ended.
package enum ChildOutcome: Equatable, Sendable {
    case exited(Int32)
    case signalled(Int32)

    package var isSuccess: Bool { self == .exited(0) }

    package var text: String {
        switch self {
        case .exited(let code): "it ended with code \(code)"
        case .signalled(let signal): "it was ended by signal \(signal)"
        }
    }

    package init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .exited(waitStatus >> 8 & 0xFF) : .signalled(signal)
    }
}

/// A running child process.
package struct ChildProcess: ~Copyable {
    /// Where one of the child's standard streams leads.
    package enum Stream: Equatable {
        case inherited
        case null
        case descriptor(Int32)
        /// Opened by the child; the first terminal that a detached child opens becomes its controlling terminal.
        case path(String)
    }

    package let processID: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: the program's path, then its arguments.
    ///   - environment: what its environment has beside, or instead of, what this process's has.
    ///   - isDetached: whether it gets a session of its own and outlives the terminal.
    ///   - surroundings: what it is given in place of this process's environment, file mode mask and signals.
    package static func start(
        _ words: [String], input: Stream = .inherited, output: Stream = .inherited, error: Stream = .inherited,
        environment: [String: String] = [:], isDetached: Bool = false, surroundings: ChildSurroundings? = nil
    ) throws(SystemFailure) -> ChildProcess {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, error)] {
            switch stream {
            case .inherited: break
            case .null: unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            case .path(let path): unsafe posix_spawn_file_actions_addopen(&actions, number, path, O_RDWR, 0)
            case .descriptor(let source): unsafe posix_spawn_file_actions_adddup2(&actions, source, number)
            }
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        unsafe sigemptyset(&defaults)
        for signal in surroundings?.defaultSignals ?? SignalWatch.ending + [SIGPIPE, SIGTSTP] {
            unsafe sigaddset(&defaults, signal)
        }
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        // POSIX_SPAWN_SETSID is 0x80 in glibc; the importer does not show it.
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | (isDetached ? 0x80 : 0)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

        var pointers = unsafe words.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        var processID: pid_t = 0
        guard let surroundings else {
            var variables = unsafe Self.variables(with: environment)
            defer { unsafe variables.forEach { unsafe free($0) } }
            let status = unsafe posix_spawn(&processID, words[0], &actions, &attributes, &pointers, &variables)
            guard status == 0 else { throw SystemFailure(number: status) }
            return ChildProcess(processID: processID)
        }
        let status = unsafe surroundings.withVariables { variables in
            surroundings.enter()
            defer { surroundings.leave() }
            return unsafe posix_spawn(&processID, words[0], &actions, &attributes, &pointers, variables)
        }
        guard status == 0 else { throw SystemFailure(number: status) }
        return ChildProcess(processID: processID)
    }

    /// This process's variables with others in their place, as `name=value` on the heap, ended by nil.
    private static func variables(with changes: [String: String]) -> [UnsafeMutablePointer<CChar>?] {
        var result = unsafe [UnsafeMutablePointer<CChar>?]()
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let name = unsafe String(cString: entry).prefix { $0 != "=" }
            if changes[String(name)] == nil { unsafe result.append(strdup(entry)) }
            unsafe next += 1
        }
        for (name, value) in changes { unsafe result.append(strdup("\(name)=\(value)")) }
        unsafe result.append(nil)
        return unsafe result
    }

    /// Waits for the end of the child.
    package consuming func wait() -> ChildOutcome {
        var status: Int32 = 0
        while unsafe waitpid(processID, &status, 0) < 0 {
            if errno != EINTR { return .exited(127) }
        }
        return ChildOutcome(waitStatus: status)
    }

    /// Whether the child has ended, and how.
    package func poll() -> ChildOutcome? {
        var status: Int32 = 0
        return unsafe waitpid(processID, &status, WNOHANG) == processID ? ChildOutcome(waitStatus: status) : nil
    }

    /// Runs a program without input and returns what it writes, up to `byteCountMax` bytes.
    package static func run(
        _ words: [String], byteCountMax: Int = 1 << 20
    ) throws(SystemFailure) -> (outcome: ChildOutcome, output: [UInt8]) {
        let (outputEnd, outputSink) = try makePipe()
        let child = try start(words, input: .null, output: .descriptor(outputSink), error: .null)
        close(outputSink)
        defer { close(outputEnd) }
        let output = try DescriptorIO.readAll(from: outputEnd, byteCountMax: byteCountMax) ?? []
        return (child.wait(), output)
    }

    /// Runs a program that may leave a process behind which holds on to standard output, as `xclip`
    /// does; nothing is read from it.
    package static func feed(_ words: [String], input: [UInt8]) throws(SystemFailure) -> ChildOutcome {
        let (inputEnd, inputSource) = try makePipe()
        let child = try start(words, input: .descriptor(inputEnd), output: .null, error: .null)
        close(inputEnd)
        // A child that does not read has its reasons; its exit code tells them.
        try? DescriptorIO.write(input, to: inputSource)
        close(inputSource)
        return child.wait()
    }

    /// The reading end of a pipe with a secret in it, which is shorter than what a pipe holds.
    package static func secretPipe(holding secret: borrowing SecretBytes) throws(SystemFailure) -> OwnedDescriptor {
        let (reading, writing) = try makePipe()
        let source = OwnedDescriptor(reading)
        // EXPOSE: into the pipe, from which the other side reads it into locked memory.
        let written = unsafe secret.withUnsafeBytes { bytes in
            Result { () throws(SystemFailure) in try unsafe DescriptorIO.write(bytes, to: writing) }
        }
        close(writing)
        try written.get()
        return source
    }

    /// A pipe whose ends no other child inherits.
    package static func makePipe() throws(SystemFailure) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw SystemFailure.last }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}

/// Finds programs as a shell does.
package struct ProgramFinder: Sendable {
    package let environment: ProcessEnvironment

    package init(environment: ProcessEnvironment) { self.environment = environment }

    /// The path of a program on PATH. Relative entries of PATH are skipped: they would let the
    /// working directory choose the program.
    package func find(_ name: String) -> String? {
        if name.contains("/") { return unsafe access(name, X_OK) == 0 ? name : nil }
        let path = environment.value(.path) ?? "/usr/local/bin:/usr/bin:/bin"
        for folder in path.split(separator: ":") where folder.hasPrefix("/") {
            let candidate = "\(folder)/\(name)"
            if unsafe access(candidate, X_OK) == 0 { return candidate }
        }
        return nil
    }

    /// The name of the file that a program's path finally leads to, through all symbolic links.
    package static func finalName(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved).split(separator: "/").last.map(String.init) ?? path
    }
}
