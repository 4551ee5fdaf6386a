// Refusals of operations that no layer below knows.

/// Why an operation was not performed.
package struct OperationError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// There is no operation of this name.
        case unknown = "operation.unknown"
        /// A field is missing, unknown, or not of its shape; the place names it.
        case requestInvalid = "operation.request.invalid"
        /// Others changed the same lines since the text was read that this change began with.
        case textChanged = "operation.text.changed"
        /// The answer is longer than a message may be.
        case answerTooLarge = "operation.answer.too-large"
        /// The request did not bring the one descriptor that it needs, or brought that of a folder; the place names it.
        case descriptorInvalid = "operation.descriptor.invalid"
        /// The client wants it no more. What was done until then stays, and is whole.
        case cancelled = "operation.cancelled"
        /// Somebody had to be asked, and nobody attends the request, or it was not answered.
        case unanswered = "operation.unanswered"
        /// The session may not ask for this operation, or not within its limits; the place names it.
        case notAllowed = "operation.not-allowed"
    }

    package let code: Code
    /// The name of the operation or of the field.
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }

    package static func == (left: OperationError, right: OperationError) -> Bool { left.code == right.code }
}
