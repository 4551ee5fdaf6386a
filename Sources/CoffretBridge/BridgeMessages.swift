// Messages between the extension and a session. Invariant: a request that is not in this list does not exist for the extension,
// whatever the store can be asked otherwise.

internal import CoffretBase
package import CoffretWire

/// A request of the extension.
///
/// Spec: Spec/bridge.md section 5.
package struct BridgeRequest: Record {
    package static let recordName = "bridge-request"

    package enum Kind: String, RecordChoice {
        case state, find, fill, code, generate, compare, save, update
        case passkeyFind = "passkey-find"
        case passkeyCreate = "passkey-create"
        case passkeyGet = "passkey-get"
    }

    package var kind = Kind.state
    package var origin: String?
    package var id: String?
    package var fields: [String]?
    package var username: String?
    package var password: String?
    package var length: Int?
    package var site: String?
    package var siteName: String?
    package var displayName: String?
    package var userHandle: String?
    package var challenge: String?
    package var credentials: [String]?
    package var isFramed: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("do", \.kind, "the kind of request"), RecordField("origin", \.origin, "of the page in front"),
        RecordField("id", \.id, "of the login"), RecordField("fields", \.fields, "`username`, `password`, or both"),
        RecordField("username", \.username, "to be saved"), RecordField("password", \.password, "to be saved"),
        RecordField("length", \.length, "characters of a generated password; 20 without it"),
        RecordField("site", \.site, "the domain of a passkey (`rp.id`)"),
        RecordField("siteName", \.siteName, "as the page calls it"),
        RecordField("displayName", \.displayName, "of the account"),
        RecordField("userHandle", \.userHandle, "of the account, in Base64 for addresses"),
        RecordField("challenge", \.challenge, "of the page, in Base64 for addresses"),
        RecordField("credentials", \.credentials, "ids that may answer, or may not be there"),
        RecordField("framed", \.isFramed, "whether a page of another origin is around the page"))

    /// Reads a request; the caller zeroes the bytes.
    ///
    /// - Throws: `.unsupported` for a kind that is not in the list; `.messageInvalid`.
    package init(parsing bytes: [UInt8]) throws(BridgeError) {
        guard case .object(let members)? = try? JSONValue(parsing: bytes),
            let kind = members.first(where: { $0.name == "do" })?.value.string
        else { throw BridgeError(.messageInvalid) }
        guard Kind(rawValue: kind) != nil else { throw BridgeError(.unsupported) }
        do throws(WireError) {
            self = try Self(json: .object(members))
        } catch {
            throw BridgeError(.messageInvalid, at: error.place)
        }
    }
}

/// A login that fits an origin, without its values.
package struct BridgeLogin: Record {
    package static let recordName = "bridge-login"
    package static let refusesUnknownFields = false

    package var id = ""
    package var title = ""
    package var username: String?
    package var kinds: [String] = []
    package var credential: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"), RecordField("title", \.title, "of the item"),
        RecordField("username", \.username, "if it has one"),
        RecordField("kinds", \.kinds, "`password` and `code`: what else it has"),
        RecordField("credential", \.credential, "the id of a passkey, in Base64 for addresses"))
}

/// The answer to a request: the members that its kind has.
package struct BridgeAnswer: Record {
    package static let recordName = "bridge-answer"
    package static let refusesUnknownFields = false

    package var store: String?
    package var browser: String?
    package var logins: [BridgeLogin]?
    package var isMore: Bool?
    package var like: String?
    package var username: String?
    package var password: String?
    package var code: String?
    package var seconds: Int?
    package var id: String?
    package var title: String?
    package var isChanged: Bool?
    package var credential: String?
    package var clientData: String?
    package var authenticatorData: String?
    package var attestation: String?
    package var publicKey: String?
    package var signature: String?
    package var userHandle: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("store", \.store, "its folder"), RecordField("browser", \.browser, "the name of the pairing"),
        RecordField("logins", \.logins, "at most 20, the one that was changed last first"),
        RecordField("isMore", \.isMore, "whether there are others"),
        RecordField("like", \.like, "a saved host that the page's host looks like"),
        RecordField("username", \.username, "of the login"), RecordField("password", \.password, "of the login"),
        RecordField("code", \.code, "one-time code"), RecordField("seconds", \.seconds, "for which the code is good"),
        RecordField("id", \.id, "of the login that was written"), RecordField("title", \.title, "of that login"),
        RecordField("isChanged", \.isChanged, "whether its password was another one before"),
        RecordField("credential", \.credential, "the id of a passkey; this and the following in Base64 for addresses"),
        RecordField("clientData", \.clientData, "JSON"),
        RecordField("authenticatorData", \.authenticatorData, "as WebAuthn has it"),
        RecordField("attestation", \.attestation, "of a new passkey"),
        RecordField("publicKey", \.publicKey, "of a new passkey: SubjectPublicKeyInfo"),
        RecordField("signature", \.signature, "over authenticator data and the hash of client data"),
        RecordField("userHandle", \.userHandle, "of the account"))
}

/// A refusal, in words for the popup.
package struct BridgeFailure: Record {
    package static let recordName = "bridge-failure"
    package static let refusesUnknownFields = false

    package var code = ""
    package var message = ""

    package init() {}
    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }
    package static let layout = RecordLayout<Self>(
        RecordField("code", \.code, "of `errors.md`"), RecordField("message", \.message, "for a person"))
}

/// A reply as bytes of JSON, which the caller zeroes.
package enum BridgeReply {
    package static func answer(_ answer: some Record) -> [UInt8] { text("ok", answer) }
    package static func failure(_ failure: BridgeFailure) -> [UInt8] { text("error", failure) }

    private static func text(_ name: String, _ record: some Record) -> [UInt8] {
        Array(JSONValue.object([JSONValue.Member(name, record.json)]).text().utf8)
    }
}
