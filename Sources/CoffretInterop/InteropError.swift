// The one error type of this library. It must never say why something did not open.

internal import CoffretCrypto

/// An error of this library.
///
/// Branch on `code`. A cell, a message or a handshake that does not open is `.authenticationFailed`,
/// whatever the reason: a wrong key, a flipped bit and a missing byte look alike, and should look alike
/// to a peer.
public struct InteropError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Stable identifiers of the errors.
    public enum Code: String, Sendable, CaseIterable {
        /// The bytes to open, verify or read belong to another key or context, or were altered. There is no further
        /// detail.
        case authenticationFailed = "interop.authentication-failed"
        /// An argument that the format does not allow, such as an empty plaintext or an empty key.
        case invalidArgument = "interop.invalid-argument"
        /// A key that is malformed, out of range, off its curve, or of another kind.
        case invalidKey = "interop.invalid-key"
        /// More than a limit allows: a message too long, or a passphrase cell asking for more work than
        /// the caller accepts. Nothing was computed.
        case limitExceeded = "interop.limit-exceeded"
        /// Text that is not in the encoding it should be in.
        case invalidText = "interop.invalid-text"
        /// A combination of key, operation and algorithm that does not exist.
        case unsupported = "interop.unsupported"
        /// The home of a key, such as a TPM, did not carry out the operation.
        case keyUnavailable = "interop.key-unavailable"
        /// A step of a Noise session out of turn, or after the session was over.
        case outOfOrder = "interop.out-of-order"
        /// A Noise session has used all nonces of a direction: rekeying does not help, a new session does.
        case nonceExhausted = "interop.nonce-exhausted"
        /// The cryptographic library refused to work, for instance for lack of memory.
        case unavailable = "interop.unavailable"
    }

    /// The identifier of this error.
    public let code: Code

    /// A short technical hint for programmers; never a secret, never data of a user.
    public let place: String?

    /// Makes an error, for implementations of the protocols of this library.
    public init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }

    /// The code, and the place where there is one.
    public var description: String { place.map { "\(code.rawValue): \($0)" } ?? code.rawValue }

    static let authenticationFailed = InteropError(.authenticationFailed)

    init(_ error: CryptoError) {
        switch error.code {
        case .authenticationFailed: self = .authenticationFailed
        case .invalidKey: self.init(.invalidKey, at: error.place)
        case .invalidParameter: self.init(.invalidArgument, at: error.place)
        case .tooLarge: self.init(.limitExceeded, at: error.place)
        default: self.init(.unavailable, at: error.place)
        }
    }
}

/// Evaluates `value`, turning the errors of the layer below into this library's.
func translatingErrors<Result: ~Copyable>(_ value: @autoclosure () throws(CryptoError) -> Result) throws(InteropError)
    -> Result
{
    do throws(CryptoError) { return try value() } catch { throw InteropError(error) }
}

/// Evaluates `value`; every failure is a failed authentication.
func hidingErrors<Result: ~Copyable>(_ value: @autoclosure () throws(CryptoError) -> Result) throws(InteropError)
    -> Result
{
    do throws(CryptoError) { return try value() } catch { throw .authenticationFailed }
}
