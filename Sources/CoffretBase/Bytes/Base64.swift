// Bytes as base64. Invariant: a text that decodes is the only one that encoding writes; line breaks are the business
// of the formats that have them.

/// Base64 of RFC 4648: section 4 with padding, or section 5 (URLs) without.
package struct Base64: Sendable {
    private let alphabet: [UInt8]
    private let values: [UInt8]
    private let isPadded: Bool

    package static let standard = Base64(last: "+/", isPadded: true)
    package static let url = Base64(last: "-_", isPadded: false)

    private init(last: String, isPadded: Bool) {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        alphabet = Array((letters + last).utf8)
        self.isPadded = isPadded
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    /// - Complexity: O(n), one allocation for the result.
    package func encode(_ bytes: [UInt8]) -> String {
        let capacity = (bytes.count + 2) / 3 * 4
        return unsafe String(unsafeUninitializedCapacity: capacity) { target in
            var count = 0
            var index = 0
            while index < bytes.count {
                let second = index + 1 < bytes.count ? bytes[index + 1] : 0
                let third = index + 2 < bytes.count ? bytes[index + 2] : 0
                let group = UInt32(bytes[index]) << 16 | UInt32(second) << 8 | UInt32(third)
                let digitCount = min(bytes.count - index, 3) + 1
                for digit in 0..<4 where digit < digitCount || isPadded {
                    let value = Int(group >> UInt32(18 - 6 * digit) & 63)
                    unsafe target[count] = digit < digitCount ? alphabet[value] : UInt8(ascii: "=")
                    count += 1
                }
                index += 3
            }
            return count
        }
    }

    package func decode(_ text: String) throws(TextCodingError) -> [UInt8] {
        var text = text
        let result = text.withUTF8 { characters in unsafe decode(characters) }
        return try result.get()
    }

    private func decode(_ characters: UnsafeBufferPointer<UInt8>) -> Result<[UInt8], TextCodingError> {
        var count = characters.count
        if isPadded {
            guard count % 4 == 0 else { return .failure(TextCodingError(.invalidLength, byteOffset: count)) }
            while unsafe count > 0 && characters.count - count < 2 && characters[count - 1] == UInt8(ascii: "=") {
                count -= 1
            }
        }
        guard count % 4 != 1 else { return .failure(TextCodingError(.invalidLength, byteOffset: count)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * 3 / 4)
        var buffer: UInt32 = 0
        var bitCount: UInt32 = 0
        for offset in 0..<count {
            let value = unsafe values[Int(characters[offset])]
            guard value != 0xFF else { return .failure(TextCodingError(.invalidCharacter, byteOffset: offset)) }
            buffer = buffer << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bitCount))
            }
        }
        guard buffer & (1 << bitCount - 1) == 0 else {
            return .failure(TextCodingError(.notCanonical, byteOffset: count - 1))
        }
        return .success(bytes)
    }
}
