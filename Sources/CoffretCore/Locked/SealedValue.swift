// One sealed part of a note as a fact. Invariant: it says which text it was made from, so that a merge can tell an
// edit from a mere resealing without opening either.

package import CoffretBase
package import CoffretStorage

/// A part of a locked note, sealed: its text, its title, its tags, or what is known of one of its files.
///
/// Spec: Spec/locked-notes.md section 4.
package struct SealedValue: Equatable, Sendable {
    /// How many earlier versions a value names at most.
    package static let ancestorCountMax = 32
    package static let tagByteCount = 16
    private static let formatVersion: UInt64 = 1

    /// The password record whose passphrase opens it.
    package let record: UniqueID
    /// The note's random id inside the key derivation; stays with the note.
    package let encryptionID: UniqueID
    /// Tells this version from others. Scheme 2: the same for the same content under the same record.
    package let tag: [UInt8]
    /// Tags of the versions that this one was made from, the newest first.
    package let ancestors: [[UInt8]]
    /// How many of the first ancestors have the same content: not zero for a resealing.
    package let resealCount: Int
    package let body: [UInt8]

    package init(
        record: UniqueID, encryptionID: UniqueID, tag: [UInt8], ancestors: [[UInt8]], resealCount: Int, body: [UInt8]
    ) {
        self.record = record
        self.encryptionID = encryptionID
        self.tag = tag
        self.ancestors = Array(ancestors.prefix(Self.ancestorCountMax))
        self.resealCount = min(resealCount, self.ancestors.count)
        self.body = body
    }

    package func encode() -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: body.count + 80 + 17 * ancestors.count) { encoder in
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: Self.formatVersion)
            encoder.encode(bytes: record.bytes)
            encoder.encode(bytes: encryptionID.bytes)
            encoder.encode(bytes: tag)
            encoder.encodeArrayHeader(count: ancestors.count)
            for ancestor in ancestors { encoder.encode(bytes: ancestor) }
            encoder.encode(unsigned: UInt64(resealCount))
            encoder.encode(bytes: body)
        }
    }

    /// Reads a fact's value.
    ///
    /// - Throws: `CoreError` `.recordUnsupported` for a newer format, `.valueInvalid`.
    package static func parse(_ bytes: [UInt8]) throws -> SealedValue {
        let value: SealedValue?
        do throws(CBORError) {
            value = try withCBORDecoder(bytes, read)
        } catch {
            throw CoreError(.valueInvalid, at: error.code.rawValue, cause: error)
        }
        guard let value else { throw CoreError(.recordUnsupported) }
        return value
    }

    /// Nil for a newer format.
    private static func read(_ decoder: inout CBORDecoder) throws(CBORError) -> SealedValue? {
        let count = try decoder.readArrayHeader()
        guard count > 0, try decoder.readUnsigned() == formatVersion else {
            for _ in 0..<max(0, count - 1) { try decoder.skipItem() }
            return nil
        }
        guard count == 7 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
        let record = try decoder.readBytes(count: UniqueID.byteCount)
        let encryptionID = try decoder.readBytes(count: UniqueID.byteCount)
        let tag = try decoder.readBytes(count: tagByteCount)
        let ancestorCount = try decoder.readArrayHeader()
        guard ancestorCount <= ancestorCountMax else {
            throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        }
        var ancestors: [[UInt8]] = []
        for _ in 0..<ancestorCount { ancestors.append(try decoder.readBytes(count: tagByteCount)) }
        let resealCount = try decoder.readUnsigned(as: UInt8.self)
        let body = try decoder.readBytes()
        guard let record = UniqueID(bytes: record), let encryptionID = UniqueID(bytes: encryptionID),
            Int(resealCount) <= ancestorCount
        else { throw CBORError(.unexpectedItem, byteOffset: 0) }
        return SealedValue(
            record: record, encryptionID: encryptionID, tag: tag, ancestors: ancestors, resealCount: Int(resealCount),
            body: body)
    }
}

/// The parts of a note that are sealed, each a fact of its own.
package enum LockedPart: String, Sendable, CaseIterable {
    case text = "locked/text"
    case title = "locked/title"
    case tags = "locked/tags"
    case fields = "locked/fields"
    case path = "locked/path"

    /// The beginning of the attributes of sealed parts, also those of newer versions.
    static let prefix = "locked/"

    package var attribute: Attribute {
        guard let attribute = Attribute(rawValue) else { preconditionFailure("a part is named like an attribute") }
        return attribute
    }
}
