// The keyring as it lies on disk. Invariant: whatever is read here is untrusted until the MAC under the storage key
// was verified.

package import CoffretBase
internal import CoffretCrypto

/// The outer layer of `store.keyring`.
///
/// Layout, deterministic CBOR: ["coffret keyring", version 3, store id (16), generation, [slot...],
/// body, author (32), signature (64), MAC (32)].
/// body = ENV(storage key, "keyring/body", store id ‖ generation (8), keys).
/// author = signing key of the device that wrote it; signature: its own, context "keyring/signature", in a backup
/// "backup/signature", scope = store id, message = BLAKE2b-256 of the CBOR of the array of the first seven items.
/// MAC = BLAKE2b-256(key = KDF(storage key, "slots/mac", store id), CBOR of the array without its last
/// item).
/// Spec: Spec/keys.md §2.
struct KeyringFile: Equatable {
    static let magic = "coffret keyring"
    static let version: UInt64 = 3
    static let slotCountMax = 64

    let storeID: UniqueID
    let generation: UInt64
    let slots: [KeySlot]
    let body: [UInt8]
    let author: [UInt8]
    private(set) var signature: [UInt8]
    private(set) var mac: [UInt8]

    /// Builds a file under `storageKey`, which seals the body and authenticates the rest.
    ///
    /// - Parameters:
    ///   - slots: their storage keys are sealed already.
    ///   - author: signs it, in the sense of `context`.
    static func seal(
        storeID: UniqueID, generation: UInt64, slots: [KeySlot], keys: UnsafeRawBufferPointer,
        storageKey: StorageKey, by author: SigningKey, _ context: Context, random: any RandomSource
    ) -> KeyringFile {
        let body = unsafe Envelope.seal(
            keys, key: storageKey, context: .keyringBody,
            associatedData: storeID.bytes + generation.bigEndianBytes, random: random)
        var file = KeyringFile(
            storeID: storeID, generation: generation, slots: slots, body: body, author: author.verifyingKey.bytes,
            signature: [], mac: [])
        file.signature = author.sign(context, scope: storeID.bytes, message: file.signedHash)
        file.mac = file.computeMAC(storageKey: storageKey)
        return file
    }

    /// Throws `.keyringAltered` unless the MAC is right.
    func verify(storageKey: StorageKey) throws(KeyError) {
        guard ConstantTime.isEqual(computeMAC(storageKey: storageKey), mac) else { throw KeyError(.keyringAltered) }
    }

    /// Throws `.keyringForeign` unless `anchor`, or where none is asked for the stated author, signed it.
    ///
    /// All slots are sealed to public keys, so that anybody can build a file which a person's secret opens; only who had it
    /// open before can sign one.
    func verifyAuthor(
        _ anchor: [UInt8]? = nil, _ context: Context = .keyringSignature
    ) throws(KeyError) {
        guard anchor == nil || anchor == author else { throw KeyError(.keyringForeign, at: "author") }
        do throws(CryptoError) {
            try VerifyingKey(author).verify(signature, context, scope: storeID.bytes, message: signedHash)
        } catch {
            throw KeyError(.keyringForeign, at: "signature")
        }
    }

    /// Opens the body and reads it; what was opened is zeroed.
    func openBody(storageKey: StorageKey) throws(KeyError) -> KeyringBody {
        let result: Result<KeyringBody, KeyError>
        do throws(CryptoError) {
            result = try unsafe Envelope.open(
                body, key: storageKey, context: .keyringBody,
                associatedData: storeID.bytes + generation.bigEndianBytes
            ) { (bytes) throws(CryptoError) -> Result<KeyringBody, KeyError> in unsafe KeyringBody.decode(bytes) }
        } catch {
            throw KeyError(.keyringAltered)
        }
        return try result.get()
    }

    /// Verifies the file and opens the body of a device's own keyring.
    ///
    /// - Parameter anchor: whose it must be; nil where the storage key itself came from an earlier opening.
    func openDeviceBody(storageKey: StorageKey, anchor: [UInt8]?) throws(KeyError) -> KeyringBody {
        try verify(storageKey: storageKey)
        try verifyAuthor(anchor)
        let body = try openBody(storageKey: storageKey)
        guard body.device?.anchor == author else { throw KeyError(.keyringInconsistent, at: "device") }
        return body
    }

