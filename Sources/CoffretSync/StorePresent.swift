// The present that goes ahead of its history, between the device that lets another one in and that one. The one thing to
// keep true: what is told is what this device has verified and what lies at the server; nothing else depends on it.

internal import CoffretBase
package import CoffretCore
package import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage

extension Store {
    /// Puts a vault's present where a device that is being let in finds it, if its history is so much larger that this is
    /// worth it and the server shows what this device saw last.
    ///
    /// - Parameter goesOn: asked again and again, with how much of how many bytes is there.
    /// - Returns: what that device is to be told; nil where its first sync takes the whole history.
    package func offerPresent(
        of record: VaultRecord, server: String, transport: any SyncTransport,
        goesOn: (_ doneByteCount: Int, _ byteCount: Int) -> Bool
    ) throws -> [UInt8]? {
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        guard let memory = try VaultSync.memory(of: vault.repository), memory.server == server, let head = memory.head,
            try vault.repository.presentStanding == .whole
        else { return nil }
        let offer = PresentOffer(repository: vault.repository, transport: transport)
        return try offer.make(at: head, goesOn: goesOn)?.encode()
    }

    /// Notes what the device that let this one in has told; the first sync must show the heads, or what descends from them,
    /// and finds the presents at the server.
    package func remember(zoneHeads: [VaultID: [UInt8]], presents: [VaultID: [UInt8]], server: String) throws {
        for record in try vaults where record.kind == .synced {
            guard let told = zoneHeads[record.vaultID].flatMap({ ToldHead.decode($0) }) else { continue }
            let vault = try openVault(record.vaultID.hex, isWritable: true)
            defer { vault.close() }
            let memory = SyncMemory(server: server, told: told)
            // Of another head it says nothing.
            if let present = presents[record.vaultID].flatMap({ PresentMark.decode($0) }), present.head == told.head {
                try vault.repository.remember(present: present, note: memory.encode())
            } else {
                try vault.repository.setSyncNote(memory.encode())
            }
        }
    }
}
