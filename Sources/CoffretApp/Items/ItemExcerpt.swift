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
        guard let end = text.firstIndex(where: \.isNewline) else {
            return item.title.isEmpty || text.contains(item.title) ? "" : text
        }
        return text[..<end].contains(item.title) ? text[end...] : text
    }

    /// The words without the marks that begin lines.
    private static func line(_ text: Substring) -> String? {
        var result = ""
        for line in text.prefix(4 * characterCountMax).split(whereSeparator: \.isNewline) {
            let words = line.drop { "#>-*+ \t".contains($0) }.split(whereSeparator: \.isWhitespace)
            // A mark in front of a tag is dropped above; the tag says nothing that the list does not.
            if line.first == "#", line.dropFirst().first?.isWhitespace == false, words.count == 1 { continue }
            if !result.isEmpty, !words.isEmpty { result += " " }
            result += words.joined(separator: " ").replacing("**", with: "").replacing("`", with: "")
        }
        return result.isEmpty ? nil : String(result.prefix(characterCountMax))
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
