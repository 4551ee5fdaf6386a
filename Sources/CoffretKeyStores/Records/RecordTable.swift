// Records as one table of names and bytes, sealed as a whole. Invariant: a table opens only in the home, and at the
// count, that it was sealed for.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys

/// The records of one home.
struct RecordTable: Equatable {
    var records: [String: [UInt8]] = [:]

    static let nameByteCountMax = 128
    static let recordByteCountMax = 4_096
    static let recordCountMax = 256
    static let byteCountMax = 1 << 20

    /// ENV(key, "protected/records", home ‖ count (8), [* [name: tstr, record: bstr]]), by name.
    func sealed(under key: AuthenticationKey, home: [UInt8], count: UInt64, random: any RandomSource) -> [UInt8] {
        let content = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: records.count)
            for (name, bytes) in records.sorted(by: { $0.key < $1.key }) {
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(text: name)
                encoder.encode(bytes: bytes)
            }
        }
        return Envelope.seal(
            content, key: key, context: .protectedRecords, associatedData: home + count.bigEndianBytes, random: random)
    }

    /// nil if it was not sealed under this key, for this home and count.
    init?(opening sealed: [UInt8], key: AuthenticationKey, home: [UInt8], count: UInt64) {
        let content = try? unsafe Envelope.open(
            sealed, key: key, context: .protectedRecords, associatedData: home + count.bigEndianBytes
        ) { (bytes) throws(CryptoError) in unsafe [UInt8](bytes) }
        guard let content, let records = Self.decode(content) else { return nil }
        self.records = records
    }

    init() {}

    private static func decode(_ bytes: [UInt8]) -> [String: [UInt8]]? {
        try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            guard count <= recordCountMax else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            var records: [String: [UInt8]] = [:]
            for _ in 0..<count {
                try decoder.readArrayHeader(count: 2)
                let name = try decoder.readText(byteCountMax: nameByteCountMax)
                records[name] = try decoder.readBytes(countMax: recordByteCountMax)
            }
            return records
        }
    }

    /// Throws `.failed` for what no table takes; that is our own mistake.
    mutating func set(_ name: String, _ bytes: [UInt8]) throws(KeyStoreError) {
        records[name] = bytes
        guard name.utf8.count <= Self.nameByteCountMax, bytes.count <= Self.recordByteCountMax,
            records.count <= Self.recordCountMax
        else { throw KeyStoreError(.failed, place: "record") }
    }
}
