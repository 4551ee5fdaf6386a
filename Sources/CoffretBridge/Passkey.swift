// Passkeys as fields of logins. Invariant: the private key leaves a value of this type only into a field of a vault; a signature says
// that a person was verified, because nobody asks for one without that.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop

/// A key of one account at one site (WebAuthn: a discoverable credential source, ES256).
///
/// Spec: Spec/passkeys.md.
package struct Passkey: Sendable {
    /// Longer ones are of no authenticator.
    package static let credentialIDByteCountMax = 1_023
    package static let userHandleByteCountMax = 64
    /// Longer names are cut.
    package static let nameByteCountMax = 200

    package let credentialID: [UInt8]
    /// The domain that the key is for.
    package let site: String
    /// How the site names the account, for itself: 1 to 64 bytes.
    package let userHandle: [UInt8]
    /// How a person knows the account.
    package let userName: String
    package let displayName: String
    package let siteName: String
    package let created: Milliseconds
    private let key: SoftwareCurveKey

    /// Makes a key.
    ///
    /// - Throws: `BridgeError` `.messageInvalid` for a user handle of another size.
    package static func make(
        site: String, siteName: String, userHandle: [UInt8], userName: String, displayName: String,
        now: Milliseconds, random: any RandomSource
    ) throws(BridgeError) -> Passkey {
        guard (1...userHandleByteCountMax).contains(userHandle.count), let key = try? SoftwareCurveKey.generate() else {
            throw BridgeError(.messageInvalid, at: "userHandle")
        }
        return Passkey(
            credentialID: random.bytes(count: UniqueID.byteCount), site: site, userHandle: userHandle,
            userName: userName, displayName: displayName, siteName: siteName, created: now, key: key)
    }

    private init(
        credentialID: [UInt8], site: String, userHandle: [UInt8], userName: String, displayName: String,
        siteName: String, created: Milliseconds, key: SoftwareCurveKey
    ) {
        (self.credentialID, self.site, self.userHandle) = (credentialID, site, userHandle)
        (self.userName, self.displayName, self.siteName) = (userName, displayName, siteName)
        (self.created, self.key) = (created, key)
    }

    // MARK: The field

    /// Reads a field of kind `passkey`; nil for one that this program cannot use, which stays as it is.
    package init?(field text: String) {
        guard case .object(let members)? = try? JSONValue(parsing: Array(text.utf8)) else { return nil }
        let values = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        func read(_ name: String) -> String? { values[name]?.string }
        if let site = read("rpId"), let id = read("credentialId").flatMap(Self.credentialID(named:)) {
            guard read("keyType") == "public-key", read("keyAlgorithm") == "ECDSA", read("keyCurve") == "P-256",
                var bytes = read("keyValue").flatMap({ try? Base64.url.decode($0) })
            else { return nil }
            defer { bytes.zero() }
            guard let key = try? SoftwareCurveKey(derRepresentation: bytes), key.curve == .p256,
                let handle = read("userHandle").flatMap({ try? Base64.url.decode($0) })
            else { return nil }
            self.init(
                credentialID: id, site: site, userHandle: handle, userName: read("userName") ?? "",
                displayName: read("userDisplayName") ?? "", siteName: read("rpName") ?? site, created: 0, key: key)
        } else if let site = read("KPEX_PASSKEY_RELYING_PARTY"),
            let id = read("KPEX_PASSKEY_CREDENTIAL_ID").flatMap({ try? Base64.url.decode($0) }),
            let handle = read("KPEX_PASSKEY_USER_HANDLE").flatMap({ try? Base64.url.decode($0) }),
            let text = read("KPEX_PASSKEY_PRIVATE_KEY_PEM"), let key = try? SoftwareCurveKey(pemRepresentation: text),
            key.curve == .p256
        {
            self.init(
                credentialID: id, site: site, userHandle: handle, userName: read("KPEX_PASSKEY_USERNAME") ?? "",
                displayName: "", siteName: site, created: 0, key: key)
        } else {
            return nil
        }
        guard (1...Self.credentialIDByteCountMax).contains(credentialID.count),
            userHandle.count <= Self.userHandleByteCountMax
        else { return nil }
    }

    /// The value of a new field: JSON as Bitwarden has it, which is what other programs take over.
    ///
    /// - Throws: `BridgeError` `.messageInvalid` if the key cannot be written.
    package func field() throws(BridgeError) -> String {
        guard var bytes = try? key.exportDERRepresentation(), let id = UniqueID(bytes: credentialID) else {
            throw BridgeError(.messageInvalid, at: "key")
        }
        defer { bytes.zero() }
        let members: [(String, String)] = [
            ("credentialId", Self.grouped(id)), ("keyType", "public-key"), ("keyAlgorithm", "ECDSA"),
            // EXPOSE: into the field of a vault.
            ("keyCurve", "P-256"), ("keyValue", Base64.url.encode(bytes)), ("rpId", site),
            ("userHandle", Base64.url.encode(userHandle)), ("userName", userName), ("counter", "0"),
            ("rpName", siteName), ("userDisplayName", displayName), ("discoverable", "true"),
            ("creationDate", CivilTime.format(created)),
        ]
        return JSONValue.object(members.map { JSONValue.Member($0.0, .string($0.1)) }).text()
    }

    /// Bitwarden writes a number of 16 bytes as hexadecimal digits in groups, and any other as `b64.` and Base64.
    private static func credentialID(named text: String) -> [UInt8]? {
        if text.hasPrefix("b64.") { return try? Base64.url.decode(String(text.dropFirst(4))) }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        return try? Hex.decode(parts.joined().lowercased())
    }

    private static func grouped(_ id: UniqueID) -> String {
        var rest = id.hex[...]
        return [8, 4, 4, 4, 12].map { count in
            defer { rest = rest.dropFirst(count) }
            return String(rest.prefix(count))
        }.joined(separator: "-")
    }

    // MARK: Answers

    /// SubjectPublicKeyInfo.
    package var publicKey: [UInt8] { key.publicKey.derRepresentation }

    /// A signature over authenticator data and the hash of client data, in DER.
    ///
    /// - Throws: `BridgeError` `.messageInvalid` if OpenSSL does not sign.
    package func signature(_ authenticatorData: [UInt8], clientData: [UInt8]) throws(BridgeError) -> [UInt8] {
        try signature(authenticatorData, clientDataHash: unsafe HashAlgorithm.sha256.hash(clientData.span.bytes))
    }

    /// A signature of a key that nobody has: it says to a browser that a credential is there, and to a site nothing.
    ///
    /// - Throws: `BridgeError` `.messageInvalid` if OpenSSL does not sign.
    package func emptySignature() throws(BridgeError) -> [UInt8] {
        try Self.signature(of: try? SoftwareCurveKey.generate(), silentData)
    }

    /// - Throws: `BridgeError` `.messageInvalid` if OpenSSL does not sign.
    package func signature(_ authenticatorData: [UInt8], clientDataHash: [UInt8]) throws(BridgeError) -> [UInt8] {
        try Self.signature(of: key, authenticatorData + clientDataHash)
    }

    private static func signature(of key: SoftwareCurveKey?, _ signed: [UInt8]) throws(BridgeError) -> [UInt8] {
        guard let key else { throw BridgeError(.messageInvalid, at: "signature") }
        do throws(InteropError) {
            return unsafe try key.signature(ofDigest: HashAlgorithm.sha256.hash(signed.span.bytes))
        } catch {
            throw BridgeError(.messageInvalid, at: "signature")
        }
    }

    private enum Flag {
        /// A person was there, and was verified.
        static let present: UInt8 = 0x01
        static let verified: UInt8 = 0x04
        /// The key may lie on several devices, and does.
        static let synced: UInt8 = 0x08 | 0x10
        static let hasCredential: UInt8 = 0x40
    }

    /// SHA-256 of the domain ‖ flags ‖ counter, which stays 0.
    package var authenticatorData: [UInt8] {
        let hash = unsafe HashAlgorithm.sha256.hash(Array(site.utf8).span.bytes)
        return hash + [Flag.present | Flag.verified | Flag.synced, 0, 0, 0, 0]
    }

    /// Without a person.
    package var silentData: [UInt8] {
        var data = authenticatorData
        data[32] = Flag.synced
        return data
    }

    /// The same with the credential: a number of no model (16 zero bytes) ‖ length of the id (2) ‖ id ‖ key as COSE has it.
    package var createdData: [UInt8] {
        var data = authenticatorData
        data[32] |= Flag.hasCredential
        let point = key.publicKey.x963Representation
        var cose = CBOREncoder()
        cose.encodeMapHeader(count: 5)
        for (name, value) in [(Int64(1), Int64(2)), (3, -7), (-1, 1)] {
            cose.encode(signed: name)
            cose.encode(signed: value)
        }
        for (name, coordinate) in [(Int64(-2), point[1..<33]), (-3, point[33..<65])] {
            cose.encode(signed: name)
            cose.encode(bytes: coordinate)
        }
        return data + [UInt8](repeating: 0, count: 16)
            + [UInt8(credentialID.count >> 8), UInt8(credentialID.count & 0xFF)] + credentialID + Array(cose.bytes)
    }

    /// No model is stated: format `none`.
    package var attestation: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 3)
            encoder.encode(text: "fmt")
            encoder.encode(text: "none")
            encoder.encode(text: "attStmt")
            encoder.encodeMapHeader(count: 0)
            encoder.encode(text: "authData")
            encoder.encode(bytes: createdData)
        }
    }

    /// The bytes that a browser hashes and a site compares. All values are of characters that JSON writes as they are.
    package static func clientData(type: String, challenge: [UInt8], origin: WebOrigin) -> [UInt8] {
        let text =
            #"{"type":"\#(type)","challenge":"\#(Base64.url.encode(challenge))","origin":"\#(origin.text)","crossOrigin":false}"#
        return Array(text.utf8)
    }
}
