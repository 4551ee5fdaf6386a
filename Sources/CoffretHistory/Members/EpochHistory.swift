// Older keys of a vault under a newer one. The one thing to keep true: a key out of here is a key only when the chain
// commits to it, whoever sealed it.

package import CoffretBase
package import CoffretCrypto

/// The history object of an epoch: by it, who has the newest key reads what was sealed before.
///
/// Layout: ENV(KDF(vault key of e, "epoch-history/key", vault id ‖ e (4)), "epoch-history/seal", vault id ‖ e (4),
/// {* epoch => key (32)}), filled; epochs ascend and are below e. Spec: Spec/history.md section 8.
package enum EpochHistory {
    private static let keyByteCount = 32
    /// The most that a server takes.
    package static let byteCountMax = 256 << 10

    private static func key(from key: VaultKey, _ vaultID: VaultID, epoch: UInt32) -> EpochHistoryKey {
        KDF.derive(from: key, .epochHistoryKey, vaultID.bytes + epoch.bigEndianBytes)
    }

    /// Seals older keys.
    ///
    /// - Parameter keys: of epochs below `epoch`, each of which the chain commits to.
    package static func seal(
        _ keys: [UInt32: VaultKey], in vaultID: VaultID, epoch: UInt32, key: VaultKey, random: any RandomSource
    ) -> [UInt8] {
        var encoder = CBOREncoder(reservingByteCount: 16 + keys.count * (keyByteCount + 8))
        encoder.encodeMapHeader(count: keys.count)
        for (older, key) in keys.sorted(by: { $0.key < $1.key }) {
            precondition(older < epoch, "only older keys lie under a key")
            encoder.encode(unsigned: UInt64(older))
            // EXPOSE: into the buffer that is sealed and zeroed.
            unsafe key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        }
        defer { encoder.zero() }
        return unsafe encoder.bytes.withUnsafeBytes { content in
            unsafe Envelope.seal(
                content, key: Self.key(from: key, vaultID, epoch: epoch), context: .epochHistory,
                associatedData: vaultID.bytes + epoch.bigEndianBytes, random: random)
        }
    }

    /// Opens a history object.
    ///
    /// - Returns: keys as its author gives them, none of them checked; nil for what is no history object of this vault and
    ///   epoch.
    package static func open(
        _ sealed: [UInt8], in vaultID: VaultID, epoch: UInt32, key: VaultKey
    ) -> [UInt32: VaultKey]? {
        guard sealed.count <= byteCountMax else { return nil }
        let keys = try? unsafe Envelope.open(
            sealed, key: Self.key(from: key, vaultID, epoch: epoch), context: .epochHistory,
            associatedData: vaultID.bytes + epoch.bigEndianBytes
        ) { content in
            try? unsafe withCBORDecoder(over: content) { (decoder) throws(CBORError) in
                try read(&decoder, below: epoch)
            }
        }
        return keys ?? nil
    }

    private static func read(
        _ decoder: inout CBORDecoder, below epoch: UInt32
    ) throws(CBORError) -> [UInt32: VaultKey] {
        var keys: [UInt32: VaultKey] = [:]
        var map = try decoder.readMapHeader()
        while let older = try decoder.readUnsignedKey(in: &map) {
            guard let older = UInt32(exactly: older), 1..<epoch ~= older else {
                throw CBORError(.unexpectedKey, byteOffset: decoder.byteOffset)
            }
            keys[older] = VaultKey(try decoder.readSecret(counts: keyByteCount...keyByteCount))
        }
        return keys
    }
}
