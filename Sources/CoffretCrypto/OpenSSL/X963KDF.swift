// The key derivation of ANSI X9.63, as Apple's ECIES uses it. Blocks are overwritten after use.

/// The key derivation of ANSI X9.63 (also SEC 1, section 3.6.1).
package enum X963KDF {
    /// Derives key material: `Hash(secret ‖ counter ‖ sharedInfo)` for counter 1, 2, … cut to size.
    ///
    /// - Parameter secret: the shared secret, at its full width.
    /// - Parameter output: at least one byte; at most 255 digests, far above what any format asks.
    /// - Throws: `CryptoError` `.invalidParameter` for another size.
    /// Vectors: x963kdf.json (NIST CAVP).
    package static func derive(
        _ algorithm: HashAlgorithm, secret: RawSpan, sharedInfo: RawSpan, into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        let digestByteCount = algorithm.digestByteCount
        guard output.count > 0, output.count <= 255 * digestByteCount else {
            throw CryptoError(.invalidParameter, at: "x963kdf output size")
        }
        unsafe withSecretScratch(byteCount: digestByteCount) { block in
            var hash = HashContext(algorithm)
            var byteOffset = 0
            var counter: UInt8 = 0
            while byteOffset < output.count {
                counter += 1
                let counterBytes: InlineArray<4, UInt8> = [0, 0, 0, counter]
                hash.restart()
                hash.update(secret)
                unsafe hash.update(counterBytes.span.bytes)
                hash.update(sharedInfo)
                unsafe hash.finalize(into: block)
                let pieceByteCount = min(digestByteCount, output.count - byteOffset)
                unsafe UnsafeMutableRawBufferPointer(rebasing: output[byteOffset..<(byteOffset + pieceByteCount)])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<pieceByteCount]))
                byteOffset += pieceByteCount
            }
        }
    }
}
