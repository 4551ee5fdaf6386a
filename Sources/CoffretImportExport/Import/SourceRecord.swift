// Records of an import in the vault: the file and item of each entry, and the contents of both at that time. The one
// thing to keep true: records live beside the items, not in them, so that an item deleted in the vault does not come
// back with the next import, and exporting it elsewhere shows nothing of its origin.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretLogs
internal import CoffretStorage

/// A place that was imported before: kind `M`, one entity each.
///
/// All are listed on the entity `M` with the UUID zero, register `source/<uuid>`, so that finding them
/// reads one entity. The files are registers `file/<BLAKE2b-128 of the key>` of the source's own entity.
///
/// Spec: Spec/export.md section 5.
struct SourceRecord: Equatable {
    /// The entity that holds the files.
    let entity: EntityID
    /// Which importer wrote it.
    var format: String
    /// The name of the folder or archive.
    var name: String
    /// Where it lay at the last import.
    var location: String
    /// The beginning of the paths of its items; unique in the vault.
    var root: String
    /// The item that holds the files which no note mentions.
    var collector: EntityID?

    static let registry: EntityID = {
        let zeros = [UInt8](repeating: 0, count: EntityID.byteCount - 1)
        guard let id = EntityID(bytes: [EntityKind.importRecord] + zeros) else {
            preconditionFailure("an entity id has 17 bytes")
        }
        return id
    }()
    static let prefix = "source/"

    var change: LogChange {
        let value = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 6)
            encoder.encode(unsigned: 1)
            for text in [format, name, location, root] { encoder.encode(text: text) }
            if let collector { encoder.encode(bytes: collector.bytes) } else { encoder.encodeNull() }
        }
        return LogChange(
            key: FactKey(entity: Self.registry, attribute: recordAttribute(Self.prefix, entity.uuid.bytes)),
            value: value)
    }

    /// Reads a register of the registry; nil if it is none of this version.
    init?(attribute: Attribute, value: [UInt8]) {
        guard attribute.name.hasPrefix(Self.prefix),
            let uuid = try? Hex.decode(String(attribute.name.dropFirst(Self.prefix.count))),
            let id = UniqueID(bytes: uuid)
        else { return nil }
        entity = EntityID(kind: EntityKind.importRecord, uuid: id)
        let decoded = try? withCBORDecoder(value) { (decoder) throws(CBORError) -> ([String], [UInt8]?) in
            try decoder.readArrayHeader(count: 6)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            var texts: [String] = []
            for _ in 0..<4 { texts.append(try decoder.readText()) }
            if decoder.isNextNull {
                try decoder.readNull()
                return (texts, nil)
            }
            return (texts, try decoder.readBytes())
        }
        guard let (texts, collectorBytes) = decoded else { return nil }
        (format, name, location, root) = (texts[0], texts[1], texts[2], texts[3])
        collector = collectorBytes.flatMap { EntityID(bytes: $0) }
    }

    init(entity: EntityID, format: String, name: String, location: String, root: String) {
        self.entity = entity
        self.format = format
        self.name = name
        self.location = location
        self.root = root
    }
}

/// The result of one file, or of one item of a structured file.
struct FileRecord: Equatable {
    /// Its name in its source: the bytes of its path, or a foreign id.
    let key: [UInt8]
    /// The item or attachment.
    var target: EntityID
    /// BLAKE2b-256 of the file's bytes at the last import.
    var contentHash: [UInt8]
    /// BLAKE2b-256 of the item as the import left it; empty for attachments.
    var stateHash: [UInt8]
    /// Whether the file began with a byte order mark.
    var hasByteOrderMark = false
    /// The front matter as it stood, fences included; of a bundle's `info.json` all of it; empty if there was none.
    var frontMatter = ""

    static let prefix = "file/"

    /// The register of a key on a source's entity.
    static func factKey(_ key: [UInt8], of source: EntityID) -> FactKey {
        FactKey(entity: source, attribute: recordAttribute(prefix, BLAKE2b.hash(key, byteCount: 16)))
    }

    func change(of source: EntityID) -> LogChange {
        let value = CBOREncoder.encode(reservingByteCount: 160 + key.count + frontMatter.utf8.count) { encoder in
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: 1)
            for bytes in [key, target.bytes, contentHash, stateHash] { encoder.encode(bytes: bytes) }
            encoder.encode(bool: hasByteOrderMark)
            encoder.encode(text: frontMatter)
        }
        return LogChange(key: Self.factKey(key, of: source), value: value)
    }

    /// Reads a register; nil if it is none of this version.
    init?(attribute: Attribute, value: [UInt8]) {
        guard attribute.name.hasPrefix(Self.prefix) else { return nil }
        let decoded = try? withCBORDecoder(value) { (decoder) throws(CBORError) -> ([[UInt8]], Bool, String) in
            try decoder.readArrayHeader(count: 7)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            var parts: [[UInt8]] = []
            for _ in 0..<4 { parts.append(try decoder.readBytes()) }
            return (parts, try decoder.readBool(), try decoder.readText())
        }
        guard let (parts, mark, text) = decoded, let target = EntityID(bytes: parts[1]) else { return nil }
        key = parts[0]
        self.target = target
        contentHash = parts[2]
        stateHash = parts[3]
        hasByteOrderMark = mark
        frontMatter = text
    }

    init(key: [UInt8], target: EntityID, contentHash: [UInt8], stateHash: [UInt8] = []) {
        self.key = key
        self.target = target
        self.contentHash = contentHash
        self.stateHash = stateHash
    }
}

private func recordAttribute(_ prefix: String, _ bytes: [UInt8]) -> Attribute {
    guard let attribute = Attribute(prefix + Hex.encode(bytes)) else {
        preconditionFailure("a prefix and 32 hex digits are an attribute")
    }
    return attribute
}

/// Reads the records of a vault.
struct SourceRecordReader {
    let snapshot: LogSnapshot

    /// All places imported before.
    func sources() throws(ImportExportError) -> [SourceRecord] {
        try values(of: SourceRecord.registry).compactMap { SourceRecord(attribute: $0, value: $1) }
    }

    /// The files of one place, by key.
    func files(of source: EntityID) throws(ImportExportError) -> [[UInt8]: FileRecord] {
        var records: [[UInt8]: FileRecord] = [:]
        for (attribute, value) in try values(of: source) {
            if let record = FileRecord(attribute: attribute, value: value) { records[record.key] = record }
        }
        return records
    }

    private func values(of entity: EntityID) throws(ImportExportError) -> [(Attribute, [UInt8])] {
        try wrappingVaultErrors {
            var result: [(Attribute, [UInt8])] = []
            var previous: FactKey?
            for fact in try snapshot.facts(of: entity) {
                // Concurrent records of one key: the later one in the tree's order speaks.
                if fact.key == previous { result.removeLast() }
                previous = fact.key
                result.append((fact.key.attribute, try fact.plainInlineValue ?? snapshot.value(of: fact)))
            }
            return result
        }
    }
}
