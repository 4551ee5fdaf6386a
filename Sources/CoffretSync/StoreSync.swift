// A vault of a store, synced with its zone. The one thing to keep true: the vault is held for writing from the
// reading of the memory to the end, so that nothing is remembered of another state than the one that was synced.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage
internal import CoffretTrust

extension Store {
    /// Brings a vault and its zone together.
    ///
    /// - Parameters:
    ///   - server: the address that the memory is kept under; another one begins anew.
    ///   - acceptsRestoredServer: pushes again what the server lost, because a person said that it was put back.
    /// - Throws: a `SyncError`; a `CoreError` if the vault cannot be opened.
    package func sync(
        _ record: VaultRecord, server: String, transport: any SyncTransport, acceptsRestoredServer: Bool,
        random: any RandomSource, clock: any WallClock
    ) throws -> SyncReport {
        // Whatever renews the instance happens here, before it is asked who this device is.
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        let now: () -> Int64 = { clock.now }
        let signers = try signers()
        let acknowledger = SyncAcknowledger(
            keys: try keyring.vaultKeys(for: record.vaultID), author: try author(for: record.vaultID),
            signers: signers, random: random, now: now)
        let side = VaultSync(
            repository: vault.repository, signers: signers, acknowledger: acknowledger, now: now)
        defer { side.cancel() }
        var options = SyncEngine.Options()
        options.acceptsRestoredServer = acceptsRestoredServer
        func run() throws -> SyncReport {
            var memory = try VaultSync.memory(of: vault.repository) ?? SyncMemory(server: server)
            if memory.server != server { memory = SyncMemory(server: server) }
            let engine = SyncEngine(memory: memory, knownEpoch: vault.repository.currentEpoch, options: options)
            return try SyncSession(transport: transport, vault: side).run(engine).report
        }
        let cuts = RevocationCuts(chain: try keyring.deviceChain(), signers: signers)
        // Who revoked says where it takes effect: what this device had by then. Others say it only where nobody else has.
        if let own = try keyring.newestOwnRevocation() {
            try cuts.write(in: vault.repository, upTo: own, time: clock.now)
        }
        let report = try run()
        guard try cuts.write(in: vault.repository, upTo: .max, time: clock.now) else { return report }
        return try report.followed(by: run())
    }

    /// What two devices compare by eye to know that they see the same: 16 characters of Crockford's base32 in groups of four.
    ///
    /// - Returns: nil for a vault in which nothing was written yet.
    package func headCode(of vault: Vault, _ record: VaultRecord) throws -> String? {
        guard let head = vault.repository.headNames.first else { return nil }
        let hash = BLAKE2b.hash(
            Array("coffret/head-code/1".utf8), record.vaultID.bytes, head.bytes,
            try keyring.deviceChain().head.linkHash, record.memberChain.head.linkHash)
        let characters = Array(Base32.crockford.encode(hash.prefix(10)))
        return stride(from: 0, to: characters.count, by: 4)
            .map { String(characters[$0..<min($0 + 4, characters.count)]) }.joined(separator: "-")
    }
}
