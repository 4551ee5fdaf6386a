// A line of text for a list. Invariant: nothing secret, hidden or locked is in it.

internal import CoffretCore
internal import CoffretWire

enum ItemExcerpt {
    private static let characterCountMax = 200
    /// Rows of a list that get one; each costs reading its item.
    static let rowCountMax = 200

    /// - Returns: nil for an item that says nothing.
    static func text(of item: Item) -> String? {
        if item.isVeiled || item.isSealed || item.isHidden { return nil }
        let username = item.fields.first { $0.key.name == "username" }
        let open = username ?? item.fields.first { !$0.kind.isSecret }
        if let open, !open.value.isEmpty { return line(open.value[...]) }
        return line(withoutTitle(item)[...])
    }

    /// The text below the line that gives the title.
    private static func withoutTitle(_ item: Item) -> Substring {
        let text = item.text.drop { $0.isNewline || $0.isWhitespace }
        let title = item.title
        guard let end = text.firstIndex(where: \.isNewline) else {
            return title.isEmpty || text.contains(title) ? "" : text
        }
        let line = text[..<end]
        let isTitle = line.drop { isMark($0.unicodeScalars.first) }.hasPrefix(title) || line.contains(title)
        return isTitle ? text[end...] : text
    }

    /// The words without the marks that begin lines.
    ///
    /// - Complexity: by scalars, since a list of many rows cannot wait until each text is taken apart into characters.
    private static func line(_ text: Substring) -> String? {
        var result = String.UnicodeScalarView()
        for line in text.unicodeScalars.prefix(4 * characterCountMax).split(whereSeparator: isNewline) {
            let words = line.drop(while: isMark).split(whereSeparator: isSpace)
            // A mark in front of a tag is dropped above; the tag says nothing that the list does not.
            if line.first == "#", let second = line.dropFirst().first, !isSpace(second), words.count == 1 { continue }
            for word in words {
                if !result.isEmpty { result.append(" ") }
                append(word, to: &result)
            }
        }
        return result.isEmpty ? nil : String(String(result).prefix(characterCountMax))
    }

    /// A word without the marks of strong and of code.
    private static func append(_ word: Substring.UnicodeScalarView, to result: inout String.UnicodeScalarView) {
        var rest = word
        while let scalar = rest.popFirst() {
            if scalar == "`" { continue }
            if scalar == "*", rest.first == "*" { rest.removeFirst() } else { result.append(scalar) }
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar?) -> Bool {
        switch scalar {
        case "#", ">", "-", "*", "+", " ", "\t": true
        default: false
        }
    }

    private static func isNewline(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? scalar == " " || (0x09...0x0D).contains(scalar.value) : scalar.properties.isWhitespace
    }
}

extension ItemList.Answer {
    /// Adds them to the first rows.
    mutating func addExcerpts(of listing: ItemListing) throws {
        for (index, row) in listing.rows.prefix(ItemExcerpt.rowCountMax).enumerated() {
            items[index].excerpt = try ItemExcerpt.text(of: row.vault.item(row.item.id))
        }
    }
}
