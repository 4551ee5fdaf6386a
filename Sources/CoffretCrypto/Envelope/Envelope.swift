// The one way to seal what is not checked against its own name. Invariant: a sealed envelope opens under one key, one
// context and one associated data only, even if its maker cheats.

package import CoffretBase

/// ENV(K, context, ad, m): a committing, padded, authenticated envelope.
///
/// n = 24 random bytes; H = BLAKE2b-512(key = K, "coffret/env/1" ‖ lp(context) ‖ lp(ad) ‖ n);
/// ek = H[0..<32], com = H[32..<64].
/// Layout: version (1) ‖ n (24) ‖ com (32) ‖ XChaCha20-Poly1305(ek, n, ad = version ‖ com, pad(m)),
/// where pad(m) = length (4) ‖ m ‖ zeros, and the tag (16) comes last.
///
/// Spec: Spec/suite.md. Source: protocol decision 15. Vectors: envelope/.
package enum Envelope {
    package static let version: UInt8 = 1
    private static let nonceByteCount = 24
    private static let commitmentByteCount = 32
    private static let headerByteCount = 1 + nonceByteCount + commitmentByteCount
    private static let lengthByteCount = 4
    /// Bytes beyond pad(m).
    package static let overheadByteCount = headerByteCount + XChaCha20Poly1305.tagByteCount

    /// To which size a message and its length are padded before sealing.
    package enum Fill: Sendable {
        /// The size classes of `Padding`.
        case sizeClasses
        /// The length of the message is no secret, or always the same.
        case none
    }

    /// Seals `message`. The caller zeroes it.
    ///
    /// - Parameter associatedData: names vault or store, kind and id of the object, epoch or generation.
    /// - Returns: 73 bytes more than the padded message.
    package static func seal<Purpose>(
        _ message: UnsafeRawBufferPointer, key: SymmetricKey<Purpose>, context: Context, associatedData: [UInt8],
        fill: Fill = .sizeClasses, random: any RandomSource
    ) -> [UInt8] {
        precondition(message.count < 1 << 31, "an envelope holds less than 2 GiB")
        let nonce = random.bytes(count: nonceByteCount)
        let trueByteCount = lengthByteCount + message.count
        let padded = fill == .none ? trueByteCount : Padding.paddedByteCount(trueByteCount)
        var sealed = [UInt8](repeating: 0, count: overheadByteCount + padded)
        sealed[0] = version
        sealed.replaceSubrange(1..<1 + nonceByteCount, with: nonce)
        unsafe withKeys(key, context, associatedData, nonce: nonce) { encryptionKey, commitment in
            unsafe sealed.withUnsafeMutableBytes { output in
                unsafe output.baseAddress!.advanced(by: 1 + nonceByteCount)
                    .copyMemory(from: commitment.baseAddress!, byteCount: commitmentByteCount)
                let body = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: output[headerByteCount..<headerByteCount + padded])
                unsafe body.storeBytes(of: UInt32(message.count).bigEndian, as: UInt32.self)
                unsafe UnsafeMutableRawBufferPointer(rebasing: body[lengthByteCount...]).copyMemory(from: message)
                unsafe withHeader(UnsafeRawBufferPointer(output)) { header in
                    unsafe nonce.withUnsafeBytes { nonce in
                        unsafe XChaCha20Poly1305.seal(
                            UnsafeRawBufferPointer(body), key: encryptionKey, nonce: nonce, associatedData: header,
                            ciphertext: body,
                            tag: UnsafeMutableRawBufferPointer(rebasing: output[(headerByteCount + padded)...]))
                    }
                }
            }
        }
        return sealed
    }

    /// Seals an array; see above.
    package static func seal<Purpose>(
        _ message: [UInt8], key: SymmetricKey<Purpose>, context: Context, associatedData: [UInt8],
        fill: Fill = .sizeClasses, random: any RandomSource
    ) -> [UInt8] {
        unsafe message.withUnsafeBytes { message in
            unsafe seal(message, key: key, context: context, associatedData: associatedData, fill: fill, random: random)
        }
    }

    /// Opens an envelope and lends the message, which is zeroed afterwards.
    ///
    /// - Throws: `.authenticationFailed` for another key, context or associated data, any change, another
    ///   fill, or an unknown version; there is no further detail.
    package static func open<Purpose, Result: ~Copyable>(
        _ sealed: UnsafeRawBufferPointer, key: SymmetricKey<Purpose>, context: Context, associatedData: [UInt8],
        fill: Fill = .sizeClasses, _ body: (UnsafeRawBufferPointer) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
        guard sealed.count >= overheadByteCount + lengthByteCount, unsafe sealed[0] == version else {
            throw CryptoError(.authenticationFailed)
        }
        let padded = sealed.count - overheadByteCount
        let nonce = unsafe [UInt8](sealed[1..<1 + nonceByteCount])
        var message = [UInt8](repeating: 0, count: padded)
        defer { message.zero() }
        try unsafe withKeys(key, context, associatedData, nonce: nonce) {
            (encryptionKey, commitment) throws(CryptoError) in
            let stated = unsafe UnsafeRawBufferPointer(rebasing: sealed[1 + nonceByteCount..<headerByteCount])
            guard unsafe ConstantTime.isEqual(stated, commitment) else { throw CryptoError(.authenticationFailed) }
            var output = message.mutableSpan
            try unsafe output.withUnsafeMutableBytes { (output) throws(CryptoError) in
                try unsafe withHeader(sealed) { (header) throws(CryptoError) in
                    try unsafe XChaCha20Poly1305.open(
                        UnsafeRawBufferPointer(rebasing: sealed[headerByteCount..<headerByteCount + padded]),
                        tag: UnsafeRawBufferPointer(rebasing: sealed[(headerByteCount + padded)...]),
                        key: encryptionKey, nonce: UnsafeRawBufferPointer(rebasing: sealed[1..<1 + nonceByteCount]),
                        associatedData: header, message: output)
                }
            }
        }
        return try unsafe message.span.withUnsafeBytes { (opened) throws(CryptoError) in
            let byteCount = unsafe Int(opened.loadBigEndian(UInt32.self, at: 0))
            let trueByteCount = lengthByteCount + byteCount
            guard trueByteCount <= padded,
                padded == (fill == .none ? trueByteCount : Padding.paddedByteCount(trueByteCount)),
                unsafe opened[trueByteCount...].allSatisfy({ $0 == 0 })
            else { throw CryptoError(.authenticationFailed) }
            return try unsafe body(UnsafeRawBufferPointer(rebasing: opened[lengthByteCount..<trueByteCount]))
        }
    }

    /// Opens an envelope that lies in an array; see above.
    package static func open<Purpose, Result: ~Copyable>(
        _ sealed: [UInt8], key: SymmetricKey<Purpose>, context: Context, associatedData: [UInt8],
        fill: Fill = .sizeClasses, _ body: (UnsafeRawBufferPointer) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
        try unsafe sealed.span.withUnsafeBytes { (sealed) throws(CryptoError) in
            try unsafe open(sealed, key: key, context: context, associatedData: associatedData, fill: fill, body)
        }
    }

    /// Lends version ‖ com, the associated data of the cipher.
    private static func withHeader<Failure: Error>(
        _ sealed: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var header = [version]
        unsafe header.append(contentsOf: sealed[1 + nonceByteCount..<headerByteCount])
        try unsafe header.span.withUnsafeBytes(body)
    }

    /// Lends ek and com, and zeroes them afterwards.
    private static func withKeys<Purpose, Failure: Error>(
        _ key: SymmetricKey<Purpose>, _ context: Context, _ associatedData: [UInt8], nonce: [UInt8],
        _ body: (_ encryptionKey: UnsafeRawBufferPointer, _ commitment: UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        // EXPOSE: into the hash state, which is zeroed.
        var derived = unsafe key.withUnsafeBytes { key in
            var hasher = unsafe BLAKE2bHasher(byteCount: 64, keyBytes: key)
            hasher.update(Array("coffret/env/1".utf8))
            hasher.updateLengthPrefixed(context.bytes)
            hasher.updateLengthPrefixed(associatedData)
            hasher.update(nonce)
            return hasher.finish()
        }
        defer { derived.zero() }
        try unsafe derived.span.withUnsafeBytes { (derived) throws(Failure) in
            try unsafe body(
                UnsafeRawBufferPointer(rebasing: derived[..<32]), UnsafeRawBufferPointer(rebasing: derived[32...]))
        }
    }
}
