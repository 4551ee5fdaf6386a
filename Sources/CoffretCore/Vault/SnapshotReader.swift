// Items out of one state of the vault, present or past. Nothing is read before it is asked for.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
package import CoffretStorage

/// Reads items, attachments and import records from a snapshot.
struct SnapshotReader {
    let snapshot: LogSnapshot
    /// What several concurrent texts show in this state.
    let text: (FactKey, [Fact]) throws -> ShownText
    private let unreadable: UnreadableValues

    init(
        snapshot: LogSnapshot, unreadable: UnreadableValues,
        text: @escaping (FactKey, [Fact]) throws -> ShownText
    ) {
        self.snapshot = snapshot
        self.unreadable = unreadable
        self.text = text
    }

    private var reader: ItemReader { ItemReader(value: { fact in try value(of: fact) }, text: text) }

    func value(of fact: Fact) throws -> [UInt8] {
        if let bytes = fact.plainInlineValue { return bytes }
        return try inStorage(snapshot.value(of: fact))
    }

    func facts(of entity: EntityID) throws -> [Fact] {
        try inStorage(snapshot.facts(of: entity))
    }

    /// The item with an id; nil if there is none.
    func item(_ id: EntityID) throws -> Item? {
        let facts = try facts(of: id)
        guard !facts.isEmpty else { return nil }
        return try item(id, facts: facts)
    }

    private func item(_ id: EntityID, facts: [Fact]) throws -> Item? {
        let files = try files(of: id)
        let item = try reader.item(id, facts: facts, attachments: files.clear, sealedFiles: files.sealed)
        for attribute in item?.unreadableAttributes ?? [] { unreadable.note(attribute, of: id) }
        return item
    }

    /// The files of an item: entities whose ids begin with the first half of its UUID and that name it.
    func attachments(of item: EntityID) throws -> [Attachment] {
        try files(of: item).clear
    }

    /// The files of an item, those of a locked note apart.
    func files(of item: EntityID) throws -> (clear: [Attachment], sealed: [SealedFile]) {
        var attachments: [Attachment] = []
        var files: [SealedFile] = []
        try forEachEntity(withPrefix: AttachmentID.prefix(for: item)) { id, facts in
            if let sealed = try reader.sealedFile(id, facts: facts) {
                if sealed.item == item { files.append(sealed.file) }
            } else if let attachment = try reader.attachment(id, facts: facts), attachment.item == item {
                attachments.append(attachment)
            }
        }
        return (attachments, files)
    }

    /// Goes through the attachments of all items but locked ones.
    func forEachAttachment(_ body: (Attachment) throws -> Void) throws {
        try forEachEntity(withPrefix: [EntityKind.attachment]) { id, facts in
            if let attachment = try reader.attachment(id, facts: facts) { try body(attachment) }
        }
    }

    /// Goes through all items of a kind in the order of their ids.
    func forEachItem(of kind: ItemKind, _ body: (Item) throws -> Void) throws {
        try forEachEntity(withPrefix: [kind.rawValue]) { id, facts in
            if let item = try item(id, facts: facts) { try body(item) }
        }
    }

    /// Goes through all items.
    func forEachItem(_ body: (Item) throws -> Void) throws {
        for kind in ItemKind.allCases { try forEachItem(of: kind, body) }
    }

    /// How many items there are.
    ///
    /// - Complexity: walks all their facts without reading long values.
    func itemCount() throws -> Int {
        var count = 0
        try forEachItemID { _ in count += 1 }
        return count
    }

    /// The UUIDs of all items.
    func itemUUIDs() throws -> [UniqueID] {
        var uuids: [UniqueID] = []
        try forEachItemID { uuids.append($0.uuid) }
        return uuids
    }

    private func forEachItemID(_ body: (EntityID) -> Void) throws {
        for kind in ItemKind.allCases {
            try forEachEntityID(withPrefix: [kind.rawValue]) { id in
                body(id)
                return true
            }
        }
    }

    /// The ids of items, of any kind, whose UUIDs begin with these hex digits; at most `countMax`.
    func itemIDs(beginningWith digits: [UInt8], countMax: Int) throws -> [EntityID] {
        // An odd digit is half a byte: ask for the whole bytes and look at the rest.
        let whole = digits.count / 2
        var prefix: [UInt8] = []
        for index in 0..<whole { prefix.append(digits[2 * index] << 4 | digits[2 * index + 1]) }
        let half = digits.count % 2 == 1 ? digits.last : nil
        var ids: [EntityID] = []
        for kind in ItemKind.allCases {
            try forEachEntityID(withPrefix: [kind.rawValue] + prefix) { id in
                let matches = half.map { id.uuid.bytes[whole] >> 4 == $0 } ?? true
                if matches && ids.count < countMax { ids.append(id) }
                return ids.count < countMax
            }
        }
        return ids
    }

    /// Collects the facts of each entity whose key begins with `prefix`.
    func forEachEntity(
        withPrefix prefix: [UInt8], _ body: (EntityID, [Fact]) throws -> Void
    ) throws {
        var cursor = try inStorage(snapshot.walk(withPrefix: prefix))
        var entity: EntityID?
        var facts: [Fact] = []
        while let fact = try inStorage(cursor.next()) {
            let next = fact.key.entity
            if let current = entity, current != next {
                try body(current, facts)
                facts.removeAll(keepingCapacity: true)
            }
            entity = next
            facts.append(fact)
        }
        if let entity { try body(entity, facts) }
    }

    /// Goes through the entities whose ids begin with `prefix` until `body` says no.
    private func forEachEntityID(withPrefix prefix: [UInt8], _ body: (EntityID) -> Bool) throws {
        var cursor = try inStorage(snapshot.walk(withPrefix: prefix))
        var last: EntityID?
        while let fact = try inStorage(cursor.next()) {
            let next = fact.key.entity
            guard next != last else { continue }
            last = next
            guard body(next) else { return }
        }
    }
}

/// Ids of attachments.
enum AttachmentID {
    /// How many bytes of its item's UUID an attachment's UUID begins with.
    static let sharedByteCount = 8

    /// The beginning of the keys of an item's attachments: kind `A`, half of the item's UUID.
    ///
    /// So all files of an item lie together in the tree and are found in one read, and no list of them has to
    /// be kept, which two devices could get out of step with the files themselves.
    static func prefix(for item: EntityID) -> [UInt8] {
        [EntityKind.attachment] + item.uuid.bytes.prefix(sharedByteCount)
    }

    /// A fresh id for an attachment of an item.
    static func generate(for item: EntityID, from random: any RandomSource) -> EntityID {
        let bytes = prefix(for: item) + random.bytes(count: UniqueID.byteCount - sharedByteCount)
        guard let id = EntityID(bytes: bytes) else { preconditionFailure("an entity id has 17 bytes") }
        return id
    }
}

/// Values that could not be read while items were: they cost their attributes alone, and are named.
package final class UnreadableValues {
    /// Attributes, by entity.
    package private(set) var found: [EntityID: Set<String>] = [:]

    package func note(_ attribute: String, of entity: EntityID) { found[entity, default: []].insert(attribute) }

    package func forget() { found = [:] }
}
