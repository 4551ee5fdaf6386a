// HMAC over the SHA family. Every copy of the key made here is overwritten before returning.

/// The keyed hash of RFC 2104.
package enum HMAC {
    /// Computes the code over whatever `feed` puts into the hash.
    ///
    /// Built from the plain hash rather than OpenSSL's EVP_MAC, whose set-up alone takes several times
    /// as long as the whole code of a short message.
    /// - Parameter key: any size; one longer than a block is hashed first, as the RFC says.
    /// - Parameter output: exactly `digestByteCount` bytes.
    /// - Parameter feed: is called once and hands over the message, piece by piece.
    package static func authenticate(
        _ algorithm: HashAlgorithm, key: RawSpan, into output: UnsafeMutableRawBufferPointer,
        _ feed: (inout HashContext) -> Void
    ) {
        let blockByteCount = algorithm.blockByteCount
        unsafe withSecretScratch(byteCount: blockByteCount + algorithm.digestByteCount) { scratch in
            let pad = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[..<blockByteCount])
            let inner = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[blockByteCount...])
            var hash = HashContext(algorithm)
            if key.byteCount > blockByteCount {
                hash.update(key)
                unsafe hash.finalize(
                    into: UnsafeMutableRawBufferPointer(rebasing: pad[..<algorithm.digestByteCount]))
                hash.restart()
            } else {
                unsafe key.withUnsafeBytes { unsafe pad.copyMemory(from: $0) }
            }
            for index in 0..<blockByteCount { unsafe pad[index] ^= 0x36 }
            unsafe hash.update(UnsafeRawBufferPointer(pad).bytes)
            feed(&hash)
            unsafe hash.finalize(into: inner)
            for index in 0..<blockByteCount { unsafe pad[index] ^= 0x36 ^ 0x5c }
            hash.restart()
            unsafe hash.update(UnsafeRawBufferPointer(pad).bytes)
            unsafe hash.update(UnsafeRawBufferPointer(inner).bytes)
            unsafe hash.finalize(into: output)
        }
    }

    /// The code of one message.
    package static func authenticationCode(_ algorithm: HashAlgorithm, key: RawSpan, message: RawSpan) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: algorithm.digestByteCount)
        unsafe code.withUnsafeMutableBytes { output in
            unsafe authenticate(algorithm, key: key, into: output) { hash in hash.update(message) }
        }
        return code
    }
}
