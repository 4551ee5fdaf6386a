// How secrets cross the bus. Invariant: a secret leaves only in the form that the client chose for its session, and none of these
// forms keeps it from another program of the same person.

internal import CoffretBase
internal import CoffretCrypto

/// A session of one client. Source: Secret Service API 0.2, "Transfer of Secrets".
struct SecretTransport {
    enum Algorithm: String, CaseIterable {
        case plain
        case agreed = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    }

    /// Nil for `plain`.
    private var key: [UInt8]?
    /// For the client, to compute the key by itself.
    let output: [UInt8]

    /// - Parameter input: the client's public number; empty for `plain`.
    /// - Throws: `CryptoError` for a number that is none.
    init(_ algorithm: Algorithm, input: [UInt8]) throws(CryptoError) {
        guard algorithm == .agreed else {
            (key, output) = (nil, [])
            return
        }
        let agreement = try OakleyAgreement()
        key = try agreement.key(with: input, byteCount: 16)
        output = agreement.publicNumber
    }

    /// - Returns: parameters and value, as the struct of the specification has them.
    func wrap(
        _ secret: [UInt8], random: any RandomSource
    ) throws(CryptoError) -> (parameters: [UInt8], value: [UInt8]) {
        guard let key else { return ([], secret) }
        let vector = random.bytes(count: 16)
        return (vector, try ForeignCBC.seal(secret, key: key, vector: vector))
    }

    func unwrap(parameters: [UInt8], value: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let key else { return value }
        return try ForeignCBC.open(value, .aes128, key: key, vector: parameters)
    }

    /// Overwrites the key, once the client is gone.
    mutating func forget() { key?.zero() }
}
