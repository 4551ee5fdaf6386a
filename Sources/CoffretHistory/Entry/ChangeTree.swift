// Changes of a large entry as the facts of a tree (E6). The one thing to keep true: a replaced fact is in it with its own
// dot, a new value with the entry's, all with the entry's height, and no (key, dot) twice; so one tree says one list.

internal import CoffretBase
package import CoffretStorage

package enum ChangeTree {
    /// Whether changes lie in a tree: above 512 of them, or 256 KiB.
    ///
    /// - Parameter own: whose entry it is.
    package static func isNeeded(for changes: [Change], own: InstanceID) -> Bool {
        if changes.count > HistoryLimits.changeCountMax { return true }
        let codec = ChangeCodec(own: own, others: ChangeCodec.others(changes, own: own))
        return CBOREncoder.encode { codec.encode(changes, to: &$0) }.count > HistoryLimits.changesByteCountMax
    }

    /// The facts of the tree, ascending by key and dot.
    ///
    /// - Parameter value: where a value of 513 to 4,096 bytes lies, which the tree names by its blob.
    package static func facts(
        of changes: [Change], by entry: Dot, height: Height, value: (ChangeContent) -> FactContent
    ) -> [Fact] {
        changes.flatMap { change in
            let gone = change.replaces.map { Fact(key: change.key, content: .retraction, dot: $0, height: height) }
            guard change.content != .retraction else { return gone }
            return gone + [Fact(key: change.key, content: value(change.content), dot: entry, height: height)]
        }.sorted()
    }

    /// The changes that a tree says.
    ///
    /// - Parameter facts: ascending by key and dot.
    /// - Throws: `.entryMalformed` for a value with another dot, another height, and for a (key, dot) that comes twice.
    package static func changes(
        of facts: [Fact], by entry: Dot, height: Height, place: some CustomStringConvertible
    ) throws(HistoryError) -> [Change] {
        var changes: [Change] = []
        var start = 0
        while start < facts.count {
            let key = facts[start].key
            let end = facts[start...].firstIndex { $0.key != key } ?? facts.count
            let group = facts[start..<end]
            let written = group.filter { !$0.isRetraction }
            guard Set(group.map(\.dot)).count == group.count, written.count <= 1,
                written.allSatisfy({ $0.dot == entry }), group.allSatisfy({ $0.height == height })
            else { throw HistoryError(.entryMalformed, place: place.description) }
            let content: ChangeContent =
                switch written.first?.content {
                case .inline(let bytes): .inPlace(bytes)
                case .stored(let value): .inBlobs(value)
                case .retraction, nil: .retraction
                }
            changes.append(Change(key: key, content: content, replaces: group.filter(\.isRetraction).map(\.dot)))
            start = end
        }
        return changes
    }
}
