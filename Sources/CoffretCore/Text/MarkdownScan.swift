// Title, tags and links of a note's text. Invariant: nothing inside code counts, and no text, however odd, costs more
// than time linear in its length.

/// A light reading of Markdown: no document tree, only what the vault needs to know.
///
/// Blocks are told apart line by line (front matter, fenced and indented code, headings); inside a line, code
/// spans are passed over and tags, links and images are taken with their positions. Two things differ from CommonMark:
/// labels and code spans end with their line, and Markdown within blocks of HTML is read.
package struct MarkdownScan: Equatable, Sendable {
    /// A tag in the text.
    package struct TagMention: Equatable, Sendable {
        /// The tag.
        package let tag: TagPath
        /// Where it stands, `#` and closing `#` included, in UTF-8 bytes.
        package let range: Range<Int>
    }

    /// How a link is written.
    package enum LinkForm: String, Equatable, Sendable {
        /// `[[Title]]`
        case wiki
        /// `[label](destination)`
        case inline
        /// `![alt](destination)`
        case image
        /// `[label]: destination`
        case definition
        /// `<img src="destination">` and `<a href="destination">`
        case html
    }

    /// A link or an image in the text.
    package struct Link: Equatable, Sendable {
        /// How it is written.
        package let form: LinkForm
        /// Where it points, as written: a title, a path or an address.
        package let destination: String
        /// Where the destination stands, in UTF-8 bytes.
        package let destinationRange: Range<Int>
    }

    /// The first line that has something to say, without its markup; empty for an empty text.
    package private(set) var title = ""
    /// The tags in the order of the text, repetitions included.
    package private(set) var tags: [TagMention] = []
    /// The links and images in the order of the text.
    package private(set) var links: [Link] = []

    /// The longest title, in UTF-8 bytes.
    package static let titleByteCountMax = 512

    /// Reads a text.
    ///
    /// - Complexity: linear in the text.
    package init(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Reads a text given as bytes; what is not UTF-8 is passed over.
    package init(bytes: [UInt8]) {
        var blocks = MarkdownBlocks(bytes: bytes)
        while let line = blocks.next() {
            guard !line.isCode else { continue }
            if title.isEmpty { title = Self.title(of: bytes[line.range]) }
            var inline = MarkdownInline(bytes: bytes, range: line.range)
            inline.run()
            tags += inline.tags
            links += inline.links
        }
    }

    /// The title alone.
    ///
    /// - Complexity: a copy of the text, and the lines until the one that gives the title.
    package static func title(of text: String) -> String {
        let bytes = Array(text.utf8)
        var blocks = MarkdownBlocks(bytes: bytes)
        while let line = blocks.next() {
            guard !line.isCode else { continue }
            let title = title(of: bytes[line.range])
            if !title.isEmpty { return title }
        }
        return ""
    }

    /// Whether a byte may stand in a tag of one word: letters, digits, `-`, `_`, `/` and all of UTF-8 above ASCII.
    static func isTagByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2F, 0x5F, 0x80...0xFF: true
        default: false
        }
    }

    /// The text of a line without heading, quotation and list marks, emphasis and code marks; empty if the line
    /// is no more than a rule, a comment or a definition.
    private static func title(of line: ArraySlice<UInt8>) -> String {
        var line = trimmed(line)
        if line.starts(with: Array("<!--".utf8)) || line.first == UInt8(ascii: "<") && line.last == UInt8(ascii: ">") {
            return ""
        }
        if line.allSatisfy({ [0x2D, 0x3D, 0x2A, 0x5F, 0x20].contains($0) }) { return "" }
        var wasHeading = false
        while let first = line.first {
            if first == UInt8(ascii: "#"), line.drop(while: { $0 == first }).first ?? 0x20 == 0x20 {
                wasHeading = true
                line = trimmed(line.drop { $0 == first })
            } else if [0x3E, 0x2D, 0x2A, 0x2B].contains(first), line.dropFirst().first == 0x20 {
                line = trimmed(line.dropFirst())
            } else {
                break
            }
        }
        if wasHeading { line = trimmed(line.dropLast(while: UInt8(ascii: "#"))) }
        var text: [UInt8] = []
        var index = line.startIndex
        while index < line.endIndex {
            let byte = line[index]
            if byte == UInt8(ascii: "`") {
                index += 1
            } else if byte == UInt8(ascii: "*"), index + 1 < line.endIndex, line[index + 1] == byte {
                index += 2
            } else if byte == UInt8(ascii: "\\"), index + 1 < line.endIndex, isPunctuation(line[index + 1]) {
                text.append(line[index + 1])
                index += 2
            } else {
                text.append(byte)
                index += 1
            }
        }
        return cut(String(decoding: text, as: UTF8.self))
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > titleByteCountMax else { return text }
        var cut = ""
        for character in text {
            if cut.utf8.count + character.utf8.count > titleByteCountMax - 3 { break }
            cut.append(character)
        }
        return cut + "…"
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        while let last = line.last, last == 0x20 || last == 0x09 || last == 0x0D { line = line.dropLast() }
        return line
    }

    static func isPunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func dropLast(while byte: UInt8) -> ArraySlice<UInt8> {
        var slice = self
        while slice.last == byte { slice = slice.dropLast() }
        return slice
    }
}
