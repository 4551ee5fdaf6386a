// What one device tells another of its vaults, and what is known of all of them. The one thing to keep true: the words of
// pairing are held against the server's first answer.

package import CoffretBase
package import CoffretCore
package import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage

/// How a vault, its place at the server and the other devices stand to each other, as far as this device knows.
package struct SyncStanding: Equatable, Sendable {
    package struct Peer: Equatable, Sendable {
        package let device: UniqueID
        /// Whether it has said that it has all that is here.
        package let hasEverything: Bool
        /// Whether it has something that the server has not delivered.
        package let isAhead: Bool
        /// When this device heard of it; nil if it never did.
        package let heardAt: Milliseconds?
    }

    /// The state here; nil in a vault in which nothing was written.
    package let version: String?
    /// The state that the server showed last; nil before the first sync.
    package let serverVersion: String?
    /// By device.
    package let peers: [Peer]
}

extension Store {
    /// This device's word of each synced vault; for a device that is being paired (R7). A vault of which the server lacks
    /// something has none.
    package func pairingWords() throws -> [VaultID: [UInt8]] {
        var words: [VaultID: [UInt8]] = [:]
        let server = try keyring.server()?.url
        for record in try allVaults where record.kind == .synced {
            let vault = try openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            guard LogMemory(of: vault.repository).server == server else { continue }
            words[record.vaultID] = try PairingWord.encoded(of: vault.repository)
        }
        return words
    }

    /// Keeps the words of the device that let this one in; the first sync must show all that they say.
    package func keep(pairingWords words: [VaultID: [UInt8]], server: String) throws {
        for record in try allVaults where record.kind == .synced {
            guard let word = words[record.vaultID] else { continue }
            let vault = try openVault(record.vaultID.hex, isWritable: true)
            defer { vault.close() }
            var memory = LogMemory(of: vault.repository)
            memory.server = server
            try vault.repository.remember(memory.encoded)
            _ = try PairingWord.keep(word, in: vault.repository)
        }
    }

    /// Whether a head that the server says it has leads beyond what is here. Nothing of it is verified: a sync does that.
    package func isBeyond(_ address: [UInt8]?, _ vault: Vault) throws -> Bool {
        guard let address, let wanted = BlobAddress(bytes: address) else { return false }
        let names = vault.repository.exchange.names(of: wanted)
        return LogMemory(of: vault.repository).head.map { !names.contains($0) } ?? true
    }

    /// All that is known, without asking anybody.
    package func standing(of vault: Vault) throws -> SyncStanding {
        let repository = vault.repository
        let (memory, own) = (LogMemory(of: repository), repository.author.accountID)
        let version = try vault.stateVersion
        // A device's statement elsewhere counts where no word of it was heard as well.
        let silent = memory.stated.filter { device, _ in
            memory.others[MemberDevice(account: own, device: device)] == nil
        }.map { device, late in
            SyncStanding.Peer(device: device, hasEverything: false, isAhead: true, heardAt: late.wait.lastClock)
        }
        let digest = try repository.ask { (machine) in machine.word.digest }
        let heard = memory.others.map { who, said in
            SyncStanding.Peer(
                device: who.device, hasEverything: said.digest == digest,
                isAhead: said.ahead != nil || who.account == own && memory.stated[who.device] != nil,
                heardAt: said.heard.lastClock - said.heard.passed)
        }
        let isSent = try VaultSyncer.unsentEntries(of: vault).isEmpty
        let served = memory.told?.digest.description ?? memory.head?.description
        return SyncStanding(
            version: version, serverVersion: isSent && memory.told == nil && memory.head != nil ? version : served,
            peers: (heard + silent).sorted { $0.device < $1.device })
    }
}
