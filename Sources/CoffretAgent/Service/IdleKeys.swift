// What the agent holds of a store, sealed while nobody uses it. The one thing to keep true: the key that opens it is
// zeroed together with the keys that it seals; what is left opens with the TPM alone.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages

/// A key that is in the TPM's keeping as well.
struct IdleLock: Sendable {
    let key: IdleKey
    /// What the TPM turns into the key.
    let wrapped: [UInt8]

    /// After so long without a command keys are sealed.
    ///
    /// A TPM of the slow kind takes up to a second to give them back; so one command in a series waits for it, and
    /// the time that they lie open beyond what is needed stays short.
    static let delay = Duration.milliseconds(delayMilliseconds)
    static let delayMilliseconds: Int64 = 20_000
}

/// The keys of a store, while they lie open.
struct OpenKeys: Sendable {
    let storage: StorageKey
    let notes: [HeldNoteKey]
}

/// The keys of a store, sealed.
struct SealedKeys: Sendable {
    /// For the TPM.
    let wrapped: [UInt8]
    private let sealed: [UInt8]
    private let store: String

    /// - Parameter store: the path; keys of one store do not open as another's.
    init(_ keys: OpenKeys, lock: IdleLock, store: String, random: any RandomSource) {
        wrapped = lock.wrapped
        self.store = store
        // Reserved, so that it does not move and leave copies behind.
        var byteCount = 256
        for key in keys.notes {
            // EXPOSE: its length alone.
            byteCount += unsafe key.withUnsafeBytes { $0.count } + 64
        }
        var encoder = CBOREncoder(reservingByteCount: byteCount)
        defer { encoder.zero() }
        encoder.encodeArrayHeader(count: 1 + 3 * keys.notes.count)
        // EXPOSE: into the encoder, which is zeroed.
        unsafe keys.storage.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        for key in keys.notes {
            encoder.encode(bytes: key.record.bytes)
            encoder.encode(unsigned: key.scheme.rawValue)
            // EXPOSE: into the encoder, which is zeroed.
            unsafe key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        }
        sealed = unsafe encoder.bytes.withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: lock.key, context: .idleKeys, associatedData: Array(store.utf8), random: random)
        }
    }

    /// nil if this is another key than the one that sealed them.
    func opened(with key: IdleKey) -> OpenKeys? {
        try? unsafe Envelope.open(sealed, key: key, context: .idleKeys, associatedData: Array(store.utf8)) {
            (bytes) throws(CryptoError) in
            do throws(CBORError) {
                return try unsafe Self.decode(bytes)
            } catch {
                throw CryptoError(.authenticationFailed)
            }
        }
    }

    private static func decode(_ content: UnsafeRawBufferPointer) throws(CBORError) -> OpenKeys {
        try unsafe withCBORDecoder(over: content) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            let storage = StorageKey(try decoder.readSecret(counts: StorageKey.byteCount...StorageKey.byteCount))
            var notes: [HeldNoteKey] = []
            for _ in 0..<(count - 1) / 3 {
                let record = try decoder.readBytes(count: UniqueID.byteCount)
                let scheme = try decoder.readUnsigned()
                let secret = try decoder.readSecret(counts: 0...ChildReport.noteKeyByteCountMax)
                guard let record = UniqueID(bytes: record), let scheme = LockScheme(rawValue: scheme) else {
                    throw CBORError(.unexpectedItem, byteOffset: 0)
                }
                notes.append(HeldNoteKey(record: record, scheme: scheme, secret: secret))
            }
            return OpenKeys(storage: storage, notes: notes)
        }
    }
}
