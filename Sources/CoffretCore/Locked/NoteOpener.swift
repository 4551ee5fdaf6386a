// Opens what is sealed of a note, with the keys that are there. Invariant: either all parts open or the note stays
// closed.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretStorage

/// Opens locked notes of one vault.
struct NoteOpener {
    let records: RecordTable
    let keys: UnlockedNoteKeys

    /// An item with its contents, and whether sealing it anew would make it simpler or safer.
    struct Opened {
        var item: Item
        var needsSealing: Bool
    }

    /// The record that a locked item belongs under; nil if nothing of it is sealed.
    func target(of lock: ItemLock) -> UniqueID? {
        let ids = lock.records
        return ids.isEmpty ? nil : records.newest(among: ids)
    }

    /// The key of a record: held, or out of the ladder of a record whose key is held.
    ///
    /// - Throws: `CoreError` `.noteLocked` with the id of the record; `.recordNotFound`, `.recordUnsupported`,
    ///   `.recordChanged`.
    func key(of id: UniqueID) throws -> RecordKey {
        var visited: Set<UniqueID> = []
        if let key = try findKey(id, &visited) { return key }
        guard records[id] != nil else { throw records.unusable[id] ?? CoreError(.recordNotFound, at: id.hex) }
        throw CoreError(.noteLocked, at: id.hex)
    }

    private func findKey(_ id: UniqueID, _ visited: inout Set<UniqueID>) throws -> RecordKey? {
        if let key = keys.key(of: id) { return key }
        guard let record = records[id], visited.insert(id).inserted else { return nil }
        for newer in records.records.values where newer.previous.contains(where: { $0.id == id }) {
            guard let newerKey = try findKey(newer.id, &visited),
                let key = try newer.previousKey(record, with: newerKey)
            else { continue }
            keys.add(key)
            return key
        }
        return nil
    }

    func open(_ value: SealedValue, _ entity: EntityID, _ attribute: Attribute) throws -> [UInt8] {
        let key = try key(of: value.record)
        guard let record = records[value.record] else { throw CoreError(.recordNotFound, at: value.record.hex) }
        return try key.open(
            value,
            at: RecordKey.Place(
                home: record.identity.home, entity: entity, attribute: attribute, encryptionID: value.encryptionID))
    }

    /// The item with its contents.
    ///
    /// - Throws: `CoreError` `.noteNotLocked`, `.itemUnsupported` if a newer version sealed a part of it; as `key`;
    ///   `.noteDamaged`.
    func open(_ sealed: Item) throws -> Opened {
        guard var lock = sealed.lock else { throw CoreError(.noteNotLocked, at: sealed.id.uuid.hex) }
        guard !lock.isOpen else { return Opened(item: sealed, needsSealing: false) }
        guard lock.unknownParts.isEmpty else { throw CoreError(.recordUnsupported, at: sealed.id.uuid.hex) }
        var opened = Opened(item: sealed, needsSealing: false)
        for part in LockedPart.allCases {
            guard let versions = lock.parts[part] else { continue }
            let (bytes, outcome, others) = try resolve(versions, sealed.id, part.attribute)
            if outcome.needsWriting { opened.needsSealing = true }
            try apply(bytes, part, to: &opened.item)
            for (index, other) in others {
                opened.item.conflicts.append(
                    ItemConflict(
                        attribute: part.rawValue, otherText: otherText(other, part), dot: versions.dots[index]))
            }
        }
        if !sealed.fields.isEmpty || !sealed.attachments.isEmpty { opened.needsSealing = true }
        for file in lock.files {
            let (bytes, outcome, _) = try resolve(file.versions, file.id, AttachmentAttribute.sealed)
            if outcome.needsWriting { opened.needsSealing = true }
            opened.item.attachments.append(
                try Self.attachment(file, SealedFileContent.parse(bytes), item: sealed.id))
        }
        opened.item.attachments.sort { ($0.name, $0.id) < ($1.name, $1.id) }
        if let clear = lock.clearText {
            opened.item.text = Self.joining(opened.item.text, clear)
            opened.needsSealing = true
        }
        lock.isOpen = true
        opened.item.lock = lock
        return opened
    }

    /// The content of a part to show, and the contents of other versions that differ in fact.
    private func resolve(
        _ versions: SealedVersions, _ entity: EntityID, _ attribute: Attribute
    ) throws -> (bytes: [UInt8], outcome: LockedMerge.Outcome, others: [(Int, [UInt8])]) {
        let outcome = LockedMerge.resolve(versions.values, preferred: versions.preferred, records: records)
        let bytes = try open(versions.values[outcome.shown], entity, attribute)
        var others: [(Int, [UInt8])] = []
        for index in outcome.conflicting {
            let other = try open(versions.values[index], entity, attribute)
            if other != bytes { others.append((index, other)) }
        }
        return (bytes, outcome, others)
    }

    private func apply(_ bytes: [UInt8], _ part: LockedPart, to item: inout Item) throws {
        switch part {
        case .text: item.text = try LockedContent.text(bytes)
        case .title:
            // A title that was given in the open since then is the newer one.
            if (item.givenTitle ?? "").isEmpty { item.givenTitle = try LockedContent.text(bytes) }
        case .path: if item.path == nil { item.path = try LockedContent.text(bytes) }
        case .tags:
            var seen = Set(item.givenTags.map(\.folded))
            for tag in try LockedContent.tags(bytes) where seen.insert(tag.folded).inserted {
                item.givenTags.append(tag)
            }
            item.givenTags.sort()
        case .fields:
            let own = Set(item.fields.map(\.key))
            item.fields += try LockedContent.fields(bytes).filter { !own.contains($0.key) }
        }
    }

    private func otherText(_ bytes: [UInt8], _ part: LockedPart) -> String? {
        switch part {
        case .text, .title, .path: try? LockedContent.text(bytes)
        case .tags: (try? LockedContent.tags(bytes))?.map { "#" + $0.path }.joined(separator: " ")
        // Fields may be secrets.
        case .fields: nil
        }
    }

    private static func attachment(
        _ file: SealedFile, _ content: SealedFileContent, item: EntityID
    ) -> Attachment {
        Attachment(
            id: file.id, item: item, name: content.name, mediaType: content.mediaType, byteCount: content.byteCount,
            path: content.path, created: file.created, encodedReference: content.reference,
            home: VaultID(content.home))
    }

    /// The line between a locked text and one that another device wrote before it knew of the lock.
    static let divider = "\n\n---\n\n"

    /// Both texts, one after the other: neither is lost, and the next sealing seals both.
    static func joining(_ text: String, _ clear: String) -> String {
        if text.isEmpty { return clear }
        return text == clear ? text : text + divider + clear
    }
}
