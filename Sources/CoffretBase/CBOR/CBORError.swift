// Errors of the strict CBOR decoder. Invariant: an error names the byte at which the refused item starts, and never
// quotes its content.

/// Why bytes were refused as deterministic CBOR.
package struct CBORError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// The input ends inside an item, or a length reaches beyond it.
        case truncated = "base.cbor.truncated"
        /// An integer or a length that is not in its shortest form.
        case notShortest = "base.cbor.not-shortest"
        /// An indefinite length, or a break.
        case indefiniteLength = "base.cbor.indefinite-length"
        /// Reserved additional information, or a simple value other than false, true and null.
        case reserved = "base.cbor.reserved"
        /// A floating-point number: Coffret's formats have none.
        case floatingPoint = "base.cbor.floating-point"
        /// Text that is not UTF-8.
        case invalidText = "base.cbor.invalid-text"
        /// Map keys that are not in ascending order of their encoded bytes, or occur twice.
        case keysNotSorted = "base.cbor.keys-not-sorted"
        /// A big number that would fit an integer, or has leading zeros.
        case notPreferredBignum = "base.cbor.not-preferred-bignum"
        /// Bytes after the last expected item.
        case trailingBytes = "base.cbor.trailing-bytes"
        /// Arrays, maps and tags nested deeper than `Limits.cborDepthMax`.
        case tooDeep = "base.cbor.too-deep"
        /// An item of another kind than the format asks for, or a number outside its range.
        case unexpectedItem = "base.cbor.unexpected-item"
        /// A map holds a key the format does not know, or lacks one it needs.
        case unexpectedKey = "base.cbor.unexpected-key"
    }

    package let code: Code
    /// Offset of the refused item from the start of the input, in bytes.
    package let byteOffset: Int

    package init(_ code: Code, byteOffset: Int) {
        self.code = code
        self.byteOffset = byteOffset
    }
}
