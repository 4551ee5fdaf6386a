// Small tools for text of unknown origin. What is shown to people must not control their terminal.

/// Whether the bytes are well-formed UTF-8.
package func isValidUTF8(_ bytes: some Collection<UInt8>) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
}

/// Text for people from untrusted bytes: repaired where it is not UTF-8, control and bidirectional
/// override characters replaced by escapes, at most 200 characters.
package func printableText(_ bytes: some Collection<UInt8>) -> String {
    // Nearly all names are short and plain.
    if bytes.count <= 200, bytes.allSatisfy({ 0x20 <= $0 && $0 < 0x7F }) {
        return String(decoding: bytes, as: UTF8.self)
    }
    var result = ""
    var count = 0
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
        guard count < 200 else { return result + "…" }
        count += 1
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029, 0xFEFF:
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        default:
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}

extension String {
    /// The text with A to Z made lower case; everything else stays.
    package func asciiLowercased() -> String {
        String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Whether the bytes of a text stand in this one: as `contains`, which compares characters and is ten times as slow.
    package func containsBytes(of other: String) -> Bool {
        let wanted = Array(other.utf8)
        guard let first = wanted.first else { return true }
        var text = self
        return text.withUTF8 { (bytes: UnsafeBufferPointer<UInt8>) -> Bool in
            var start = 0
            while start + wanted.count <= bytes.count {
                guard let index = unsafe bytes[start...].firstIndex(of: first), index + wanted.count <= bytes.count
                else { return false }
                if unsafe bytes[index..<(index + wanted.count)].elementsEqual(wanted) { return true }
                start = index + 1
            }
            return false
        }
    }

    /// The text without blanks, tabs and line ends at both sides.
    package func trimmedBlanks() -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
        guard let start = utf8.firstIndex(where: { !isBlank($0) }) else { return "" }
        let end = utf8.lastIndex(where: { !isBlank($0) }) ?? start
        return String(self[start...end])
    }
}

/// Decodes `%XX`; nil if a `%` is not followed by two hexadecimal digits.
package func percentDecoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    guard bytes.contains(UInt8(ascii: "%")) else { return Array(bytes) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
        guard bytes[index] == UInt8(ascii: "%") else {
            result.append(bytes[index])
            index += 1
            continue
        }
        guard index + 2 < bytes.endIndex, let high = hexValue(bytes[index + 1]), let low = hexValue(bytes[index + 2])
        else { return nil }
        result.append(high << 4 | low)
        index += 3
    }
    return result
}

/// Encodes what cannot stand in a Markdown link destination: controls, blanks, brackets, `#?%`,
/// quotes and backslashes. Letters outside ASCII stay readable as they are.
package func percentEncoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    for byte in bytes {
        switch byte {
        case 0...0x20, 0x7F, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "#"), UInt8(ascii: "?"), UInt8(ascii: "%"),
            UInt8(ascii: "\\"), UInt8(ascii: "\""):
            result.append(UInt8(ascii: "%"))
            result.append(contentsOf: [hexDigit(byte >> 4), hexDigit(byte & 15)])
        default:
            result.append(byte)
        }
    }
    return result
}

private func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x41 + 10
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x41 + value - 10
}
