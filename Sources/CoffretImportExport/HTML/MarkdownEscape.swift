// Text of other programs inside Markdown. Invariant: what was plain text there is plain text here.

/// Writes text so that it has no meaning in Markdown.
enum MarkdownEscape {
    /// Text within a line.
    static func inline(_ text: String) -> String {
        guard text.utf8.contains(where: { special.contains($0) }) else { return text }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for (index, byte) in bytes.enumerated() {
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0x20
            let previous = index > 0 ? bytes[index - 1] : 0x20
            let needsEscape =
                switch byte {
                case UInt8(ascii: "\\"): isPunctuation(next)
                case UInt8(ascii: "*"): !(next == 0x20 && previous == 0x20)
                case UInt8(ascii: "`"): true
                // Within a word it marks nothing.
                case UInt8(ascii: "_"): !(isWord(previous) && isWord(next))
                case UInt8(ascii: "["):
                    next == byte || (index + 2 < bytes.count && bytes[(index + 1)...].contains(0x5D))
                case UInt8(ascii: "<"): isWord(next) || next == UInt8(ascii: "/") || next == UInt8(ascii: "!")
                case UInt8(ascii: "~"), UInt8(ascii: "="): next == byte || previous == byte
                default: false
                }
            if needsEscape { result.append(UInt8(ascii: "\\")) }
            result.append(byte)
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// A line that was put together from such text: its beginning makes no heading, list, quote or rule.
    static func lineStart(_ line: String) -> String {
        let bytes = Array(line.utf8)
        guard let first = bytes.first else { return line }
        func isFollowedByBlank(_ index: Int) -> Bool { index >= bytes.count || bytes[index] == 0x20 }
        switch first {
        case UInt8(ascii: "#"):
            let count = bytes.prefix { $0 == first }.count
            return isFollowedByBlank(count) && count <= 6 ? "\\" + line : line
        case UInt8(ascii: ">"): return "\\" + line
        case UInt8(ascii: "-"), UInt8(ascii: "+"):
            let isRule = bytes.count >= 3 && bytes.allSatisfy { $0 == first || $0 == 0x20 }
            return isFollowedByBlank(1) || isRule ? "\\" + line : line
        case 0x30...0x39:
            let digits = bytes.prefix { (0x30...0x39).contains($0) }.count
            guard digits <= 9, digits < bytes.count, [UInt8(ascii: "."), UInt8(ascii: ")")].contains(bytes[digits]),
                isFollowedByBlank(digits + 1)
            else { return line }
            return String(decoding: bytes[..<digits] + [UInt8(ascii: "\\")] + bytes[digits...], as: UTF8.self)
        default: return line
        }
    }

    /// The text between the brackets of a link.
    static func label(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
    }

    /// A part of a line as code.
    static func code(_ content: String) -> String {
        let text = content.replacing("\n", with: " ")
        guard !text.trimmedBlanks().isEmpty else { return text }
        var fence = "`"
        while text.contains(fence) { fence += "`" }
        let pad = text.hasPrefix("`") || text.hasSuffix("`") ? " " : ""
        return fence + pad + text + pad + fence
    }

    private static let special: Set<UInt8> = Set("\\*`_[<~=".utf8)

    private static func isPunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: true
        default: false
        }
    }
}
