// The newest checkpoint of the server's log, for own entries of each vault. Invariant: a record that is lost or put back makes
// this device state an older checkpoint, or one more; never anything else.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretTrust

/// States the newest checkpoint in own entries of one vault, once a day.
///
/// File `log-note` of the vault, kind 3 of `VaultWitnesses`: CBOR [1, note, when it was stated last / null]. Spec: Spec/log.md
/// section 5.
final class VaultLogNotes: KeyLogNoteSource {
    /// An entry has no room for longer ones.
    static let byteCountMax = 512
    private static let restMilliseconds: Milliseconds = 86_400_000

    struct Record: Equatable {
        var note: [UInt8]
        var statedAt: Milliseconds?
    }

    private let vaultID: VaultID
    private let records: VaultWitnesses
    private let clock: any WallClock
    private var pending: Record?
    /// When one was stated last, once that was read: nobody reads the file for each entry of a day.
    private var statedAt: Milliseconds?

    init(vaultID: VaultID, records: VaultWitnesses, clock: any WallClock) {
        (self.vaultID, self.records, self.clock) = (vaultID, records, clock)
    }

    func next() -> [UInt8]? {
        pending = nil
        guard isDue(statedAt), let record = records.logNote(of: vaultID) else { return nil }
        statedAt = record.statedAt
        guard isDue(record.statedAt) else { return nil }
        pending = record
        return record.note
    }

    private func isDue(_ time: Milliseconds?) -> Bool {
        time.map { !(0..<Self.restMilliseconds ~= clock.now &- $0) } ?? true
    }

    func written() {
        guard var record = pending else { return }
        pending = nil
        record.statedAt = clock.now
        statedAt = record.statedAt
        records.note(record, of: vaultID)
    }
}

extension VaultWitnesses {
    func logNote(of vault: VaultID) -> VaultLogNotes.Record? {
        guard let content = read(vault, .logNote) else { return nil }
        return try? withCBORDecoder(content) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 3)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let note = try decoder.readBytes(countMax: VaultLogNotes.byteCountMax)
            guard decoder.isNextNull else {
                return VaultLogNotes.Record(note: note, statedAt: try decoder.readSigned())
            }
            try decoder.readNull()
            return VaultLogNotes.Record(note: note)
        }
    }

    func note(_ record: VaultLogNotes.Record, of vault: VaultID) {
        let content = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: record.note)
            if let time = record.statedAt { encoder.encode(signed: time) } else { encoder.encodeNull() }
        }
        write(content, vault, .logNote)
    }
}

extension Store {
    /// For entries in a vault; nil unless it is synced.
    func logNotes(for record: VaultRecord) throws -> (any KeyLogNoteSource)? {
        guard record.kind == .synced else { return nil }
        return VaultLogNotes(vaultID: record.vaultID, records: try witnesses(), clock: environment.clock)
    }

    /// Remembers the newest checkpoint of the server's log, to be stated in entries of the synced vaults.
    package func noteKeyLog(_ note: [UInt8]) throws {
        guard note.count <= VaultLogNotes.byteCountMax else { return }
        let records = try witnesses()
        for vault in try inKeys(keyring.vaults()) where vault.kind == .synced {
            let known = records.logNote(of: vault.vaultID)
            guard known?.note != note else { continue }
            records.note(VaultLogNotes.Record(note: note, statedAt: known?.statedAt), of: vault.vaultID)
        }
    }
}
