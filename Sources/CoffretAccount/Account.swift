// A store's account on its server: joining, following the device chain, adding to it, sending keys to other devices.
// Invariant: the chain in the keyring changes only by what `following` verified.

package import CoffretBase
package import CoffretCore
package import CoffretCrypto
package import CoffretHTTP
package import CoffretKeys
internal import CoffretLogs
package import CoffretTrust
package import CoffretWire

/// An account, logged in at its server.
package final class Account {
    package let store: Store
    package let connection: ServerConnection
    let clock: any WallClock
    let lock: AccountLock
    /// With other processes of this device.
    package var patience: AccountPatience {
        get { lock.patience }
        set { lock.patience = newValue }
    }

    /// Connects and logs in.
    ///
    /// - Throws: `.notJoined` if the store has no server.
    package init(_ store: Store, random: any RandomSource, clock: any WallClock) throws {
        let record = try inAccount(store.keyring.server())
        guard let record else { throw AccountError(.notJoined) }
        self.store = store
        self.clock = clock
        lock = AccountLock(store)
        connection = try ServerConnection(ServerConnection.settings(for: record), random: random)
        try Self.logIn(store, connection, name: record.name)
    }

    /// Over a connection that is logged in.
    package init(_ store: Store, _ connection: ServerConnection, clock: any WallClock) {
        self.store = store
        self.connection = connection
        self.clock = clock
        lock = AccountLock(store)
    }

    @discardableResult
    private static func logIn(
        _ store: Store, _ connection: ServerConnection, name: String?
    ) throws -> String {
        let (account, device) = try inAccount((try store.keyring.accountID(), try store.keyring.deviceID()))
        return try connection.logIn(account: account, device: device, name: name) { (proof) throws(KeyError) in
            try store.keyring.login { _, _ in proof }
        }
    }

    /// Logs in anew, after the server forgot the session.
    package func renewSession() throws {
        let name = try inAccount(store.keyring.server()?.name)
        try Self.logIn(store, connection, name: name)
    }

    /// Registers the store's account at a server and remembers it.
    ///
    /// - Parameters:
    ///   - settings: with the server's key, unless it is spoken to without TLS.
    ///   - invitation: empty where none is needed.
    /// - Throws: `.alreadyJoined`; `.refused` with `server.registration.…`.
    package static func join(
        _ store: Store, settings: HTTPSettings, invitation: [UInt8], random: any RandomSource, clock: any WallClock
    ) throws -> Account {
        let (record, chain) = try inAccount((try store.keyring.server(), try store.keyring.deviceChain()))
        guard record == nil else { throw AccountError(.alreadyJoined, at: record?.url) }
        let connection = try ServerConnection(settings, random: random)
        let registration = AccountRegistration(link: chain.links[0].link.encoded, invitation: invitation)
        try connection.send("POST", "/v1/accounts", registration.encoded(), accepted: [200, 201])
        let name = try logIn(store, connection, name: nil)
        let account = Account(store, connection, clock: clock)
        // An account may have grown before it had a server; a half-made join may have sent some of it.
        for link in chain.links.dropFirst() {
            let answer = try account.post(link.link, accepted: [200, 409, 422])
            guard answer == nil else { break }
        }
        try inCore(
            store.changeKeyring { keyring in
                try keyring.setServer(
                    ServerRecord(
                        url: settings.address.url, fingerprint: connection.fingerprint, name: name,
                        watch: ChainWatch(confirmedAt: clock.now)))
            })
        try account.follow()
        return account
    }

    private static func inCore<Result>(_ value: @autoclosure () throws -> Result) throws
        -> Result
    {
        try inAccount(value())
    }

    // MARK: Other processes

    /// Goes on with what other processes of this device have made of the keyring, as far as the store was opened to follow.
    ///
    /// - Throws: `.failed` with `keys.keyring.changed` if it cannot go on with that: who opened it may be shut out.
    package func readAgain() throws {
        _ = try Self.inCore(store.readKeyringAgain())
    }

    /// Does something that begins with reading the keyring, again where another process has changed that meanwhile.
    private func changing<Result>(_ body: () throws -> Result) throws -> Result {
        for _ in 1..<ServerConnection.tryCountMax {
            do {
                return try body()
            } catch let error as AccountError {
                guard try readAgain(after: error) else { throw error }
            }
        }
        return try body()
    }

    /// - Returns: whether the error comes from a keyring that another process changed, and this one goes on with that.
    private func readAgain(after error: AccountError) throws -> Bool {
        guard let cause = error.cause as? CoreError else { return false }
        // The process that changed it has informed the vaults already.
        let isChanged = (cause.cause as? KeyError)?.code == .keyringChanged || cause.code == .storeRolledBack
        guard isChanged else { return false }
        return try Self.inCore(store.readKeyringAgain())
    }

    private var chain: VerifiedDeviceChain {
        get throws { try inAccount(store.keyring.deviceChain()) }
    }

    // MARK: The chain

    /// Gets what is new in the device chain and keeps it.
    ///
    /// - Returns: what was new, and what a recovery replaced.
    /// - Throws: `.failed` with a `TrustError`: the server rolled back or forked the chain.
    @discardableResult
    package func follow() throws -> FollowedDeviceChain {
        try changing { try followOnce() }
    }

    private func followOnce() throws -> FollowedDeviceChain {
        let chain = try chain
        let watch = try inAccount(store.keyring.server()?.watch)
        let now = clock.now
        let followed: FollowedDeviceChain
        do {
            followed = try Self.following(
                chain, try links(of: chain, from: chain.head.sequenceNumber), watch: watch, now: now)
        } catch let error as AccountError {
            // The links may begin behind a recovery: it shows only in the whole chain.
            guard let trust = error.cause as? TrustError, [.chainForked, .chainRolledBack].contains(trust.code) else {
                throw error
            }
            followed = try Self.following(chain, try links(of: chain, from: 0), watch: watch, now: now)
        }
        let isDue = now &- (watch?.confirmedAt ?? 0) > 86_400_000
        if !followed.newLinks.isEmpty || !followed.replacedLinks.isEmpty || isDue { try adopt(followed) }
        return followed
    }

    private static func following(
        _ chain: VerifiedDeviceChain, _ links: [UnverifiedLink], watch: ChainWatch?, now: Milliseconds?
    ) throws -> FollowedDeviceChain {
        try inAccount(chain.following(links, watch: watch, now: now))
    }

    private func adopt(_ followed: FollowedDeviceChain) throws {
        try lock.exclusively {
            try Self.inCore(store.changeKeyring { keyring in try keyring.adopt(followed) })
        }
    }

    private func links(of chain: VerifiedDeviceChain, from start: UInt64) throws -> [UnverifiedLink] {
        try connection.links(of: chain.accountID, from: start)
    }

    /// nil if the link was taken, the answer's status otherwise.
    private func post(_ link: UnverifiedLink, accepted: Set<Int>) throws -> Int? {
        try connection.post(link, to: chain.accountID, accepted: accepted)
    }

    /// Adds a link to the chain at the server, and then here; signs it anew if another device was faster.
    ///
    /// - Parameters:
    ///   - make: signs the next link of the chain in the keyring; nil if nothing is left to do.
    ///   - others: links that go with it, in one request: the server takes all or none. It is told the chain with the new link.
    package func append(
        _ make: (Account) throws -> UnverifiedLink?,
        with others: ((VerifiedDeviceChain) throws -> [LinkPost.Item])? = nil
    ) throws {
        // Else another process of this device hears of the link and keeps it first, and this one, whose keyring is old
        // then, breaks off between the link and what goes with it.
        try lock.exclusively { try appendLocked(make, others) }
    }

    private func appendLocked(
        _ make: (Account) throws -> UnverifiedLink?, _ others: ((VerifiedDeviceChain) throws -> [LinkPost.Item])?
    ) throws {
        for _ in 0..<ServerConnection.tryCountMax {
            try follow()
            guard let link = try make(self) else { return }
            // Before anything leaves: what others would refuse is not sent.
            let chain = try chain
            let watch = try inAccount(store.keyring.server()?.watch)
            let followed = try Self.following(chain, [link], watch: watch, now: clock.now)
            if let others {
                let own = LinkPost.Item(
                    kind: ChainKind.device.rawValue, chainID: chain.accountID.bytes, link: link.encoded)
                let body = try LinkPost([own] + others(followed.chain)).encoded()
                guard try connection.send("POST", "/v1/links", body, accepted: [200, 409]).status == 200 else {
                    continue
                }
            } else {
                guard try post(link, accepted: [200, 409]) == nil else { continue }
            }
            return try adoptOwn(followed)
        }
        throw AccountError(.chainBusy)
    }

    /// Keeps a link of this device that the server took.
    private func adoptOwn(_ followed: FollowedDeviceChain) throws {
        do {
            try adopt(followed)
        } catch let error as AccountError {
            // It is in the chain, so it comes with what is new there.
            guard try readAgain(after: error) else { throw error }
            try follow()
        }
    }

    /// Revokes a device, with those of the devices that it brought which go with it; the others are kept (K10).
    ///
    /// - Parameters:
    ///   - going: devices that go with it, as far as it brought them and no paper is among them.
    ///   - closings: gives the links that close the devices in vaults, in one request with the device link (K2): told that link,
    ///     who is revoked, and how often the server had moved on. Where it gives none, or the server refuses them, each vault is
    ///     closed by its next sync.
    package func revoke(
        _ device: UniqueID, with going: Set<UniqueID> = [],
        closings: (UnverifiedLink, _ revoked: Set<UniqueID>, _ refusalCount: Int) throws -> [LinkPost.Item] = {
            _, _, _ in
            []
        }
    ) throws {
        try lock.exclusively {
            for attempt in 0..<ServerConnection.tryCountMax {
                try follow()
                let chain = try chain
                // Another device may have done it meanwhile.
                guard chain.device(device)?.isTrusted == true else { return }
                let brought = chain.broughtDevices(by: device)
                let goes = brought.filter { going.contains($0.id) && $0.kind != .paper }.map(\.id)
                let stays = brought.map(\.id).filter { !goes.contains($0) }
                let link = try inAccount { () throws(KeyError) in
                    try store.keyring.signLink(
                        .revoke(
                            id: device,
                            brought: brought.isEmpty ? nil : BroughtDevices(going: goes.sorted(), kept: stays.sorted()))
                    )
                }
                let watch = try inAccount(store.keyring.server()?.watch)
                // Before anything leaves: what others would refuse is not sent.
                let followed = try Self.following(chain, [link], watch: watch, now: clock.now)
                let items = try closings(link, Set([device] + goes), attempt)
                guard try postTogether(link, of: chain.accountID, items) else { continue }
                return try adoptOwn(followed)
            }
            throw AccountError(.chainBusy)
        }
        // The revocation stands; an identity that is not set anew now is by the next sync of any device.
        try? lookAfterIdentity()
    }

    /// - Returns: false where the chain or a zone has moved on; then nothing was taken.
    private func postTogether(
        _ link: UnverifiedLink, of account: ChainID, _ others: [LinkPost.Item]
    ) throws -> Bool {
        guard !others.isEmpty else { return try post(link, accepted: [200, 409]) == nil }
        let own = LinkPost.Item(kind: ChainKind.device.rawValue, chainID: account.bytes, link: link.encoded)
        let items = [own] + others.prefix(ServerLimits.linkCountMaxPerPost - 1)
        do {
            let body = LinkPost(items).encoded()
            return try connection.send("POST", "/v1/links", body, accepted: [200, 409, 412]).status == 200
        } catch let error as AccountError where error.code == .refused {
            // The revocation does not wait for the vaults.
            return try post(link, accepted: [200, 409]) == nil
        }
    }

    /// Gives a device another name, for all of the person's devices.
    package func rename(_ device: UniqueID, to name: String) throws {
        try append { account in
            try inAccount(account.store.keyring.signRename(of: device, to: name))
        }
    }

    /// Renames a device of an account that has no server.
    package static func renameLocally(_ device: UniqueID, to name: String, in store: Store) throws {
        let link = try inAccount(store.keyring.signRename(of: device, to: name))
        let chain = try inAccount(store.keyring.deviceChain())
        let followed = try following(chain, [link], watch: nil, now: nil)
        try inCore(store.changeKeyring { keyring in try keyring.adopt(followed) })
    }

    // MARK: Pairing

    /// Devices that wait on the relay and claim to be new devices of this account, oldest first.
    ///
    /// None at a server that does not know of that yet.
    package func pairingRequests() throws -> [PairingRequest] {
        try connection.pairingRequests(now: clock.now)
    }

    // MARK: Vaults

    /// Links in one request.
    private static let linkCountMax = 64

    /// Makes a vault's place at the server, if it has none yet, and gives it the links of the vault that it lacks.
    package func makeZone(for vault: VaultRecord) throws {
        var links = try store.followedChains(of: vault.vaultID).links[...]
        while !links.isEmpty {
            let items = links.prefix(Self.linkCountMax).map { link in
                LinkPost.Item(
                    kind: ChainKind.member.rawValue, chainID: vault.vaultID.bytes, link: link.encoded,
                    expectedHead: nil)
            }
            links = links.dropFirst(items.count)
            // A server that has other links shows them to the next sync.
            try connection.send("POST", "/v1/links", LinkPost(items).encoded(), accepted: [200, 409])
        }
    }

    /// Deletes a vault's place at the server with all that lies there; nothing happens if it has none.
    ///
    /// A server keeps it for 30 days; where this device syncs the vault again until then, it goes on with it.
    package func deleteZone(of vault: VaultRecord) throws {
        let identity = try inAccount(store.keyring.authorIdentity(for: vault.vaultID))
        let signature = ZoneProof.deletion(accountID: identity.accountID.bytes)
            .sign(zone: vault.vaultID.bytes, with: identity.signingKey)
        try connection.send(
            "POST", "/v1/zones/\(vault.vaultID.hex)/delete", ZoneDeletion(signature: signature).encoded(),
            accepted: [204, 404])
    }

    // MARK: Keys

    /// Puts the keys of all synced vaults into the other devices' mailbox.
    ///
    /// - Parameter followed: the account as a sync has followed it: nobody whom that took out gets a key.
    package func sendKeys(behind followed: VerifiedDeviceChain) throws {
        let head = followed.head.sequenceNumber
        if try chain.head.sequenceNumber < head || chain.links[Int(head)].hash != followed.head.linkHash {
            try follow()
        }
        let chain = try chain
        guard chain.head.sequenceNumber >= head, chain.links[Int(head)].hash == followed.head.linkHash else {
            throw AccountError(.chainBusy)
        }
        try sendKeys()
    }

    /// Puts the keys of all synced vaults into the other devices' mailbox.
    ///
    /// - Parameter revoked: devices that get none.
    package func sendKeys(sparing revoked: Set<UniqueID> = []) throws {
        let (boxes, chain) = (try inAccount(store.keyring.makeDeviceBoxes()), try chain)
        let path = "/v1/mailboxes/\(chain.accountID.hex)"
        for box in boxes where !revoked.contains(box.recipientID) {
            let post = MailboxPost(deviceID: box.recipientID, bytes: box.encoded)
            do {
                try connection.send("POST", path, post.encoded(), accepted: [200, 201])
            } catch let error as AccountError
                where error.code == .refused && error.place == "server.mailbox.recipient-unknown"
            {
                // Revoked meanwhile, by a link that this device has not seen yet; the others get theirs.
            }
        }
    }

    /// Takes keys that other devices sent, and sends some to a device that asks for them.
    ///
    /// A box that cannot be opened stays there: it may be from a device that this one does not know yet.
    /// - Returns: vaults that are new here or have new keys.
    package func receiveKeys() throws -> (added: [VaultID], renewed: [VaultID]) {
        let path = "/v1/mailboxes/\(try chain.accountID.hex)"
        let entries = try connection.exchange("GET", path, as: MailboxEntries.self).entries
        let own = try inAccount(store.keyring.deviceID())
        var (added, renewed): ([VaultID], [VaultID]) = ([], [])
        for entry in entries {
            guard entry.deviceID == own else {
                if entry.deviceID == nil, try answer(entry.bytes) {
                    try connection.send("DELETE", "\(path)/\(entry.id.hex)", accepted: [200, 204, 404])
                }
                continue
            }
            guard let box = try? DeviceBox(decoding: entry.bytes), box.recipientID == own else { continue }
            guard let vaults = try? store.acceptKeys(box) else { continue }
            added += vaults.added
            renewed += vaults.renewed
            try connection.send("DELETE", "\(path)/\(entry.id.hex)", accepted: [200, 204, 404])
        }
        return (added, renewed)
    }
}
