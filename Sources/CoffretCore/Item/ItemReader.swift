// Facts into items. Invariant: a fact that cannot be read costs its own attribute, never the item, and is reported,
// never dropped.

internal import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// Puts an item together from the facts of its entity.
package struct ItemReader {
    /// Reads the value of a fact, wherever it lies.
    private let value: (Fact) throws -> [UInt8]
    /// What several concurrent texts show.
    private let text: (FactKey, [Fact]) throws -> ShownText

    /// - Parameters:
    ///   - value: reads the value of a fact, wherever it lies.
    ///   - text: merges the texts of several facts under one key.
    package init(
        value: @escaping (Fact) throws -> [UInt8], text: @escaping (FactKey, [Fact]) throws -> ShownText
    ) {
        self.value = value
        self.text = text
    }

    /// The item that the facts describe; nil if the entity is no item or the facts do not say when it was made,
    /// which every item's do.
    ///
    /// - Parameter facts: all facts of the entity, in the order of the tree.
    package func item(
        _ id: EntityID, facts: [Fact], attachments: [Attachment], sealedFiles: [SealedFile] = []
    ) throws -> Item? {
        guard let kind = ItemKind(id), !facts.isEmpty else { return nil }
        var item = Item(id: id, kind: kind, created: 0)
        var hasCreated = false
        var position = facts.startIndex
        while position < facts.endIndex {
            let key = facts[position].key
            var end = position + 1
            while end < facts.endIndex && facts[end].key == key { end += 1 }
            let siblings = Array(facts[position..<end])
            position = end
            guard let winner = siblings.winner else { continue }
            let attribute = key.attribute
            do {
                if siblings.count > 1, attribute == ItemAttribute.text {
                    try applyTexts(key, siblings, to: &item)
                    continue
                }
                let bytes = try value(winner)
                if attribute.name.hasPrefix(LockedPart.prefix) {
                    try applyLocked(attribute, siblings, winner: winner, to: &item)
                    continue
                }
                try apply(attribute, bytes, to: &item)
                if attribute == ItemAttribute.created { hasCreated = true }
                if siblings.count > 1 { try settle(attribute, siblings, winner: winner, bytes, in: &item) }
            } catch let error as CoreError
                where [.valueInvalid, .fieldInvalid, .tagInvalid, .recordUnsupported].contains(error.code)
                || error.isMalformedValue
            {
                item.unreadableAttributes.append(attribute.name)
            }
        }
        guard hasCreated || !item.unreadableAttributes.isEmpty else { return nil }
        item.fields = sorted(item.fields, of: kind)
        item.givenTags.sort()
        item.attachments = attachments.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
        if !sealedFiles.isEmpty || item.lock != nil {
            // A sealed file alone makes a note locked: another device unlocked the note when this one sealed the file.
            item.lock = item.lock ?? ItemLock(parts: [:])
            item.lock?.files = sealedFiles
            close(&item)
        }
        return item
    }

    /// Texts that devices wrote at one time: their merge, or the one that is shown with the others beside it.
    private func applyTexts(_ key: FactKey, _ siblings: [Fact], to item: inout Item) throws {
        let shown = try text(key, siblings)
        guard let bytes = shown.text, let string = try? FactValue.itemText(bytes) else {
            item.unreadableAttributes.append(key.attribute.name)
            return
        }
        item.text = string
        guard shown.hiddenCount > 0 else { return }
        for sibling in siblings where !shown.replaces.contains(sibling.dot) {
            let other = try FactValue.itemText(value(sibling))
            if item.conflicts.contains(where: { $0.attribute == key.attribute.name && $0.otherText == other }) {
                continue
            }
            item.conflicts.append(ItemConflict(attribute: key.attribute.name, otherText: other, dot: sibling.dot))
        }
    }

    /// A sealed part, with all its versions: only together with the records can be said which one counts.
    private func applyLocked(
        _ attribute: Attribute, _ siblings: [Fact], winner: Fact, to item: inout Item
    ) throws {
        var lock = item.lock ?? ItemLock(parts: [:])
        if let part = LockedPart(rawValue: attribute.name) {
            do {
                lock.parts[part] = try sealedVersions(siblings, winner: winner)
            } catch {
                lock.unknownParts.append(attribute.name)
                item.lock = lock
                throw error
            }
        } else {
            lock.unknownParts.append(attribute.name)
        }
        item.lock = lock
    }

    private func sealedVersions(_ siblings: [Fact], winner: Fact) throws -> SealedVersions {
        var values: [SealedValue] = []
        for sibling in siblings { values.append(try SealedValue.parse(value(sibling))) }
        return SealedVersions(
            values: values, dots: siblings.map(\.dot),
            preferred: siblings.firstIndex { $0.dot == winner.dot } ?? siblings.startIndex)
    }

    /// Values that another device wrote in clear beside a lock are not shown before the lock is opened.
    private func close(_ item: inout Item) {
        if !item.text.isEmpty { item.lock?.clearText = item.text }
        item.text = ""
        item.conflicts.removeAll { $0.attribute == ItemAttribute.text.name }
    }

    private func apply(_ attribute: Attribute, _ bytes: [UInt8], to item: inout Item) throws {
        switch attribute {
        case ItemAttribute.title: item.givenTitle = try FactValue.text(bytes)
        case ItemAttribute.text: item.text = try FactValue.itemText(bytes)
        case ItemAttribute.tag: item.givenTags.append(try FactValue.tag(bytes))
        case ItemAttribute.created: item.created = try FactValue.integer(bytes)
        case ItemAttribute.modified: item.modified = try FactValue.integer(bytes)
        case ItemAttribute.path: item.path = try FactValue.text(bytes)
        case ItemAttribute.hidden: item.hidden = try FactValue.integer(bytes)
        case ItemAttribute.origin: item.origin = try FactValue.origin(bytes)
        case ItemAttribute.moved: item.moved = try FactValue.move(bytes)
        default:
            if let flag = Flag(rawValue: attribute.name) { return item.flagTimes[flag] = try FactValue.integer(bytes) }
            guard let key = fieldKey(attribute) else { throw CoreError(.valueInvalid, at: attribute.name) }
            item.fields.append(try FactValue.field(bytes, key: key, of: item.kind))
        }
    }

    private func fieldKey(_ attribute: Attribute) -> FieldKey? {
        guard attribute.name.hasPrefix(ItemAttribute.fieldPrefix) else { return nil }
        return FieldKey(String(attribute.name.dropFirst(ItemAttribute.fieldPrefix.count)))
    }

    /// Deals with concurrent values: times settle themselves by the greatest, all others become conflicts, unless
    /// both devices wrote the same.
    private func settle(
        _ attribute: Attribute, _ siblings: [Fact], winner: Fact, _ winnerBytes: [UInt8], in item: inout Item
    ) throws {
        for sibling in siblings where sibling.dot != winner.dot {
            let bytes = try value(sibling)
            if bytes == winnerBytes { continue }
            switch attribute {
            case ItemAttribute.modified: item.modified = max(item.modified, try FactValue.integer(bytes))
            case ItemAttribute.created: item.created = min(item.created, try FactValue.integer(bytes))
            case ItemAttribute.hidden, ItemAttribute.origin, ItemAttribute.moved: continue
            default:
                if Flag(rawValue: attribute.name) != nil { continue }
                let conflict = ItemConflict(
                    attribute: attribute.name, otherText: otherText(attribute, bytes), dot: sibling.dot)
                // A merged text stands under several dots, and is one value.
                let isTold = item.conflicts.contains {
                    $0.attribute == conflict.attribute && $0.otherText == conflict.otherText && $0.otherText != nil
                }
                if !isTold { item.conflicts.append(conflict) }
            }
        }
    }

    private func otherText(_ attribute: Attribute, _ bytes: [UInt8]) -> String? {
        if let key = fieldKey(attribute) { return (try? FactValue.field(bytes, key: key, of: .custom))?.value }
        return try? FactValue.text(bytes)
    }

    private func sorted(_ fields: [ItemField], of kind: ItemKind) -> [ItemField] {
        let order = kind.standardFields.map(\.key)
        func rank(_ field: ItemField) -> (Int, UInt32, FieldKey) {
            (order.firstIndex(of: field.key) ?? order.count, field.position, field.key)
        }
        return fields.sorted { rank($0) < rank($1) }
    }

    /// The attachment that the facts of its entity describe; nil if they lack what every attachment has.
    func attachment(_ id: EntityID, facts: [Fact]) throws -> Attachment? {
        var values: [Attribute: [UInt8]] = [:]
        for fact in facts { values[fact.key.attribute] = try value(fact) }
        guard let itemBytes = values[AttachmentAttribute.item], let content = values[AttachmentAttribute.content],
            let name = values[AttachmentAttribute.name], let byteCount = values[AttachmentAttribute.byteCount],
            let item = EntityID(bytes: try FactValue.bytes(itemBytes))
        else { return nil }
        return Attachment(
            id: id, item: item, name: try FactValue.text(name),
            mediaType: try values[AttachmentAttribute.mediaType].map { bytes in
                try FactValue.text(bytes)
            } ?? "application/octet-stream",
            byteCount: Attachment.byteCount(stated: try FactValue.integer(byteCount)),
            path: try values[AttachmentAttribute.path].map { bytes in try FactValue.text(bytes) },
            created: try values[AttachmentAttribute.created].map { bytes in
                try FactValue.integer(bytes)
            } ?? 0,
            encodedReference: try FactValue.bytes(content))
    }
}

extension ItemReader {
    /// The file of a locked note that the facts of an attachment's entity describe; nil if they describe none.
    func sealedFile(_ id: EntityID, facts: [Fact]) throws -> (file: SealedFile, item: EntityID)? {
        let groups = Dictionary(grouping: facts, by: \.key.attribute)
        guard let sealed = groups[AttachmentAttribute.sealed], let winner = sealed.winner,
            let fileFact = groups[AttachmentAttribute.fileID]?.winner,
            let itemFact = groups[AttachmentAttribute.item]?.winner,
            let fileID = UniqueID(bytes: try FactValue.bytes(value(fileFact))),
            let item = EntityID(bytes: try FactValue.bytes(value(itemFact)))
        else { return nil }
        let created = try groups[AttachmentAttribute.created]?.winner.map { fact in
            try FactValue.integer(value(fact))
        }
        return (
            SealedFile(
                id: id, fileID: fileID, created: created ?? 0, versions: try sealedVersions(sealed, winner: winner)),
            item
        )
    }
}
