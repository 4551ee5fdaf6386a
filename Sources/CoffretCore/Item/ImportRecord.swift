// What an import remembers of a place that it read from, so that a second run changes nothing (protocol 13:
// idempotence rests on these facts, not on storage).

internal import CoffretBase
internal import CoffretCrypto
package import CoffretStorage

/// Where something was imported from, and the hash of what was there.
package struct ImportRecord: Equatable, Sendable {
    /// Names the import: a folder's or an archive's name, or another program's.
    package let source: String
    /// Where in the source: a path, or another program's id.
    package let path: String
    /// The hash of the content, as the importer defines it; at most 64 bytes.
    package let hash: [UInt8]
    /// The item, or the attachment, that came of it.
    package let target: EntityID

    package init(source: String, path: String, hash: [UInt8], target: EntityID) {
        self.source = source
        self.path = path
        self.hash = hash
        self.target = target
    }

    /// The entity under which the record for a place stands: kind `M` and BLAKE2b-128 of
    /// `coffret/import/1` ‖ lp(source) ‖ lp(path), so that it is found without a search.
    package static func id(source: String, path: String) -> EntityID {
        var input = Array("coffret/import/1".utf8)
        for part in [source, path] {
            let bytes = Array(part.utf8)
            input += UInt32(bytes.count).bigEndianBytes + bytes
        }
        guard let uuid = UniqueID(bytes: BLAKE2b.hash(input, byteCount: 16)) else {
            preconditionFailure("the hash has 16 bytes")
        }
        return EntityID(kind: EntityKind.importRecord, uuid: uuid)
    }

    static func read(source: String, path: String, from reader: SnapshotReader) throws(CoreError) -> ImportRecord? {
        var values: [Attribute: [UInt8]] = [:]
        for fact in try reader.facts(of: id(source: source, path: path)) {
            values[fact.key.attribute] = fact.inlineValue
        }
        guard let hash = values[ImportAttribute.hash], let target = values[ImportAttribute.target],
            let entity = EntityID(bytes: try FactValue.bytes(target))
        else { return nil }
        return ImportRecord(source: source, path: path, hash: try FactValue.bytes(hash), target: entity)
    }

    /// The facts that record this.
    var changes: [FactChange] {
        let id = Self.id(source: source, path: path)
        return [
            (ImportAttribute.source, FactValue.encode(source)), (ImportAttribute.path, FactValue.encode(path)),
            (ImportAttribute.hash, FactValue.encode(hash)), (ImportAttribute.target, FactValue.encode(target.bytes)),
        ].map { FactChange(key: FactKey(entity: id, attribute: $0.0), value: $0.1) }
    }
}
