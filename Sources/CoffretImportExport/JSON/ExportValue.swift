// Values of facts as JSON, readable where they can be. Invariant: the way back gives the same bytes; what a plain JSON
// value cannot carry exactly goes as base64.

internal import CoffretBase
package import CoffretCore
internal import CoffretLogs
internal import CoffretStorage

/// How one value of a fact stands in an export.
enum ExportValue: Equatable {
    /// CBOR text, in its only deterministic encoding.
    case text(String)
    /// A CBOR integer that a signed 64-bit number holds.
    case integer(Int64)
    /// Any other bytes.
    case encoded([UInt8])
    /// The content of an attachment, by its position in the export.
    case attachment(Int)
    /// The hint of a note passphrase, opened: it is sealed under the key of its vault.
    case hint(String)
    /// Nothing: the fact is retracted.
    case retraction

    /// The form for a value under a key.
    init(_ bytes: [UInt8], under key: FactKey) {
        if ItemTexts.isText(key), let text = String(validating: bytes, as: UTF8.self) {
            self = .text(text)
        } else {
            self.init(bytes)
        }
    }

    /// The form for a value that is CBOR.
    init(_ bytes: [UInt8]) {
        if let text = try? withCBORDecoder(bytes, { (decoder) throws(CBORError) in try decoder.readText() }),
            CBOREncoder.encode({ $0.encode(text: text) }) == bytes
        {
            self = .text(text)
        } else if let number = try? withCBORDecoder(bytes, { (decoder) throws(CBORError) in try decoder.readSigned() }),
            CBOREncoder.encode({ $0.encode(signed: number) }) == bytes
        {
            self = .integer(number)
        } else {
            self = .encoded(bytes)
        }
    }

    /// The bytes of the value; nil for a retraction, for an attachment, whose content gets a new place, and for
    /// a hint, which is sealed anew.
    var bytes: [UInt8]? {
        switch self {
        case .text(let text): CBOREncoder.encode { $0.encode(text: text) }
        case .integer(let number): CBOREncoder.encode { $0.encode(signed: number) }
        case .encoded(let bytes): bytes
        case .attachment, .hint, .retraction: nil
        }
    }

    /// The same under a key: texts of items are plain UTF-8.
    func bytes(under key: FactKey) -> [UInt8]? {
        if ItemTexts.isText(key), case .text(let text) = self { return Array(text.utf8) }
        return bytes
    }

    func write<Failure: Error>(to writer: inout JSONWriter<Failure>) throws(Failure) {
        switch self {
        case .text(let text): try writer.string(text)
        case .integer(let number): try writer.integer(number)
        case .retraction: try writer.null()
        case .encoded(let bytes):
            try writer.beginObject()
            try writer.name("cbor")
            try writer.string(Base64.standard.encode(bytes))
            try writer.endObject()
        case .hint(let text):
            try writer.beginObject()
            try writer.name("hint")
            try writer.string(text)
            try writer.endObject()
        case .attachment(let index):
            try writer.beginObject()
            try writer.name("attachment")
            try writer.integer(index)
            try writer.endObject()
        }
    }

    /// Reads what `write` wrote.
    init(startingWith token: JSONToken, from reader: inout JSONReader) throws(JSONError) {
        switch token {
        case .string(let text): self = .text(text)
        case .null: self = .retraction
        case .number(let digits):
            guard let number = Int64(digits) else { throw reader.error(.unexpectedValue) }
            self = .integer(number)
        case .beginObject:
            switch try (reader.next(), reader.next()) {
            case (.name("cbor"), .string(let text)):
                guard let bytes = try? Base64.standard.decode(text) else { throw reader.error(.unexpectedValue) }
                self = .encoded(bytes)
            case (.name("hint"), .string(let text)): self = .hint(text)
            case (.name("attachment"), .number(let digits)):
                guard let index = Int(digits), index >= 0 else { throw reader.error(.unexpectedValue) }
                self = .attachment(index)
            default: throw reader.error(.unexpectedValue)
            }
            guard try reader.next() == .endObject else { throw reader.error(.unexpectedValue) }
        default: throw reader.error(.unexpectedValue)
        }
    }
}

/// Entities as text: the letter of their kind, then the 32 digits of their UUID.
enum ExportEntity {
    static func text(_ entity: EntityID) -> String {
        String(UnicodeScalar(entity.kind)) + entity.uuid.hex
    }

    static func parse(_ text: String) -> EntityID? {
        guard let first = text.utf8.first, 0x21...0x7E ~= first, text.utf8.count == 33,
            let uuid = try? Hex.decode(String(text.utf8.dropFirst()) ?? ""), let id = UniqueID(bytes: uuid)
        else { return nil }
        return EntityID(kind: first, uuid: id)
    }
}

