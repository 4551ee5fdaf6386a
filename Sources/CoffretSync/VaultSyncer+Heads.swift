// What follows from a sync for the other synced vaults: its head is noted for their commits, and what commits here state of
// them is handed on. The one thing to keep true: neither is a reason for the sync to fail.

internal import CoffretBase
internal import CoffretCore
package import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTrust

extension VaultSyncer {
    /// Where the newest revocation stands that this device knows.
    static func newestRevocation(in chain: VerifiedDeviceChain) -> UInt64? {
        chain.devices.compactMap(\.revokedAt).max()
    }

    /// The first link that revoked a device after one was added.
    static func revocation(after device: UniqueID, in chain: VerifiedDeviceChain) -> UInt64? {
        guard let added = chain.device(device)?.addedAt else { return nil }
        return chain.devices.filter { $0.kind == .ordinary }.compactMap(\.revokedAt).filter { $0 > added }.min()
    }

    package func takeStatedVaults() -> Set<VaultID> {
        defer { statedVaults = [] }
        return statedVaults
    }

    /// - Parameter chain: as it was when the sync began.
    func spreadHeads(
        _ chain: VerifiedDeviceChain, signers: any CommitSignerDirectory, others: Set<UniqueID>
    ) {
        guard let synced = try? store.vaults.filter({ $0.kind == .synced }), synced.count > 1,
            let memory = try? currentMemory(), (try? vault.repository.presentStanding) == .whole
        else { return }
        noteHead(of: memory, chain)
        guard !memory.unchecked.isEmpty else { return }
        var left: [UncheckedHead] = []
        for (vaultID, heads) in Dictionary(grouping: memory.unchecked, by: \.seen.vaultID) {
            guard let other = synced.first(where: { $0.vaultID == vaultID }), vaultID != record.vaultID else {
                continue
            }
            do {
                if try handOn(heads, to: other, chain, signers, others) { statedVaults.insert(vaultID) }
            } catch {
                // Somebody syncs it just now, or it does not open: with the next sync of this one.
                left += heads
            }
        }
        guard left != memory.unchecked else { return }
        try? remember { $0.unchecked = left }
    }

    private func currentMemory() throws -> SyncMemory? {
        try vault.repository.refresh()
        return try VaultSync.memory(of: vault.repository)
    }

    private func remember(_ change: (inout SyncMemory) -> Void) throws {
        let writer = try store.openVault(record.vaultID.hex, isWritable: true)
        defer { writer.close() }
        guard var memory = try VaultSync.memory(of: writer.repository) else { return }
        change(&memory)
        try writer.repository.setSyncNote(memory.encode())
        try vault.repository.refresh()
    }

    /// Only what counts here is ever stated: a head that a revocation took out is none.
    private func noteHead(of memory: SyncMemory, _ chain: VerifiedDeviceChain) {
        let repository = vault.repository
        guard let head = memory.head, head != notedHead, let own = repository.headNames.first,
            let dot = try? repository.dot(ofCommit: head), (try? repository.isKnown(head, to: own)) == true
        else { return }
        notedHead = head
        guard (try? store.notedZoneHead(of: record.vaultID)) != head else { return }
        let seen = SeenHead(
            vaultID: record.vaultID, head: head, dot: dot, chainPosition: chain.head.sequenceNumber)
        try? store.noteZoneHead(seen, time: clock.now)
    }

    /// Holds heads that were stated here against the vault that they are of.
    ///
    /// - Returns: whether that vault remembers something of it, so that a sync of it has more to say.
    private func handOn(
        _ heads: [UncheckedHead], to other: VaultRecord, _ chain: VerifiedDeviceChain,
        _ signers: any CommitSignerDirectory, _ others: Set<UniqueID>
    ) throws -> Bool {
        // A sync under way writes the memory that it began with.
        let lock = try SyncLock.take(store.layout.vaultPath(other.vaultID), store.fileSystem, patienceMilliseconds: 0)
        defer { lock.giveBack() }
        let reader = try store.openVault(other.vaultID.hex, isWritable: false)
        defer { reader.close() }
        // Below a present that is ahead of its history nobody can tell what is another one.
        try reader.repository.requireHistory()
        var memory = try VaultSync.memory(of: reader.repository) ?? SyncMemory(server: server)
        guard memory.server == server else { return false }
        let check = StatedHeadCheck(
            repository: reader.repository, signers: signers, newestRevocation: Self.newestRevocation(in: chain),
            others: others)
        var isNews = false
        for head in heads where try check.take(head, into: &memory, now: clock.now) { isNews = true }
        guard isNews else { return false }
        let writer = try store.openVault(other.vaultID.hex, isWritable: true)
        defer { writer.close() }
        try writer.repository.setSyncNote(memory.encode())
        return true
    }
}
