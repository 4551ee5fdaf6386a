// The proof by which a device logs in. Invariant: the signature holds for one server, one account, one device and one
// pair of nonces, and can be taken for nothing else.

package import CoffretBase
package import CoffretCrypto

/// The statement "this device of this account is at this server now".
///
/// Signature: context "login", scope = server name (UTF-8) ‖ fingerprint (32), message = account id (32) ‖ device id (16) ‖
/// server nonce (32) ‖ client nonce (32) ‖ expiry (8, milliseconds since 1970).
/// Spec: Spec/server.md. Source: the attack of a server that passes another's challenge on.
package struct LoginProof: Equatable, Sendable {
    package static let fingerprintByteCount = 32
    /// The fingerprint of a server that is reached without TLS, on the same machine.
    package static let noFingerprint = [UInt8](repeating: 0, count: fingerprintByteCount)

    package let serverName: String
    /// SHA-256 of the SubjectPublicKeyInfo in the server's certificate, or as configured.
    package let fingerprint: [UInt8]
    package let accountID: ChainID
    package let deviceID: UniqueID
    package let serverNonce: [UInt8]
    package let clientNonce: [UInt8]
    package let expiry: UInt64

    package init(
        serverName: String, fingerprint: [UInt8], accountID: ChainID, deviceID: UniqueID, serverNonce: [UInt8],
        clientNonce: [UInt8], expiry: UInt64
    ) {
        precondition(fingerprint.count == Self.fingerprintByteCount, "a fingerprint has 32 bytes")
        precondition(serverNonce.count == 32 && clientNonce.count == 32, "nonces have 32 bytes")
        self.serverName = serverName
        self.fingerprint = fingerprint
        self.accountID = accountID
        self.deviceID = deviceID
        self.serverNonce = serverNonce
        self.clientNonce = clientNonce
        self.expiry = expiry
    }

    private var scope: [UInt8] { Array(serverName.utf8) + fingerprint }

    private var message: [UInt8] {
        accountID.bytes + deviceID.bytes + serverNonce + clientNonce + expiry.bigEndianBytes
    }

    package func sign(with key: SigningKey) -> [UInt8] { key.sign(.login, scope: scope, message: message) }

    /// - Throws: `.signatureInvalid`.
    package func verify(_ signature: [UInt8], by key: VerifyingKey) throws(TrustError) {
        do throws(CryptoError) {
            try key.verify(signature, .login, scope: scope, message: message)
        } catch {
            throw TrustError(.signatureInvalid)
        }
    }
}
