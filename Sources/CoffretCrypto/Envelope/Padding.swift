// Sizes that say little. Invariant: the padded size is a function of the true size alone, fixed by the format version,
// because names are hashed over padded bytes.

/// The size classes of sealed things.
///
/// pad(n) = 192, 320 or 448 for what fits, above that padmé, which adds at most 12 % and leaves
/// O(log log n) bits of the size visible.
/// Spec: Spec/suite.md. Source: Nikitin et al., Reducing Metadata Leakage from Encrypted Files and
/// Communication with PURBs (2019). Decision: Docs/decisions/0005-padding.md.
package enum Padding {
    /// The padded size of `byteCount` bytes, headers included.
    package static func paddedByteCount(_ byteCount: Int) -> Int {
        precondition(byteCount >= 0, "sizes are not negative")
        if byteCount <= 192 { return 192 }
        if byteCount <= 320 { return 320 }
        if byteCount <= 448 { return 448 }
        return padme(byteCount)
    }

    /// Rounds up so that only the upper bits of the size vary: with E = floor(log2 n), the lowest
    /// E - (floor(log2 E) + 1) bits are zero.
    package static func padme(_ byteCount: Int) -> Int {
        precondition(byteCount >= 0 && byteCount < 1 << 62, "sizes are not negative and fit 62 bits")
        guard byteCount >= 2 else { return byteCount }
        let exponent = Int.bitWidth - 1 - byteCount.leadingZeroBitCount
        let exponentBitCount = Int.bitWidth - exponent.leadingZeroBitCount
        let lastBits = exponent - exponentBitCount
        guard lastBits > 0 else { return byteCount }
        let mask = (1 << lastBits) - 1
        return (byteCount + mask) & ~mask
    }
}
