// The life of one item. Invariant: it is played again out of the item's own entries, so that it costs what the item has, and
// ends in what stands now.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage

/// An item after each entry that changed it, oldest first.
struct ItemLife {
    /// A state that stood until the next one.
    struct State {
        /// The entry that made it, or the root of the tree that it begins with.
        let name: BlobName
        let time: Milliseconds
        let instance: UniqueID
        let device: [UInt8]
        /// Nil where the item was not there.
        let item: Item?
    }

    private let id: EntityID
    private var replay: EntityReplay

    init(_ id: EntityID, in repository: LogRepository) throws {
        self.id = id
        replay = try inStorage(repository.replay(ofEntities: [id.bytes, AttachmentID.prefix(for: id)]))
    }

    /// Whether nothing was ever written of it that is kept here.
    var isEmpty: Bool { replay.start == nil && replay.steps.isEmpty }

    /// What stood before the first entry that is kept; nil: nothing did.
    mutating func first() throws -> State? {
        guard let start = replay.start, replay.stepCount == 0 else { return nil }
        return State(
            name: start.root, time: start.time, instance: start.deviceID, device: start.deviceID.bytes, item: try item()
        )
    }

    /// The next state; nil at the end.
    mutating func next() throws -> State? {
        guard let step = replay.next() else { return nil }
        return State(
            name: step.entry, time: step.time, instance: step.rank.dot.instance, device: step.deviceID.bytes,
            item: try item())
    }

    /// Goes on to the state at an entry, whether or not it changed the item.
    mutating func advance(upTo rank: EntryRank) { replay.advance(upTo: rank) }

    /// The item as it stands at this place.
    func item() throws -> Item? {
        let facts = replay.facts { $0 == id }
        guard !facts.isEmpty else { return nil }
        let (clear, sealed) = try files()
        return try reader.item(id, facts: facts, attachments: clear, sealedFiles: sealed)
    }

    /// The values that an entity's facts show at this place, by key.
    func winners(of entity: EntityID) throws -> [FactKey: [UInt8]] {
        var values: [FactKey: [UInt8]] = [:]
        for (key, facts) in Dictionary(grouping: replay.facts { $0 == entity }, by: \.key) {
            values[key] = try value(shownBy: facts, under: key)
        }
        return values
    }

    private func value(shownBy facts: [Fact], under key: FactKey) throws -> [UInt8]? {
        if facts.count > 1, ItemTexts.isText(key) { return try inStorage(replay.shownText(under: key))?.text }
        guard let winner = facts.winner else { return nil }
        return try inStorage(replay.value(of: winner))
    }

    private var reader: ItemReader {
        let replay = replay
        return ItemReader(value: { fact in try inStorage(replay.value(of: fact)) }) { key, _ in
            guard let shown = try inStorage(replay.shownText(under: key)) else {
                throw CoreError(.storage, at: key.description)
            }
            return shown
        }
    }

    private func files() throws -> (clear: [Attachment], sealed: [SealedFile]) {
        let prefix = AttachmentID.prefix(for: id)
        var (attachments, files): ([Attachment], [SealedFile]) = ([], [])
        let all = replay.facts { $0.bytes.starts(with: prefix) }
        for (entity, facts) in Dictionary(grouping: all, by: \.key.entity).sorted(by: { $0.key < $1.key }) {
            if let sealed = try reader.sealedFile(entity, facts: facts) {
                if sealed.item == id { files.append(sealed.file) }
            } else if let attachment = try reader.attachment(entity, facts: facts), attachment.item == id {
                attachments.append(attachment)
            }
        }
        return (attachments, files)
    }
}