/// The key of the facts that name the contents of attachments.
func isAttachmentContent(_ key: FactKey) -> Bool {
    key.entity.kind == EntityKind.attachment && key.attribute == AttachmentAttribute.content && key.element.isEmpty
}

/// The key of the facts that keep hints of note passphrases.
func isNoteHint(_ key: FactKey) -> Bool {
    key.entity.kind == EntityKind.passwordRecord && key.attribute == RecordAttribute.hint && key.element.isEmpty
}

/// The file that a fact about a locked note's attachment names; nil for any other fact.
func sealedFileID(_ key: FactKey, _ value: [UInt8]) -> UniqueID? {
    guard key.entity.kind == EntityKind.attachment, key.attribute == AttachmentAttribute.fileID,
        key.element.isEmpty, let bytes = attachmentReference(in: value)
    else { return nil }
    return UniqueID(bytes: bytes)
}

/// The reference inside the value of such a fact; nil if it is no byte string.
func attachmentReference(in value: [UInt8]) -> [UInt8]? {
    try? withCBORDecoder(value) { (decoder) throws(CBORError) in try decoder.readBytes() }
}

/// The value of such a fact for a reference.
func attachmentContentValue(_ reference: [UInt8]) -> [UInt8] {
    CBOREncoder.encode { $0.encode(bytes: reference) }
}

/// Which of the facts under one key people are shown: of a locked note's part the one that the merge of its versions comes to
/// (Spec/locked-notes.md), else the value of the greatest height and dot. The others await a decision.
func shownFact(
    of facts: [Fact], records: RecordTable, value: (Fact) throws(StorageError) -> [UInt8]
) throws(StorageError) -> Fact? {
    guard facts.count > 1, let key = facts.first?.key, let winner = facts.winner else { return facts.first }
    let isSealed =
        LockedPart(rawValue: key.attribute.name) != nil
        || key.entity.kind == EntityKind.attachment && key.attribute == AttachmentAttribute.sealed
    guard isSealed else { return winner }
    var versions: [SealedValue] = []
    for fact in facts {
        guard let version = try? SealedValue.parse(value(fact)) else { return winner }
        versions.append(version)
    }
    let preferred = facts.firstIndex(of: winner) ?? 0
    return facts[LockedMerge.resolve(versions, preferred: preferred, records: records).shown]
}

extension VaultView {
    /// The state hash of an export (U19): as `stateHash`, with the place and the keys of each attachment's content
    /// replaced by its size and hash, since those are different in every store.
    ///
    /// The value of a content fact is taken as "coffret/attachment/1" ‖ size (8) ‖ BLAKE2b-256 of the content.
    /// That of a hint is taken as "coffret/hint/1", since it is sealed under the key of its vault. A text counts as CBOR.
    /// Of concurrent values the one that is shown counts.
    /// Spec: Spec/export.md section 5.
    /// - Parameter records: the vault's; they decide among concurrent versions of a locked note.
    package func portableStateHash(
        files: any FileContentStore, records: RecordTable = RecordTable([])
    ) throws(ImportExportError) -> [UInt8] {
        try wrappingVaultErrors {
            // A value that no writer may store is in no export.
            func readable(
                _ values: () throws(StorageError) -> [[UInt8]]
            ) throws(StorageError) -> [[UInt8]] {
                do throws(StorageError) { return try values() } catch {
                    guard error.isMalformedValue else { throw error }
                    return []
                }
            }
            return try snapshot.stateHash { (key, facts) throws(StorageError) in
                try readable { () throws(StorageError) in
                    if ItemTexts.isText(key) {
                        let text =
                            facts.count > 1 ? try shownText(under: key, of: facts) : try snapshot.value(of: facts[0])
                        guard let text, let form = ExportValue(text, under: key).bytes else { return [] }
                        return [form]
                    }
                    let shown = try shownFact(of: facts, records: records) { (fact) throws(StorageError) in
                        try snapshot.value(of: fact)
                    }
                    guard let shown else { return [] }
                    let value = try snapshot.value(of: shown)
                    if isNoteHint(key) { return [Array("coffret/hint/1".utf8)] }
                    guard isAttachmentContent(key), let reference = attachmentReference(in: value),
                        let content = files.description(of: reference)
                    else { return [value] }
                    return [
                        Array("coffret/attachment/1".utf8) + UInt64(content.byteCount).bigEndianBytes
                            + content.contentHash
                    ]
                }
            }
        }
    }
}
