// Where random bytes come from. Invariant: outside tests there is one source, the operating system's generator behind
// libsodium.

internal import CSodium

/// A source of random bytes that cannot fail.
package protocol RandomSource: Sendable {
    /// Fills `buffer` with random bytes.
    func fill(_ buffer: UnsafeMutableRawBufferPointer)
}

/// The system's cryptographic generator.
package struct SystemRandomSource: RandomSource {
    package init() {
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
    }

    package func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        if let base = buffer.baseAddress {
            unsafe randombytes_buf(base, buffer.count)
        }
    }
}

extension RandomSource {
    /// `count` random bytes in ordinary memory: for nonces, salts and identifiers, not for keys.
    package func bytes(count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            unsafe fill(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count))
            initializedCount = count
        }
    }

    package func uint64() -> UInt64 {
        var value: UInt64 = 0
        unsafe withUnsafeMutableBytes(of: &value) { buffer in unsafe fill(buffer) }
        return value
    }

    /// A number of 0..<`bound`, each as likely as the other.
    ///
    /// Draws again where a plain remainder would favour small numbers.
    package func uniform(below bound: UInt64) -> UInt64 {
        precondition(bound > 0, "no number is below zero")
        let rejected = (0 &- bound) % bound
        while true {
            let value = uint64()
            if value >= rejected { return value % bound }
        }
    }

    /// A random secret in locked memory.
    package func secret(byteCount: Int) -> SecretBytes {
        unsafe SecretBytes(byteCount: byteCount) { buffer in unsafe fill(buffer) }
    }
}
