// Tags, links and images within one line of prose. Each byte is looked at a bounded number of times: every
// search for a closing mark that fails is remembered, so that a line of brackets costs no more than text.

/// Reads one line.
struct MarkdownInline {
    /// The longest destination of a link that is looked for, in bytes.
    private static let destinationByteCountMax = 4_096

    private let bytes: [UInt8]
    private let range: Range<Int>
    private var index: Int
    /// Marks that do not occur again before the end of the line.
    private var hasNoClosing: Set<[UInt8]> = []
    /// Where labels begin that have not ended yet; an image may stand inside the label of a link.
    private var openBrackets: [Int] = []
    private(set) var tags: [MarkdownScan.TagMention] = []
    private(set) var links: [MarkdownScan.Link] = []

    init(bytes: [UInt8], range: Range<Int>) {
        self.bytes = bytes
        self.range = range
        index = range.lowerBound
    }

    mutating func run() {
        if takeDefinition() { return }
        while index < range.upperBound {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "`"): skipCodeSpan()
            case UInt8(ascii: "#"): takeTag()
            case UInt8(ascii: "["): takeWikiLink()
            case UInt8(ascii: "]"): takeInlineLink()
            case UInt8(ascii: "<"): takeMarkup()
            default: index += 1
            }
        }
    }

    // MARK: Code

    private mutating func skipCodeSpan() {
        let start = index
        while index < range.upperBound && bytes[index] == UInt8(ascii: "`") { index += 1 }
        let mark = Array(bytes[start..<index])
        guard !hasNoClosing.contains(mark) else { return }
        var position = index
        while position < range.upperBound {
            guard bytes[position] == UInt8(ascii: "`") else {
                position += 1
                continue
            }
            let runStart = position
            while position < range.upperBound && bytes[position] == UInt8(ascii: "`") { position += 1 }
            if position - runStart == mark.count {
                index = position
                return
            }
        }
        hasNoClosing.insert(mark)
    }

    // MARK: Tags

    private mutating func takeTag() {
        let start = index
        index += 1
        guard start == range.lowerBound || bytes[start - 1] == 0x20 || bytes[start - 1] == 0x09 else { return }
        let wordEnd = bytes[index..<range.upperBound].firstIndex { !MarkdownScan.isTagByte($0) } ?? range.upperBound
        guard wordEnd > index, bytes[index] != UInt8(ascii: "/") else { return }
        if let end = closedTagEnd(from: wordEnd), add(start: start, end: end) { return }
        // "#1" is a number, and a tag's last slash or dash belongs to the sentence.
        var end = wordEnd
        while end > index + 1, bytes[end - 1] == UInt8(ascii: "/") || bytes[end - 1] == UInt8(ascii: "-") { end -= 1 }
        let word = bytes[index..<end]
        guard !word.allSatisfy({ Self.isDigit($0) || $0 == 0x2F || $0 == 0x2D }), !Self.isOrdinal(word),
            !Self.isColor(word)
        else { return }
        _ = add(start: start, end: end)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// `1st`, `22nd`.
    private static func isOrdinal(_ word: ArraySlice<UInt8>) -> Bool {
        let ending = word.drop(while: isDigit)
        return ending.count < word.count
            && ["st", "nd", "rd", "th"].contains(String(decoding: ending, as: UTF8.self).lowercased())
    }

    /// A colour as style sheets write it: 3, 4, 6 or 8 hexadecimal digits, all alike or with a numeral among them, two among 3
    /// or 4. `#dad`, `#facade` and `#2fa` are words.
    private static func isColor(_ word: ArraySlice<UInt8>) -> Bool {
        guard [3, 4, 6, 8].contains(word.count),
            word.allSatisfy({ isDigit($0) || (0x61...0x66).contains($0 | 0x20) })
        else { return false }
        return word.count(where: isDigit) > (word.count > 4 ? 0 : 1)
            || word.allSatisfy { $0 | 0x20 == word[word.startIndex] | 0x20 }
    }

    /// The end of a tag of several words, `#two words#`: the next `#` must touch the last word and be
    /// followed by none. A last word of one letter is the name of a language or a note, as in `C#`.
    private mutating func closedTagEnd(from wordEnd: Int) -> Int? {
        guard wordEnd < range.upperBound, !hasNoClosing.contains([UInt8(ascii: "#")]) else { return nil }
        let rest = bytes[wordEnd..<range.upperBound]
        guard let close = rest.firstIndex(of: UInt8(ascii: "#")) else {
            hasNoClosing.insert([UInt8(ascii: "#")])
            return nil
        }
        guard close - wordEnd <= TagPath.byteCountMax, close == wordEnd || bytes[close - 1] != 0x20 else { return nil }
        let isFollowed = close + 1 < range.upperBound && MarkdownScan.isTagByte(bytes[close + 1])
        let isSharp = close > wordEnd && bytes[close - 2] == 0x20 && (0x61...0x7A).contains(bytes[close - 1] | 0x20)
        guard !isFollowed, !isSharp, !rest[..<close].contains(where: { $0 == 0x60 || $0 == 0x5B || $0 == 0x5D }) else {
            return nil
        }
        return close + 1
    }

    private mutating func add(start: Int, end: Int) -> Bool {
        guard let text = String(validating: bytes[start..<end], as: UTF8.self), let tag = try? TagPath(text) else {
            return false
        }
        tags.append(MarkdownScan.TagMention(tag: tag, range: start..<end))
        index = end
        return true
    }

    // MARK: Links

    private mutating func takeWikiLink() {
        let start = index
        index += 1
        openBrackets.append(start)
        guard start + 1 < range.upperBound, bytes[start + 1] == UInt8(ascii: "[") else { return }
        let mark = Array("]]".utf8)
        guard !hasNoClosing.contains(mark) else { return }
        let first = start + 2
        var close = first
        while close + 1 < range.upperBound, bytes[close] != mark[0] || bytes[close + 1] != mark[1] { close += 1 }
        guard close + 1 < range.upperBound else {
            hasNoClosing.insert(mark)
            return
        }
        guard !bytes[first..<close].contains(UInt8(ascii: "[")) else { return }
        // "[[Title|what is shown]]" and "[[Title#Heading]]" point to the title. In a table the bar is escaped.
        var end = bytes[first..<close].firstIndex { $0 == UInt8(ascii: "|") || $0 == UInt8(ascii: "#") } ?? close
        if end < close, end > first, bytes[end] == UInt8(ascii: "|"), bytes[end - 1] == UInt8(ascii: "\\") { end -= 1 }
        add(.wiki, trimmed(first..<end))
        openBrackets.removeLast()
        index = close + 2
    }

    /// At the end of a label: `](destination)`.
    private mutating func takeInlineLink() {
        index += 1
        guard let open = openBrackets.popLast(), index < range.upperBound, bytes[index] == UInt8(ascii: "(") else {
            return
        }
        let isImage = open > range.lowerBound && bytes[open - 1] == UInt8(ascii: "!")
        guard let destination = destination(at: index + 1) else { return }
        add(isImage ? .image : .inline, destination.range)
        index = destination.end
    }

    /// A destination in angle brackets, or up to a space or the parenthesis that closes the link; longer ones
    /// than `destinationByteCountMax` are none.
    private func destination(at start: Int) -> (range: Range<Int>, end: Int)? {
        var first = start
        let limit = min(range.upperBound, start + Self.destinationByteCountMax)
        while first < limit && bytes[first] == 0x20 { first += 1 }
        guard first < limit else { return nil }
        if bytes[first] == UInt8(ascii: "<") {
            let rest = bytes[(first + 1)..<limit]
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            return ((first + 1)..<end, end + 1)
        }
        var depth = 0
        var end = first
        scan: while end < limit {
            switch bytes[end] {
            case UInt8(ascii: "\\") where end + 1 < limit: end += 1
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"):
                if depth == 0 { break scan }
                depth -= 1
            case 0x20, 0x09: break scan
            default: break
            }
            end += 1
        }
        guard end < limit else { return nil }
        return (first..<end, end)
    }

    /// `[label]: destination` alone on a line.
    private mutating func takeDefinition() -> Bool {
        let line = trimmed(range)
        guard let first = line.first, bytes[first] == UInt8(ascii: "["),
            let close = bytes[line].firstIndex(of: UInt8(ascii: "]")), close > first + 1, close + 1 < line.upperBound,
            bytes[close + 1] == UInt8(ascii: ":"), bytes[first + 1] != UInt8(ascii: "^")
        else { return false }
        var destination = trimmed((close + 2)..<line.upperBound)
        guard !destination.isEmpty else { return false }
        let end = bytes[destination].firstIndex(of: 0x20) ?? destination.upperBound
        destination = destination.lowerBound..<end
        if bytes[destination.lowerBound] == UInt8(ascii: "<"), bytes[end - 1] == UInt8(ascii: ">"),
            destination.count > 2
        {
            destination = (destination.lowerBound + 1)..<(end - 1)
        }
        add(.definition, destination)
        return true
    }

    /// `src` of an image and `href` of an anchor in inline HTML.
    private mutating func takeMarkup() {
        let start = index
        index += 1
        let rest = bytes[index..<range.upperBound]
        let isImage = rest.starts(with: Array("img ".utf8))
        guard isImage || rest.starts(with: Array("a ".utf8)), !hasNoClosing.contains([0x3E]) else { return }
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
            hasNoClosing.insert([0x3E])
            return
        }
        let name = Array((isImage ? " src=\"" : " href=\"").utf8)
        var position = start
        while position + name.count < end {
            if bytes[position] == 0x20, bytes[position..<(position + name.count)].elementsEqual(name) {
                let first = position + name.count
                if let close = bytes[first..<end].firstIndex(of: UInt8(ascii: "\"")) { add(.html, first..<close) }
                break
            }
            position += 1
        }
        index = end + 1
    }

    private mutating func add(_ form: MarkdownScan.LinkForm, _ destination: Range<Int>) {
        guard !destination.isEmpty, let text = String(validating: bytes[destination], as: UTF8.self) else { return }
        links.append(MarkdownScan.Link(form: form, destination: text, destinationRange: destination))
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
        while end > start, [0x20, 0x09, 0x0D].contains(bytes[end - 1]) { end -= 1 }
        return start..<end
    }
}
