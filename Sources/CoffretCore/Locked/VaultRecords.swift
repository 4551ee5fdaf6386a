// The password records of a vault. Invariant: they are written once and never changed, and never taken away while
// anything names them.

package import CoffretBase
internal import CoffretCrypto
package import CoffretLogs
internal import CoffretStorage

/// A password record as people see it.
package struct PasswordRecordSummary: Equatable, Sendable {
    package let record: PasswordRecord
    /// How many notes name it.
    package let noteCount: Int
    /// Whether there is a hint.
    package let hasHint: Bool
    /// The record that took its place; nil for one in use.
    package let replacedBy: UniqueID?
}

extension Vault {
    /// The records that stand in the vault.
    ///
    /// - Complexity: one range read.
    package func recordTable() throws -> RecordTable {
        var records: [PasswordRecord] = []
        var unusable: [UniqueID: CoreError] = [:]
        let reader = try present.reader
        try reader.forEachEntity(withPrefix: [EntityKind.passwordRecord]) { entity, facts in
            let versions = facts.filter { $0.key.attribute == RecordAttribute.record && $0.key.element.isEmpty }
            // A record is written once: of several versions, those that its id does not stand for do not count.
            for fact in versions {
                do {
                    var record = try PasswordRecord.parse(reader.value(of: fact), id: entity.uuid)
                    let constants = facts.filter { $0.key.attribute == RecordAttribute.constants }
                    if let constants = constants.winner {
                        record.constants = LockConstants(decoding: try reader.value(of: constants))
                    }
                    records.append(record)
                } catch let error as CoreError {
                    unusable[entity.uuid] = error
                }
            }
        }
        return RecordTable(records, unusable: unusable)
    }

    /// The records, the newest first, and how many notes each has.
    ///
    /// - Complexity: reads all notes.
    package func passwordRecords() throws -> [PasswordRecordSummary] {
        let table = try recordTable()
        var counts: [UniqueID: Int] = [:]
        try forEachLockedNote { _, lock in
            for record in lock.records { counts[record, default: 0] += 1 }
        }
        var summaries: [PasswordRecordSummary] = []
        for record in table.newestFirst {
            let successor = table.successor(of: record.id)
            summaries.append(
                PasswordRecordSummary(
                    record: record, noteCount: counts[record.id] ?? 0, hasHint: try sealedHint(of: record.id) != nil,
                    replacedBy: successor == record.id ? nil : successor))
        }
        return summaries
    }

    /// Goes through the locked notes, sealed as they are.
    func forEachLockedNote(_ body: (Item, ItemLock) throws -> Void) throws {
        try present.reader.forEachItem(of: .note) { item in
            if let lock = item.lock { try body(item, lock) }
        }
    }

    /// The record whose id begins with these hex digits (at least four).
    ///
    /// - Throws: `CoreError` `.recordNotFound`, also if several begin so.
    package func record(_ digits: String) throws -> PasswordRecord {
        let sought = digits.lowercased()
        let found = try recordTable().newestFirst.filter { $0.id.hex.hasPrefix(sought) }
        guard sought.utf8.count >= ReferenceResolver.digitCountMin, found.count == 1 else {
            throw CoreError(.recordNotFound, at: digits)
        }
        return found[0]
    }

    // MARK: Hints

    /// The longest hint, in UTF-8 bytes.
    package static var hintByteCountMax: Int { 256 }

    private func sealedHint(of record: UniqueID) throws -> [UInt8]? {
        let reader = try present.reader
        let key = FactKey(entity: PasswordRecord.entity(record), attribute: RecordAttribute.hint)
        guard let fact = try reader.facts(of: key.entity).filter({ $0.key == key }).winner else { return nil }
        return try reader.value(of: fact)
    }

    /// The hint of a record; nil if it has none. Everybody who can open the vault can read it.
    ///
    /// - Throws: `CoreError.valueInvalid` if it does not open under a key of this vault.
    package func hint(of record: UniqueID) throws -> String? {
        guard let value = try sealedHint(of: record) else { return nil }
        return try openHint(value, of: record)
    }

    /// The hint in the value of a record's fact.
    package func openHint(_ value: [UInt8], of record: UniqueID) throws -> String {
        let (epoch, sealed) = try LockedContent.decode(value) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            return (try decoder.readUnsigned(as: UInt32.self), try decoder.readBytes(countMax: 4_096))
        }
        guard let keys = repository.keys.keys(ofEpoch: epoch) else { throw CoreError(.valueInvalid, at: "hint") }
        do throws(CryptoError) {
            return try unsafe Envelope.open(
                sealed, key: keys.hintKey, context: .lockedHint, associatedData: record.bytes
            ) { (text) throws(CryptoError) in unsafe String(decoding: text, as: UTF8.self) }
        } catch {
            throw CoreError(.valueInvalid, at: "hint", cause: error)
        }
    }

    /// The fact that keeps a hint, sealed under the vault's key.
    package func hintChange(_ hint: String, of record: UniqueID) throws -> LogChange {
        guard hint.utf8.count <= Self.hintByteCountMax, !hint.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CoreError(.fieldInvalid, at: "hint")
        }
        let keys = repository.keys.current
        let sealed = Envelope.seal(
            Array(hint.utf8), key: keys.hintKey, context: .lockedHint, associatedData: record.bytes, random: random)
        let value = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: UInt64(keys.epoch))
            encoder.encode(bytes: sealed)
        }
        return LogChange(
            key: FactKey(entity: PasswordRecord.entity(record), attribute: RecordAttribute.hint), value: value)
    }

    /// The facts of a new record.
    func changes(adding record: PasswordRecord, hint: String?) throws -> [LogChange] {
        var changes = [
            LogChange(
                key: FactKey(entity: PasswordRecord.entity(record.id), attribute: RecordAttribute.record),
                value: record.encode())
        ]
        if let hint, !hint.isEmpty { changes.append(try hintChange(hint, of: record.id)) }
        return changes
    }
}
