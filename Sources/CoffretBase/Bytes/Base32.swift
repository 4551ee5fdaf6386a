// Bytes as base32. Invariant: a text that decodes is the only one that encoding writes, up to the letters that an
// alphabet treats as equal.

/// Base32 with the alphabet of RFC 4648 or of Crockford.
package struct Base32: Sendable {
    private let alphabet: [UInt8]
    /// Value of each character, or 0xFF.
    private let values: [UInt8]
    private let isPadded: Bool

    /// RFC 4648 section 6, padded with `=`. Reads lower case and a text without its padding too.
    package static let rfc4648 = Base32("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", isPadded: true)
    /// The same without padding, as one-time-password URIs have it.
    package static let rfc4648Unpadded = Base32("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", isPadded: false)
    /// Crockford's alphabet, which leaves out I, L, O and U; reading takes i and l for 1, o for 0.
    package static let crockford = Base32(
        "0123456789ABCDEFGHJKMNPQRSTVWXYZ", isPadded: false, equals: [("O", "0"), ("I", "1"), ("L", "1")])

    private init(_ alphabet: String, isPadded: Bool, equals: [(Character, Character)] = []) {
        self.alphabet = Array(alphabet.utf8)
        self.isPadded = isPadded
        var values = [UInt8](repeating: 0xFF, count: 256)
        func set(_ character: UInt8, _ value: UInt8) {
            values[Int(character)] = value
            if UInt8(ascii: "A")...UInt8(ascii: "Z") ~= character { values[Int(character + 32)] = value }
        }
        for (value, character) in alphabet.utf8.enumerated() { set(character, UInt8(value)) }
        for (read, means) in equals { set(read.utf8.first ?? 0, values[Int(means.utf8.first ?? 0)]) }
        self.values = values
    }

    package func encode<Bytes: Sequence>(_ bytes: Bytes) -> String where Bytes.Element == UInt8 {
        var text: [UInt8] = []
        var buffer: UInt32 = 0
        var bitCount: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 5 {
                bitCount -= 5
                text.append(alphabet[Int(buffer >> bitCount & 31)])
            }
        }
        if bitCount > 0 { text.append(alphabet[Int(buffer << (5 - bitCount) & 31)]) }
        if isPadded {
            while text.count % 8 != 0 { text.append(UInt8(ascii: "=")) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    package func decode(_ text: String) throws(TextCodingError) -> [UInt8] {
        var characters = Array(text.utf8)
        defer { characters.zero() }
        var count = characters.count
        if isPadded {
            while count > 0, characters[count - 1] == UInt8(ascii: "=") { count -= 1 }
            guard count == characters.count || (characters.count % 8 == 0 && characters.count - count < 8) else {
                throw TextCodingError(.invalidLength, byteOffset: count)
            }
        }
        // 1, 3 and 6 characters over a multiple of 8 hold no whole byte more than one less would.
        guard ![1, 3, 6].contains(count % 8) else { throw TextCodingError(.invalidLength, byteOffset: count) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * 5 / 8)
        var buffer: UInt32 = 0
        var bitCount: UInt32 = 0
        for offset in 0..<count {
            let value = values[Int(characters[offset])]
            guard value != 0xFF else { throw TextCodingError(.invalidCharacter, byteOffset: offset) }
            buffer = buffer << 5 | UInt32(value)
            bitCount += 5
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bitCount))
            }
        }
        guard buffer & (1 << bitCount - 1) == 0 else { throw TextCodingError(.notCanonical, byteOffset: count - 1) }
        return bytes
    }
}
