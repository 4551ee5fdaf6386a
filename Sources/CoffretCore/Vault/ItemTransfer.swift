// Items into another vault. Invariant: the present goes along and nothing of how it came to be: values are written anew and files
// are sealed anew; and an item leaves its vault only once it stands in the other one.

package import CoffretBase
package import CoffretCrypto
internal import CoffretLogs
package import CoffretStorage

/// Where an item came from.
package struct ItemOrigin: Equatable, Sendable {
    package let vault: VaultID
    /// Its newest change there that came along.
    package let dot: Dot
}

/// Where an item went.
package struct ItemDestination: Equatable, Sendable {
    package let vault: VaultID
    package let time: Milliseconds
}

/// How items come into another vault.
package enum TransferManner: Sendable {
    /// They are the same items from then on.
    case move
    /// Items of their own.
    case copy
    /// The same items, also those that nobody has settled: as they are shown.
    case restart
}

extension Vault {
    /// Whether this device's account may write in the vault.
    ///
    /// - Throws: `CoreError.storage` with `.roleViewer` as its cause.
    package func requireWritingAccount() throws {
        try inStorage { () throws(StorageError) in
            guard try repository.mayAccountWrite else {
                throw StorageError(.roleViewer, place: repository.keys.vaultID.hex)
            }
        }
    }

    /// Writes items of another vault into this one, as one entry, and reads them back.
    ///
    /// An item that an earlier call has brought is left as it is; one that went from here and comes back replaces what it left.
    /// - Returns: their ids here, in the order of `ids`.
    /// - Throws: `CoreError` `.itemNotFound`; `.noteUnsettled` where values await a decision; `.noteLocked` for a copy of a
    ///   locked note, whose sealed parts belong to one item; `.itemExists` where another version of the item stands here;
    ///   `.storage` with a file that is not on this device. Then nothing has changed.
    package func take(_ ids: [EntityID], from source: Vault, _ manner: TransferManner) throws -> [EntityID] {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        var transfer = try ItemTransfer(from: source, to: self, manner)
        try transfer.add(ids)
        try batch { batch in batch.write(transfer.changes) }
        try withExtendedLifetime(transfer.protection) { try transfer.check() }
        return transfer.ids
    }

    /// Moves items to the trash that stand in another vault now, unless they were changed since.
    ///
    /// - Parameter target: where `take` brought them.
    /// - Throws: `CoreError.itemExists` for one that was changed here meanwhile: it stays, in both.
    package func leave(_ ids: [EntityID], to target: Vault) throws {
        let (here, there) = (try whole, try target.whole)
        for id in ids {
            guard let origin = try there.item(id)?.origin, origin.vault == repository.keys.vaultID,
                try origin.dot == here.reader.newestDot(of: id)
            else { throw CoreError(.itemExists, at: try here.item(id)?.title) }
        }
        try batch { batch in
            for id in ids { try batch.setMoved(id, to: target.repository.keys.vaultID) }
        }
    }
}

extension VaultBatch {
    fileprivate func setMoved(_ id: EntityID, to vault: VaultID) throws {
        try set(.trashed, of: id, to: true)
        add([
            LogChange(
                key: FactKey(entity: id, attribute: ItemAttribute.moved),
                value: FactValue.encode(ItemDestination(vault: vault, time: time)))
        ])
    }
}

extension SnapshotReader {
    /// The greatest place of a fact of an item or its files: another one stands once anything of it has changed.
    func newestDot(of id: EntityID) throws -> Dot? {
        var dots = try facts(of: id).map(\.dot)
        try forEachEntity(withPrefix: AttachmentID.prefix(for: id)) { _, facts in dots += facts.map(\.dot) }
        return dots.max { ($0.sequence, $0.instance) < ($1.sequence, $1.instance) }
    }
}

/// Collects what is to be written.
private struct ItemTransfer {
    let protection: AttachmentProtection
    private let source: Vault
    private let target: Vault
    private let manner: TransferManner
    private let (from, into): (VaultView, VaultView)
    private let records: RecordTable
    private(set) var changes: [LogChange] = []
    private(set) var ids: [EntityID] = []
    /// Items that were not here before the call, as they are there.
    private var brought: [EntityID: Item] = [:]
    private var broughtRecords: Set<UniqueID> = []

    init(from source: Vault, to target: Vault, _ manner: TransferManner) throws {
        (self.source, self.target, self.manner) = (source, target, manner)
        (from, into) = (try source.whole, try target.whole)
        records = try source.recordTable()
        let store = try target.contents()
        protection = try inStorage { () throws(StorageError) in try store.protectUnnamed() }
    }

    mutating func add(_ ids: [EntityID]) throws {
        for id in ids { try add(id) }
    }

    private mutating func add(_ id: EntityID) throws {
        guard let item = try from.item(id), let dot = try from.reader.newestDot(of: id) else {
            throw CoreError(.itemNotFound, at: id.uuid.hex)
        }
        let origin = ItemOrigin(vault: source.repository.keys.vaultID, dot: dot)
        if manner != .copy, let known = try into.item(id) {
            if known.origin == origin, known.moved == nil { return ids.append(id) }
            try requireReplaceable(known, by: origin)
            try retract(id)
        }
        if manner != .restart { try requireSettled(item) }
        let new = manner == .copy ? EntityID(kind: id.kind, uuid: .generate(from: target.random)) : id
        ids.append(new)
        brought[new] = item
        for (key, value) in try values(of: id, item.lock) {
            put(FactKey(entity: new, attribute: key.attribute, element: key.element), value)
        }
        if manner != .copy { put(FactKey(entity: new, attribute: ItemAttribute.origin), FactValue.encode(origin)) }
        for attachment in item.attachments { try add(attachment, to: new) }
        guard let lock = item.lock else { return }
        for file in lock.files { try add(file) }
        for record in try source.recordsLeading(to: item).sorted() { try add(record) }
    }

