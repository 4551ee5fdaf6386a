// What a simulated device keeps of its vaults together, as a store does on its disk. The one thing to keep true: it says
// and hands on exactly what Spec/sync.md says, by the product's own checks.

internal import CoffretBase
package import CoffretCrypto
package import CoffretStorage
internal import CoffretSync
package import CoffretTestSupport

/// The heads that one device has seen in its synced vaults, and what it stated of them.
package final class SimulatedHeads {
    private struct Vault {
        let vaultID: VaultID
        weak var device: SimulatedDevice?
    }

    fileprivate let random: SeededGenerator
    private var vaults: [Vault] = []
    package private(set) var seen: [VaultID: SeenHead] = [:]
    /// By the vault that it was stated in.
    private var stated: [VaultID: [VaultID: BlobName]] = [:]
    /// How many statements were written.
    package private(set) var statementCount = 0

    /// - Parameter random: of its own, so that what is said changes nothing else.
    package init(_ random: SeededGenerator) { self.random = random }

    /// Takes a vault on this device.
    package func add(_ device: SimulatedDevice) {
        vaults.append(Vault(vaultID: device.keys.vaultID, device: device))
        device.heads = self
    }

    package func remove(_ device: SimulatedDevice) {
        vaults.removeAll { $0.vaultID == device.keys.vaultID }
        seen[device.keys.vaultID] = nil
        device.heads = nil
    }

    /// Forgets what lies beside the vaults, which a crash may do.
    package func forget() {
        seen = [:]
        stated = [:]
    }

    /// Remembers what a device would have said, such as what an old copy of its store has.
    package func note(_ head: SeenHead) { seen[head.vaultID] = head }

    fileprivate func news(for vault: VaultID) -> [SeenHead] {
        let others = vaults.map(\.vaultID).filter { $0 != vault }
        return others.compactMap { seen[$0] }.filter { stated[vault]?[$0.vaultID] != $0.head }
            .prefix(HeadStatement.headCountMax).map(\.self)
    }

    fileprivate func written(_ heads: [SeenHead], in vault: VaultID) {
        for head in heads { stated[vault, default: [:]][head.vaultID] = head.head }
        statementCount += 1
    }

    /// What follows from a sync for the other vaults.
    func spread(from device: SimulatedDevice) {
        let repository = device.repository
        guard !device.disk.isPoweredOff, let known = try? VaultSync.memory(of: repository),
            (try? repository.presentStanding) == .whole
        else { return }
        if let head = known.head, let own = repository.headNames.first, let dot = try? repository.dot(ofCommit: head),
            (try? repository.isKnown(head, to: own)) == true, seen[device.keys.vaultID]?.head != head
        {
            let position = UInt64(max(0, device.signers.chain.count - 1))
            seen[device.keys.vaultID] = SeenHead(
                vaultID: device.keys.vaultID, head: head, dot: dot, chainPosition: position)
        }
        guard !known.unchecked.isEmpty else { return }
        var memory = known
        for vault in vaults where vault.vaultID != device.keys.vaultID {
            let heads = known.unchecked.filter { $0.seen.vaultID == vault.vaultID }
            guard !heads.isEmpty, let other = vault.device, (try? handOn(heads, to: other)) != nil else { continue }
            memory.unchecked.removeAll { $0.seen.vaultID == vault.vaultID }
        }
        memory.unchecked.removeAll { head in !vaults.contains { $0.vaultID == head.seen.vaultID } }
        if memory != known { try? repository.setSyncNote(memory.encode()) }
    }

    private func handOn(_ heads: [UncheckedHead], to device: SimulatedDevice) throws {
        try device.repository.requireHistory()
        var memory = try VaultSync.memory(of: device.repository) ?? SyncMemory(server: "simulated")
        var isNews = false
        for head in heads where try device.check.take(head, into: &memory, now: device.now) { isNews = true }
        if isNews { try device.repository.setSyncNote(memory.encode()) }
    }
}

final class SimulatedStatements: CommitStatementSource {
    private let heads: SimulatedHeads
    private let vaultID: VaultID
    private let instance: UniqueID
    private let key: HeadsKey
    private let random: SeededGenerator
    private var pending: [SeenHead] = []

    init(heads: SimulatedHeads, device: SimulatedDevice) {
        self.heads = heads
        random = heads.random
        vaultID = device.keys.vaultID
        instance = device.author.instanceID
        key = device.keys.headsKey
    }

    func next() -> [UInt8]? {
        pending = heads.news(for: vaultID)
        guard !pending.isEmpty else { return nil }
        return HeadStatement.seal(pending, key: key, vaultID: vaultID, instance: instance, random: random)
    }

    func written() { heads.written(pending, in: vaultID) }
}
