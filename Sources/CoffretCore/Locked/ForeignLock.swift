// Notes that another application sealed under scheme 1 with constants of its own. Invariant: what it sealed stays as it is,
// byte for byte; whoever has the constants and the passphrase can open it.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop
internal import CoffretLogs
package import CoffretStorage

/// An application whose constants the chain of scheme 1 has.
package enum LockApplication: String, Sendable {
    case coffret
    /// Bear, whose constants are not public.
    case bear
}

/// The constants of an application; they stand in its code and are no secrets.
///
/// Spec: Spec/interop-themis.md section 9.
package struct LockConstants: Equatable, Sendable {
    /// P of the chain.
    package let passphrasePart: [UInt8]
    /// C of the chain; at least one byte.
    package let context: [UInt8]

    private static let byteCountMax = 1_024

    /// - Throws: `CoreError.fieldInvalid` for an empty context, or more than 1,024 bytes.
    package init(passphrasePart: [UInt8], context: [UInt8]) throws {
        guard !context.isEmpty, context.count <= Self.byteCountMax, passphrasePart.count <= Self.byteCountMax else {
            throw CoreError(.fieldInvalid, at: "constants")
        }
        self.passphrasePart = passphrasePart
        self.context = context
    }

    /// Reads a file of two lines, P and C.
    ///
    /// - Throws: `CoreError.fieldInvalid` for another number of lines.
    package init(file: [UInt8]) throws {
        var lines = file.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            Array(line.last == 0x0D ? line.dropLast() : line)
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.count == 2 else { throw CoreError(.fieldInvalid, at: "constants: two lines") }
        try self.init(passphrasePart: lines[0], context: lines[1])
    }

    func encode() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: passphrasePart)
            encoder.encode(bytes: context)
        }
    }

    /// - Returns: nil for a value of a newer version, or for none.
    init?(decoding value: [UInt8]) {
        let parts = try? withCBORDecoder(value) { (decoder) throws(CBORError) -> ([UInt8], [UInt8]) in
            try decoder.readArrayHeader(count: 3)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            return (
                try decoder.readBytes(countMax: Self.byteCountMax), try decoder.readBytes(countMax: Self.byteCountMax)
            )
        }
        guard let parts, let constants = try? LockConstants(passphrasePart: parts.0, context: parts.1) else {
            return nil
        }
        self = constants
    }
}

/// The content of a note as another application sealed it.
package struct ForeignSealedNote: Equatable, Sendable {
    /// A cell of Themis Secure Cell in Seal mode, with the encryption id as its context.
    package let body: [UInt8]
    package let encryptionID: UniqueID
    /// Names the passphrase in its application.
    package let passphraseID: UniqueID
    /// When the passphrase was set.
    package let created: Milliseconds
    /// Random bytes, sealed under the key of the passphrase.
    package let check: [UInt8]

    package init(
        body: [UInt8], encryptionID: UniqueID, passphraseID: UniqueID, created: Milliseconds, check: [UInt8]
    ) {
        self.body = body
        self.encryptionID = encryptionID
        self.passphraseID = passphraseID
        self.created = created
        self.check = check
    }

    func record(home: VaultID) -> PasswordRecord {
        var identity = PasswordRecord.Identity(
            scheme: .bear, created: created, home: home, salt: passphraseID.bytes, effort: nil)
        identity.application = .bear
        return PasswordRecord(identity: identity, check: check, previous: [])
    }
}

extension PasswordRecord {
    /// The chain of scheme 1 with the record's constants.
    ///
    /// - Throws: `CoreError.recordConstantsMissing` if they are another application's and nobody gave them.
    func chain() throws -> BearKeyChain {
        guard identity.application != .coffret else { return .coffretScheme1 }
        guard let constants else { throw CoreError(.recordConstantsMissing, at: id.hex) }
        return try inInterop(
            BearKeyChain(passwordPart: constants.passphrasePart, applicationContext: constants.context))
    }
}

extension VaultBatch {
    /// Makes an existing note a locked one: its text is what another application sealed.
    ///
    /// - Parameter constants: of that application, if they are known; they open the record from then on.
    package func writeSealed(
        _ note: ForeignSealedNote, of id: EntityID, constants: LockConstants?
    ) throws {
        let record = note.record(home: vault.repository.keys.vaultID)
        let value = SealedValue(
            record: record.id, encryptionID: note.encryptionID,
            tag: vault.random.bytes(count: SealedValue.tagByteCount), ancestors: [], resealCount: 0, body: note.body)
        write([LogChange(key: FactKey(entity: id, attribute: LockedPart.text.attribute), value: value.encode())])
        try writeRecord(record, constants: constants)
    }

    /// Writes the constants to the record of a note that came before.
    ///
    /// - Returns: whether they are new.
    package func writeConstants(_ constants: LockConstants, for note: ForeignSealedNote) throws -> Bool {
        try writeRecord(note.record(home: vault.repository.keys.vaultID), constants: constants)
    }

    /// - Returns: whether anything was written.
    @discardableResult
    private func writeRecord(_ record: PasswordRecord, constants: LockConstants?) throws -> Bool {
        let entity = PasswordRecord.entity(record.id)
        var values: [Attribute: [UInt8]] = [:]
        for fact in try reader.facts(of: entity) where fact.key.element.isEmpty {
            values[fact.key.attribute] = try reader.value(of: fact)
        }
        var changes: [LogChange] = []
        // A record is written once.
        if values[RecordAttribute.record] == nil {
            changes.append(
                LogChange(key: FactKey(entity: entity, attribute: RecordAttribute.record), value: record.encode()))
        }
        if let value = constants?.encode(), values[RecordAttribute.constants] != value {
            changes.append(LogChange(key: FactKey(entity: entity, attribute: RecordAttribute.constants), value: value))
        }
        if !changes.isEmpty { write(changes) }
        return !changes.isEmpty
    }
}
