// Whom limits are counted for. The one thing to keep true: whoever has one address of a network has all of it.

internal import Glibc

/// Networks of peers: 4 bytes, or the first 8 of an IPv6 address, since one subscriber has all behind them.
enum PeerNetwork {
    /// The longest text of an address.
    private static let textByteCountMax = 45

    static func of(_ address: in_addr) -> [UInt8] { unsafe withUnsafeBytes(of: address) { unsafe [UInt8]($0) } }

    /// An IPv4 address that is written as one of IPv6 is that of IPv4.
    static func of(_ address: in6_addr) -> [UInt8] {
        let bytes = unsafe withUnsafeBytes(of: address) { unsafe [UInt8]($0) }
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
        return isMapped ? Array(bytes.suffix(4)) : Array(bytes.prefix(8))
    }

    /// Of an address as a proxy writes it, with or without port and brackets; nil for what is none.
    static func of(_ text: Substring) -> [UInt8]? {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]"), isPort(text[text.index(after: end)...]) else { return nil }
            text = text[text.index(after: text.startIndex)..<end]
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            guard isPort(text[colon...]) else { return nil }
            text = text[..<colon]
        }
        guard text.utf8.count <= textByteCountMax, !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, String(text), &four) == 1 { return of(four) }
        return unsafe inet_pton(AF_INET6, String(text), &six) == 1 ? of(six) : nil
    }

    /// Nothing, or a colon and digits.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.first == ":" && UInt16(text.dropFirst()) != nil
    }
}
