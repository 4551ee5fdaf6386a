// Memory for secrets that live for one call. Must be overwritten on every way out.

internal import COpenSSL

/// Lends `byteCount` zeroed bytes for the duration of `body`, and overwrites them afterwards.
///
/// For derived keys and shared secrets that are used at once and forgotten. The memory is not
/// locked: what lives longer belongs in `SecretBytes`.
/// - Parameter body: works on the memory; must not let the pointer escape.
/// - Complexity: one allocation.
package func withSecretScratch<Result: ~Copyable, Failure: Error>(
    byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
    precondition(byteCount > 0, "scratch memory needs a size")
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    defer {
        // SAFETY: the buffer is the allocation made above, still whole.
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        unsafe memory.deallocate()
    }
    return try unsafe body(memory)
}

/// Overwrites memory in a way that the optimiser may not remove.
package func cleanse(_ memory: UnsafeMutableRawBufferPointer) {
    guard let base = memory.baseAddress else { return }
    unsafe OPENSSL_cleanse(base, memory.count)
}

/// Compares two byte strings in time that depends on their sizes only; different sizes are unequal.
package func isEqualInConstantTime(_ left: RawSpan, _ right: RawSpan) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    return unsafe left.withUnsafeBytes { leftBytes in
        unsafe right.withUnsafeBytes { rightBytes in
            guard let leftBase = leftBytes.baseAddress, let rightBase = rightBytes.baseAddress else { return true }
            return unsafe CRYPTO_memcmp(leftBase, rightBase, leftBytes.count) == 0
        }
    }
}
