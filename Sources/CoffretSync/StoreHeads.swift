// What one device tells another of the server, and what is known of all of them. The one thing to keep true: what was
// told at pairing is held against the server's first answer.

package import CoffretBase
package import CoffretCore
package import CoffretCrypto
internal import CoffretKeys
package import CoffretStorage

/// How a vault, its place at the server and the other devices stand to each other, as far as this device knows.
package struct SyncStanding: Equatable, Sendable {
    package struct Peer: Equatable, Sendable {
        package let device: UniqueID
        /// Whether it has said that it has all that is here.
        package let hasEverything: Bool
        /// Whether it has something that the server has not delivered.
        package let isAhead: Bool
        /// When this device heard of it.
        package let heardAt: Milliseconds
    }

    /// This device's head; nil in a vault in which nothing was written.
    package let head: BlobName?
    /// The head that the server showed last; nil before the first sync.
    package let serverHead: BlobName?
    /// By device.
    package let peers: [Peer]
}

extension Store {
    /// What was seen last of each synced vault's place at the server; for a device that is being paired (R7).
    ///
    /// What a revocation has set aside since, or may set aside once its cut is known, is told to nobody: what counts need not have
    /// seen it.
    package func zoneHeads() throws -> [VaultID: [UInt8]] {
        var heads: [VaultID: [UInt8]] = [:]
        let server = try keyring.server()?.url
        for record in try vaults where record.kind == .synced {
            let vault = try openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            guard let memory = try VaultSync.memory(of: vault.repository), memory.server == server else { continue }
            guard let head = memory.head, try !vault.repository.isSetAside(head), try knowsCuts(in: vault.repository)
            else {
                continue
            }
            let dot = try memory.headDot ?? vault.repository.dot(ofCommit: head)
            heads[record.vaultID] = ToldHead(head: head, dot: dot).encode()
        }
        return heads
    }

    /// Whether a head that the server says it has leads beyond what is here. Nothing of it is verified: a sync does that.
    package func isBeyond(_ address: [UInt8]?, _ vault: Vault) throws -> Bool {
        guard let address, let wanted = BlobAddress(bytes: address) else { return false }
        return try vault.repository.commitName(at: wanted) == nil
    }

    /// What is known, without asking anybody.
    package func standing(of vault: Vault) throws -> SyncStanding {
        let repository = vault.repository
        let head = repository.headNames.first
        let memory = try VaultSync.memory(of: repository)
        // What a device stated elsewhere counts where no word of it was seen as well.
        let silent = (memory?.stated ?? [:]).filter { memory?.others[$0.key] == nil }.map { device, stated in
            SyncStanding.Peer(device: device, hasEverything: false, isAhead: true, heardAt: stated.since)
        }
        let heard = (memory?.others ?? [:]).map { device, word in
            SyncStanding.Peer(
                device: device, hasEverything: word.head == head,
                isAhead: word.aheadSince != 0 || memory?.stated[device] != nil,
                heardAt: word.heardAt)
        }
        return SyncStanding(
            head: head, serverHead: memory?.head, peers: (heard + silent).sorted { $0.device < $1.device })
    }
}
