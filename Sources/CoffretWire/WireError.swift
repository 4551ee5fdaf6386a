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
    /// The field at fault, where the message has named ones.
    package let place: String?

    package init(_ code: Code, byteOffset: Int? = nil, place: String? = nil) {
        self.code = code
        self.byteOffset = byteOffset
        self.place = place
    }

    init(_ error: CBORError) {
        self.init(.malformed, byteOffset: error.byteOffset)
    }

    package static func == (left: WireError, right: WireError) -> Bool { left.code == right.code }
}
