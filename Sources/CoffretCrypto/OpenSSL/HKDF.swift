// HKDF over the SHA family. The pseudorandom key and all blocks but the caller's output are overwritten.

/// The extract-and-expand key derivation of RFC 5869.
package enum HKDF {
    /// Derives key material.
    ///
    /// - Parameter inputKeyMaterial: the secret; may be empty, which Noise makes use of.
    /// - Parameter salt: may be empty.
    /// - Parameter info: binds the result to its use; may be empty.
    /// - Parameter output: 1 to 255 digests of bytes.
    /// - Throws: `CryptoError` `.invalidParameter` for another size.
    package static func derive(
        _ algorithm: HashAlgorithm, inputKeyMaterial: RawSpan, salt: RawSpan, info: RawSpan,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        let digestByteCount = algorithm.digestByteCount
        guard output.count > 0, output.count <= 255 * digestByteCount else {
            throw CryptoError(.invalidParameter, at: "hkdf output size")
        }
        unsafe withSecretScratch(byteCount: 2 * digestByteCount) { scratch in
            let pseudorandomKey = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[..<digestByteCount])
            let block = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[digestByteCount...])
            unsafe HMAC.authenticate(algorithm, key: salt, into: pseudorandomKey) { hash in
                hash.update(inputKeyMaterial)
            }
            var byteOffset = 0
            var counter: UInt8 = 0
            while byteOffset < output.count {
                let isFirst = counter == 0
                counter += 1
                let counterByte: InlineArray<1, UInt8> = [counter]
                // The block is read while being fed and written only after that.
                unsafe HMAC.authenticate(algorithm, key: UnsafeRawBufferPointer(pseudorandomKey).bytes, into: block) {
                    hash in
                    if !isFirst { unsafe hash.update(UnsafeRawBufferPointer(block).bytes) }
                    hash.update(info)
                    unsafe hash.update(counterByte.span.bytes)
                }
                let pieceByteCount = min(digestByteCount, output.count - byteOffset)
                unsafe UnsafeMutableRawBufferPointer(rebasing: output[byteOffset..<(byteOffset + pieceByteCount)])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<pieceByteCount]))
                byteOffset += pieceByteCount
            }
        }
    }
}
