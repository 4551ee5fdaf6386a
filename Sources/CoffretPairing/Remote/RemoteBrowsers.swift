// What a browser on another machine says and is told. Invariant: a browser asks for the login of one origin, and for nothing else.

package import CoffretBase
package import CoffretCrypto

/// What a device tells a browser that may ask it from then on.
///
/// Layout, JSON: `id`, `account`, `device`, `name`, `key`; bytes as hexadecimal digits. Spec: Spec/remote.md section 5.
package struct RemoteAdmission: Equatable, Sendable {
    /// The browser's, made by the device.
    package let id: UniqueID
    /// Of the account, as its server knows it.
    package let account: [UInt8]
    package let device: UniqueID
    /// Of the device, for a person.
    package let name: String
    /// The device's Noise key.
    package let key: AgreementPublicKey

    package init(id: UniqueID, account: [UInt8], device: UniqueID, name: String, key: AgreementPublicKey) {
        (self.id, self.account, self.device, self.name, self.key) = (id, account, device, name, key)
    }

    var members: [JSONValue.Member] {
        [
            .init("id", .string(id.hex)), .init("account", .string(Hex.encode(account))),
            .init("device", .string(device.hex)), .init("name", .string(name)),
            .init("key", .string(Hex.encode(key.bytes))),
        ]
    }
}

/// The login that a browser asks for.
///
/// Layout, JSON: `origin`, `username`?, `field`: `password` or `code`. Spec: Spec/remote.md section 5.
package struct RemoteLoginRequest: Equatable, Sendable {
    private static let originByteCountMax = 300

    /// Of the page, as the browser writes it; nobody has judged it yet.
    package let origin: String
    /// What stands in the page, to tell two logins apart.
    package let username: String?
    /// Whether a one-time code is wanted, and no password.
    package let wantsCode: Bool

    /// - Throws: `.mismatch` for anything that is no such request.
    init(decoding bytes: [UInt8]) throws(RemoteError) {
        guard case .object(let members)? = try? JSONValue(parsing: bytes), (2...3).contains(members.count),
            case let values = Dictionary(members.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
            let origin = values["origin"]?.string, (1...Self.originByteCountMax).contains(origin.utf8.count),
            let field = values["field"]?.string, ["password", "code"].contains(field)
        else { throw RemoteError(.mismatch) }
        self.origin = origin
        wantsCode = field == "code"
        if let given = values["username"] {
            guard let name = given.string, (1...RemoteLimits.fieldByteCountMax).contains(name.utf8.count) else {
                throw RemoteError(.mismatch)
            }
            username = name
        } else {
            guard members.count == 2 else { throw RemoteError(.mismatch) }
            username = nil
        }
    }
}

/// Whose key opened a request.
package enum RemoteAskerKey {
    /// That of a trusted device of the account.
    case device(AgreementPublicKey)
    /// That of a browser that was let in with a code.
    case browser(AgreementPublicKey)
}

/// What is asked for: a device names an item, a browser an origin.
package enum RemoteWish: Equatable, Sendable {
    case item(RemoteRequest)
    case login(RemoteLoginRequest)
}

extension RemoteValue {
    var members: [JSONValue.Member] {
        [JSONValue.Member("label", .string(label)), JSONValue.Member("value", .string(value))]
            + (seconds.map { [JSONValue.Member("seconds", .integer($0))] } ?? [])
    }
}

extension RemoteReply {
    /// The answer for a browser: JSON of `title`, `label`, `value` and perhaps `seconds`, or of `refused`, filled. The caller zeroes it.
    var filledForBrowser: [UInt8] {
        switch self {
        case .value(let sent): RemoteFilling.filled([.init("title", .string(sent.title))] + sent.members)
        case .refused(let code): RemoteFilling.filled([.init("refused", .string(code.rawValue))])
        }
    }
}
