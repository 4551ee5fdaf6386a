// The key of a sealed database. Invariant: it is held in locked memory, and what is derived from it is bound to what
// the database belongs to.

package import CoffretBase
internal import CoffretCrypto

/// A database's key together with what the database belongs to.
package final class SealedDatabaseKey: Sendable {
    private let secret: SecretBytes
    private let context: [UInt8]

    /// - Parameter secret: 32 bytes.
    /// - Parameter context: bound into every page, such as a vault's id.
    package init(_ secret: consuming SecretBytes, context: [UInt8]) {
        precondition(secret.byteCount == 32, "a database key has 32 bytes")
        self.secret = secret
        self.context = context
    }

    func sealer(databaseID: [UInt8], random: any RandomSource) -> PageSealer {
        PageSealer(key: secret, context: context, databaseID: databaseID, random: random)
    }
}
