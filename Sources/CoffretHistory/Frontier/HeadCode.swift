// What people compare to know that two devices see the same. The one thing to keep true: the code covers base, frontier,
// state and the devices; equal codes mean equal vaults.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretStorage

/// The first 80 bits of a hash over what a device has applied: 16 characters of Crockford's base32 in groups of four.
///
/// hash = BLAKE2b-256("coffret/head-code/2" ‖ vault id ‖ hash of the base's link, or nothing ‖ BLAKE2b-256(full frontier) ‖
/// digest ‖ hash of the device chain's head); full frontier = for each instance, ascending: instance ‖ number (8) ‖ name.
/// Spec: Spec/history.md section 9.
package struct HeadCode: Hashable, Sendable, CustomStringConvertible {
    package let hash: [UInt8]

    /// - Parameters:
    ///   - base: the link of the base; nil if there is none.
    ///   - frontier: all that was applied, the base's `accept` included.
    ///   - deviceHead: of the own account's device chain.
    package init(
        vaultID: VaultID, base: ChainPosition?, frontier: Frontier, digest: StateDigest, deviceHead: ChainPosition
    ) {
        var listed: [UInt8] = []
        listed.reserveCapacity(56 * frontier.count)
        for (instance, mark) in frontier.sorted {
            listed.append(id: instance)
            listed.appendBigEndian(mark.number)
            listed += mark.name.bytes
        }
        hash = BLAKE2b.hash(
            Array("coffret/head-code/2".utf8), vaultID.bytes, base?.hash.bytes ?? [], BLAKE2b.hash(listed),
            digest.bytes32.bytes, deviceHead.hash.bytes)
    }

    package var description: String {
        let characters = Array(Base32.crockford.encode(hash.prefix(10)))
        return stride(from: 0, to: characters.count, by: 4)
            .map { String(characters[$0..<min($0 + 4, characters.count)]) }.joined(separator: "-")
    }
}
