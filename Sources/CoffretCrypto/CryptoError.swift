// The one error type of this module. It must never say why an authentication failed.

/// An error of a cryptographic operation.
package struct CryptoError: Error, Equatable, Sendable {
    /// Stable identifiers of the errors.
    package enum Code: String, Sendable, CaseIterable {
        /// The data was altered, or the key, nonce or context is another. There is no further detail.
        case authenticationFailed = "crypto.authentication-failed"
        /// A key has the wrong size, is no point of its curve, or is out of range.
        case invalidKey = "crypto.invalid-key"
        /// A size, a count or an encoding that the algorithm does not allow.
        case invalidParameter = "crypto.invalid-parameter"
        /// The input is longer than the algorithm, or the library behind it, can take.
        case tooLarge = "crypto.too-large"
        /// Parameters of passphrase stretching below the floor or above the cap; nothing was derived.
        case passwordPolicy = "crypto.password-policy"
        /// A passphrase that is empty, too long, not UTF-8, or holds a zero byte.
        case invalidPassphrase = "crypto.invalid-passphrase"
        /// The cryptographic library refused to work: out of memory, or built without the algorithm.
        case unavailable = "crypto.unavailable"
    }

    /// The identifier of this error.
    package let code: Code

    /// A short technical hint, such as the name of a parameter; never a secret and never user data.
    package let place: String?

    /// Makes an error.
    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}
