// The block of settings at the start of many Markdown files, read as the part of YAML that people write there.
// Invariant: the bytes of the block are kept, and what is not understood stays reachable as raw text; nothing is
// dropped.

/// A parsed block between `---` lines.
///
/// Understood: `key: value` with plain, single- or double-quoted scalars, `|` and `>` blocks, lists in
/// `[a, b]` or `- a` form. Nested maps and anything else become `.raw`. A block with a line that is none
/// of these at the outermost level is not front matter but text (a rule, then a paragraph).
package struct FrontMatter: Equatable, Sendable {
    /// The value of a key.
    package enum Value: Equatable, Sendable {
        case text(String)
        case list([String])
        /// YAML that the subset does not cover, as it stands.
        case raw(String)

        /// One line of text, for a custom field.
        package var displayText: String {
            switch self {
            case .text(let text), .raw(let text): text
            case .list(let items): items.joined(separator: ", ")
            }
        }
    }

    /// A key with the lines that hold it, comments and blank lines behind it included.
    package struct Entry: Equatable, Sendable {
        package let key: String
        package let value: Value
        /// Position of its lines in `FrontMatter.lines`.
        package let lineRange: Range<Int>
    }

    /// The entries in order; a key may stand twice.
    package let entries: [Entry]
    /// The lines between the fences as they stand, with their line ends, which need not be alike.
    package let lines: [String]
    /// The fences as they stand, with their line ends.
    package let opening: String
    package let closing: String
    /// `\r\n` if the opening fence ends so, else `\n`.
    package var lineEnd: String { opening.utf8.contains(0x0D) ? "\r\n" : "\n" }
    /// Bytes of the whole block, fences included.
    package let byteCount: Int

    /// The first entry of a key, compared without regard to ASCII case.
    package func value(_ key: String) -> Value? {
        entries.first { $0.key.asciiLowercased() == key }?.value
    }

    /// Reads a block at the start of `text`; nil if there is none.
    ///
    /// - Parameter byteCountMax: a longer block is text.
    /// - Complexity: O(length of the block); O(1) if the text does not start with a fence.
    package init?(startOf text: ArraySlice<UInt8>, byteCountMax: Int) {
        let window = text.prefix(byteCountMax)
        guard let firstEnd = Self.lineEnd(in: window, from: window.startIndex),
            Self.isFence(window[window.startIndex..<firstEnd], closing: false)
        else { return nil }
        var lines: [String] = []
        var start = firstEnd
        while start < window.endIndex {
            let end = Self.lineEnd(in: window, from: start)
            guard end != nil || window.endIndex == text.endIndex else { return nil }
            let line = window[start..<(end ?? window.endIndex)]
            if Self.isFence(line, closing: true) {
                guard let entries = FrontMatterParser(lines: lines.map { $0.withoutLineEnd() }).parse() else {
                    return nil
                }
                self.entries = entries
                self.lines = lines
                opening = String(decoding: window[window.startIndex..<firstEnd], as: UTF8.self)
                closing = String(decoding: line, as: UTF8.self)
                byteCount = line.endIndex - text.startIndex
                return
            }
            guard let text = String(validating: line, as: UTF8.self) else { return nil }
            lines.append(text)
            guard let next = end else { return nil }
            start = next
        }
        return nil
    }

    /// The index behind the line feed of the line that starts at `start`; nil if the text ends before one.
    private static func lineEnd(in bytes: ArraySlice<UInt8>, from start: Int) -> Int? {
        bytes[start...].firstIndex(of: 0x0A).map { $0 + 1 }
    }

    private static func isFence(_ line: ArraySlice<UInt8>, closing: Bool) -> Bool {
        guard line.count >= 3 else { return false }
        let start = line.prefix(3)
        let isDashes = start.elementsEqual("---".utf8) || (closing && start.elementsEqual("...".utf8))
        return isDashes && line.dropFirst(3).allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
    }
}

extension String {
    fileprivate func withoutLineEnd() -> String {
        var bytes = utf8[...]
        if bytes.last == 0x0A { bytes = bytes.dropLast() }
        if bytes.last == 0x0D { bytes = bytes.dropLast() }
        return String(Substring(bytes))
    }
}
