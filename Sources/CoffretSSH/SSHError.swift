// The one error type of this module. Codes are stable; Spec/errors.md lists them.

/// An error of an SSH key, signature or message.
package struct SSHError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// Bytes or text that are not of the form that the protocol or file format demands.
        case malformed = "ssh.data.malformed"
        /// A kind of key, cipher or algorithm that is not known here.
        case unsupported = "ssh.key.unsupported"
        /// Numbers that are no key of their kind, such as a point off its curve or a public half of another key.
        case invalidKey = "ssh.key.invalid"
        /// The private key is protected by a passphrase, and none was given.
        case passphraseNeeded = "ssh.passphrase.needed"
        /// The passphrase does not open the private key.
        case passphraseWrong = "ssh.passphrase.wrong"
        /// The function that makes a key of the passphrase is in no library here.
        case passphraseUnavailable = "ssh.passphrase.unavailable"
        /// A key cannot sign in the way that was asked for.
        case algorithmRefused = "ssh.algorithm.refused"
    }

    package let code: Code
    /// A short technical hint, such as a name; never a secret.
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}
