// An account at a server that was put back to an older state, or emptied. Invariant: a person said that it was, and
// the server gets back only what every server of the account is given.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretTrust
internal import CoffretWire

extension Account {
    /// Logs in at a server that lost something, and gives it the links of the device chain that it lacks.
    ///
    /// A server that lost the account gets its first link as at joining, which lets in the device that began it.
    /// - Throws: as `init`: a device that the server does not know waits until one that it knows has done this.
    package static func atRestoredServer(
        _ store: Store, random: any RandomSource, clock: any WallClock
    ) throws -> Account {
        let account: Account
        do {
            account = try Account(store, random: random, clock: clock)
        } catch let error as AccountError
            where error.code == .refused && error.place == "server.login.refused"
        {
            try registerAgain(store, random)
            account = try Account(store, random: random, clock: clock)
        }
        try account.sendLostLinks()
        try account.sendLostIdentity()
        return account
    }

    private static func registerAgain(_ store: Store, _ random: any RandomSource) throws {
        let (record, chain) = try inAccount((try store.keyring.server(), try store.keyring.deviceChain()))
        guard let record else { throw AccountError(.notJoined) }
        let connection = try ServerConnection(ServerConnection.settings(for: record), random: random)
        let registration = AccountRegistration(link: chain.links[0].link.encoded, invitation: [])
        try connection.send("POST", "/v1/accounts", registration.encoded(), accepted: [200, 201])
    }

    /// The server's links must be the beginning of those here; `follow` examines anything else.
    private func sendLostLinks() throws {
        let chain = try inAccount(store.keyring.deviceChain())
        let stored = try connection.links(of: chain.accountID, from: 0)
        guard stored.count < chain.links.count, zip(stored, chain.links).allSatisfy({ $0 == $1.link }) else { return }
        for link in chain.links[stored.count...] {
            guard try connection.post(link.link, to: chain.accountID, accepted: [200, 409]) == nil else { return }
        }
    }

    /// The same for the links of the account's identity.
    private func sendLostIdentity() throws {
        guard let chain = try inAccount(store.keyring.identity())?.chain else { return }
        let stored = try connection.identityLinks(of: chain.accountID, known: nil)
        guard stored.count < chain.links.count, zip(stored, chain.links).allSatisfy({ $0 == $1.link }) else { return }
        for link in chain.links[stored.count...] {
            // A server takes a few in a day; the next run that says it was put back sends more.
            guard (try? connection.post(identity: link.link, to: chain.accountID)) == true else { return }
        }
    }

    /// Makes the synced vaults' places where they are gone, and leaves the other devices their keys again.
    package func restorePlaces() throws {
        let vaults = try inAccount(store.allVaults)
        for vault in vaults where vault.kind == .synced { try makeZone(for: vault) }
        try sendKeys()
    }
}
