// One-time codes. Invariant: a code that cannot be computed as the standards say is refused when it is read, never
// computed as something similar.

internal import CoffretBase
internal import CoffretCrypto

/// The source of one-time codes: a secret and how to turn it into digits.
///
/// HOTP counts (RFC 4226), TOTP counts time steps (RFC 6238). The value prints and parses as an
/// `otpauth` address, see `OneTimeCodeAddress.swift`.
package struct OneTimeCode: Hashable, Sendable {
    /// The hash below the HMAC.
    package enum Hash: String, Sendable, CaseIterable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// The clock or counter that the code moves with.
    package enum Movement: Hashable, Sendable {
        /// A counter that goes up by one with each code used.
        case counter(UInt64)
        /// Time, in steps of so many seconds since 1970.
        case time(periodSeconds: UInt32)
    }

    /// A code as shown to a person.
    package struct Code: Hashable, Sendable {
        /// The digits, with leading zeros.
        package let digits: String
        /// How long a time-based code stays valid, in seconds; nil if it does not depend on time.
        package let remainingSeconds: UInt32?
    }

    /// The shared secret, 1 to 1,024 bytes.
    package let secret: [UInt8]
    /// The hash below the HMAC.
    package let hash: Hash
    /// How many digits a code has: 6, 7 or 8.
    package let digitCount: Int
    /// The clock or counter that the code moves with.
    package let movement: Movement
    /// The issuer of the secret; may be empty.
    package let issuer: String
    /// Whose secret it is; may be empty.
    package let account: String

    /// Makes a generator of codes.
    ///
    /// - Throws: `CoreError.oneTimeCodeInvalid` if the secret is empty or above 1,024 bytes, if the number of
    ///   digits is not 6, 7 or 8, or if a period is not 1 to 86,400 seconds.
    package init(
        secret: [UInt8], hash: Hash = .sha1, digitCount: Int = 6, movement: Movement = .time(periodSeconds: 30),
        issuer: String = "", account: String = ""
    ) throws {
        guard (1...1_024).contains(secret.count) else { throw CoreError(.oneTimeCodeInvalid, at: "secret") }
        guard (6...8).contains(digitCount) else { throw CoreError(.oneTimeCodeInvalid, at: "digits") }
        if case .time(let periodSeconds) = movement, !(1...86_400).contains(periodSeconds) {
            throw CoreError(.oneTimeCodeInvalid, at: "period")
        }
        self.secret = secret
        self.hash = hash
        self.digitCount = digitCount
        self.movement = movement
        self.issuer = issuer
        self.account = account
    }

    /// The code at a moment, for time-based ones; the code of the stored counter for the others.
    ///
    /// - Parameter unixMilliseconds: the moment; not before 1970.
    package func code(unixMilliseconds: Int64) throws -> Code {
        switch movement {
        case .counter(let counter):
            return Code(digits: code(counter: counter), remainingSeconds: nil)
        case .time(let periodSeconds):
            guard unixMilliseconds >= 0 else { throw CoreError(.oneTimeCodeInvalid, at: "time") }
            let seconds = UInt64(unixMilliseconds / 1_000)
            let period = UInt64(periodSeconds)
            return Code(
                digits: code(counter: seconds / period), remainingSeconds: UInt32(period - seconds % period))
        }
    }

    /// The code of one counter value.
    ///
    /// The truncation of RFC 4226 section 5.3: the low four bits of the last byte of the HMAC choose where
    /// four bytes are read; their highest bit is dropped.
    package func code(counter: UInt64) -> String {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
        var tag = unsafe HMAC.authenticationCode(algorithm, key: secret.span.bytes, message: message.span.bytes)
        defer { tag.zero() }
        let offset = Int(tag[tag.count - 1] & 0x0F)
        let number = tag[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        var modulus: UInt32 = 1
        for _ in 0..<digitCount { modulus *= 10 }
        let digits = String(number % modulus)
        return String(repeating: "0", count: digitCount - digits.utf8.count) + digits
    }

    private var algorithm: HashAlgorithm {
        switch hash {
        case .sha1: .sha1
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }

    /// The same generator with its counter moved on by one; nil for time-based ones.
    package func advanced() throws -> OneTimeCode? {
        guard case .counter(let counter) = movement, counter < .max else { return nil }
        return try OneTimeCode(
            secret: secret, hash: hash, digitCount: digitCount, movement: .counter(counter + 1), issuer: issuer,
            account: account)
    }
}
