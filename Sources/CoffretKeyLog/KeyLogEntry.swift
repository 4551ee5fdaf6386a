// One leaf of the key log. Invariant: every entry has the same size, so that its place in a bundle follows from its number.

package import CoffretBase
internal import CoffretCrypto

/// That a server took a link.
///
/// Layout, 74 bytes: 01 ‖ kind (1) ‖ label (32) ‖ number (8) ‖ link hash (32). Spec: Spec/log.md section 1.
package struct KeyLogEntry: Equatable, Sendable {
    package static let byteCount = 74
    private static let version: UInt8 = 1

    /// As in a link.
    package let kind: UInt8
    /// Stands for the chain: who has its id knows it.
    package let label: Bytes32
    package let number: UInt64
    package let linkHash: Bytes32

    package init(kind: UInt8, label: Bytes32, number: UInt64, linkHash: Bytes32) {
        self.kind = kind
        self.label = label
        self.number = number
        self.linkHash = linkHash
    }

    /// - Parameter chainID: 32 bytes.
    package init(kind: UInt8, chainID: [UInt8], number: UInt64, linkHash: Bytes32) {
        self.init(kind: kind, label: Self.label(kind: kind, chainID: chainID), number: number, linkHash: linkHash)
    }

    /// SHA-256("coffret/log/1" ‖ kind ‖ chain id).
    package static func label(kind: UInt8, chainID: [UInt8]) -> Bytes32 {
        KeyLogTree.hash(Array("coffret/log/1".utf8) + [kind] + chainID)
    }

    /// - Parameter bytes: 74 of them.
    /// - Throws: `.checkpointInvalid` for another length or version.
    package init(decoding bytes: some Collection<UInt8>) throws(KeyLogError) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount, bytes[0] == Self.version, let label = Bytes32(bytes[2..<34]),
            let number = UInt64(bigEndianBytes: bytes[34..<42]), let linkHash = Bytes32(bytes[42...])
        else { throw KeyLogError(.checkpointInvalid, at: "entry") }
        self.init(kind: bytes[1], label: label, number: number, linkHash: linkHash)
    }

    package var encoded: [UInt8] {
        [Self.version, kind] + label.bytes + number.bigEndianBytes + linkHash.bytes
    }

    package var leafHash: Bytes32 { KeyLogTree.leafHash(encoded) }
}
