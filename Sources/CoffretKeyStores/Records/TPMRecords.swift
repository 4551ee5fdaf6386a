// Records behind a TPM's counter. Invariant: an old file put back states an old count, and is distinguished from the
// newest; so is a file that was taken away.

internal import CTPM2
package import CoffretBase
internal import CoffretCrypto
package import CoffretKeys

/// Small records in one file, sealed under a key that only this TPM gives back, with the count of a counter in the
/// TPM's permanent memory.
///
/// File `tpm.records`, deterministic CBOR: ["coffret tpm records", 1, key blob, count, sealed table]; the table's home is
/// the counter's index. It holds when count is the counter's value, or one more: the file is written first and the
/// counter raised after it, so a power cut in between leaves a file that the next writing completes.
///
/// Protection: a file that is put back, or removed, is noticed. A program that runs as this person and may use the TPM
/// can write records as this one does.
/// Spec: Spec/keystores.md §8.
package struct TPMRecords: ProtectedRecords {
    private static let magic = "coffret tpm records"
    private static let fileName = "tpm.records"
    private static let byteCountMax = 2 << 20

    private let transport: TPMTransport
    private let files: RecordFiles
    private let random: any RandomSource
    private let limit: Duration
    /// Where in the TPM the counter is: told by the folder, so that it is found even if the file is gone.
    private let index: UInt32

    /// - Parameter folder: made if it is missing, for its owner only.
    /// - Parameter limit: how long a call may take.
    package init(
        transport: TPMTransport, folder: String, fileSystem: any FileSystem, random: any RandomSource,
        limit: Duration = .seconds(20)
    ) {
        self.transport = transport
        files = RecordFiles(folder: folder, fileSystem: fileSystem)
        self.random = random
        self.limit = limit
        index = Self.index(folder: folder)
    }

    /// Whether a TPM answers here, so that records can have this home.
    package func isAvailable() -> Bool {
        (try? perform { connection throws(KeyStoreError) in _ = try connection.lockout() }) != nil
    }

    package func read(_ name: String) -> ProtectedRecord {
        do {
            let found = try files.exclusively(Self.fileName) {
                try perform { connection throws(KeyStoreError) in
                    try load(try counter(connection), connection)?.table.records[name]
                }
            }
            return found.map { .present($0) } ?? .missing
        } catch {
            return .altered
        }
    }

    package func write(_ name: String, _ bytes: [UInt8]) throws {
        try files.exclusively(Self.fileName) {
            try perform { connection throws(KeyStoreError) in
                let value = try counter(connection)
                var content: Content
                do throws(KeyStoreError) {
                    if let found = try load(value, connection) {
                        content = found
                    } else {
                        content = try makeContent(connection)
                    }
                } catch {
                    // Records that were put back, or made by a TPM that was cleared since, are given up: these are
                    // newer.
                    guard error.code == .malformed || error.code == .keyUnusable else { throw error }
                    content = try makeContent(connection)
                }
                try content.table.set(name, bytes)
                var current: UInt64
                if let value { current = value } else { current = try raise(connection) }
                // A power cut left the file one ahead: its count is used up first.
                if content.count == current + 1 { current = try raise(connection) }
                content.count = current + 1
                try files.replace(Self.fileName, with: encode(content))
                guard try raise(connection) == content.count else {
                    throw KeyStoreError(.failed, place: "tpm counter")
                }
            }
        }
    }

    package func exclusively<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
        // Not the name alone: file records may lie in the same folder, and a ledger in both homes locks both.
        try files.exclusively("tpm." + name, body)
    }

    // MARK: File and counter

    private struct Content {
        var table: RecordTable
        let blob: TPMKeyBlob
        let key: AuthenticationKey
        var count: UInt64
    }

    /// Not a secret: it keeps other programs from raising the counter by mistake.
    private static let counterPassword = Array("coffret records".utf8)

    private func counter(_ connection: TPMConnection) throws(KeyStoreError) -> UInt64? {
        try connection.counterValue(at: index, authorization: Self.counterPassword)
    }

    private func raise(_ connection: TPMConnection) throws(KeyStoreError) -> UInt64 {
        try connection.incrementCounter(at: index, authorization: Self.counterPassword)
    }

    /// - Returns: nil where nothing was ever written.
    /// - Throws: `.malformed` for a file that is not the newest, `.keyUnusable` for another TPM's.
    private func load(_ value: UInt64?, _ connection: TPMConnection) throws(KeyStoreError) -> Content? {
        let altered = KeyStoreError(.malformed, place: Self.fileName)
        guard let bytes = try files.read(Self.fileName, byteCountMax: Self.byteCountMax) else {
            guard value == nil else { throw altered }
            return nil
        }
        let file = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 5)
            guard try decoder.readText(byteCountMax: 64) == Self.magic, try decoder.readUnsigned() == 1 else {
                throw CBORError(.unexpectedItem, byteOffset: 0)
            }
            return (
                blob: TPMKeyBlob(bytes: try decoder.readBytes(countMax: 4_096)), count: try decoder.readUnsigned(),
                sealed: try decoder.readBytes(countMax: RecordTable.byteCountMax)
            )
        }
        guard let file, let value, file.count == value || file.count == value + 1 else { throw altered }
        let nothing = unsafe SecretBytes(byteCount: 0) { _ in }
        let secret = try connection.unseal(file.blob, authorization: nothing)
        guard secret.byteCount == AuthenticationKey.byteCount else { throw altered }
        let key = AuthenticationKey(secret)
        guard
            let table = RecordTable(opening: file.sealed, key: key, home: index.bigEndianBytes, count: file.count)
        else { throw altered }
        return Content(table: table, blob: file.blob, key: key, count: file.count)
    }

    private func makeContent(_ connection: TPMConnection) throws(KeyStoreError) -> Content {
        let key = AuthenticationKey.generate(from: random)
        let blob = try connection.sealOpen(key.duplicateSecret())
        return Content(table: RecordTable(), blob: blob, key: key, count: 0)
    }

    private func encode(_ content: Content) -> [UInt8] {
        let sealed = content.table.sealed(
            under: content.key, home: index.bigEndianBytes, count: content.count, random: random)
        return CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(text: Self.magic)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: content.blob.bytes)
            encoder.encode(unsigned: content.count)
            encoder.encode(bytes: sealed)
        }
    }

    /// BLAKE2b-256 of "coffret/records/1" ‖ the folder's path, its first 22 bits in the range of the machine's owner.
    private static func index(folder: String) -> UInt32 {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Array("coffret/records/1".utf8))
        hasher.update(Array(folder.utf8))
        let number = hasher.finish()[..<4].reduce(0) { $0 << 8 | UInt32($1) } >> 10
        return TPMConnection.counterIndices.lowerBound + number
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (TPMConnection) throws(KeyStoreError) -> Value
    ) throws(KeyStoreError) -> Value {
        let transport = transport
        return try LimitedCall.run(limit: limit) { () throws(KeyStoreError) in
            try body(TPMConnection(transport: transport))
        }
    }
}
