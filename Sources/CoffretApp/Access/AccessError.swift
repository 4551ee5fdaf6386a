// Refusals that have to do with tokens.

internal import CoffretMessages

/// Why a token does not count, or was not made.
package struct AccessError: Error, Equatable {
    package enum Code: String, Sendable {
        /// There is no such token, or it was removed.
        case invalid = "token.invalid"
        /// Its time is over.
        case expired = "token.expired"
        /// Wrong tokens were offered: another try has to wait.
        case pausing = "token.pausing"
        /// There is one of this name.
        case exists = "token.exists"
        /// There is none of this name.
        case notFound = "token.not-found"
        /// There are as many as there may be.
        case exhausted = "token.exhausted"
        /// The limits of a new token are not understood, or are too many; the place names them.
        case scopeInvalid = "token.scope.invalid"
        /// The file of tokens was altered, or an earlier one was put back: none counts.
        case altered = "token.file.altered"
    }

    package let code: Code
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}

extension AccessError: ListedError {
    package var placeText: String? { place }
}
