// Values in blobs of their own. The one thing to keep true: each begins with random bytes, so that two
// items with equal values never share an address (protocol 13).

package import CoffretBase

/// A part of a long value: one blob of type `value`.
struct ValuePiece: Equatable, Sendable {
    let name: BlobName
    let byteCount: Int
}

/// Content of the blobs `value` and `valueList` (Spec/fact.md section 4).
///
/// `value`: salt (16) ‖ bytes. `valueList`: salt (16) ‖ per piece v size ‖ name (32), at least two
/// pieces. All pieces of a list begin with the list's salt. A key whose long value is replaced by
/// another long one keeps the salt: pieces that did not change are found and not stored again, within that
/// key and nowhere else.
package enum ValueCodec {
    package static func encode(salt: [UInt8], bytes: ArraySlice<UInt8>) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(salt.count + bytes.count)
        content.append(contentsOf: salt)
        content.append(contentsOf: bytes)
        return content
    }

    static func encodeList(salt: [UInt8], _ pieces: [ValuePiece]) -> [UInt8] {
        var content = salt
        content.reserveCapacity(salt.count + pieces.count * 35)
        for piece in pieces {
            Varint.append(UInt64(piece.byteCount), to: &content)
            content.append(contentsOf: piece.name.bytes)
        }
        return content
    }

    /// Decodes a list; nil unless it is well formed and its pieces are `byteCount` bytes together.
    ///
    /// - Parameter byteCount: nil where only the list's name is known.
    static func decodeList(
        _ content: Span<UInt8>, byteCount: Int?
    ) -> (salt: [UInt8], pieces: [ValuePiece])? {
        guard content.count >= FactLimits.saltByteCount else { return nil }
        var offset = FactLimits.saltByteCount
        var pieces: [ValuePiece] = []
        var sum = 0
        while offset < content.count {
            guard let size = Varint.read(content, at: &offset), size > 0,
                size <= ValueCutter.pieceByteCountMax, content.count - offset >= 32,
                let name = BlobName(bytes: content.copy(offset..<offset + 32))
            else { return nil }
            offset += 32
            sum += Int(size)
            pieces.append(ValuePiece(name: name, byteCount: Int(size)))
        }
        guard byteCount.map({ $0 == sum }) ?? true, pieces.count > 1 else { return nil }
        return (content.copy(0..<FactLimits.saltByteCount), pieces)
    }
}

