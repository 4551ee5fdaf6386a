// Where revocations take effect in a vault. The one thing to keep true: the cut is written after the keys went out and
// before anything else is written under them, and once.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage
internal import CoffretTrust

/// Writes the epoch commits that revocations ask for (protocol 3).
struct RevocationCuts {
    let chain: VerifiedDeviceChain
    let signers: any CommitSignerDirectory

    /// Writes one epoch commit, if a device was revoked and no commit in the vault says where that takes effect.
    ///
    /// - Parameter last: the newest revoking link to look at.
    /// - Returns: whether it was written.
    @discardableResult
    func write(in repository: VaultRepository, upTo last: UInt64, time: Milliseconds) throws -> Bool {
        // Paper writes no commits; what it is revoked for is told by the chain alone.
        guard try lacksCut(in: repository, upTo: last) else { return false }
        try repository.commitEpoch(time: time)
        return true
    }

    /// Revoked devices of which the vault says what of theirs counts: whatever else they left, it can do without.
    func devicesWithCut(in repository: VaultRepository) throws(StorageError) -> Set<[UInt8]> {
        guard !repository.headNames.isEmpty else { return [] }
        var devices: Set<[UInt8]> = []
        for device in chain.devices {
            guard let link = device.revokedAt, try !lacksCut(in: repository, upTo: link) else { continue }
            devices.insert(device.id.bytes)
        }
        return devices
    }

    func lacksCut(in repository: VaultRepository, upTo last: UInt64) throws(StorageError) -> Bool {
        let positions = chain.devices.filter { $0.kind == .ordinary }.compactMap(\.revokedAt).filter { $0 <= last }
        guard let newest = positions.max(), !repository.headNames.isEmpty else { return false }
        return try !repository.hasCut(at: newest, account: chain.accountID.bytes, signers: signers)
    }
}

extension Store {
    /// Whether a revocation by this device has not taken effect yet in some synced vault: its keys may not have gone out.
    package func lacksOwnCut() throws -> Bool {
        guard let own = try keyring.newestOwnRevocation() else { return false }
        let cuts = RevocationCuts(chain: try keyring.deviceChain(), signers: try signers())
        for record in try vaults where record.kind == .synced {
            let vault = try openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            if try cuts.lacksCut(in: vault.repository, upTo: own) { return true }
        }
        return false
    }

    /// Says in a vault where all revocations take effect: in what this device has. For when whoever revoked will not.
    ///
    /// - Returns: whether nobody had said it.
    package func writeCut(in record: VaultRecord, clock: any WallClock) throws -> Bool {
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        return try RevocationCuts(chain: try keyring.deviceChain(), signers: try signers())
            .write(in: vault.repository, upTo: .max, time: clock.now)
    }
}

extension SyncReport {
    /// Both as one.
    package func followed(by next: SyncReport) -> SyncReport {
        var both = next
        both.receivedCommitCount += receivedCommitCount
        both.sentCommitCount += sentCommitCount
        both.mergeCount += mergeCount
        both.conflictedItemCount = max(conflictedItemCount, next.conflictedItemCount)
        both.quarantinedCount += quarantinedCount
        both.setAsideCount += setAsideCount
        both.replacedHeadCount += replacedHeadCount
        both.removals = removals + next.removals
        both.removedCommitCount += removedCommitCount
        both.sentFileCount += sentFileCount
        both.sentFileByteCount += sentFileByteCount
        both.absentFileCount = max(absentFileCount, next.absentFileCount)
        both.sweep = sweep.followed(by: next.sweep)
        both.olderWords += olderWords.filter { !next.olderWords.contains($0) }
        both.requestCount += requestCount
        both.progress.receivedCount += progress.receivedCount
        both.progress.receivedByteCount += progress.receivedByteCount
        both.progress.sentCount += progress.sentCount
        both.progress.sentByteCount += progress.sentByteCount
        return both
    }
}
