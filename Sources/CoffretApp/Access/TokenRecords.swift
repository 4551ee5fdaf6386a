// Tokens as they are shown and kept. Invariant: no record holds the secret of a token.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
package import CoffretWire

/// A token with its limits, for a person to read.
package struct TokenMessage: Record {
    package static let recordName = "token"
    package static let refusesUnknownFields = false

    package enum Access: String, RecordChoice {
        case list, read, write
    }

    package var name = ""
    package var access: Access?
    package var operations: [String]?
    package var vaults: [String]?
    package var tags: [String]?
    package var reason = ""
    package var created = WireMoment(0)
    package var until: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "what the person calls it"),
        RecordField("access", \.access, "it allows operations that need this access or less"),
        RecordField("operations", \.operations, "names of operations that it allows beside those"),
        RecordField("vaults", \.vaults, "ids; without it all vaults"),
        RecordField("tags", \.tags, "items with one of these or one below it; without it all items"),
        RecordField("reason", \.reason, "what it is for"), RecordField("created", \.created, "when it was made"),
        RecordField("until", \.until, "when it ends"))

    package var grant: AccessGrant {
        get throws {
            var grant = AccessGrant(access: access.flatMap { OperationAccess(rawValue: $0.rawValue) } ?? .none)
            grant.operations = Set(operations ?? [])
            grant.vaults = try vaults.map { try Set($0.map(Self.vaultID)) }
            grant.tags = try tags.map { try $0.map { try TagPath($0) } }
            return grant
        }
    }

    private static func vaultID(_ text: String) throws -> VaultID {
        guard let bytes = try? Hex.decode(text), let id = VaultID(bytes) else { throw AccessError(.altered) }
        return id
    }
}

/// A token as it is kept.
struct KeptToken: Record {
    static let recordName = "kept-token"

    /// 32 hexadecimal digits: another token of the same name is another one.
    var id = ""
    var hash = ""
    var token = TokenMessage()

    init() {}
    static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"),
        RecordField("hash", \.hash, "of the secret, 64 hexadecimal digits"),
        RecordField("token", \.token, "what it allows"))
}

/// All tokens of a store on this machine.
struct KeptTokens: Record {
    static let recordName = "kept-tokens"

    var number = 0
    var tokens: [KeptToken] = []

    init() {}
    static let layout = RecordLayout<Self>(
        RecordField("number", \.number, "of changes so far"), RecordField("tokens", \.tokens, "by name"))
}
