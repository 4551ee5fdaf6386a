// The part that all sealed cells share: derive the AES key, run GCM. Derived keys live on scratch memory.

internal import CoffretCrypto

/// AES-GCM under a key derived for one message. Spec: Spec/interop-themis.md §4.
enum CellCipher {
    /// Where IVs and salts come from; tests fix them to reproduce vectors.
    static let random = NoncePool.shared

    /// Encrypts under `KDF(key, [size, context])` with AES-256.
    static func seal(
        _ plaintext: UnsafeRawBufferPointer, key: RawSpan, context: RawSpan, nonce: UnsafeRawBufferPointer,
        ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
    ) throws(InteropError) {
        try unsafe withSecretScratch(byteCount: 32) { (aesKey) throws(InteropError) in
            unsafe SoterKDF.derive(
                key: key, label: .messageKey, messageByteCount: UInt32(plaintext.count), context: context, into: aesKey)
            try translatingErrors(
                unsafe AESGCM.seal(
                    plaintext, key: UnsafeRawBufferPointer(aesKey).bytes, nonce: nonce.bytes, additionalData: context,
                    ciphertext: ciphertext, tag: tag))
        }
    }

    /// Decrypts what `seal` made, or fails and leaves zeros.
    static func open(
        _ ciphertext: UnsafeRawBufferPointer, header: CellHeader, token: UnsafeRawBufferPointer, key: RawSpan,
        context: RawSpan, plaintext: UnsafeMutableRawBufferPointer
    ) throws(InteropError) {
        try unsafe withSecretScratch(byteCount: 32) { (aesKey) throws(InteropError) in
            unsafe SoterKDF.derive(
                key: key, label: .messageKey, messageByteCount: header.messageByteCount, context: context, into: aesKey)
            try hidingErrors(
                unsafe AESGCM.open(
                    ciphertext, tag: token.part(header.tag),
                    key: UnsafeRawBufferPointer(aesKey).part(0..<header.aesKeyByteCount).bytes,
                    nonce: token.part(header.nonce).bytes, additionalData: context, plaintext: plaintext))
        }
    }

    /// Refuses what no cell can hold.
    static func checkPlaintext(byteCount: Int) throws(InteropError) {
        guard byteCount > 0 else { throw InteropError(.invalidArgument, at: "empty plaintext") }
        guard byteCount <= CellHeader.plaintextByteCountMax else {
            throw InteropError(.limitExceeded, at: "plaintext size")
        }
    }

    /// Writes the four numbers that every header starts with.
    static func writeHeader(
        _ derivation: CellHeader.Derivation, messageByteCount: Int, to header: UnsafeMutableRawBufferPointer
    ) {
        unsafe header.storeLittleEndian(CellHeader.algorithmIdentifier(derivation), at: 0)
        unsafe header.storeLittleEndian(UInt32(CellHeader.nonceByteCount), at: 4)
        unsafe header.storeLittleEndian(UInt32(CellHeader.tagByteCount), at: 8)
        unsafe header.storeLittleEndian(UInt32(messageByteCount), at: 12)
    }
}
