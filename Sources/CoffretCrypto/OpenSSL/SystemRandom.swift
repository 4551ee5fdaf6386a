// Random bytes from the operating system, for nonces and keys of the formats built on OpenSSL.

internal import CSodium

/// The system's random generator.
///
/// libsodium's front to `getrandom`: for a nonce it takes half the time of OpenSSL's generator, and it
/// keeps no state that a fork could duplicate.
package enum SystemRandom {
    /// Fills `output` with unpredictable bytes.
    package static func fill(_ output: UnsafeMutableRawBufferPointer) {
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
        guard let base = output.baseAddress else { return }
        unsafe randombytes_buf(base, output.count)
    }

    /// `byteCount` unpredictable bytes.
    package static func bytes(byteCount: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
        return bytes
    }
}
