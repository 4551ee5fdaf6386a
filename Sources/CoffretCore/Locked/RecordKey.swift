// The key that a note's passphrase leads to, and what is sealed under it. Invariant: keys of notes are computed for
// one use and zeroed; this key is the only one that may wait in memory.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop
internal import CoffretStorage

/// The key of one password record, in locked memory.
///
/// The article on Bear calls it the application key. Spec: Spec/locked-notes.md sections 5 and 6.
package final class RecordKey: Sendable {
    enum Form: Sendable {
        case argon2id(NoteApplicationKey)
        case bear(BearKeyChain.ApplicationKey)
    }

    /// The record.
    package let id: UniqueID
    let form: Form

    init(id: UniqueID, form: Form) {
        self.id = id
        self.form = form
    }

    /// A key out of its bytes; nil if they cannot be one of the scheme.
    ///
    /// - Parameter chain: of scheme 1.
    convenience init?(
        id: UniqueID, scheme: LockScheme, secret: consuming SecretBytes, chain: BearKeyChain = .coffretScheme1
    ) {
        switch scheme {
        case .argon2id:
            guard secret.byteCount == NoteApplicationKey.byteCount else { return nil }
            self.init(id: id, form: .argon2id(NoteApplicationKey(secret)))
        case .bear:
            guard secret.byteCount > 0 else { return nil }
            self.init(id: id, form: .bear(chain.restoreApplicationKey(secret)))
        }
    }

    /// A copy of the key's bytes in locked memory of its own.
    func duplicateSecret() -> SecretBytes {
        switch form {
        case .argon2id(let key): return key.duplicateSecret()
        case .bear(let key):
            // EXPOSE: from locked memory to locked memory.
            return unsafe key.withUnsafeBytes { unsafe SecretBytes(copying: $0) }
        }
    }

    /// Whether the bytes of the key and its scheme are all of it.
    var isPortable: Bool {
        switch form {
        case .argon2id: true
        case .bear(let key): key.chain == .coffretScheme1
        }
    }

    var scheme: LockScheme {
        switch form {
        case .argon2id: .argon2id
        case .bear: .bear
        }
    }

    /// The place of a sealed part.
    struct Place {
        let home: VaultID
        let entity: EntityID
        let attribute: Attribute
        let encryptionID: UniqueID
    }

    // MARK: Parts of notes

    /// Seals a part of a note.
    ///
    /// - Returns: the body, and a tag that equal contents share (scheme 2) or that is random (scheme 1).
    func seal(
        _ content: [UInt8], at place: Place, random: any RandomSource
    ) throws -> (body: [UInt8], tag: [UInt8]) {
        switch form {
        case .argon2id(let key):
            let noteKey = noteKey(key, place)
            let body = Envelope.seal(
                content, key: noteKey, context: .lockedBody, associatedData: associatedData(place), random: random)
            return (body, Self.tag(content, noteKey, place))
        case .bear(let key):
            // Themis has no cell of an empty text: one zero byte stands for it.
            var padded = content.isEmpty ? [0] : content
            defer { padded.zero() }
            guard content != [0] else { throw CoreError(.fieldInvalid, at: "a text of one zero byte") }
            let sealed = try inInterop(key.seal(padded, noteID: Self.bearNoteID(place)))
            return (sealed, random.bytes(count: SealedValue.tagByteCount))
        }
    }

    /// Opens a part of a note. The content is the caller's to overwrite.
    ///
    /// - Throws: `CoreError.noteDamaged`, for any mismatch.
    func open(_ value: SealedValue, at place: Place) throws -> [UInt8] {
        switch form {
        case .argon2id(let key):
            let noteKey = noteKey(key, place)
            let content: [UInt8]
            do throws(CryptoError) {
                content = try unsafe Envelope.open(
                    value.body, key: noteKey, context: .lockedBody, associatedData: associatedData(place)
                ) { (opened) throws(CryptoError) in unsafe Array(opened) }
            } catch {
                throw CoreError(.noteDamaged, at: place.entity.uuid.hex, cause: error)
            }
            guard Self.tag(content, noteKey, place) == value.tag else {
                throw CoreError(.noteDamaged, at: place.entity.uuid.hex)
            }
            return content
        case .bear(let key):
            let content = try inInterop(key.open(value.body, noteID: Self.bearNoteID(place)))
            return content == [0] ? [] : content
        }
    }

    private func noteKey(_ key: NoteApplicationKey, _ place: Place) -> NoteKey {
        KDF.derive(from: key, .lockedNote, place.home.bytes + id.bytes + place.encryptionID.bytes)
    }

    private func associatedData(_ place: Place) -> [UInt8] {
        place.home.bytes + place.entity.bytes + id.bytes + place.encryptionID.bytes
            + [UInt8(LockScheme.argon2id.rawValue)] + Array(place.attribute.name.utf8)
    }

    private static func tag(_ content: [UInt8], _ noteKey: NoteKey, _ place: Place) -> [UInt8] {
        let tagKey: AuthenticationKey = KDF.derive(from: noteKey, .lockedTag, Array(place.attribute.name.utf8))
        // EXPOSE: into the hash state, which is zeroed.
        return unsafe tagKey.withUnsafeBytes { bytes in
            var hasher = unsafe BLAKE2bHasher(byteCount: SealedValue.tagByteCount, keyBytes: bytes)
            hasher.update(content)
            return hasher.finish()
        }
    }

    /// The context of the article: the note's id as a UUID in capitals; for what is not its text, with the attribute.
    private static func bearNoteID(_ place: Place) -> [UInt8] {
        let uuid = Array(place.encryptionID.description.uppercased().utf8)
        return place.attribute == LockedPart.text.attribute ? uuid : uuid + Array("/\(place.attribute.name)".utf8)
    }

    // MARK: Check values

    func sealCheck(_ bytes: [UInt8], random: any RandomSource) throws -> [UInt8] {
        switch form {
        case .argon2id(let key):
            return Envelope.seal(
                bytes, key: key, context: .lockedCheck, associatedData: id.bytes, fill: .none, random: random)
        case .bear(let key):
            // EXPOSE: read by the cell, which overwrites its copy.
            return try unsafe key.withUnsafeBytes { key in
                try inInterop(unsafe SecureCell(key: key.bytes).seal(bytes))
            }
        }
    }

    func opensCheck(_ sealed: [UInt8]) -> Bool {
        switch form {
        case .argon2id(let key):
            let isOpen = try? unsafe Envelope.open(
                sealed, key: key, context: .lockedCheck, associatedData: id.bytes, fill: .none,
                { (_) throws(CryptoError) in true })
            return isOpen ?? false
        case .bear(let key):
            // EXPOSE: read by the cell, which overwrites its copy.
            return unsafe key.withUnsafeBytes { key in
                unsafe (try? SecureCell(key: key.bytes).open(sealed)) != nil
            }
        }
    }

    // MARK: Ladder

    /// Seals the key of a record that this key's record replaces: the new passphrase opens what the old one sealed.
    func sealKey(_ older: RecordKey, of id: UniqueID, random: any RandomSource) throws -> [UInt8] {
        guard case .argon2id(let key) = form else { throw CoreError(.recordPolicy, at: "a ladder in scheme 1") }
        func seal(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
            unsafe Envelope.seal(
                bytes, key: key, context: .lockedPrevious, associatedData: self.id.bytes + id.bytes, fill: .none,
                random: random)
        }
        // EXPOSE: from locked memory into an envelope.
        switch older.form {
        case .argon2id(let olderKey): return unsafe olderKey.withUnsafeBytes { unsafe seal($0) }
        case .bear(let olderKey): return unsafe olderKey.withUnsafeBytes { unsafe seal($0) }
        }
    }

    func openKey(_ sealed: [UInt8], of older: PasswordRecord) throws -> RecordKey {
        guard case .argon2id(let key) = form else { throw CoreError(.noteDamaged, at: older.id.hex) }
        var bytes: [UInt8]
        do throws(CryptoError) {
            bytes = try unsafe Envelope.open(
                sealed, key: key, context: .lockedPrevious, associatedData: id.bytes + older.id.bytes, fill: .none
            ) { (opened) throws(CryptoError) in unsafe Array(opened) }
        } catch {
            throw CoreError(.noteDamaged, at: older.id.hex, cause: error)
        }
        defer { bytes.zero() }
        let secret = SecretBytes(consuming: &bytes)
        let chain = older.scheme == .bear ? try older.chain() : .coffretScheme1
        guard let olderKey = RecordKey(id: older.id, scheme: older.scheme, secret: secret, chain: chain),
            olderKey.opensCheck(older.check)
        else { throw CoreError(.noteDamaged, at: older.id.hex) }
        return olderKey
    }
}
