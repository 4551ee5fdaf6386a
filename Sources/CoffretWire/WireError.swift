// Errors of messages.

internal import CoffretBase

/// An error of a message's bytes.
package struct WireError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// The bytes are no message, or not in canonical form.
        case malformed = "wire.message.malformed"
        /// The message is of a kind that this version does not know.
        case unsupported = "wire.message.unsupported"
    }

    package let code: Code
    package let byteOffset: Int?

    package init(_ code: Code, byteOffset: Int? = nil) {
        self.code = code
        self.byteOffset = byteOffset
    }

    init(_ error: CBORError) {
        self.init(.malformed, byteOffset: error.byteOffset)
    }

    package static func == (left: WireError, right: WireError) -> Bool { left.code == right.code }
}
