// The vaults in which an account keeps what it knows of people. The one thing to keep true: no name leads to them, so that
// nothing that lists, exports or hands out what is in vaults meets them.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
package import CoffretStorage
internal import CoffretTrust

extension Store {
    /// No vault of a person can be called so.
    private static let accountVaultName = "/people"

    /// The account's own vaults, the one that is written first: that of the lowest id. Two devices may have made one each.
    package var accountVaults: [VaultRecord] {
        get throws {
            let own = try inKeys(keyring.accountID())
            return try inKeys(keyring.vaults())
                .filter { $0.isAccountVault && $0.memberChain.foundation.accountID == own }
                .sorted { $0.vaultID.bytes.lexicographicallyPrecedes($1.vaultID.bytes) }
        }
    }

    /// Makes an account vault, on this device only so far.
    func addAccountVault() throws -> VaultRecord {
        let id = try addVault(named: Self.accountVaultName, purpose: .account)
        return try inKeys(keyring.vault(id))
    }

    /// The account vault that is written, made if there is none.
    package func writtenAccountVault() throws -> VaultRecord {
        try accountVaults.first ?? addAccountVault()
    }
}

extension Vault {
    /// The registers of all entities of a kind, by attribute; of concurrent values the one that stands (S8).
    ///
    /// - Complexity: reads all facts of the kind.
    package func registers(ofKind kind: UInt8) throws -> [(entity: EntityID, values: [Attribute: [UInt8]])] {
        let reader = try present.reader
        var found: [(entity: EntityID, values: [Attribute: [UInt8]])] = []
        try reader.forEachEntity(withPrefix: [kind]) { entity, facts in
            var values: [Attribute: [UInt8]] = [:]
            for (attribute, siblings) in Dictionary(grouping: facts, by: \.key.attribute) {
                guard let fact = siblings.filter({ $0.key.element.isEmpty }).winner else { continue }
                values[attribute] = try reader.value(of: fact)
            }
            found.append((entity, values))
        }
        return found
    }

    /// Writes registers of any entity; nil takes the value away. Nothing is written where all of it stands already.
    package func writeRegisters(_ values: [FactKey: [UInt8]?]) throws {
        let reader = try presentReader()
        var changes: [LogChange] = []
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            let standing = try reader.facts(of: key.entity).filter { $0.key == key }
            if value == nil, standing.isEmpty { continue }
            if let value, standing.count == 1, try reader.value(of: standing[0]) == value { continue }
            changes.append(LogChange(key: key, value: value))
        }
        try commit(changes)
    }
}
