// Lines of Markdown and which of them are code. Front matter is left out altogether: it belongs to the author of the
// file, not to the text.

/// Walks the lines of a text and separates code from prose.
struct MarkdownBlocks {
    struct Line {
        /// Where the line stands, without its line feed.
        let range: Range<Int>
        /// Whether it is, or fences, code.
        let isCode: Bool
    }

    /// Front matter longer than this is taken for text that happens to begin with a rule.
    private static let frontMatterLineCountMax = 256

    private let bytes: [UInt8]
    private var position = 0
    private var fence: (byte: UInt8, count: Int)?
    private var wasBlank = true
    private var isIndentedCode = false
    private var isInList = false

    init(bytes: [UInt8]) {
        self.bytes = bytes
        position = Self.frontMatterEnd(in: bytes)
    }

    mutating func next() -> Line? {
        guard position < bytes.count else { return nil }
        let range = Self.line(at: position, in: bytes)
        position = range.upperBound + 1
        let indent = indentation(of: range)
        let content = range.lowerBound + indent.byteCount
        let isBlank = content == range.upperBound || bytes[content] == 0x0D
        defer { wasBlank = isBlank }
        if let open = fence {
            if indent.columnCount < 4, let mark = fenceMark(at: content, end: range.upperBound),
                mark.byte == open.byte, mark.count >= open.count, mark.isBare
            {
                fence = nil
            }
            return Line(range: range, isCode: true)
        }
        if let mark = fenceMark(at: content, end: range.upperBound) {
            fence = (mark.byte, mark.count)
            isIndentedCode = false
            if indent.columnCount == 0 { isInList = false }
            return Line(range: range, isCode: true)
        }
        if isBlank { return Line(range: range, isCode: isIndentedCode) }
        if indent.columnCount >= 4 {
            // Inside a list, an indented line continues an item. Elsewhere it is code after a blank line.
            isIndentedCode = isIndentedCode || wasBlank && !isInList
            return Line(range: range, isCode: isIndentedCode)
        }
        isIndentedCode = false
        if isListItem(at: content, end: range.upperBound) {
            isInList = true
        } else if indent.columnCount == 0 && wasBlank {
            isInList = false
        }
        return Line(range: range, isCode: false)
    }

    private func indentation(of range: Range<Int>) -> (byteCount: Int, columnCount: Int) {
        var columnCount = 0
        var index = range.lowerBound
        while index < range.upperBound {
            if bytes[index] == 0x20 {
                columnCount += 1
            } else if bytes[index] == 0x09 {
                columnCount += 4 - columnCount % 4
            } else {
                break
            }
            index += 1
        }
        return (index - range.lowerBound, columnCount)
    }

    /// Three or more backticks or tildes; fences also open inside list items, so any indentation will do.
    private func fenceMark(at start: Int, end: Int) -> (byte: UInt8, count: Int, isBare: Bool)? {
        guard start < end, bytes[start] == UInt8(ascii: "`") || bytes[start] == UInt8(ascii: "~") else { return nil }
        let byte = bytes[start]
        let rest = bytes[start..<end].drop { $0 == byte }
        let count = rest.startIndex - start
        guard count >= 3 else { return nil }
        // A backtick later in the line makes it a code span.
        if byte == UInt8(ascii: "`") && rest.contains(byte) { return nil }
        return (byte, count, rest.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D })
    }

    private func isListItem(at start: Int, end: Int) -> Bool {
        var index = start
        if [0x2D, 0x2A, 0x2B].contains(bytes[index]) {
            index += 1
        } else {
            while index < end && index - start < 9 && (0x30...0x39).contains(bytes[index]) { index += 1 }
            guard index > start, index < end, bytes[index] == 0x2E || bytes[index] == 0x29 else { return false }
            index += 1
        }
        return index == end || bytes[index] == 0x20 || bytes[index] == 0x09
    }

    /// Where the text begins after a block that opens with `---` on the first line; 0 if there is none.
    static func frontMatterEnd(in bytes: [UInt8]) -> Int {
        let first = line(at: 0, in: bytes)
        guard isRule(bytes[first], closing: false) else { return 0 }
        var position = first.upperBound + 1
        for _ in 0..<frontMatterLineCountMax where position < bytes.count {
            let range = line(at: position, in: bytes)
            if isRule(bytes[range], closing: true) { return min(range.upperBound + 1, bytes.count) }
            position = range.upperBound + 1
        }
        return 0
    }

    private static func isRule(_ line: ArraySlice<UInt8>, closing: Bool) -> Bool {
        let text = line.last == 0x0D ? line.dropLast() : line
        return text.elementsEqual("---".utf8) || closing && text.elementsEqual("...".utf8)
    }

    private static func line(at start: Int, in bytes: [UInt8]) -> Range<Int> {
        start..<(bytes[start...].firstIndex(of: 0x0A) ?? bytes.count)
    }
}
