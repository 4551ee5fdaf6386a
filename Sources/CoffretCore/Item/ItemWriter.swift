// Items into facts. Invariant: only what changed is written, so that edits of different fields on two devices never
// meet, and what this version cannot read stays untouched.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretLogs
internal import CoffretStorage

/// Works out the facts that turn one state of an item into another.
package enum ItemWriter {
    /// The changes from `old` (nil: from nothing) to `new`.
    ///
    /// - Throws: `CoreError` `.fieldInvalid` if a title, text, label or value breaks a limit or a key occurs twice.
    package static func changes(from old: Item?, to new: Item) throws -> [LogChange] {
        try validate(new)
        // Nothing readable gets beside what is sealed.
        if new.isLocked, new.text != old?.text ?? "" || new.fields != old?.fields ?? [] {
            throw CoreError(.noteLocked, at: new.id.uuid.hex)
        }
        var writer = ChangeCollector(entity: new.id)
        let base = old ?? Item(id: new.id, kind: new.kind, created: new.created)
        let settled = Set(base.conflicts.map(\.attribute)).subtracting(new.conflicts.map(\.attribute))
        if old == nil { writer.put(ItemAttribute.created, FactValue.encode(new.created)) }
        writer.register(
            ItemAttribute.title, nonEmpty(base.givenTitle), nonEmpty(new.givenTitle), settled, FactValue.encode(_:))
        writer.register(
            ItemAttribute.text, nonEmpty(base.text), nonEmpty(new.text), settled, FactValue.encode(itemText:))
        writer.register(ItemAttribute.path, base.path, new.path, settled, FactValue.encode(_:))
        for flag in Flag.allCases {
            writer.register(
                ItemAttribute.flag(flag), base.flagTimes[flag], new.flagTimes[flag], settled, FactValue.encode(_:))
        }
        writer.register(ItemAttribute.hidden, base.hidden, new.hidden, settled, FactValue.encode(_:))
        writer.register(ItemAttribute.moved, base.moved, new.moved, settled, FactValue.encode(_:))
        writer.tags(from: base.givenTags, to: new.givenTags)
        writer.fields(from: base.fields, to: new.fields, settled, kind: new.kind)
        // The time alone is no reason to write.
        if old == nil || !writer.changes.isEmpty && base.modified != new.modified {
            writer.put(ItemAttribute.modified, FactValue.encode(new.modified))
        }
        return writer.changes
    }

    /// The facts of a new attachment.
    static func changes(adding attachment: Attachment) -> [LogChange] {
        var writer = ChangeCollector(entity: attachment.id)
        writer.put(AttachmentAttribute.item, FactValue.encode(attachment.item.bytes))
        writer.put(AttachmentAttribute.name, FactValue.encode(attachment.name))
        writer.put(AttachmentAttribute.mediaType, FactValue.encode(attachment.mediaType))
        writer.put(AttachmentAttribute.byteCount, FactValue.encode(Int64(attachment.byteCount)))
        writer.put(AttachmentAttribute.content, FactValue.encode(attachment.encodedReference))
        writer.put(AttachmentAttribute.created, FactValue.encode(attachment.created))
        if let path = attachment.path { writer.put(AttachmentAttribute.path, FactValue.encode(path)) }
        return writer.changes
    }

    static func changes(renaming old: Attachment, to new: Attachment) -> [LogChange] {
        var writer = ChangeCollector(entity: new.id)
        writer.put(AttachmentAttribute.name, FactValue.encode(new.name))
        if new.mediaType != old.mediaType { writer.put(AttachmentAttribute.mediaType, FactValue.encode(new.mediaType)) }
        return writer.changes
    }

    /// The key of a member of a set: the hash of its value names it.
    static func setKey(_ entity: EntityID, _ attribute: Attribute, _ value: [UInt8]) -> FactKey {
        FactKey(entity: entity, attribute: attribute, element: BLAKE2b.hash(value, byteCount: 16))
    }

    private static func nonEmpty(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        return text
    }

    private static func validate(_ item: Item) throws {
        if let title = item.givenTitle {
            guard title.utf8.count <= Item.titleByteCountMax,
                !title.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else { throw CoreError(.fieldInvalid, at: "title") }
        }
        guard item.text.utf8.count <= Item.textByteCountMax else { throw CoreError(.fieldInvalid, at: "text") }
        guard (item.path?.utf8.count ?? 0) <= 4_096 else { throw CoreError(.fieldInvalid, at: "path") }
        var keys: Set<FieldKey> = []
        for field in item.fields {
            try field.validate()
            guard keys.insert(field.key).inserted else { throw CoreError(.fieldInvalid, at: "key \(field.key) twice") }
        }
    }
}

/// Collects changes of one entity.
private struct ChangeCollector {
    let entity: EntityID
    private(set) var changes: [LogChange] = []

    init(entity: EntityID) { self.entity = entity }

    mutating func put(_ attribute: Attribute, _ value: [UInt8]?) {
        changes.append(LogChange(key: FactKey(entity: entity, attribute: attribute), value: value))
    }

    mutating func register<Value: Equatable>(
        _ attribute: Attribute, _ old: Value?, _ new: Value?, _ settled: Set<String>, _ encode: (Value) -> [UInt8]
    ) {
        if old != new || settled.contains(attribute.name) { put(attribute, new.map(encode)) }
    }

    mutating func tags(from old: [TagPath], to new: [TagPath]) {
        for tag in Set(old).subtracting(new).sorted() {
            changes.append(
                LogChange(key: ItemWriter.setKey(entity, ItemAttribute.tag, FactValue.encode(tag.path)), value: nil))
        }
        for tag in Set(new).subtracting(old).sorted() {
            let value = FactValue.encode(tag.path)
            changes.append(LogChange(key: ItemWriter.setKey(entity, ItemAttribute.tag, value), value: value))
        }
    }

    mutating func fields(from old: [ItemField], to new: [ItemField], _ settled: Set<String>, kind: ItemKind) {
        let kept = Set(new.map(\.key))
        for field in old where !kept.contains(field.key) { put(ItemAttribute.field(field.key), nil) }
        for field in new {
            let attribute = ItemAttribute.field(field.key)
            let isSettled = settled.contains(attribute.name)
            guard isSettled || old.first(where: { $0.key == field.key }) != field else { continue }
            put(attribute, FactValue.encode(field, isStandard: field.isStandard(in: kind)))
        }
    }
}