    /// Reads the file as it will be on the disk and opens it, as its next reader does.
    ///
    /// - Throws: `.keyringTooLarge`; `.keyringUnwritable` with what a reader says.
    static func checkReadable(
        _ encoded: [UInt8], storageKey: StorageKey, byteCountMax: Int = Limits.keyringByteCountMax
    ) throws(KeyError) {
        guard encoded.count <= byteCountMax else { throw KeyError(.keyringTooLarge, at: "\(encoded.count) bytes") }
        do throws(KeyError) {
            _ = try KeyringFile(decoding: encoded).openDeviceBody(storageKey: storageKey, anchor: nil)
        } catch {
            throw KeyError(.keyringUnwritable, at: error.place, cause: error)
        }
    }

    func binding(of slot: KeySlot) -> SlotBinding {
        SlotBinding(storeID: storeID, slotID: slot.id, generation: generation)
    }

    private func computeMAC(storageKey: StorageKey) -> [UInt8] {
        let key: AuthenticationKey = KDF.derive(from: storageKey, .slotsMAC, storeID.bytes)
        let bytes = CBOREncoder.encode { encode(to: &$0, itemCount: 8) }
        // EXPOSE: into the hash state, which is zeroed.
        return unsafe key.withUnsafeBytes { key in
            var hasher = unsafe BLAKE2bHasher(byteCount: 32, keyBytes: key)
            hasher.update(bytes)
            return hasher.finish()
        }
    }

    /// The hash that the signature covers: everything but itself and the MAC.
    private var signedHash: [UInt8] { BLAKE2b.hash(CBOREncoder.encode { encode(to: &$0, itemCount: 7) }) }

    private func encode(to encoder: inout CBOREncoder, itemCount: Int) {
        encoder.encodeArrayHeader(count: itemCount)
        encoder.encode(text: Self.magic)
        encoder.encode(unsigned: Self.version)
        encoder.encode(bytes: storeID.bytes)
        encoder.encode(unsigned: generation)
        encoder.encodeArrayHeader(count: slots.count)
        for slot in slots { slot.encode(to: &encoder) }
        encoder.encode(bytes: body)
        encoder.encode(bytes: author)
        if itemCount > 7 { encoder.encode(bytes: signature) }
        if itemCount > 8 { encoder.encode(bytes: mac) }
    }

    var encoded: [UInt8] { CBOREncoder.encode { encode(to: &$0, itemCount: 9) } }

    init(
        storeID: UniqueID, generation: UInt64, slots: [KeySlot], body: [UInt8], author: [UInt8], signature: [UInt8],
        mac: [UInt8]
    ) {
        self.storeID = storeID
        self.generation = generation
        self.slots = slots
        self.body = body
        self.author = author
        self.signature = signature
        self.mac = mac
    }

    /// Reads a file that is all of `bytes`.
    ///
    /// - Throws: `.keyringOutdated` for an older version, `.keyringUnsupported` for a newer one, `.keyringMalformed` for
    ///   anything else.
    init(decoding bytes: [UInt8]) throws(KeyError) {
        var otherVersion: UInt64?
        let result = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            let itemCount = try decoder.readArrayHeader()
            guard try decoder.readText(byteCountMax: 64) == Self.magic else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let version = try decoder.readUnsigned()
            guard version == Self.version else {
                otherVersion = version
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            guard itemCount == 9, let storeID = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let generation = try decoder.readUnsigned()
            let slotCount = try decoder.readArrayHeader()
            guard slotCount <= Self.slotCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
            var slots: [KeySlot] = []
            for _ in 0..<slotCount { slots.append(try KeySlot(from: &decoder)) }
            return KeyringFile(
                storeID: storeID, generation: generation, slots: slots, body: try decoder.readBytes(),
                author: try decoder.readBytes(count: VerifyingKey.byteCount),
                signature: try decoder.readBytes(count: signatureByteCount), mac: try decoder.readBytes(count: 32))
        }
        guard let result else {
            guard let otherVersion else { throw KeyError(.keyringMalformed) }
            throw KeyError(otherVersion < Self.version ? .keyringOutdated : .keyringUnsupported)
        }
        self = result
    }
}

/// The parts of a keyring that need no secret. None of them is authenticated.
package struct KeyringSummary: Sendable {
    package let storeID: UniqueID
    package let generation: UInt64
    package let slots: [SlotSummary]

    /// Reads the outside of a keyring file.
    package static func read(
        at path: String, fileSystem: any FileSystem
    ) throws(KeyError) -> KeyringSummary {
        let file = try Keyring.readFile(at: path, fileSystem: fileSystem)
        return KeyringSummary(
            storeID: file.storeID, generation: file.generation, slots: file.slots.map(SlotSummary.init))
    }
}
