// Tags across notes. Invariant: a tag that stands in a text is changed in the text; taking it away from the list alone
// would bring it back at the next reading.

internal import CoffretBase
package import CoffretStorage

extension VaultBatch {
    /// Gives an item tags; those it has already, here or in its text, are passed over.
    package func addTags(_ tags: [TagPath], to id: EntityID) throws {
        try update(id) { item in
            for tag in tags where !item.tags.contains(where: { $0.folded == tag.folded }) {
                item.givenTags.append(tag)
            }
            item.givenTags.sort()
        }
    }

    /// Takes tags away, out of the text too, where their words stay.
    ///
    /// - Throws: `CoreError.tagInvalid` if the item does not have one of them.
    package func removeTags(_ tags: [TagPath], from id: EntityID) throws {
        let gone = Set(tags.map(\.folded))
        try update(id) { item in
            let own = Set(item.tags.map(\.folded))
            guard gone.isSubset(of: own) else {
                throw CoreError(.tagInvalid, at: gone.subtracting(own).sorted().first)
            }
            item.givenTags.removeAll { gone.contains($0.folded) }
            item.text = TagText.replacing(in: item.text) { gone.contains($0.folded) ? .some(nil) : .none }
        }
    }

    /// Gives a tag, and all below it, another name in one item.
    ///
    /// - Returns: whether the item had it.
    @discardableResult
    package func renameTag(_ old: TagPath, to new: TagPath, in id: EntityID) throws -> Bool {
        try update(id) { item in
            var renamed: [TagPath] = []
            for tag in item.givenTags { renamed.append(try tag.moved(from: old, to: new)) }
            // Two tags may have become one.
            var seen: Set<String> = []
            item.givenTags = renamed.filter { seen.insert($0.folded).inserted }.sorted()
            var moved: [TagPath: TagPath?] = [:]
            for tag in MarkdownScan(item.text).tags.map(\.tag) where tag.isInside(old) {
                let target = try tag.moved(from: old, to: new)
                moved[tag] = target.mention == nil ? .some(nil) : target
                // A tag that cannot be written into a text is given to the item.
                if target.mention == nil, seen.insert(target.folded).inserted { item.givenTags.append(target) }
            }
            item.givenTags.sort()
            item.text = TagText.replacing(in: item.text) { moved[$0].map { .some($0) } ?? .none }
        }
    }
}

/// Changes tags inside a text. Invariant: what is not part of a tag stays, and of a tag in a sentence the words stay
/// as well.
enum TagText {
    /// Replaces mentions of tags.
    ///
    /// - Parameter replacement: nil to leave a mention, `.some(nil)` to make it a tag no more, or another tag. A mention that
    ///   is a tag no more goes as a whole from a line of tags alone; elsewhere it loses its marks.
    static func replacing(in text: String, _ replacement: (TagPath) -> TagPath??) -> String {
        let bytes = Array(text.utf8)
        let mentions = MarkdownScan(bytes: bytes).tags
        let places = Places(bytes, mentions.map(\.range))
        var output: [UInt8] = []
        var position = 0
        for mention in mentions {
            guard let tag = replacement(mention.tag) else { continue }
            output += bytes[position..<mention.range.lowerBound]
            position = mention.range.upperBound
            if let written = tag?.mention {
                output += Array(written.utf8)
            } else if places.isAmongTags(mention.range) {
                // One of the two spaces around the mention goes with it.
                if output.last == 0x20 || output.last == 0x0A || output.isEmpty {
                    if position < bytes.count && bytes[position] == 0x20 { position += 1 }
                }
            } else {
                output += bytes[mention.range].filter { $0 != UInt8(ascii: "#") }
            }
        }
        guard position > 0 else { return text }
        output += bytes[position...]
        return String(decoding: output, as: UTF8.self)
    }

    /// Which lines hold nothing but tags.
    private struct Places {
        private var lines: [(range: Range<Int>, isTags: Bool)] = []

        init(_ bytes: [UInt8], _ mentions: [Range<Int>]) {
            var left = mentions[...]
            var start = 0
            while start < bytes.count, !left.isEmpty {
                let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
                var (position, isTags) = (start, true)
                while let mention = left.first, mention.lowerBound < end {
                    isTags = isTags && bytes[position..<mention.lowerBound].allSatisfy(Self.isBlank)
                    position = mention.upperBound
                    left = left.dropFirst()
                }
                if position > start {
                    lines.append((start..<end, isTags && bytes[position..<end].allSatisfy(Self.isBlank)))
                }
                start = end + 1
            }
        }

        private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }

        func isAmongTags(_ mention: Range<Int>) -> Bool {
            var (low, high) = (0, lines.count)
            while low < high {
                let middle = (low + high) / 2
                if lines[middle].range.upperBound < mention.upperBound { low = middle + 1 } else { high = middle }
            }
            return low < lines.count && lines[low].isTags
        }
    }
}

extension Vault {
    /// Gives a tag, and all below it, another name in all items, in one commit.
    ///
    /// - Returns: how many items changed, and in how many of them the text.
    package func renameTag(_ old: TagPath, to new: TagPath) throws -> (itemCount: Int, textCount: Int) {
        var filter = ItemFilter.everything
        filter.tags = [old]
        let ids = try list(filter).map { $0.id }
        return try batch { batch in
            var (itemCount, textCount) = (0, 0)
            for id in ids {
                let text = try batch.item(id)?.text
                guard try batch.renameTag(old, to: new, in: id) else { continue }
                itemCount += 1
                if try batch.item(id)?.text != text { textCount += 1 }
            }
            return (itemCount, textCount)
        }
    }
}