    /// What stands under the id went from here, or was brought by a call that nobody finished.
    private func requireReplaceable(_ known: Item, by origin: ItemOrigin) throws {
        if known.moved != nil { return }
        let key = FactKey(entity: known.id, attribute: ItemAttribute.origin)
        guard known.origin?.vault == origin.vault,
            let arrival = try into.reader.facts(of: known.id).filter({ $0.key == key }).winner?.dot,
            try into.reader.newestDot(of: known.id) == arrival
        else { throw CoreError(.itemExists, at: known.title) }
    }

    private func requireSettled(_ item: Item) throws {
        guard item.conflicts.isEmpty else { throw CoreError(.noteUnsettled, at: item.title) }
        guard let lock = item.lock else { return }
        guard manner != .copy else { throw CoreError(.noteLocked, at: lock.records.first?.hex) }
        let all = lock.parts.values + lock.files.map(\.versions)
        let isSettled = all.allSatisfy { resolved($0).conflicting.isEmpty }
        guard isSettled, lock.clearText == nil, lock.unknownParts.isEmpty else {
            throw CoreError(.noteUnsettled, at: item.title)
        }
    }

    private func resolved(_ versions: SealedVersions) -> LockedMerge.Outcome {
        LockedMerge.resolve(versions.values, preferred: versions.preferred, records: records)
    }

    private mutating func put(_ key: FactKey, _ value: [UInt8]?) { changes.append(LogChange(key: key, value: value)) }

    private mutating func retract(_ id: EntityID) throws {
        var keys = try into.reader.facts(of: id).map(\.key)
        try into.reader.forEachEntity(withPrefix: AttachmentID.prefix(for: id)) { _, facts in keys += facts.map(\.key) }
        for key in Set(keys).sorted() { put(key, nil) }
    }

    // MARK: Values

    /// The values that an entity shows now, but those that say where it was. Sealed parts go as they are.
    private func values(of entity: EntityID, _ lock: ItemLock? = nil) throws -> [(key: FactKey, value: [UInt8])] {
        var values = try from.reader.winners(of: entity)
        for (part, versions) in lock?.parts ?? [:] {
            values[FactKey(entity: entity, attribute: part.attribute)] =
                versions.values[resolved(versions).shown].encode()
        }
        let left = [ItemAttribute.origin, ItemAttribute.moved]
        return values.filter { !left.contains($0.key.attribute) }.sorted { $0.key < $1.key }
            .map { (key: $0.key, value: $0.value) }
    }

    private mutating func add(_ attachment: Attachment, to item: EntityID) throws {
        let copied = try source.copyContent(of: attachment, into: target)
        let id = manner == .copy ? AttachmentID.generate(for: item, from: target.random) : attachment.id
        for (key, value) in try values(of: attachment.id) {
            let new: [UInt8] =
                switch key.attribute {
                case AttachmentAttribute.item: FactValue.encode(item.bytes)
                case AttachmentAttribute.content: FactValue.encode(copied.encodedReference)
                default: value
                }
            put(FactKey(entity: id, attribute: key.attribute, element: key.element), new)
        }
    }

    /// The file of a locked note lies under a key that is sealed: it goes as it lies.
    private mutating func add(_ file: SealedFile) throws {
        try target.contents().copySealed(file.fileID, from: source.contents())
        let sealed = FactKey(entity: file.id, attribute: AttachmentAttribute.sealed)
        for (key, value) in try values(of: file.id) {
            put(key, key == sealed ? file.versions.values[resolved(file.versions).shown].encode() : value)
        }
    }

    private mutating func add(_ record: UniqueID) throws {
        let entity = PasswordRecord.entity(record)
        guard broughtRecords.insert(record).inserted, try into.reader.facts(of: entity).isEmpty else { return }
        for (key, value) in try values(of: entity) where key.attribute != RecordAttribute.hint { put(key, value) }
        if let hint = try source.hint(of: record) { changes.append(try target.hintChange(hint, of: record)) }
    }

    // MARK: Reading back

    /// - Throws: `CoreError.storage` where what was written does not read as what was to be written.
    func check() throws {
        let there = try target.whole
        for (id, item) in brought {
            guard let found = try there.item(id), Self.isSame(found, item) else {
                throw CoreError(.storage, at: "read back \(id.uuid.hex)")
            }
            for attachment in found.attachments { try unsafe target.read(attachment) { _ in } }
        }
    }

    private static func isSame(_ left: Item, _ right: Item) -> Bool {
        func files(_ item: Item) -> [String] { item.attachments.map { "\($0.byteCount) \($0.name)" }.sorted() }
        return left.givenTitle == right.givenTitle && left.text == right.text && left.fields == right.fields
            && left.givenTags == right.givenTags && left.flagTimes == right.flagTimes && left.hidden == right.hidden
            && files(left) == files(right) && left.lock?.files.count == right.lock?.files.count
            && left.lock?.parts.count == right.lock?.parts.count
    }
}
