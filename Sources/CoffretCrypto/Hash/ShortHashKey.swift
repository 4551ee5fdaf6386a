// SipHash-2-4: a keyed hash for short inputs. Invariant: its 64 bits steer where things lie; nothing is authenticated
// or named with them.

internal import CSodium
package import CoffretBase

/// A key of SipHash-2-4, a pseudo-random function with 64 bits of output.
///
/// - Complexity: about 20 ns for 40 bytes, an eighth of BLAKE2b, which compresses two blocks.
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
package final class ShortHashKey: Sendable {
    package static let byteCount = 16
    /// Longest input of `hash(prefix:bytes:)`, without the prefix.
    package static let inputByteCountMax = 255

    private let key: SecretBytes

    /// - Parameter key: 16 bytes; anything else is our own bug.
    package init(_ key: consuming SecretBytes) {
        precondition(key.byteCount == Self.byteCount, "SipHash takes a key of 16 bytes")
        self.key = key
    }

    /// The hash of `prefix` ‖ `bytes`, read as a little-endian number as in the paper.
    package func hash(prefix: UInt8, bytes: [UInt8]) -> UInt64 {
        hash(prefix: prefix, bytes: bytes.span)
    }

    /// As above.
    package func hash(prefix: UInt8, bytes: Span<UInt8>) -> UInt64 {
        precondition(bytes.count <= Self.inputByteCountMax, "the input is short")
        var output: UInt64 = 0
        unsafe withUnsafeTemporaryAllocation(byteCount: bytes.count + 1, alignment: 8) { input in
            unsafe input[0] = prefix
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: input[1...]).copyMemory(from: source)
            }
            // EXPOSE: the key is read in place by libsodium, which keeps no copy.
            unsafe key.withUnsafeBytes { keyBytes in
                unsafe withUnsafeMutableBytes(of: &output) { target in
                    // SAFETY: crypto_shorthash writes 8 bytes, reads `input.count` and 16 bytes of key.
                    _ = unsafe crypto_shorthash(
                        target.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self),
                        input.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self),
                        UInt64(input.count),
                        keyBytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self))
                }
            }
        }
        return UInt64(littleEndian: output)
    }
}
