// Errors of the strict JSON reader. Invariant: an error names the place, and never quotes the text there.

/// Why bytes were refused as JSON (RFC 8259).
package struct JSONError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// The text ends inside a value.
        case truncated = "base.json.truncated"
        /// A character that cannot stand where it does.
        case unexpectedCharacter = "base.json.unexpected-character"
        /// A number that is not of RFC 8259, or longer than 64 characters.
        case invalidNumber = "base.json.invalid-number"
        /// An unknown escape, or half of a surrogate pair.
        case invalidEscape = "base.json.invalid-escape"
        /// A control character inside a string, or bytes that are not UTF-8.
        case invalidText = "base.json.invalid-text"
        /// A string longer than the limit.
        case stringTooLong = "base.json.string-too-long"
        /// Arrays and objects nested deeper than the limit.
        case tooDeep = "base.json.too-deep"
        /// Something behind the value.
        case trailingText = "base.json.trailing-text"
        /// One object names a member twice.
        case duplicateName = "base.json.duplicate-name"
        /// A value of another kind than was asked for.
        case unexpectedValue = "base.json.unexpected-value"
        /// The source of the bytes failed; `cause` says how.
        case source = "base.json.source"
    }

    package let code: Code
    /// Offset from the start of the text, in bytes.
    package let byteOffset: Int
    /// Line, from 1.
    package let line: Int
    /// The error that the source threw. Ignored by equality.
    package let cause: (any Error)?

    package init(_ code: Code, byteOffset: Int, line: Int, cause: (any Error)? = nil) {
        self.code = code
        self.byteOffset = byteOffset
        self.line = line
        self.cause = cause
    }

    package static func == (left: JSONError, right: JSONError) -> Bool {
        left.code == right.code && left.byteOffset == right.byteOffset && left.line == right.line
    }
}
