// Entries as they come, and as they are written. The one thing to keep true: what was only read says that it was only
// read, by its type.

internal import CoffretBase
package import CoffretCrypto
package import CoffretStorage

/// An entry, or a bare form, as it was read: what section 3 says, with a context that opened. Nobody's right and no
/// signature was looked at.
///
/// Content: body (deterministic CBOR) ‖ signature (64). Spec: Spec/history.md section 3.
package struct UnverifiedEntry: Sendable {
    /// Of the blob that was read; a bare form has a name of its own.
    package let name: BlobName
    package let body: EntryBody
    package let context: EntryContext
    /// What is signed: 32 bytes, the same for an entry and its bare form.
    package let message: [UInt8]
    package let signature: [UInt8]

    package var dot: Dot { Dot(context.instance, body.number) }

    /// Whether the changes were deleted for good (E10).
    package var isBare: Bool {
        if case .gone = body.changes { true } else { false }
    }

    /// Reads an entry or a bare form: step 1 of section 6, but for the vault, which `EntryVerifier` looks at.
    ///
    /// - Parameter content: of a blob of type 8, which was checked against `name`.
    /// - Parameter context: gives the context of that name; whoever keeps it at hand reads it once for many entries.
    /// - Throws: `.entryMalformed` and `.entryUnsupportedFormat` at the name, and what `context` throws.
    /// - Complexity: linear; nothing is set aside for a length that is only stated.
    package static func decode(
        _ content: [UInt8], name: BlobName,
        context read: (BlobName) throws(HistoryError) -> EntryContext
    ) throws(HistoryError) -> UnverifiedEntry {
        guard content.count > signatureByteCount else { throw HistoryError(.entryMalformed, place: name.description) }
        let bytes = content.dropLast(signatureByteCount)
        let contextName = try reading(bytes, name) { (bytes) throws(CBORError) in
            try EntryDecoding.contextName(of: bytes)
        }
        let context = try read(contextName)
        let (body, encoding) = try reading(bytes, name) { (bytes) throws(CBORError) in
            try EntryDecoding.decode(bytes, own: context.instance)
        }
        return UnverifiedEntry(
            name: name, body: body, context: context, message: encoding.message,
            signature: Array(content.suffix(signatureByteCount)))
    }

    /// The content of the bare form of an entry (E10): its body without the changes, with their digest, ‖ its signature.
    ///
    /// - Parameter content: of an entry, or of a bare form, which is given back.
    /// - Parameter own: the entry's instance.
    /// - Throws: `.entryMalformed`, `.entryUnsupportedFormat`.
    package static func bareForm(
        of content: [UInt8], name: BlobName, own: InstanceID
    ) throws(HistoryError) -> [UInt8] {
        guard content.count > signatureByteCount else { throw HistoryError(.entryMalformed, place: name.description) }
        let (_, encoding) = try reading(content.dropLast(signatureByteCount), name) { (bytes) throws(CBORError) in
            try EntryDecoding.decode(bytes, own: own)
        }
        return encoding.bareBody + content.suffix(signatureByteCount)
    }

    /// Reads with `body`; a failure is unsupported if a newer program wrote the bytes, else malformed.
    private static func reading<Value>(
        _ bytes: ArraySlice<UInt8>, _ name: BlobName, _ body: (ArraySlice<UInt8>) throws(CBORError) -> Value
    ) throws(HistoryError) -> Value {
        do throws(CBORError) {
            return try body(bytes)
        } catch {
            let isNewer = NewerFormat.isLikely(bytes, known: EntryDecoding.keys)
            throw HistoryError(
                isNewer ? .entryUnsupportedFormat : .entryMalformed, place: name.description, cause: error)
        }
    }
}

/// An entry that this device has just signed; its blob is not written yet.
package struct WrittenEntry: Sendable {
    /// Of the blob of type 8.
    package let content: [UInt8]
    package let body: EntryBody
    package let context: EntryContext

    /// The entry, under the name that its blob got. It needs no check: it was made here, with the author's own key.
    package func named(_ name: BlobName) -> VerifiedEntry { VerifiedEntry(checked: name, body, context) }
}

extension EntryBody {
    /// Signs the body as an entry of the instance that `context` makes.
    ///
    /// A body that a reader would refuse (changes out of order, a retraction of nothing, too many changes) is our own
    /// bug and stops the program.
    ///
    /// - Parameter context: the one whose name the body has.
    /// - Complexity: linear; a signature takes most of it, some 20 microseconds.
    package func sign(in context: EntryContext, with key: SigningKey) -> WrittenEntry {
        let encoding = encode(own: context.instance)
        precondition(isWithinBounds(encoding, own: context.instance), "a reader takes what is signed")
        let signature = key.sign(.entry, scope: context.vaultID.bytes, message: encoding.message)
        return WrittenEntry(content: encoding.bytes + signature, body: self, context: context)
    }

    /// Whether a reader takes the body: an own entry that nobody takes ends the own log.
    private func isWithinBounds(_ encoding: EntryEncoding, own: InstanceID) -> Bool {
        let numbers = 1...HistoryLimits.numberMax
        guard numbers ~= number, numbers ~= height, (before != nil) == (number > 1), seen[own] == nil,
            seen.count <= HistoryLimits.referenceCountMax,
            statement.map({ 1...HistoryLimits.statementByteCountMax ~= $0.count }) ?? true,
            keyLogNote.map({ 1...HistoryLimits.keyLogNoteByteCountMax ~= $0.count }) ?? true
        else { return false }
        switch changes {
        case .none: return true
        case .gone: return false
        case .tree(_, let salt): return salt.count == HistoryLimits.saltByteCount
        case .list(let list, let salt):
            return salt.count == HistoryLimits.saltByteCount
                && 1...HistoryLimits.changeCountMax ~= list.count
                && encoding.changes.count <= 1 + HistoryLimits.changesByteCountMax
                && ChangeCodec.others(list, own: own).count <= HistoryLimits.referenceCountMax
                && list.allSatisfy { change in
                    change.content.isWellFormed && change.replaces.count <= HistoryLimits.referenceCountMax
                        && change.replaces.allSatisfy { $0.instance != own || $0.number < number }
                }
        }
    }

    /// The bytes of key 7 that these changes take, as a writer needs them before it decides for a tree (E6).
    package static func changesByteCount(_ changes: [Change], own: InstanceID) -> Int {
        CBOREncoder.encode { encoder in
            ChangeCodec(own: own, others: ChangeCodec.others(changes, own: own)).encode(changes, to: &encoder)
        }.count
    }
}
