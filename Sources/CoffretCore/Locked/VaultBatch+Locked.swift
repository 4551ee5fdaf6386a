// Sealed notes inside a batch. Invariant: what goes into `changes` of an open note is sealed, or was readable before.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretLogs
internal import CoffretStorage

extension VaultBatch {
    /// Writes an open note: its parts sealed, the rest as for any item.
    ///
    /// - Parameters:
    ///   - item: open; its `lock` describes the facts as they stand.
    ///   - isReseal: whether nothing but the way of sealing changes.
    func seal(_ item: Item, under record: RecordInUse, isReseal: Bool, from old: Item? = nil) throws {
        guard let lock = item.lock, lock.isOpen else { throw CoreError(.noteLocked, at: item.id.uuid.hex) }
        let sealer = NoteSealer(record: record.record, key: record.key, random: vault.random)
        let stored = try stored(item.id)
        // Values in clear beside the lock go into the parts now, so all parts change.
        let hasClearRival = lock.clearText != nil || !(stored?.fields.isEmpty ?? true)
        let base = hasClearRival ? nil : old
        let sealed = try sealer.changes(
            item.id, lock: lock, from: base.map { LockedContents($0, hidesTitle: lock.sealsTitle) },
            to: LockedContents(item, hidesTitle: lock.sealsTitle),
            unsettled: Set(item.conflicts.compactMap { LockedPart(rawValue: $0.attribute) }),
            isReseal: isReseal && !hasClearRival)
        add(sealed.changes)
        for change in try ItemWriter.changes(from: stored.map(Self.withClearText), to: Self.visible(item, stored)) {
            add([change])
        }
        for attachment in item.attachments {
            let file = lock.files.first { $0.id == attachment.id }
            add(try sealer.changes(attachment, sealed: file, lock: lock, home: vault.repository.keys.vaultID))
            if file == nil { try retract(NoteSealer.clearFileAttributes, of: attachment.id) }
        }
        var result = item
        result.lock?.parts = sealed.parts
        result.lock?.clearText = nil
        setPending(result)
    }

    /// The item by the facts before the batch; nil if it is not there.
    private func stored(_ id: EntityID) throws -> Item? { try reader.item(id) }

    /// An item as its clear facts stand, with what a lock keeps from being shown.
    private static func withClearText(_ item: Item) -> Item {
        var item = item
        if let clear = item.lock?.clearText { item.text = clear }
        item.lock = nil
        return item
    }

    /// The readable values of a locked note.
    private static func visible(_ item: Item, _ stored: Item?) -> Item {
        var visible = item
        visible.text = ""
        visible.fields = []
        visible.lock = nil
        // Conflicts of sealed parts are none of the clear facts'.
        visible.conflicts = item.conflicts.filter { LockedPart(rawValue: $0.attribute) == nil }
        guard item.lock?.sealsTitle == true else { return visible }
        visible.givenTitle = nil
        visible.givenTags = []
        visible.path = nil
        return visible
    }

    /// Writes an open note as one that is not locked.
    func unseal(_ item: Item, home: VaultID) throws {
        guard let lock = item.lock, lock.isOpen else { throw CoreError(.noteLocked, at: item.id.uuid.hex) }
        var clear = item
        clear.lock = nil
        // Title and tags that were made visible when the note was locked, and that the text has itself.
        let scan = MarkdownScan(item.text)
        if clear.givenTitle == scan.title { clear.givenTitle = nil }
        let own = Set(scan.tags.map(\.tag.folded))
        clear.givenTags.removeAll { own.contains($0.folded) }
        for part in lock.parts.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            add([LogChange(key: FactKey(entity: item.id, attribute: part.attribute), value: nil)])
        }
        add(try ItemWriter.changes(from: stored(item.id).map(Self.withClearText), to: clear))
        for index in clear.attachments.indices
        where lock.files.contains(where: { $0.id == clear.attachments[index].id }) {
            // A file that came with an import is bound to the vault it came from.
            if let other = clear.attachments[index].home, other != home {
                clear.attachments[index] = try vault.copyContent(of: clear.attachments[index])
            }
            clear.attachments[index].home = nil
            add(ItemWriter.changes(adding: clear.attachments[index]))
            try retract([AttachmentAttribute.sealed, AttachmentAttribute.fileID], of: clear.attachments[index].id)
        }
        setPending(clear)
    }

    /// Writes a new file of a locked note.
    func addSealed(_ attachment: Attachment, to item: Item) throws {
        try seal(attachment, of: item, sealed: nil)
    }

    /// Writes a file of a locked note that was there already and has changed.
    func sealAnew(_ attachment: Attachment, of item: Item) throws {
        try seal(attachment, of: item, sealed: item.lock?.files.first { $0.id == attachment.id })
    }

    private func seal(_ attachment: Attachment, of item: Item, sealed: SealedFile?) throws {
        let opener = try vault.opener()
        guard let lock = item.lock, let id = opener.target(of: lock), let record = opener.records[id] else {
            throw CoreError(.noteLocked, at: item.id.uuid.hex)
        }
        let sealer = NoteSealer(record: record, key: try opener.key(of: id), random: vault.random)
        let home = vault.repository.keys.vaultID
        add(try sealer.changes(attachment, sealed: sealed, lock: lock, home: home, isEdited: true))
    }

    private func retract(_ attributes: [Attribute], of entity: EntityID) throws {
        let there = Set(try reader.facts(of: entity).map(\.key.attribute))
        for attribute in attributes where there.contains(attribute) {
            add([LogChange(key: FactKey(entity: entity, attribute: attribute), value: nil)])
        }
    }

    /// Writes an edit of a locked note.
    ///
    /// - Returns: whether anything changed.
    func updateLocked(_ stored: Item, to new: Item) throws -> Bool {
        let opener = try vault.opener()
        guard let lock = stored.lock, let id = opener.target(of: lock), let record = opener.records[id] else {
            throw CoreError(.noteLocked, at: stored.id.uuid.hex)
        }
        let opened = lock.isOpen ? stored : try opener.open(stored).item
        guard new != opened else { return false }
        var new = new
        if new.modified == opened.modified { new.modified = max(time, opened.modified) }
        if let lock = opened.lock, !lock.sealsTitle { Self.keepVisible(from: opened, to: &new) }
        try seal(new, under: RecordInUse(record: record, key: opener.key(of: id)), isReseal: false, from: opened)
        return true
    }

    /// Title and tags that were taken from the text follow the text.
    private static func keepVisible(from old: Item, to new: inout Item) {
        guard old.text != new.text else { return }
        let (before, after) = (MarkdownScan(old.text), MarkdownScan(new.text))
        if new.givenTitle == old.givenTitle, old.givenTitle == before.title, !after.title.isEmpty {
            new.givenTitle = after.title
        }
        let gone = Set(before.tags.map(\.tag.folded)).subtracting(after.tags.map(\.tag.folded))
        var tags = new.givenTags.filter { !gone.contains($0.folded) }
        for tag in after.tags.map(\.tag) where !tags.contains(where: { $0.folded == tag.folded }) { tags.append(tag) }
        new.givenTags = tags.sorted()
    }
}
