// Requests to an account's server about other people. Invariant: an answer is a hint, and a chain that leads to the account
// decides.

internal import CoffretBase
package import CoffretTrust
package import CoffretWire

extension ServerConnection {
    /// The vaults whose member chains name this session's account: those that wait for its answer too.
    ///
    /// - Throws: `.refused`, `.answerMalformed`, `.failed`.
    package func memberships() throws -> [Memberships.Entry] {
        try exchange("GET", "/v1/memberships", as: Memberships.self).entries
    }

    /// How each vault of this session's account stands. It is a hint.
    ///
    /// - Throws: as `memberships`.
    package func heads() throws -> [ZoneHeads.Entry] {
        try exchange("GET", "/v1/heads", as: ZoneHeads.self).entries
    }

    /// The account that a full address names; nil if this server has none, or several.
    ///
    /// - Parameter prefix: the first 130 bits of an account's id in 17 bytes, zeros behind them.
    /// - Throws: as `memberships`; `.refused` with `server.rate.exceeded` after 10 questions in a minute.
    package func account(withAddress prefix: [UInt8]) throws -> ChainID? {
        try account("address", prefix)
    }

    /// The account that a short address names. It finds and proves nothing.
    ///
    /// - Parameter prefix: the first 40 bits of an account's id in 5 bytes.
    /// - Throws: as `account(withAddress:)`.
    package func account(withShortAddress prefix: [UInt8]) throws -> ChainID? { try account("short", prefix) }

    private func account(_ name: String, _ prefix: [UInt8]) throws -> ChainID? {
        let found = try exchange("GET", "/v1/accounts?\(name)=" + Hex.encode(prefix), as: AccountMatches.self)
        // An id that does not begin so is somebody else.
        guard let id = found.accounts.first, name == "short" ? id.starts(with: prefix) : Self.agrees(id, prefix) else {
            guard found.accounts.isEmpty else { throw AccountError(.answerMalformed) }
            return nil
        }
        return ChainID(id)
    }

    private static func agrees(_ id: [UInt8], _ prefix: [UInt8]) -> Bool {
        guard prefix.count == ServerLimits.addressPrefixByteCount, let last = prefix.last else { return false }
        let mask = ~(UInt8.max >> (ServerLimits.addressBitCount % 8))
        return id.starts(with: prefix.dropLast()) && id[prefix.count - 1] & mask == last
    }
}
