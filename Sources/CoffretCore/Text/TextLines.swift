// A text as lines of bytes. Invariant: the lines put together are the text again, byte for byte, and two lines are
// equal only if their bytes are. Swift's own string comparison would call a composed and a decomposed letter the same,
// and an edit from one to the other would be lost.

/// The lines of a text, each with its line feed.
package struct TextLines: Equatable, Sendable {
    /// The lines. Only the last may lack a line feed; an empty text has no lines.
    package let lines: [ArraySlice<UInt8>]

    /// Parts a text after each line feed.
    package init(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Parts bytes after each line feed.
    init(bytes: [UInt8]) {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices where bytes[index] == 0x0A {
            lines.append(bytes[start...index])
            start = index + 1
        }
        if start < bytes.count { lines.append(bytes[start...]) }
        self.lines = lines
    }

    /// A line as text for people, without its line ending.
    package static func display(_ line: ArraySlice<UInt8>) -> String {
        var line = line
        if line.last == 0x0A { line = line.dropLast() }
        if line.last == 0x0D { line = line.dropLast() }
        return String(decoding: line, as: UTF8.self)
    }

    /// Puts lines together again.
    package static func joined(_ lines: some Sequence<ArraySlice<UInt8>>) -> String {
        var bytes: [UInt8] = []
        for line in lines { bytes += line }
        return String(decoding: bytes, as: UTF8.self)
    }
}