/// Reads values that lie outside the tree.
package struct ValueReader {
    let reader: any BlobReader
    /// Content of values that commits or entries carry and no checkpoint has stored yet.
    let unstored: [BlobName: [UInt8]]

    package init(reader: any BlobReader, unstored: [BlobName: [UInt8]]) {
        self.reader = reader
        self.unstored = unstored
    }

    /// - Throws: `.factMalformedValue` if the blobs do not make up the value that the fact names.
    package func value(_ stored: StoredValue) throws(StorageError) -> [UInt8] {
        if !stored.isList { return try bytes(of: stored.name, byteCount: stored.byteCount, salt: nil) }
        let list = try list(stored)
        var value: [UInt8] = []
        value.reserveCapacity(stored.byteCount)
        for piece in list.pieces {
            value += try bytes(of: piece.name, byteCount: piece.byteCount, salt: list.salt)
        }
        return value
    }

    /// The value whose blob, or whose list of pieces, has this name; nil if there is none.
    package func value(named name: BlobName) throws(StorageError) -> [UInt8]? {
        if let content = unstored[name] { return Array(content.dropFirst(FactLimits.saltByteCount)) }
        guard try reader.containsBlob(name) else { return nil }
        do throws(StorageError) {
            return Array(try storedBytes(name).dropFirst(FactLimits.saltByteCount))
        } catch {
            // A list is a blob of another type.
            guard error.code == .blobAuthenticationFailed else { throw error }
        }
        let list = try reader.readBlob(name, type: .valueList) { (content) throws(StorageError) in
            ValueCodec.decodeList(content, byteCount: nil)
        }
        guard let list else { throw StorageError(.factMalformedValue, place: name.description) }
        return try value(StoredValue(name: name, byteCount: list.pieces.reduce(0) { $0 + $1.byteCount }))
    }

    /// The blobs of a value, its list before the pieces.
    package func blobNames(of stored: StoredValue) throws(StorageError) -> [(name: BlobName, type: BlobType)] {
        guard stored.isList else { return [(stored.name, .value)] }
        return [(stored.name, .valueList)] + (try list(stored).pieces.map { ($0.name, .value) })
    }

    /// The pieces of the value whose list is the blob of that name; empty for a value in one blob.
    package func pieceNames(ofBlob name: BlobName) throws(StorageError) -> [BlobName] {
        do throws(StorageError) {
            let list = try reader.readBlob(name, type: .valueList) { (content) throws(StorageError) in
                ValueCodec.decodeList(content, byteCount: nil)
            }
            return list?.pieces.map(\.name) ?? []
        } catch {
            // A value in one blob is of another type.
            guard error.code == .blobAuthenticationFailed else { throw error }
            return []
        }
    }

    /// The salt of a value that lies in pieces, for the next one under its key; nil for one that lies in one blob.
    package func salt(of stored: StoredValue) throws(StorageError) -> [UInt8]? {
        stored.isList ? try list(stored).salt : nil
    }

    func list(_ stored: StoredValue) throws(StorageError) -> (salt: [UInt8], pieces: [ValuePiece]) {
        let list = try reader.readBlob(stored.name, type: .valueList) { (content) throws(StorageError) in
            ValueCodec.decodeList(content, byteCount: stored.byteCount)
        }
        guard let list else { throw StorageError(.factMalformedValue, place: stored.name.description) }
        return list
    }

    private func bytes(of name: BlobName, byteCount: Int, salt: [UInt8]?) throws(StorageError) -> [UInt8] {
        let content: [UInt8]
        if let known = unstored[name] { content = known } else { content = try storedBytes(name) }
        guard content.count == FactLimits.saltByteCount + byteCount, salt.map({ content.starts(with: $0) }) ?? true
        else { throw StorageError(.factMalformedValue, place: name.description) }
        return Array(content[FactLimits.saltByteCount...])
    }

    private func storedBytes(_ name: BlobName) throws(StorageError) -> [UInt8] {
        try reader.blobBytes(name, type: .value)
    }
}

/// Writes values that lie outside the tree.
package struct ValueWriter {
    let writer: any BlobWriter
    let cutter: ValueCutter
    let random: any RandomSource

    package init(writer: any BlobWriter, cutter: ValueCutter, random: any RandomSource) {
        self.writer = writer
        self.cutter = cutter
        self.random = random
    }

    /// Stores a value of more than 512 bytes.
    ///
    /// - Parameter previousSalt: the salt of the list that stood under the key, if one did.
    /// - Throws: `.factValueTooLarge` above 16 MiB; what writing blobs throws.
    package func write(_ value: [UInt8], previousSalt: [UInt8]?) throws(StorageError) -> StoredValue {
        guard value.count <= FactLimits.valueByteCountMax else {
            throw StorageError(.factValueTooLarge, place: "\(value.count) bytes")
        }
        if value.count <= FactLimits.wholeValueByteCountMax {
            let salt = random.bytes(count: FactLimits.saltByteCount)
            let name = try writer.writeBlob(type: .value, bytes: ValueCodec.encode(salt: salt, bytes: value[...]))
            return StoredValue(name: name, byteCount: value.count)
        }
        let salt = previousSalt ?? random.bytes(count: FactLimits.saltByteCount)
        var pieces: [ValuePiece] = []
        for range in cutter.pieces(of: value) {
            let content = ValueCodec.encode(salt: salt, bytes: value[range])
            let name = try writer.writeBlob(type: .value, bytes: content)
            pieces.append(ValuePiece(name: name, byteCount: range.count))
        }
        let name = try writer.writeBlob(type: .valueList, bytes: ValueCodec.encodeList(salt: salt, pieces))
        return StoredValue(name: name, byteCount: value.count)
    }
}
