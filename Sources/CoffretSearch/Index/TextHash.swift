// Hashes in the place of texts. Invariant: what is hashed is only ever compared for equality; nobody outside of the
// index can say which texts share a hash, for its key is random.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretSQLite

/// Hashes texts to 64 bits: BLAKE2b of a random key and the text, of which the first eight bytes count.
struct TextHash {
    static let keyByteCount = 16
    private let key: [UInt8]

    init(key: [UInt8]) { self.key = key }

    /// Of one text.
    func callAsFunction(_ text: String) -> Int64 { Self.number(BLAKE2b.hash(key, Array(text.utf8), byteCount: 16)) }

    /// Of several texts, which are told apart by their lengths.
    func callAsFunction(_ texts: [String]) -> Int64 {
        var hasher = BLAKE2bHasher(byteCount: 16)
        hasher.update(key)
        for text in texts {
            hasher.update(UInt64(text.utf8.count).bigEndianBytes)
            hasher.update(Array(text.utf8))
        }
        return Self.number(hasher.finish())
    }

    private static func number(_ hash: [UInt8]) -> Int64 {
        hash.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    // MARK: Lists of hashes

    /// A list as it lies in the index.
    static func encode(_ hashes: [Int64]) -> [UInt8] { hashes.flatMap { UInt64(bitPattern: $0).bigEndianBytes } }

    static func decode(_ bytes: [UInt8]) -> [Int64] {
        stride(from: 0, to: bytes.count - 7, by: 8).map { start in
            bytes[start..<start + 8].reduce(0) { $0 << 8 | Int64($1) }
        }
    }
}

extension Connection {
    /// The hash of this index.
    func textHash() throws(SQLiteError) -> TextHash {
        guard let key = try metaBytes("key"), key.count == TextHash.keyByteCount else {
            throw SQLiteError(.corrupt, place: "key")
        }
        return TextHash(key: key)
    }
}
