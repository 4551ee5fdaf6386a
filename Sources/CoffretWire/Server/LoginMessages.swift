// How a device proves that it belongs to an account. Invariant: no message carries a password or a secret of the
// device; what is signed names the server, both nonces and the end of their life.

package import CoffretBase

/// `POST /v1/login/challenge`: [account(32), device(16), client nonce(32)].
package struct LoginChallengeRequest: ServerMessage {
    package let accountID: [UInt8]
    package let deviceID: UniqueID
    package let clientNonce: [UInt8]

    package init(accountID: [UInt8], deviceID: UniqueID, clientNonce: [UInt8]) {
        self.accountID = accountID
        self.deviceID = deviceID
        self.clientNonce = clientNonce
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 3)
        encoder.encode(bytes: accountID)
        encoder.encode(bytes: deviceID.bytes)
        encoder.encode(bytes: clientNonce)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 3)
        accountID = try decoder.readID()
        deviceID = try decoder.readDeviceID()
        clientNonce = try decoder.readBytes(count: ServerLimits.nonceByteCount)
    }
}

/// Its answer: [server name, server nonce(32), expiry in ms since 1970].
package struct LoginChallenge: ServerMessage {
    package let serverName: String
    package let serverNonce: [UInt8]
    /// When the server forgets the nonce, by its own clock.
    package let expiry: UInt64

    package init(serverName: String, serverNonce: [UInt8], expiry: UInt64) {
        self.serverName = serverName
        self.serverNonce = serverNonce
        self.expiry = expiry
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 3)
        encoder.encode(text: serverName)
        encoder.encode(bytes: serverNonce)
        encoder.encode(unsigned: expiry)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 3)
        serverName = try decoder.readText(byteCountMax: ServerLimits.serverNameByteCountMax)
        serverNonce = try decoder.readBytes(count: ServerLimits.nonceByteCount)
        expiry = try decoder.readUnsigned()
    }
}

/// `POST /v1/login`: [account(32), device(16), client nonce(32), server nonce(32), expiry, signature(64)].
///
/// `LoginProof` of CoffretTrust has the signed message.
package struct LoginRequest: ServerMessage {
    package let accountID: [UInt8]
    package let deviceID: UniqueID
    package let clientNonce: [UInt8]
    package let serverNonce: [UInt8]
    package let expiry: UInt64
    package let signature: [UInt8]

    package init(challenge: LoginChallenge, request: LoginChallengeRequest, signature: [UInt8]) {
        accountID = request.accountID
        deviceID = request.deviceID
        clientNonce = request.clientNonce
        serverNonce = challenge.serverNonce
        expiry = challenge.expiry
        self.signature = signature
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 6)
        encoder.encode(bytes: accountID)
        encoder.encode(bytes: deviceID.bytes)
        encoder.encode(bytes: clientNonce)
        encoder.encode(bytes: serverNonce)
        encoder.encode(unsigned: expiry)
        encoder.encode(bytes: signature)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 6)
        accountID = try decoder.readID()
        deviceID = try decoder.readDeviceID()
        clientNonce = try decoder.readBytes(count: ServerLimits.nonceByteCount)
        serverNonce = try decoder.readBytes(count: ServerLimits.nonceByteCount)
        expiry = try decoder.readUnsigned()
        signature = try decoder.readBytes(count: ServerLimits.signatureByteCount)
    }
}

/// Its answer: [token(32), expiry in ms since 1970]. The token goes into `Authorization: Bearer` as hexadecimal digits.
package struct LoginSession: ServerMessage {
    package let token: [UInt8]
    package let expiry: UInt64

    package init(token: [UInt8], expiry: UInt64) {
        self.token = token
        self.expiry = expiry
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(bytes: token)
        encoder.encode(unsigned: expiry)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        token = try decoder.readBytes(count: ServerLimits.tokenByteCount)
        expiry = try decoder.readUnsigned()
    }
}

/// `POST /v1/accounts`: [link 0 of the device chain, invitation or empty]. The account's id is the link's hash.
package struct AccountRegistration: ServerMessage {
    package let link: [UInt8]
    package let invitation: [UInt8]

    package init(link: [UInt8], invitation: [UInt8] = []) {
        self.link = link
        self.invitation = invitation
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(bytes: link)
        encoder.encode(bytes: invitation)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        link = try decoder.readBytes(countMax: ServerLimits.linkByteCountMax)
        invitation = try decoder.readBytes(countMax: ServerLimits.invitationByteCountMax)
    }
}
