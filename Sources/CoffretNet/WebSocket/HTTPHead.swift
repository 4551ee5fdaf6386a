// The head of an HTTP/1.1 message. Invariant: what two readers could understand in two ways is refused.

internal import CoffretBase

/// A start line and its fields, as read or to be written.
///
/// Source: RFC 9112. Only what an upgrade needs: no folded lines, no bare line feeds, ASCII.
package struct HTTPHead: Equatable, Sendable {
    package static let byteCountMax = 16 << 10
    package static let fieldCountMax = 100

    package let startLine: String
    /// Names in lower case, in order; a name may occur more than once.
    package let fields: [(name: String, value: String)]

    package init(startLine: String, fields: [(name: String, value: String)]) {
        self.startLine = startLine
        self.fields = fields.map { ($0.name.lowercased(), $0.value) }
    }

    package static func == (left: HTTPHead, right: HTTPHead) -> Bool {
        left.startLine == right.startLine && left.fields.elementsEqual(right.fields, by: ==)
    }

    /// The value of a field that occurs once; nil if it is missing or repeated.
    package func single(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    /// Whether one of the comma-separated words of a field is `word`, in either case.
    package func has(_ word: String, in name: String) -> Bool {
        fields.filter { $0.name == name }.contains { field in
            field.value.split(separator: ",").contains { $0.trimmingBlanks.lowercased() == word }
        }
    }

    package var encoded: [UInt8] {
        var text = startLine + "\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    package enum Parsed: Equatable, Sendable {
        case needsMore
        case invalid
        /// The head, and how many bytes it took.
        case head(HTTPHead, byteCount: Int)
    }

    /// Reads a head from the start of `bytes`.
    package static func parse(_ bytes: [UInt8]) -> Parsed {
        let end = Array("\r\n\r\n".utf8)
        guard let start = bytes.firstRange(of: end) else {
            return bytes.count >= byteCountMax ? .invalid : .needsMore
        }
        guard start.upperBound <= byteCountMax else { return .invalid }
        var lines: [Substring] = []
        let text = String(decoding: bytes[..<start.lowerBound], as: UTF8.self)
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 9 || $0 == 13 || $0 == 10 }) else {
            return .invalid
        }
        // "\r\n" is one Character in Swift, so a lone "\r" or "\n" stays in its line, where it is seen.
        lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let first = lines.first, !first.isEmpty, lines.count <= fieldCountMax + 1,
            lines.allSatisfy({ !$0.utf8.contains(13) && !$0.utf8.contains(10) })
        else { return .invalid }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
                line[..<colon].utf8.allSatisfy(isTokenCharacter)
            else { return .invalid }
            fields.append((line[..<colon].lowercased(), String(line[line.index(after: colon)...].trimmingBlanks)))
        }
        return .head(HTTPHead(startLine: String(first), fields: fields), byteCount: start.upperBound)
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring {
        var rest = drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
