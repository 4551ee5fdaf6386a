// Identities: the account's own, which this device keeps current, and those of others. Invariant: private halves are in this
// device's keyring, then in boxes for the others, and only then does a link name them.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
package import CoffretKeys
package import CoffretTrust
internal import CoffretWire

extension Account {
    // MARK: The own identity

    /// The account's own identity, current; founded if there is none.
    ///
    /// - Throws: `.failed` with a `TrustError` if the server rolled back or forked the chain; `.chainBusy`; `.keysAwaited` if
    ///   other devices alone have its private halves: they were asked.
    package func ownIdentity() throws -> (chain: VerifiedIdentityChain, keys: IdentityKeys) {
        guard let identity = try keepIdentity(founds: true), let chain = identity.chain else {
            throw AccountError(.chainBusy)
        }
        guard !identity.lacksKeys else { throw AccountError(.keysAwaited) }
        return (chain, identity.keys)
    }

    /// Looks after the identity of an account that has one: after a revocation or a recovery it sets, each 30 days it
    /// refreshes, and it asks for keys that are not here. It goes to the server only if something is to be done.
    package func lookAfterIdentity() throws {
        guard let identity = try own() else { return }
        if !identity.isCurrent || identity.lacksKeys || identity.hasKeysBehind || identity.isRefreshDue(at: clock.now) {
            _ = try keepIdentity(founds: false)
        }
    }

    /// Lets go of private halves whose time is over: after boxes and letters were opened.
    package func forgetIdentityKeys() throws {
        guard try inAccount(store.keyring.hasOldIdentityKeys()) else { return }
        _ = try inAccount(store.changeKeyring { keyring in try keyring.forgetIdentityKeys() })
    }

    private func own() throws -> OwnIdentity? { try inAccount(store.keyring.identity()) }

    /// - Parameter founds: whether link 0 is made if the account has none.
    /// - Returns: nil if there is none.
    private func keepIdentity(founds: Bool) throws -> OwnIdentity? {
        try lock.exclusively {
            for _ in 0..<ServerConnection.tryCountMax {
                try follow()
                try followOwnIdentity()
                let identity = try own()
                if identity?.chain == nil, !founds { return nil }
                if let identity, identity.isCurrent {
                    if identity.lacksKeys {
                        try askForKeys()
                        return identity
                    }
                    guard identity.isRefreshDue(at: clock.now) else { return identity }
                }
                try extendIdentity(sets: identity?.isCurrent != true)
            }
            throw AccountError(.chainBusy)
        }
    }

    /// Gets what is new in the account's identity chain, and keeps it.
    private func followOwnIdentity() throws {
        let (identity, devices) = (try own(), try inAccount(store.keyring.accountDevices()))
        let known = identity?.chain
        let links = try connection.identityLinks(of: devices.accountID, known: known)
        guard let known else {
            guard !links.isEmpty else { return }
            return try keep(inAccount(VerifiedIdentityChain.verify(links, devices: devices)))
        }
        let followed = try inAccount(known.following(links, devices: devices))
        if followed.links.count > known.links.count { try keep(followed) }
    }

    private func keep(_ chain: VerifiedIdentityChain) throws {
        try inAccount(store.changeKeyring { keyring in try keyring.keep(chain) })
    }

    /// Make, own keyring, boxes, link. A link that lost the race is followed by whoever calls.
    private func extendIdentity(sets: Bool) throws {
        let link = try inAccount(store.changeKeyring { keyring in try keyring.makeIdentityLink(sets: sets) })
        let devices = try inAccount(store.keyring.accountDevices())
        // Before anything leaves: what others would refuse is not sent.
        let links = try (own()?.chain?.links.map(\.link) ?? []) + [link]
        let chain = try inAccount(VerifiedIdentityChain.verify(links, devices: devices))
        try sendKeys()
        guard try connection.post(identity: link, to: devices.accountID) else { return }
        try keep(chain)
    }

    /// Asks the other devices for keys, unless this one has asked and nobody has answered yet.
    private func askForKeys() throws {
        let account = try inAccount(store.keyring.accountID())
        let path = "/v1/mailboxes/\(account.hex)"
        let own = try inAccount(store.keyring.deviceID())
        let entries = try connection.exchange("GET", path, as: MailboxEntries.self).entries
        let isAsked = entries.contains { entry in
            guard entry.deviceID == nil, let box = try? DeviceBox(decoding: entry.bytes) else { return false }
            return box.purpose == .keysWanted && box.senderID == own
        }
        guard !isAsked else { return }
        let box = try inAccount(store.keyring.wantKeys())
        try connection.send(
            "POST", path, MailboxPost(deviceID: nil, bytes: box.encoded).encoded(), accepted: [200, 201])
    }

    /// Sends a full box to a device of the account that asks for keys.
    ///
    /// - Returns: whether the question is done with.
    func answer(_ bytes: [UInt8]) throws -> Bool {
        guard let wanted = try? DeviceBox(decoding: bytes), wanted.purpose == .keysWanted else { return false }
        // A device that lacks them too leaves the question to others.
        guard try own()?.lacksKeys != true, let box = try? store.keyring.answer(wanted) else { return false }
        let account = try inAccount(store.keyring.accountID())
        try connection.send(
            "POST", "/v1/mailboxes/\(account.hex)",
            MailboxPost(deviceID: box.recipientID, bytes: box.encoded).encoded(),
            accepted: [200, 201])
        return true
    }
}

extension ServerConnection {
    private static func identityPath(_ account: ChainID) -> String { "/v1/chains/identity/\(account.hex)" }

    /// - Returns: whether the link was taken; else another one is in its place.
    func post(identity link: UnverifiedLink, to account: ChainID) throws -> Bool {
        let body = ChainAppend(link: link.encoded).encoded()
        return try send("POST", Self.identityPath(account), body, accepted: [200, 409]).status == 200
    }
}
