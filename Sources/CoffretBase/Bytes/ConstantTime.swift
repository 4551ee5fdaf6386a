// Comparisons whose duration does not depend on the bytes compared. Invariant: whatever authenticates is compared
// here, never with `==`.

internal import CSodium

package enum ConstantTime {
    /// Whether two runs of bytes are equal. Sizes are not secret: different sizes return at once.
    package static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
        return unsafe sodium_memcmp(leftBase, rightBase, left.count) == 0
    }

    /// Whether two arrays are equal. Sizes are not secret: different sizes return at once.
    package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        unsafe left.withUnsafeBytes { left in unsafe right.withUnsafeBytes { right in unsafe isEqual(left, right) } }
    }
}

/// Overwrites memory with zeros, in a way that the optimiser may not remove.
package func zero(_ memory: UnsafeMutableRawBufferPointer) {
    if let base = memory.baseAddress {
        unsafe sodium_memzero(base, memory.count)
    }
}
