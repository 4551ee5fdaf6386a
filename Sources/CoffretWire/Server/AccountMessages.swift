// Which account an address means, as the server says. Invariant: a device believes none of it before a chain says the same.

package import CoffretBase

/// The accounts that an address means: [account(32)…], one at most. Answers `GET /v1/accounts`.
package struct AccountMatches: ServerMessage {
    package let accounts: [[UInt8]]

    package init(_ accounts: [[UInt8]]) { self.accounts = accounts }

    package static let form = CBORForm<[UInt8]>.account.list(countMax: 1, name: "account")
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(accounts, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { accounts = try Self.form.decode(&decoder) }
}
