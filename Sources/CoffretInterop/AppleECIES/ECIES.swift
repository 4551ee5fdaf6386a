// Apple's ECIES message. Whatever is wrong with a message is one error, and no byte of plaintext leaves
// before the tag has been checked.

internal import CoffretBase
internal import CoffretCrypto

/// Sealing and opening: `ephemeral key ‖ ciphertext ‖ tag`. Spec: Spec/interop-apple-ecies.md.
enum ECIES {
    private static let tagByteCount = 16
    private static let nonceByteCount = 16

    /// The AES key follows the curve, not the hash: 128 bits up to P-256, 256 above.
    static func aesKeyByteCount(_ curve: EllipticCurve) -> Int { curve == .p256 ? 16 : 32 }

    /// Seals under an ephemeral key, which must be used for this message only: under the legacy algorithms a
    /// second use for one recipient would be the same key with the same IV.
    static func seal(
        _ plaintext: [UInt8], to recipient: EllipticCurvePublicKey, algorithm: ECIESAlgorithm,
        ephemeral: EllipticCurveKey
    ) throws(InteropError) -> [UInt8] {
        let curve = recipient.curve
        let point = ephemeral.publicKey.uncompressedPoint
        let plaintext = plaintext.span
        let byteCount = point.count + plaintext.count + tagByteCount
        return try unsafe makeBytes(byteCount: byteCount) { (message) throws(InteropError) in
            unsafe message.part(0..<point.count).copyBytes(from: point)
            try translatingErrors(
                unsafe withSecretScratch(byteCount: curve.coordinateByteCount) { (secret) throws(CryptoError) in
                    try unsafe ephemeral.sharedSecret(with: recipient, into: secret)
                    try unsafe withKey(
                        UnsafeRawBufferPointer(secret), sharedInfo: point.span.bytes, curve, algorithm
                    ) { (key, nonce) throws(CryptoError) in
                        try unsafe plaintext.withUnsafeBytes { (plaintext) throws(CryptoError) in
                            try unsafe AESGCM.seal(
                                plaintext, key: key, nonce: nonce, additionalData: RawSpan(),
                                ciphertext: message.part(point.count..<byteCount - tagByteCount),
                                tag: message.part(byteCount - tagByteCount..<byteCount))
                        }
                    }
                })
        }
    }

    /// Opens a message with a private key, wherever that lives.
    static func open(
        _ message: [UInt8], with key: some CurvePrivateKey, algorithm: ECIESAlgorithm
    ) throws(InteropError) -> [UInt8] {
        do throws(InteropError) {
            return try openDetailed(message, with: key, algorithm: algorithm)
        } catch {
            // A key whose home is out of reach is the caller's business; a bad message is nobody's.
            throw error.code == .keyUnavailable ? error : .authenticationFailed
        }
    }

    private static func openDetailed(
        _ message: [UInt8], with key: some CurvePrivateKey, algorithm: ECIESAlgorithm
    ) throws(InteropError) -> [UInt8] {
        let curve = key.publicKey.key.curve
        let pointByteCount = curve.uncompressedPointByteCount
        let message = message.span
        return try unsafe message.withUnsafeBytes { (message) throws(InteropError) in
            guard message.count >= pointByteCount + tagByteCount else { throw .authenticationFailed }
            // The point goes into the derivation as it was received; the import takes the 04 form alone.
            let point = unsafe message.part(0..<pointByteCount).bytes
            let ephemeral = try hidingErrors(EllipticCurvePublicKey(curve, point: point))
            let ciphertext = unsafe message.part(pointByteCount..<message.count - tagByteCount)
            let tag = unsafe message.part(message.count - tagByteCount..<message.count)
            return try unsafe makeBytes(byteCount: ciphertext.count) { (plaintext) throws(InteropError) in
                var isOpened = false
                try key.withSharedSecret(with: CurvePublicKey(ephemeral)) { (received) throws(InteropError) in
                    try unsafe withFullWidth(received, byteCount: curve.coordinateByteCount) {
                        (secret) throws(InteropError) in
                        try hidingErrors(
                            unsafe withKey(secret, sharedInfo: point, curve, algorithm) {
                                (key, nonce) throws(CryptoError) in
                                try unsafe AESGCM.open(
                                    ciphertext, tag: tag, key: key, nonce: nonce, additionalData: RawSpan(),
                                    plaintext: plaintext)
                            })
                    }
                    isOpened = true
                }
                // A home of keys that never calls back would otherwise hand out uninitialised memory.
                guard isOpened else { throw InteropError(.keyUnavailable, at: "shared secret") }
            }
        }
    }

    /// Hardware may give a coordinate without its leading zeros; the derivation needs all of it.
    private static func withFullWidth(
        _ received: RawSpan, byteCount: Int, _ body: (UnsafeRawBufferPointer) throws(InteropError) -> Void
    ) throws(InteropError) {
        guard received.byteCount <= byteCount, !received.isEmpty else {
            throw InteropError(.keyUnavailable, at: "shared secret size")
        }
        try unsafe withSecretScratch(byteCount: byteCount) { (padded) throws(InteropError) in
            unsafe received.withUnsafeBytes {
                unsafe padded.part(byteCount - $0.count..<byteCount).copyMemory(from: $0)
            }
            try unsafe body(UnsafeRawBufferPointer(padded))
        }
    }

    /// Derives key and IV. The ephemeral key is the shared info; the recipient's does not enter.
    private static func withKey(
        _ secret: UnsafeRawBufferPointer, sharedInfo: RawSpan, _ curve: EllipticCurve, _ algorithm: ECIESAlgorithm,
        _ body: (_ key: RawSpan, _ nonce: RawSpan) throws(CryptoError) -> Void
    ) throws(CryptoError) {
        let keyByteCount = aesKeyByteCount(curve)
        // The scratch memory starts zeroed, which is the IV of the legacy form.
        try unsafe withSecretScratch(byteCount: keyByteCount + nonceByteCount) { (material) throws(CryptoError) in
            let derivedByteCount = algorithm.isVariableIV ? material.count : keyByteCount
            try unsafe X963KDF.derive(
                algorithm.hash, secret: secret.bytes, sharedInfo: sharedInfo,
                into: material.part(0..<derivedByteCount))
            let material = UnsafeRawBufferPointer(material)
            try unsafe body(
                material.part(0..<keyByteCount).bytes, material.part(keyByteCount..<material.count).bytes)
        }
    }
}
