// Several changes as one commit. Invariant: either all of a batch is in the vault or none of it, and inside a batch
// reads see what was written before.

package import CoffretBase
package import CoffretLogs
package import CoffretStorage

/// Collects changes until the vault commits them together.
package final class VaultBatch {
    let vault: Vault
    private let snapshot: () throws -> SnapshotReader
    private var firstReader: SnapshotReader?
    /// Items as they will stand; nil for those that will be gone.
    private var pending: [EntityID: Item?] = [:]
    /// As they came; the last of a key counts.
    private var collected: [LogChange] = []
    /// Entities that were removed, and how many changes had been collected by then: those of the entity among them are void.
    private var retracted: [EntityID: Int] = [:]
    /// Whether facts of an item may have been written more than once.
    private var hasRepetitions = false
    /// Hears of items, to make them searchable beside the commit.
    private let indexBuilder: IndexBuilder?
    /// When the batch began: all its changes carry this time.
    package let time: Milliseconds

    /// - Parameter snapshot: what stands before the batch; made when something is read.
    init(vault: Vault, indexBuilder: IndexBuilder? = nil, snapshot: @escaping () throws -> SnapshotReader) {
        self.vault = vault
        self.snapshot = snapshot
        self.indexBuilder = indexBuilder
        time = vault.clock.now
    }

    /// The state before the batch.
    var reader: SnapshotReader {
        get throws {
            if let firstReader { return firstReader }
            let made = try snapshot()
            firstReader = made
            return made
        }
    }

    /// The item as it will stand after the batch; nil if it will not be there.
    package func item(_ id: EntityID) throws -> Item? {
        if let known = pending[id] { return known }
        return try reader.item(id)
    }

    private func existing(_ id: EntityID) throws -> Item {
        guard let item = try item(id) else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        return item
    }

    /// Collects changes; may touch keys that the batch changed before.
    func add(_ list: [LogChange]) {
        hasRepetitions = true
        collected += list
    }

    private func write(from old: Item?, to new: Item, scan: MarkdownScan? = nil) throws {
        if pending[new.id] != nil { hasRepetitions = true }
        collected += try ItemWriter.changes(from: old, to: new)
        setPending(new, scan: scan)
    }

    /// - Parameter scan: of the item's text, if it is known.
    func setPending(_ item: Item, scan: MarkdownScan? = nil) {
        pending.updateValue(item, forKey: item.id)
        indexBuilder?.put(item, scan: scan)
    }

    /// The item that the batch wrote under an id; nil if it wrote none.
    func pendingItem(_ id: EntityID) -> Item? { pending[id] ?? nil }

    // MARK: Items

    /// Makes an item.
    ///
    /// Fields whose key is already used in the draft, or that come without a place, are numbered in order.
    /// - Parameter scan: of the draft's text, if it was made already.
    @discardableResult
    package func create(_ draft: ItemDraft, scan: MarkdownScan? = nil) throws -> EntityID {
        let id = EntityID(
            kind: draft.kind.rawValue, uuid: draft.uuid ?? UniqueID.generate(from: vault.random))
        var item = Item(id: id, kind: draft.kind, created: draft.created ?? time)
        item.modified = draft.modified ?? item.created
        item.givenTitle = draft.title
        item.text = draft.text
        item.fields = draft.fields
        item.givenTags = draft.tags
        item.path = draft.path
        for flag in Flag.allCases { item.set(flag, draft.flags[flag], at: time) }
        try write(from: nil, to: item, scan: scan)
        return id
    }

    /// Changes an item: `edit` gets it as it stands and alters what it likes.
    ///
    /// A locked note comes sealed; `edit` may put in its place what `Vault.opened` gave, changed.
    /// The time of modification becomes that of the batch if anything else changed, unless `edit` set it.
    /// - Returns: whether anything changed.
    @discardableResult
    package func update(
        _ id: EntityID, _ edit: (inout Item) throws -> Void
    ) throws -> Bool {
        let old = try existing(id)
        var new = old
        try edit(&new)
        // Written as it is shown, its contents would be gone.
        guard !new.isVeiled else { throw CoreError(.noteHidden, at: new.title) }
        guard new != old else { return false }
        if new.isSealed && (new.text != old.text || new.fields != old.fields) {
            throw CoreError(.noteLocked, at: id.uuid.hex)
        }
        if new.lock?.isOpen == true { return try updateLocked(old, to: new) }
        if new.modified == old.modified { new.modified = max(time, old.modified) }
        try write(from: old, to: new)
        return true
    }

    /// Sets a flag of an item, or takes it off.
    package func set(_ flag: Flag, of id: EntityID, to isSet: Bool) throws {
        try setFlag(id) { $0.set(flag, isSet, at: self.time) }
    }

    /// Hides an item's contents behind the question whether somebody is there, or shows them again.
    package func setHidden(_ id: EntityID, _ isHidden: Bool) throws {
        try setFlag(id) { $0.hidden = isHidden ? $0.hidden ?? self.time : nil }
    }

    /// Flags are no edits: the time of modification stays, so that pinning does not reorder lists.
    private func setFlag(_ id: EntityID, _ edit: (inout Item) -> Void) throws {
        let old = try existing(id)
        var new = old
        edit(&new)
        try write(from: old, to: new)
    }

    /// Removes an item and its files from the current state; the past still has them until history is compacted.
    package func delete(_ id: EntityID) throws {
        let item = try existing(id)
        indexBuilder?.abandon()
        for attachment in item.attachments { try retractAll(of: attachment.id) }
        for file in item.lock?.files ?? [] { try retractAll(of: file.id) }
        try retractAll(of: id)
        pending.updateValue(nil, forKey: id)
    }

    private func retractAll(of entity: EntityID) throws {
        retracted[entity] = collected.count
        for fact in try reader.facts(of: entity) { collected.append(LogChange(key: fact.key, value: nil)) }
    }

    // MARK: Files

    /// Names a stored file as an attachment of an item.
    @discardableResult
    package func addAttachment(
        to id: EntityID, name: String, mediaType: String, byteCount: Int, reference: [UInt8], path: String? = nil,
        created: Milliseconds? = nil
    ) throws -> Attachment {
        var item = try existing(id)
        try Self.checkFileName(name)
        if item.isSealed { item = try vault.opened(item) }
        let attachment = Attachment(
            id: AttachmentID.generate(for: id, from: vault.random), item: id, name: name, mediaType: mediaType,
            byteCount: byteCount, path: path, created: created ?? time, encodedReference: reference)
        if item.isLocked {
            try addSealed(attachment, to: item)
        } else {
            collected += ItemWriter.changes(adding: attachment)
        }
        item.attachments.append(attachment)
        item.attachments.sort { ($0.name, $0.id) < ($1.name, $1.id) }
        setPending(item)
        return attachment
    }

    /// Refuses names that are paths, empty, too long or unprintable.
    static func checkFileName(_ name: String) throws {
        let isPlain = !name.utf8.contains { $0 < 0x20 || $0 == 0x2F || $0 == 0x7F }
        guard isPlain, (1...1_024).contains(name.utf8.count), name != ".", name != ".." else {
            throw CoreError(.fieldInvalid, at: "file name")
        }
    }

    /// Gives a file another name. Its media type follows, if it was what the old name told.
    ///
    /// - Returns: the file as it is now.
    /// - Throws: `CoreError` `.attachmentNotFound`, `.fieldInvalid` for what is no name of a file, `.noteLocked`.
    package func renameAttachment(_ attachment: Attachment, to name: String) throws -> Attachment {
        try Self.checkFileName(name)
        var item = try existing(attachment.item)
        if item.isSealed { item = try vault.opened(item) }
        guard let index = item.attachments.firstIndex(where: { $0.id == attachment.id }) else {
            throw CoreError(.attachmentNotFound, at: attachment.id.uuid.hex)
        }
        let old = item.attachments[index]
        let isGuessed = old.mediaType == MediaType.guess(fileName: old.name)
        let renamed = Attachment(
            id: old.id, item: old.item, name: name,
            mediaType: isGuessed ? MediaType.guess(fileName: name) : old.mediaType, byteCount: old.byteCount,
            path: old.path, created: old.created, encodedReference: old.encodedReference, home: old.home)
        if item.isLocked {
            try sealAnew(renamed, of: item)
        } else {
            collected += ItemWriter.changes(renaming: old, to: renamed)
        }
        item.attachments[index] = renamed
        item.attachments.sort { ($0.name, $0.id) < ($1.name, $1.id) }
        setPending(item)
        return renamed
    }

    /// Takes a file away from its item; the past still has it.
    package func removeAttachment(_ attachment: Attachment) throws {
        var item = try existing(attachment.item)
        if item.isSealed { item = try vault.opened(item) }
        guard item.attachments.contains(where: { $0.id == attachment.id }) else {
            throw CoreError(.attachmentNotFound, at: attachment.id.uuid.hex)
        }
        try retractAll(of: attachment.id)
        item.attachments.removeAll { $0.id == attachment.id }
        setPending(item)
    }

    // MARK: Imports and raw facts

    /// Writes facts as they are; for import and restore, which must keep what this version cannot read.
    package func write(_ list: [LogChange]) {
        collected += list
        for change in list {
            let entity = change.key.entity
            pending.removeValue(forKey: entity)
            // Only reading them would tell what these say of an item.
            if ItemKind(entity) != nil || entity.kind == EntityKind.attachment {
                hasRepetitions = true
                indexBuilder?.abandon()
            }
        }
    }

    /// The changes, one for each key: of a text that was written twice only the last is to reach the disk.
    var changes: [LogChange] {
        guard hasRepetitions || !retracted.isEmpty else { return collected }
        var last: [FactKey: Int] = [:]
        for (index, change) in collected.enumerated() where index >= retracted[change.key.entity] ?? 0 {
            last[change.key] = index
        }
        return collected.enumerated().filter { last[$0.element.key] == $0.offset }.map(\.element)
    }
}

extension Vault {
    /// Runs `body` and commits all that it asked for as one commit; nothing is written if it throws.
    ///
    /// - Parameter indexesBeside: whether the index of an empty vault is built on a second thread meanwhile; worth
    ///   it for many items.
    /// - Returns: what `body` returned.
    @discardableResult
    package func batch<Result>(
        indexesBeside: Bool = false, _ body: (VaultBatch) throws -> Result
    ) throws -> Result {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        let isFirst = try indexesBeside && presentMark().isEmpty
        let builder = isFirst ? indexer?.beginBuilding() : nil
        // Does nothing once the batch is durable.
        defer { builder?.abandon() }
        let batch = VaultBatch(vault: self, indexBuilder: builder) { [self] in try present.reader }
        let result = try body(batch)
        builder?.endItems(latest: batch.pendingItem)
        if let state = try commit(batch.changes) { builder?.finish(at: state) }
        return result
    }
}
