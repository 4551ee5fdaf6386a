// Turns an open note into sealed facts. Invariant: what did not change and is sealed under the right record stays as
// it is, byte for byte, so that an edit of the text touches nothing else.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretLogs
internal import CoffretStorage

/// Seals notes under one record.
struct NoteSealer {
    let record: PasswordRecord
    let key: RecordKey
    let random: any RandomSource

    /// The longest text that can be sealed: what padding adds must fit a value too.
    static let textByteCountMax = 15 << 20

    /// Sealed facts for the contents of a note, and retractions of parts that are not sealed any more.
    ///
    /// - Parameters:
    ///   - lock: as the facts stand; without parts for a note that is sealed for the first time.
    ///   - old: what the parts hold now; nil if everything is to be sealed.
    ///   - unsettled: parts of which concurrent versions await a decision; they stay if they did not change.
    ///   - isReseal: whether nothing but the way of sealing changes.
    func changes(
        _ entity: EntityID, lock: ItemLock, from old: LockedContents?, to new: LockedContents,
        unsettled: Set<LockedPart> = [], isReseal: Bool
    ) throws -> (changes: [LogChange], parts: [LockedPart: SealedVersions]) {
        guard new.text.utf8.count <= Self.textByteCountMax else { throw CoreError(.fieldInvalid, at: "text") }
        let encryptionID = lock.encryptionID ?? UniqueID.generate(from: random)
        var changes: [LogChange] = []
        var parts = lock.parts
        for part in LockedPart.allCases {
            let fact = FactKey(entity: entity, attribute: part.attribute)
            guard var bytes = new.bytes(part) else {
                if lock.parts[part] != nil {
                    changes.append(LogChange(key: fact, value: nil))
                    parts[part] = nil
                }
                continue
            }
            defer { bytes.zero() }
            let versions = lock.parts[part]
            if let versions, let old, old.bytes(part) == bytes {
                let isSimple = versions.values.count == 1 && versions.values[0].record == record.id
                if isSimple || unsettled.contains(part) { continue }
            }
            let sealed = try seal(
                bytes, entity, part.attribute, versions, encryptionID, isReseal: isReseal || old?.bytes(part) == bytes)
            changes.append(LogChange(key: fact, value: sealed.encode()))
            parts[part] = SealedVersions(values: [sealed], dots: [], preferred: 0)
        }
        return (changes, parts)
    }

    private func seal(
        _ bytes: [UInt8], _ entity: EntityID, _ attribute: Attribute, _ versions: SealedVersions?,
        _ encryptionID: UniqueID, isReseal: Bool
    ) throws -> SealedValue {
        let (body, tag) = try key.seal(
            bytes,
            at: RecordKey.Place(
                home: record.identity.home, entity: entity, attribute: attribute, encryptionID: encryptionID),
            random: random)
        var lineage: (ancestors: [[UInt8]], resealCount: Int) = ([], 0)
        if let versions {
            let table = RecordTable([record])
            let shown = LockedMerge.resolve(versions.values, preferred: versions.preferred, records: table).shown
            lineage = LockedMerge.lineage(
                of: versions.values[shown], replacing: versions.values, isReseal: isReseal)
        }
        return SealedValue(
            record: record.id, encryptionID: encryptionID, tag: tag, ancestors: lineage.ancestors,
            resealCount: lineage.resealCount, body: body)
    }

    /// Facts of a file of the note.
    ///
    /// - Parameters:
    ///   - sealed: the file as it stands, if it is sealed already.
    ///   - home: of the chunks.
    ///   - isEdited: whether the file is new or has changed; otherwise nothing but the way of sealing does.
    func changes(
        _ attachment: Attachment, sealed: SealedFile?, lock: ItemLock, home: VaultID, isEdited: Bool = false
    ) throws -> [LogChange] {
        if !isEdited, let values = sealed?.versions.values, values.count == 1, values[0].record == record.id {
            return []
        }
        let reference: AttachmentReference
        do throws(StorageError) {
            reference = try AttachmentReference.parse(attachment.encodedReference)
        } catch {
            throw CoreError(error)
        }
        var content = SealedFileContent(
            name: attachment.name, mediaType: attachment.mediaType, byteCount: attachment.byteCount,
            reference: attachment.encodedReference, path: attachment.path, home: (attachment.home ?? home).bytes
        ).encode()
        defer { content.zero() }
        let encryptionID =
            sealed?.versions.values.first?.encryptionID ?? lock.encryptionID ?? UniqueID.generate(from: random)
        let value = try seal(
            content, attachment.id, AttachmentAttribute.sealed, sealed?.versions, encryptionID,
            isReseal: !isEdited || sealed == nil)
        func put(_ attribute: Attribute, _ value: [UInt8]?) -> LogChange {
            LogChange(key: FactKey(entity: attachment.id, attribute: attribute), value: value)
        }
        var changes = [put(AttachmentAttribute.sealed, value.encode())]
        guard sealed == nil else { return changes }
        changes += [
            put(AttachmentAttribute.item, FactValue.encode(attachment.item.bytes)),
            put(AttachmentAttribute.created, FactValue.encode(attachment.created)),
            put(AttachmentAttribute.fileID, FactValue.encode(reference.fileID.bytes)),
        ]
        return changes
    }

    /// The clear attributes of an attachment's entity that a sealed one must not have.
    static let clearFileAttributes: [Attribute] = [
        AttachmentAttribute.name, AttachmentAttribute.mediaType, AttachmentAttribute.byteCount,
        AttachmentAttribute.content, AttachmentAttribute.path,
    ]
}

extension ItemLock {
    /// The note's random id in the key derivation, as its parts state it.
    var encryptionID: UniqueID? {
        for part in LockedPart.allCases {
            guard let versions = parts[part] else { continue }
            return versions.values[versions.preferred].encryptionID
        }
        return nil
    }
}
