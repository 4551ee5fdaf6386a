// How a device proves that it belongs to an account. Invariant: no message carries a password or a secret of the
// device; what is signed names the server, both nonces and the end of their life.

package import CoffretBase

/// `POST /v1/login/challenge`: [account(32), device(16), client nonce(32)].
package struct LoginChallengeRequest: ServerMessage, CBORRecord {
    package let accountID: [UInt8]
    package let deviceID: UniqueID
    package let clientNonce: [UInt8]

    package init(accountID: [UInt8], deviceID: UniqueID, clientNonce: [UInt8]) {
        self.accountID = accountID
        self.deviceID = deviceID
        self.clientNonce = clientNonce
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("account", \.accountID, .account), CBORField("device", \.deviceID, .id),
        CBORField("client nonce", \.clientNonce, .nonce))
}

/// Its answer: [server name, server nonce(32), expiry in ms since 1970].
package struct LoginChallenge: ServerMessage, CBORRecord {
    package let serverName: String
    package let serverNonce: [UInt8]
    /// When the server forgets the nonce, by its own clock.
    package let expiry: UInt64

    package init(serverName: String, serverNonce: [UInt8], expiry: UInt64) {
        self.serverName = serverName
        self.serverNonce = serverNonce
        self.expiry = expiry
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("server name", \.serverName, .text(byteCountMax: ServerLimits.serverNameByteCountMax)),
        CBORField("server nonce", \.serverNonce, .nonce), CBORField("expiry", \.expiry, .unsigned))
}

/// `POST /v1/login`: [account(32), device(16), client nonce(32), server nonce(32), expiry, signature(64)].
///
/// `LoginProof` of CoffretTrust has the signed message.
package struct LoginRequest: ServerMessage, CBORRecord {
    package let accountID: [UInt8]
    package let deviceID: UniqueID
    package let clientNonce: [UInt8]
    package let serverNonce: [UInt8]
    package let expiry: UInt64
    package let signature: [UInt8]

    package static let layout = CBORLayout(
        Self.init, CBORField("account", \.accountID, .account), CBORField("device", \.deviceID, .id),
        CBORField("client nonce", \.clientNonce, .nonce), CBORField("server nonce", \.serverNonce, .nonce),
        CBORField("expiry", \.expiry, .unsigned), CBORField("signature", \.signature, .signature))
}

extension LoginRequest {
    package init(challenge: LoginChallenge, request: LoginChallengeRequest, signature: [UInt8]) {
        self.init(
            accountID: request.accountID, deviceID: request.deviceID, clientNonce: request.clientNonce,
            serverNonce: challenge.serverNonce, expiry: challenge.expiry, signature: signature)
    }
}

/// Its answer: [token(32), expiry in ms since 1970]. The token goes into `Authorization: Bearer` as hexadecimal digits.
package struct LoginSession: ServerMessage, CBORRecord {
    package let token: [UInt8]
    package let expiry: UInt64

    package init(token: [UInt8], expiry: UInt64) {
        self.token = token
        self.expiry = expiry
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("token", \.token, .bytes(count: ServerLimits.tokenByteCount)),
        CBORField("expiry", \.expiry, .unsigned))
}

/// `POST /v1/accounts`: [link 0 of the device chain, invitation or empty]. The account's id is the link's hash.
package struct AccountRegistration: ServerMessage, CBORRecord {
    package let link: [UInt8]
    package let invitation: [UInt8]

    package init(link: [UInt8], invitation: [UInt8] = []) {
        self.link = link
        self.invitation = invitation
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("link 0", \.link, .link),
        CBORField("invitation", \.invitation, .bytes(countMax: ServerLimits.invitationByteCountMax)))
}
