// What two devices of a store can compare by eye.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage
internal import CoffretTrust

extension Store {
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
