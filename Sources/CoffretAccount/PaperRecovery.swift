// An account by its sheet: making one, and coming back with it alone. Invariant: the sheet authenticates the account,
// not the server; the server's answers are verified from the account's id on the sheet.

package import CoffretBase
internal import CoffretCore
package import CoffretHTTP
package import CoffretKeys
package import CoffretTrust
package import CoffretWire

extension Account {
    /// Makes a paper device one of the account's, and seals it the keys of all synced vaults.
    ///
    /// - Parameter others: links that go with it, in one request: the server takes all or none. It is told the chain with the paper
    ///   device, again for each try.
    package func add(
        _ paper: PaperDevice, named name: String, at time: Milliseconds,
        with others: ((VerifiedDeviceChain) throws -> [LinkPost.Item])? = nil
    ) throws {
        try append(
            { account in
                try inAccount { () throws(KeyError) in
                    let operation = paper.addition(to: try account.store.keyring.deviceChain())
                    return try account.store.keyring.signLink(
                        operation, details: LinkDetails(name: name, time: time), subject: paper.deviceID)
                }
            }, with: others)
        try sendKeys()
    }

    /// Announces that a paper device will be revoked, or revokes it if this device announced it seven days ago.
    ///
    /// - Returns: whether it is revoked now.
    /// - Throws: `.failed` with `trust.device.revocation-too-early`.
    package func revokePaper(_ id: UniqueID, at time: Milliseconds) throws -> Bool {
        let isAnnounced = try inAccount { () throws(KeyError) in
            let own = try store.keyring.deviceID()
            return try store.keyring.deviceChain().announcements.contains { $0.target == id && $0.announcer == own }
        }
        try append { account in
            try inAccount { () throws(KeyError) in
                guard try account.store.keyring.deviceChain().device(id)?.isTrusted == true else { return nil }
                return try account.store.keyring.signLink(
                    isAnnounced ? .revokeAnnounced(id: id, time: time) : .announceRevocation(id: id, time: time))
            }
        }
        return isAnnounced
    }
}

/// A bare machine with a sheet in front of it.
package final class PaperRecovery {
    private let sheet: PaperSheet
    private let paper: PaperDevice
    private let connection: ServerConnection
    private let serverName: String
    private let random: any RandomSource
    private let clock: any WallClock

    /// Connects, and logs in as the paper device.
    package init(
        _ sheet: PaperSheet, settings: HTTPSettings, random: any RandomSource, clock: any WallClock
    ) throws {
        self.sheet = sheet
        self.random = random
        self.clock = clock
        let paper = PaperDevice(sheet.key)
        self.paper = paper
        connection = try ServerConnection(settings, random: random)
        serverName = try connection.logIn(account: sheet.accountID, device: paper.deviceID, name: nil) {
            (proof) throws(KeyError) in paper.login(proof)
        }
    }

    private func chain() throws -> VerifiedDeviceChain {
        let links = try connection.links(of: sheet.accountID, from: 0)
        let chain = try inAccount(VerifiedDeviceChain.verify(links, accountID: sheet.accountID))
        guard paper.isTrusted(in: chain) else { throw AccountError(.paperNotTrusted) }
        return chain
    }

    /// Adds a new device to the account.
    ///
    /// - Parameters:
    ///   - name: what the person's other devices call it; with a number if one of them is called so.
    /// - Returns: the account, for `Store.join`.
    /// - Throws: `.paperNotTrusted`; `.paperWithoutKeys`.
    package func join(named name: String, model: String) throws -> JoinedAccount {
        let device = NewDevice.generate(from: random)
        for _ in 0..<ServerConnection.tryCountMax {
            let chain = try chain()
            let path = "/v1/mailboxes/\(sheet.accountID.hex)"
            let boxes = try connection.exchange("GET", path, as: MailboxEntries.self).entries
                .filter { $0.deviceID == paper.deviceID }.compactMap { try? DeviceBox(decoding: $0.bytes) }
            guard let contents = paper.open(boxes, chain: chain, random: random) else {
                throw AccountError(.paperWithoutKeys)
            }
            let link = contents.link(
                adding: device, details: LinkDetails(name: name, model: model, time: clock.now), by: paper, to: chain,
                random: random)
            let followed = try inAccount(chain.following([link]))
            guard try connection.post(link, to: sheet.accountID, accepted: [200, 409]) == nil else { continue }
            return contents.account(of: device, chain: followed.chain, serverName: serverName)
        }
        throw AccountError(.chainBusy)
    }

    /// The devices that were revoked, and those that could not be.
    package struct Revocation: Equatable, Sendable {
        package var revoked: [UniqueID] = []
        package var keptPapers: [UniqueID] = []
    }

    /// Takes all devices out of the account but one, and the paper devices that this one may not take out.
    ///
    /// Its link is to the new device as if it had signed it: the new device gives the vaults new keys. Where there is nobody
    /// to take out nothing is sent.
    package func revokeOthers(keeping device: UniqueID) throws -> Revocation {
        for _ in 0..<ServerConnection.tryCountMax {
            let chain = try chain()
            let others = chain.devices.filter { $0.isTrusted && $0.id != device && $0.id != paper.deviceID }
            guard !others.isEmpty else { return Revocation() }
            var done = Revocation(revoked: others.map(\.id))
            var link = paper.recovery(of: chain, keeping: [device])
            if (try? chain.following([link])) == nil {
                done.keptPapers = others.filter { $0.kind == .paper }.map(\.id)
                done.revoked = others.filter { $0.kind != .paper }.map(\.id)
                guard !done.revoked.isEmpty else { return done }
                link = paper.recovery(of: chain, keeping: Set(done.keptPapers + [device]))
            }
            let checked = link
            _ = try inAccount(chain.following([checked]))
            guard try connection.post(link, to: sheet.accountID, accepted: [200, 409]) == nil else { continue }
            return done
        }
        throw AccountError(.chainBusy)
    }

    /// Takes this paper device itself out of the account; the devices that it brought stay.
    package func revokeItself() throws {
        for _ in 0..<ServerConnection.tryCountMax {
            let chain = try chain()
            let link = paper.ownRevocation(in: chain)
            _ = try inAccount(chain.following([link]))
            guard try connection.post(link, to: sheet.accountID, accepted: [200, 409]) == nil else { continue }
            return
        }
        throw AccountError(.chainBusy)
    }

    /// The record of the server after the recovery.
    package func serverRecord(_ settings: HTTPSettings) -> ServerRecord {
        ServerRecord(
            url: settings.address.url, fingerprint: connection.fingerprint, name: serverName,
            watch: ChainWatch(confirmedAt: clock.now))
    }

    package func logOut() { connection.logOut() }
}
