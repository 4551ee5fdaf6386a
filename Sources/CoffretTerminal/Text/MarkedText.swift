// A line of text with what was found in it. Invariant: without colour it is the text alone, and cut to a width it is
// as wide as the text would be.

/// Text for a terminal, some ranges of which are matches.
package struct MarkedText {
    /// Safe to display, in order.
    private let pieces: [(text: String, isMatch: Bool)]
    /// All of it.
    package let text: String

    /// - Parameter text: safe to display already.
    package init(_ text: String) {
        self.text = text
        pieces = [(text, false)]
    }

    /// Makes each part of a text safe to display.
    ///
    /// - Parameter matches: offsets into the UTF-8 of `text`; ranges that do not fit it are passed over.
    package init(_ text: String, matches: [Range<Int>]) {
        var pieces: [(text: String, isMatch: Bool)] = []
        let bytes = Array(text.utf8)
        var end = 0
        func add(_ range: Range<Int>, isMatch: Bool) {
            let part = String(decoding: bytes[range], as: UTF8.self)
            if !part.isEmpty { pieces.append((TextWidth.displaySafe(part), isMatch)) }
        }
        for match in matches.sorted(by: { $0.lowerBound < $1.lowerBound })
        where match.lowerBound >= end && match.upperBound <= bytes.count {
            add(end..<match.lowerBound, isMatch: false)
            add(match, isMatch: true)
            end = match.upperBound
        }
        add(end..<bytes.count, isMatch: false)
        self.pieces = pieces
        self.text = pieces.map(\.text).joined()
    }

    /// The text in colour, cut to `width` columns unless nobody looks.
    ///
    /// - Parameter role: of what is no match.
    package func styled(_ style: TextStyler, role: TextRole?, width: Int?) -> String {
        let shown = width.map { TextWidth.truncate(text, to: $0) } ?? text
        let whole = { (part: String) in role.map { style.apply($0, part) } ?? part }
        guard style.isColored, pieces.contains(where: \.isMatch) else { return whole(shown) }
        var rest = Substring(shown).unicodeScalars
        var result = ""
        for piece in pieces {
            let part = String(Substring(rest.prefix(piece.text.unicodeScalars.count)))
            rest = rest.dropFirst(piece.text.unicodeScalars.count)
            result += piece.isMatch ? style.apply(.match, part) : whole(part)
        }
        // The ellipsis of a text that was cut counts for the piece it stands in.
        return result
    }
}
