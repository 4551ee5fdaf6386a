// Hashes of arrays, for the formats of other programs.

extension HashAlgorithm {
    /// The digest of `bytes`.
    package func hash(_ bytes: [UInt8]) -> [UInt8] { unsafe hash(bytes.span.bytes) }
}

extension HMAC {
    /// The code of one message.
    package static func authenticationCode(
        _ algorithm: HashAlgorithm, key: [UInt8], message: [UInt8]
    ) -> [UInt8] {
        unsafe authenticationCode(algorithm, key: key.span.bytes, message: message.span.bytes)
    }
}
