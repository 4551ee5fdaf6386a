// Clearing the clipboard later. The one thing to keep true: the process that waits knows a keyed hash
// of what was copied, never the text, and it leaves alone what the person copied meanwhile.

internal import CoffretBase
internal import CoffretCrypto
internal import Glibc

/// The waiting half of `coffret copy`: a process of its own that outlives the command.
enum ClipboardGuard {
    static let seconds = OptionDescription.value("seconds", "N", .number(1...86_400), "how long to wait")

    static let description = CommandDescription(
        "clear-clipboard-later", "Clear the clipboard when time is up", options: [seconds], isHidden: true, run: run)

    private static let keyByteCount = 32
    private static let hashByteCount = 32

    /// Starts the waiting process.
    ///
    /// - Parameter bytes: what was copied; a random key and its keyed hash go through a pipe.
    static func start(for bytes: [UInt8], seconds count: Int) throws {
        let key = SecretBytes.random(byteCount: keyByteCount)
        // EXPOSE: the key is of no use but to the process that it is handed to.
        var message = unsafe key.withUnsafeBytes { unsafe Array($0) }
        message += hash(bytes, key: key)
        do throws(SystemFailure) {
            let (inputEnd, inputSource) = try ChildProcess.makePipe()
            let child = try ChildProcess.start(
                ["/proc/self/exe", description.name, "--seconds", "\(count)"], input: .descriptor(inputEnd),
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
        guard var message = try? DescriptorIO.readAll(from: STDIN_FILENO, byteCountMax: 256),
            message.count == keyByteCount + hashByteCount,
            let clipboard = Clipboard.find(context.environment, terminal: context.terminal)
        else { return }
        var keyBytes = Array(message[..<keyByteCount])
        let key = SecretBytes(consuming: &keyBytes)
        let expected = Array(message[keyByteCount...])
        message.zero()
        sleep(UInt32(context.arguments.number(seconds) ?? 45))
        guard var content = clipboard.content() else { return }
        defer { content.zero() }
        if hash(content, key: key) == expected { clipboard.clear() }
    }
}
