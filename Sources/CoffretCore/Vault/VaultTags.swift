// Tags across notes. The one thing to keep true: a tag that stands in a text is changed in the text; taking it
// away from the list alone would bring it back at the next reading.

internal import CoffretBase
package import CoffretStorage

extension VaultBatch {
    /// Gives an item tags; those it has already, here or in its text, are passed over.
    package func addTags(_ tags: [TagPath], to id: EntityID) throws(CoreError) {
        try update(id) { item in
            for tag in tags where !item.tags.contains(where: { $0.folded == tag.folded }) {
                item.givenTags.append(tag)
            }
            item.givenTags.sort()
        }
    }

    /// Takes tags away, out of the text too.
    ///
    /// - Throws: `CoreError.tagInvalid` if the item does not have one of them.
    package func removeTags(_ tags: [TagPath], from id: EntityID) throws(CoreError) {
        let gone = Set(tags.map(\.folded))
        try update(id) { (item) throws(CoreError) in
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
    package func renameTag(_ old: TagPath, to new: TagPath, in id: EntityID) throws(CoreError) -> Bool {
        try update(id) { (item) throws(CoreError) in
            var renamed: [TagPath] = []
            for tag in item.givenTags { renamed.append(try tag.moved(from: old, to: new)) }
            // Two tags may have become one.
            var seen: Set<String> = []
            item.givenTags = renamed.filter { seen.insert($0.folded).inserted }.sorted()
            var moved: [TagPath: TagPath] = [:]
            for tag in MarkdownScan(item.text).tags.map(\.tag) where tag.isInside(old) {
                moved[tag] = try tag.moved(from: old, to: new)
            }
            item.text = TagText.replacing(in: item.text) { moved[$0].map { .some($0) } ?? .none }
        }
    }
}

/// Changes tags inside a text.
enum TagText {
    /// Replaces mentions of tags.
    ///
    /// - Parameter replacement: nil to leave a mention, `.some(nil)` to take it out, or another tag.
    static func replacing(in text: String, _ replacement: (TagPath) -> TagPath??) -> String {
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        var position = 0
        for mention in MarkdownScan(bytes: bytes).tags {
            guard let tag = replacement(mention.tag) else { continue }
            output += bytes[position..<mention.range.lowerBound]
            position = mention.range.upperBound
            if let tag {
                output += Array(tag.mention.utf8)
            } else if output.last == 0x20 || output.isEmpty {
                // One of the two spaces around the mention goes with it.
                if position < bytes.count && bytes[position] == 0x20 { position += 1 }
            }
        }
        guard position > 0 else { return text }
        output += bytes[position...]
        return String(decoding: output, as: UTF8.self)
    }
}

extension Vault {
    /// Gives a tag, and all below it, another name in all items, in one commit.
    ///
    /// - Returns: how many items changed.
    package func renameTag(_ old: TagPath, to new: TagPath) throws(CoreError) -> Int {
        var filter = ItemFilter.everything
        filter.tags = [old]
        let ids = try list(filter).map { $0.id }
        return try batch { (batch) throws(CoreError) in
            var count = 0
            for id in ids where try batch.renameTag(old, to: new, in: id) { count += 1 }
            return count
        }
    }
}
