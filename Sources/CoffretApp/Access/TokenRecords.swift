// Tokens as they are shown and kept. Invariant: no record holds the secret of a token.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
package import CoffretWire

extension TokenMessage {
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
