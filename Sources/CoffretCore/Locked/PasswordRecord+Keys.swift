// From a passphrase to a record's key, and from one record to the next. Invariant: bounds and the record's identity
// are checked before anything is derived (R13).

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop
internal import CoffretStorage

/// How hard a new record makes guessing: memory in KiB and passes.
package typealias LockEffort = PasswordRecord.Identity.Effort

extension PasswordRecord {
    /// 256 MiB and three passes.
    package static let normalEffort = LockEffort(memoryKibibytes: 262_144, passCount: 3)

    /// Makes a record for a passphrase.
    ///
    /// - Parameters:
    ///   - previous: keys of records that this one replaces; nil where only the id is to be named.
    /// - Throws: `CoreError` `.recordPolicy` for an effort out of bounds, `.crypto` if memory cannot be had.
    static func make(
        scheme: LockScheme, passphrase: NotePassphrase, effort: LockEffort = normalEffort, home: VaultID,
        time: Milliseconds, previous: [(id: UniqueID, key: RecordKey?)] = [], random: any RandomSource
    ) throws -> (record: PasswordRecord, key: RecordKey) {
        let identity = Identity(
            scheme: scheme, created: time, home: home, salt: random.bytes(count: PasswordParameters.saltByteCount),
            effort: scheme == .bear ? nil : effort)
        let bare = PasswordRecord(identity: identity, check: [], previous: [])
        let key = RecordKey(id: bare.id, form: try bare.deriveForm(passphrase))
        var check = random.bytes(count: 32)
        defer { check.zero() }
        var ladder: [Previous] = []
        for (old, oldKey) in previous {
            let sealed = try oldKey.map { oldKey in
                try key.sealKey(oldKey, of: old, random: random)
            }
            ladder.append(Previous(id: old, sealedKey: sealed))
        }
        let record = PasswordRecord(
            identity: identity, check: try key.sealCheck(check, random: random), previous: ladder)
        return (record, key)
    }

    /// The key that a passphrase leads to.
    ///
    /// - Throws: `CoreError` `.recordPolicy` before anything is derived; `.notePassphraseWrong`.
    /// - Complexity: one Argon2id of the record's effort.
    package func open(_ passphrase: NotePassphrase) throws -> RecordKey {
        let key = RecordKey(id: id, form: try deriveForm(passphrase))
        guard key.opensCheck(check) else { throw CoreError(.notePassphraseWrong, at: id.hex) }
        return key
    }

    private func deriveForm(_ passphrase: NotePassphrase) throws -> RecordKey.Form {
        switch scheme {
        case .bear:
            // EXPOSE: into an array that is overwritten below; the chain takes raw UTF-8.
            var bytes = unsafe passphrase.withUnsafeBytes { unsafe Array($0) }
            defer { bytes.zero() }
            let chain = try chain()
            return .bear(try inInterop(chain.deriveApplicationKey(passphrase: bytes)))
        case .argon2id:
            guard let effort = identity.effort else { throw CoreError(.recordPolicy, at: id.hex) }
            let parameters = PasswordParameters(
                memoryKibibytes: effort.memoryKibibytes, passCount: effort.passCount, salt: identity.salt)
            do throws(CryptoError) {
                try parameters.check()
            } catch {
                throw CoreError(.recordPolicy, at: id.hex, cause: error)
            }
            // EXPOSE: into an array that Passphrase zeroes.
            var typed = unsafe passphrase.withUnsafeBytes { unsafe Array($0) }
            do throws(CryptoError) {
                let normalized = try Passphrase(typed: &typed)
                return .argon2id(NoteApplicationKey(try parameters.deriveSecret(from: normalized)))
            } catch {
                throw CoreError(error.code == .invalidPassphrase ? .notePassphraseInvalid : .crypto, cause: error)
            }
        }
    }

    /// The key of a record that this one replaces, out of the ladder; nil if it holds none.
    ///
    /// - Throws: `CoreError.noteDamaged` if the step does not open under this record's key.
    func previousKey(_ older: PasswordRecord, with key: RecordKey) throws -> RecordKey? {
        guard let entry = previous.first(where: { $0.id == older.id }), let sealed = entry.sealedKey else { return nil }
        return try key.openKey(sealed, of: older)
    }
}

/// Evaluates `value`, turning errors of foreign formats into this module's.
func inInterop<Result: ~Copyable>(_ value: @autoclosure () throws(InteropError) -> Result) throws -> Result {
    do throws(InteropError) {
        return try value()
    } catch {
        throw CoreError(error.code == .authenticationFailed ? .noteDamaged : .crypto, cause: error)
    }
}
