// Closing links that go to the server with the device link which makes them due (K2). The one thing to keep true: nothing here
// is taken before the server has taken all of it, and where it refuses, syncs write what is due.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
package import CoffretLogs
package import CoffretTrust
package import CoffretWire

/// Makes closing links of one vault.
package enum ClosingLink {
    /// The closing link that a device link makes due, as it goes in one request with that.
    ///
    /// - Parameters:
    ///   - chains: as they are followed, without the device link.
    ///   - head: the zone's head that this device read, empty for none; nil: any.
    /// - Returns: nil where none can be written now.
    package static func item(
        with deviceLink: UnverifiedLink, _ repository: LogRepository, _ chains: FollowedChains,
        keys: any LogKeyring, on head: [UInt8]?, now: Milliseconds
    ) throws -> LinkPost.Item? {
        var chains = chains
        do throws(FollowFailure) {
            try chains.takeOwn(deviceLink: deviceLink, of: repository.author.accountID, now: now)
        } catch {
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        let memory = LogMemory(of: repository)
        // A log that another copy writes is left first.
        guard memory.copied.isEmpty, let writer = LinkWriter(repository: repository, chains: chains, keys: keys) else {
            return nil
        }
        let draft = try writer.closing(hasUnreadable: memory.hasUnreadable, cursor: memory.cursor, now: now)
        return draft?.item(in: repository.keys.vaultID, on: head)
    }
}

extension Store {
    /// The closing link of a synced vault, to be sent with a device link of this account.
    ///
    /// - Parameters:
    ///   - head: the zone's head that a sync read just now, empty for none; nil: any.
    ///   - sendKeys: sends the key that was made to the devices that stay.
    /// - Returns: nil where none can be written now, or is not due.
    package func closingLink(
        of record: VaultRecord, with deviceLink: UnverifiedLink, on head: [UInt8]?, clock: any WallClock,
        sendKeys: @escaping () throws -> Void
    ) throws -> LinkPost.Item? {
        let lock = try SyncLock.take(
            layout.vaultPath(record.vaultID), fileSystem, patienceMilliseconds: Self.lockTimeoutMilliseconds)
        defer { lock.giveBack() }
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        let keys = try StoreLogKeyring(keyring, record.vaultID, send: sendKeys)
        return try ClosingLink.item(
            with: deviceLink, vault.repository, followedChains(of: record.vaultID), keys: keys, on: head,
            now: clock.now)
    }
}
