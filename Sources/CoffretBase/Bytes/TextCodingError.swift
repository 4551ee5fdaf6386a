// Errors of the text forms of bytes. Invariant: no refused text is quoted.

/// Why a text is not hex, base32, base64, a UUID or a time.
package struct TextCodingError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// A character that the alphabet lacks.
        case invalidCharacter = "base.text.invalid-character"
        /// A number of characters that no bytes encode to.
        case invalidLength = "base.text.invalid-length"
        /// Padding or unused bits that differ from what encoding would write.
        case notCanonical = "base.text.not-canonical"
        /// Not a date and time of RFC 3339 in the years 0000 to 9999.
        case invalidTime = "base.text.invalid-time"
    }

    package let code: Code
    /// Offset of the refused character in the UTF-8 of the text.
    package let byteOffset: Int

    package init(_ code: Code, byteOffset: Int = 0) {
        self.code = code
        self.byteOffset = byteOffset
    }
}
