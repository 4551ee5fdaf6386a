// Messages of a browser on standard input and output. Invariant: a message is as long as its length says, and no longer than a browser
// passes on.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// Native messaging: length (4 bytes, in the order of the machine) ‖ JSON.
struct NativeMessages {
    /// A message of Noise in Base64, and what is around it.
    private static let byteCountMax = 128 << 10

    private var received: [UInt8] = []

    /// Takes what has come.
    ///
    /// - Returns: whole messages; nil once the browser is gone, or sends something else.
    mutating func receive() -> [[UInt8]]? {
        var part = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe read(STDIN_FILENO, &part, part.count)
        if count < 0, errno == EINTR { return [] }
        guard count > 0 else { return nil }
        received += part.prefix(count)
        var messages: [[UInt8]] = []
        while received.count >= 4 {
            let length = unsafe received.withUnsafeBytes { unsafe Int($0.loadUnaligned(as: UInt32.self)) }
            guard length <= Self.byteCountMax else { return nil }
            guard received.count >= 4 + length else { break }
            messages.append(Array(received[4..<4 + length]))
            received.removeFirst(4 + length)
        }
        return messages
    }

    func send(_ message: JSONValue) {
        let text = Array(message.text().utf8)
        let length = unsafe withUnsafeBytes(of: UInt32(text.count)) { unsafe [UInt8]($0) }
        // A browser that is gone is noticed by the next reading.
        _ = try? DescriptorIO.write(length + text, to: STDOUT_FILENO)
    }
}
