// Clearing the clipboard later. The one thing to keep true: the process that waits knows a keyed hash
// of what was copied, never the text, and it leaves alone what the person copied meanwhile.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCrypto
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// The waiting half of `coffret copy`: a process of its own that outlives the command.
enum ClipboardGuard {
    static let seconds = OptionDescription.value("seconds", "N", .number(1...86_400), "how long to wait")

    static let device = OptionDescription.value("terminal", "PATH", "the terminal whose clipboard it is")

    static let store = OptionDescription.value(
        "until-locked", "PATH", "the store whose locking ends the wait")

    static let description = CommandDescription(
        "clear-clipboard-later", "Clear the clipboard when time is up", options: [seconds, device, store],
        isHidden: true, run: run)

    private static let keyByteCount = 32
    private static let hashByteCount = 32

    /// Starts the waiting process.
    ///
    /// - Parameter bytes: what was copied; a random key and its keyed hash go through a pipe.
    /// - Parameter clipboard: the terminal's is reached by its name, because the process leaves the session.
    /// - Parameter context: says which store clears the clipboard too when it locks, if an agent has it unlocked now.
    static func start(
        for bytes: [UInt8], seconds count: Int, on clipboard: Clipboard, _ context: CommandContext
    ) throws {
        let key = SecretBytes.random(byteCount: keyByteCount)
        // EXPOSE: the key is of no use but to the process that it is handed to.
        var message = unsafe key.withUnsafeBytes { unsafe Array($0) }
        message += hash(bytes, key: key)
        do throws(SystemFailure) {
            let (inputEnd, inputSource) = try ChildProcess.makePipe()
            var words = ["/proc/self/exe", description.name, "--seconds", "\(count)"]
            let path = (try? StoreAccess.path(context)).flatMap { AgentLocation.canonical($0) }
            if let path, isUnlocked(path, context) { words += ["--until-locked", path] }
            if clipboard == .terminal {
                guard let name = TerminalPrompt.deviceName else { throw SystemFailure(number: ENOTTY) }
                words += ["--terminal", name]
            }
            let child = try ChildProcess.start(
                words, input: .descriptor(inputEnd),
                output: .null, error: .null, isDetached: true)
            close(inputEnd)
            try DescriptorIO.write(message, to: inputSource)
            close(inputSource)
            _ = child
        } catch {
            throw CommandFailure(
                .unavailable, .clipboardFailed,
                "the text is on the clipboard, but it will stay there: \(error.message)")
        }
    }

    private static func hash(_ bytes: [UInt8], key: borrowing SecretBytes) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: hashByteCount, key: key)
        hasher.update(bytes)
        return hasher.finish()
    }

    private static func run(_ context: CommandContext) throws {
        if let path = context.arguments.value(device) { return clearTerminal(path, context) }
        guard var message = try? DescriptorIO.readAll(from: STDIN_FILENO, byteCountMax: 256),
            message.count == keyByteCount + hashByteCount,
            let clipboard = Clipboard.find(context.environment, terminal: context.terminal)
        else { return }
        var keyBytes = Array(message[..<keyByteCount])
        let key = SecretBytes(consuming: &keyBytes)
        let expected = Array(message[keyByteCount...])
        message.zero()
        wait(context)
        guard var content = clipboard.content() else { return }
        defer { content.zero() }
        if hash(content, key: key) == expected { clipboard.clear() }
    }

    /// Waits until time is up, or until the store locks that was unlocked when the text was copied.
    private static func wait(_ context: CommandContext) {
        let end = ContinuousClock.now + .seconds(context.arguments.number(seconds) ?? 45)
        let path = context.arguments.value(store)
        while ContinuousClock.now < end {
            if let path, !isUnlocked(path, context) { return }
            sleep(1)
        }
    }

    private static func isUnlocked(_ path: String, _ context: CommandContext) -> Bool {
        (try? AgentClient.connect(context.environment)?.status(of: path).first?.isUnlocked) == true
    }

    /// A terminal does not say what is on its clipboard: what was copied there meanwhile goes as well. One that is gone, or
    /// belongs to somebody else by then, is left alone.
    private static func clearTerminal(_ path: String, _ context: CommandContext) {
        wait(context)
        do throws(SystemFailure) {
            let terminal = try OwnedDescriptor.open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK)
            var information = stat()
            guard unsafe fstat(terminal.number, &information) == 0, information.st_uid == getuid(),
                isatty(terminal.number) == 1
            else { return }
            try DescriptorIO.write(Array(Clipboard.sequence(for: []).utf8), to: terminal.number)
        } catch {
            return
        }
    }
}
