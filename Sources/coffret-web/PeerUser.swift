// The user at the other end of a connection on the loopback, by the kernel's table.

internal import CoffretTerminal
internal import Glibc

enum PeerUser {
    /// The user of the socket at the other end of a connection to 127.0.0.1.
    ///
    /// - Parameters:
    ///   - address: of the other end, as the kernel holds it.
    ///   - port: ours.
    /// - Returns: nil if the table has no such socket.
    static func of(_ address: sockaddr_in, connectedTo port: UInt16) -> uid_t? {
        guard let file = try? OwnedDescriptor.open("/proc/net/tcp", O_RDONLY | O_CLOEXEC),
            let bytes = try? DescriptorIO.readAll(from: file.number, byteCountMax: 16 << 20)
        else { return nil }
        let peer =
            "\(hexadecimal(address.sin_addr.s_addr, 8)):\(hexadecimal(UInt32(UInt16(bigEndian: address.sin_port)), 4))"
        let own = "\(hexadecimal(UInt32(INADDR_LOOPBACK).bigEndian, 8)):\(hexadecimal(UInt32(port), 4))"
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid …
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard words.count > 7, words[1] == peer, words[2] == own else { continue }
            return uid_t(words[7])
        }
        return nil
    }

    private static func hexadecimal(_ value: UInt32, _ digitCount: Int) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
