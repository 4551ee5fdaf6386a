// BLAKE2b. Invariant: what is hashed is exactly the concatenation of the parts; who needs to tell parts from one
// another writes their lengths.

internal import CSodium
package import CoffretBase

/// BLAKE2b with outputs of 16 to 64 bytes, keyed or not.
///
/// Source: RFC 7693. Vectors: blake2b/.
package enum BLAKE2b {
    package static let byteCountRange = 16...64
    package static let keyByteCountRange = 16...64

    /// Hashes the concatenation of `parts`.
    package static func hash(_ parts: [UInt8]..., byteCount: Int = 32) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: byteCount)
        for part in parts { hasher.update(part) }
        return hasher.finish()
    }

    /// Hashes `bytes` into `output`, whose size is the size of the hash.
    ///
    /// - Parameter key: absent, or 16 to 64 bytes.
    package static func hash(
        _ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer? = nil, into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(byteCountRange.contains(output.count), "BLAKE2b hashes have 16 to 64 bytes")
        if let key = unsafe key {
            precondition(keyByteCountRange.contains(key.count), "BLAKE2b keys have 16 to 64 bytes")
        }
        let status = unsafe crypto_generichash(
            output.baseAddress!.assumingMemoryBound(to: UInt8.self), output.count,
            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count),
            key?.baseAddress?.assumingMemoryBound(to: UInt8.self), key?.count ?? 0)
        precondition(status == 0, "BLAKE2b cannot fail on valid sizes")
    }
}

/// BLAKE2b, fed piece by piece.
@safe package struct BLAKE2bHasher: ~Copyable {
    // SAFETY: owned by this value alone, which cannot be copied; zeroed and freed with it. libsodium
    // wants its state aligned to 64 bytes, more than Swift gives a stored property.
    private let state: UnsafeMutableRawPointer
    private let byteCount: Int

    private static var stateByteCount: Int { crypto_generichash_statebytes() }

    package init(byteCount: Int = 32) {
        unsafe self.init(byteCount: byteCount, keyBytes: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// - Parameter key: 16 to 64 bytes.
    package init(byteCount: Int = 32, key: borrowing SecretBytes) {
        // EXPOSE: into the hash state, which is zeroed when the hasher goes.
        self = unsafe key.withUnsafeBytes { bytes in unsafe BLAKE2bHasher(byteCount: byteCount, keyBytes: bytes) }
    }

    package init(byteCount: Int, keyBytes: UnsafeRawBufferPointer) {
        precondition(BLAKE2b.byteCountRange.contains(byteCount), "BLAKE2b hashes have 16 to 64 bytes")
        self.byteCount = byteCount
        unsafe state = .allocate(byteCount: Self.stateByteCount, alignment: 64)
        let status = unsafe crypto_generichash_init(
            OpaquePointer(state), keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self), keyBytes.count, byteCount)
        precondition(status == 0, "BLAKE2b cannot fail on valid sizes")
    }

    package mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { buffer in unsafe update(buffer) }
    }

    package mutating func update(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { buffer in unsafe update(buffer) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe crypto_generichash_update(
            OpaquePointer(state), base.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// Adds lp(bytes): a four-byte length, then the bytes.
    package mutating func updateLengthPrefixed(_ bytes: [UInt8]) {
        update(UInt32(bytes.count).bigEndianBytes)
        update(bytes)
    }

    package consuming func finish() -> [UInt8] {
        var output = [UInt8](repeating: 0, count: byteCount)
        unsafe output.withUnsafeMutableBytes { output in unsafe write(to: output) }
        return output
    }

    /// Ends the hash; `output` has the size that was asked for.
    package consuming func finish(into output: UnsafeMutableRawBufferPointer) {
        unsafe write(to: output)
    }

    private borrowing func write(to output: UnsafeMutableRawBufferPointer) {
        precondition(output.count == byteCount, "the output has another size than the hash")
        unsafe crypto_generichash_final(
            OpaquePointer(state), output.baseAddress!.assumingMemoryBound(to: UInt8.self), byteCount)
    }

    deinit {
        unsafe zero(UnsafeMutableRawBufferPointer(start: state, count: Self.stateByteCount))
        unsafe state.deallocate()
    }
}
