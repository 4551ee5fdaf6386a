// The sealed part of a member link. The one thing to keep true: the link's hash covers the sealed bytes, and a part that
// does not open says nothing, so that nobody stops a chain with it.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// What only readers of the vault see of a member link, without the checkpoint of an epoch link.
///
/// Layout, deterministic CBOR: {0: time, ? 1: name that the signer gives the account, ? 2: checkpoint, ? 3: cursor of the
/// zone when the link was made}.
package struct MemberDetails: Equatable, Sendable {
    package static let cursorByteCountMax = 64

    package let time: Milliseconds
    package let accountName: String?
    package let checkpoint: Checkpoint?
    package let cursor: [UInt8]?

    package init(time: Milliseconds, accountName: String? = nil, checkpoint: Checkpoint? = nil, cursor: [UInt8]? = nil)
    {
        self.time = time
        self.accountName = accountName
        self.checkpoint = checkpoint
        self.cursor = cursor
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMap { map in
                map.put(0) { $0.encode(signed: time) }
                if let accountName { map.put(1) { $0.encode(text: accountName) } }
                if let checkpoint { map.put(2) { checkpoint.encode(to: &$0) } }
                if let cursor { map.put(3) { $0.encode(bytes: cursor) } }
            }
        }
    }

    /// Reads all of `bytes`; nil if they are no details.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            var map = try decoder.readMapHeader()
            try decoder.expectKey(0, in: &map)
            let time = try decoder.readSigned()
            var (name, checkpoint, cursor) = (nil as String?, nil as Checkpoint?, nil as [UInt8]?)
            while let key = try decoder.readUnsignedKey(in: &map) {
                switch key {
                case 1: name = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
                case 2: checkpoint = try Checkpoint(from: &decoder)
                case 3: cursor = try decoder.readBytes(countMax: Self.cursorByteCountMax)
                default: throw CBORError(.unexpectedKey, byteOffset: decoder.byteOffset)
                }
            }
            return MemberDetails(time: time, accountName: name, checkpoint: checkpoint, cursor: cursor)
        }
        guard let read else { return nil }
        self = read
    }
}

/// The keys that open sealed parts of links, by epoch.
package protocol MemberKeys {
    /// The key of an epoch that was taken by its commitment; nil: it is not here.
    func vaultKey(ofEpoch epoch: UInt32) -> VaultKey?
}

/// What a reader learns of a link's sealed part.
package enum SealedReading: Equatable, Sendable {
    /// The details opened; of an epoch link without the new key they are nil, and the checkpoint alone is there.
    case read(details: MemberDetails?, checkpoint: Checkpoint?)
    /// The bytes are none of the specified, under a key that is here or by being none: the link accepts what the checkpoint before
    /// it accepts.
    case unreadable
    /// The key of this epoch is not here: the reader waits.
    case needsKey(epoch: UInt32)
}

package enum MemberSealing {
    package static let byteCountMax = 64 << 10

    /// KDF(vault key of the epoch, "member-details/key", vault id ‖ epoch (4)).
    static func key(from vaultKey: VaultKey, _ vaultID: VaultID, epoch: UInt32) -> LinkDetailsKey {
        KDF.derive(from: vaultKey, .memberDetailsKey, vaultID.bytes + epoch.bigEndianBytes)
    }

    /// KDF(split key, "split-key/commit", vault id), 32 bytes.
    package static func splitKeyCommitment(to splitKey: SplitKey, in vaultID: VaultID) -> [UInt8] {
        let commitment: AuthenticationKey = KDF.derive(from: splitKey, .splitKeyCommitment, vaultID.bytes)
        // EXPOSE: not a secret, in spite of its type: it is written into links.
        return unsafe commitment.withUnsafeBytes { bytes in unsafe [UInt8](bytes) }
    }

    /// The sealed part of a link that opens no epoch; the checkpoint is in the details.
    ///
    /// - Parameter key: of the epoch that holds after the link.
    package static func seal(
        _ details: MemberDetails, number: UInt64, in vaultID: VaultID, epoch: UInt32, key vaultKey: VaultKey,
        random: any RandomSource
    ) -> [UInt8] {
        Envelope.seal(
            details.encoded, key: key(from: vaultKey, vaultID, epoch: epoch), context: .memberDetails,
            associatedData: vaultID.bytes + number.bigEndianBytes, random: random)
    }

    /// The sealed part of a link that opens an epoch: CBOR [sealed details, sealed checkpoint].
    ///
    /// - Parameters:
    ///   - opened: the new epoch and its key, for the details.
    ///   - before: the epoch that key 14 names and its key, for the checkpoint.
    package static func seal(
        _ details: MemberDetails, _ checkpoint: Checkpoint, number: UInt64, in vaultID: VaultID,
        opened: (epoch: UInt32, key: VaultKey), before: (epoch: UInt32, key: VaultKey), random: any RandomSource
    ) -> [UInt8] {
        precondition(details.checkpoint == nil, "an epoch link seals its checkpoint by itself")
        let sealed = seal(
            details, number: number, in: vaultID, epoch: opened.epoch, key: opened.key, random: random)
        let apart = Envelope.seal(
            checkpoint.encoded, key: key(from: before.key, vaultID, epoch: before.epoch), context: .memberCheckpoint,
            associatedData: vaultID.bytes + number.bigEndianBytes, random: random)
        return CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: sealed)
            encoder.encode(bytes: apart)
        }
    }

    /// Opens the sealed part of a link.
    ///
    /// - Parameter epoch: the one that holds after the link.
    package static func open(
        _ sealed: [UInt8], number: UInt64, in vaultID: VaultID, epoch: UInt32, opening: EpochOpening?,
        keys: some MemberKeys
    ) -> SealedReading {
        guard !sealed.isEmpty else { return .unreadable }
        func opened(_ sealed: [UInt8], _ context: Context, _ key: VaultKey, _ epoch: UInt32) -> [UInt8]? {
            try? unsafe Envelope.open(
                sealed, key: self.key(from: key, vaultID, epoch: epoch), context: context,
                associatedData: vaultID.bytes + number.bigEndianBytes
            ) { unsafe [UInt8]($0) }
        }
        guard let opening else {
            guard let key = keys.vaultKey(ofEpoch: epoch) else { return .needsKey(epoch: epoch) }
            guard let details = opened(sealed, .memberDetails, key, epoch).flatMap({ MemberDetails(decoding: $0) })
            else { return .unreadable }
            return .read(details: details, checkpoint: details.checkpoint)
        }
        let parts = try? withCBORDecoder(sealed) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            return (try decoder.readBytes(), try decoder.readBytes())
        }
        guard let parts else { return .unreadable }
        let before = opening.checkpointEpoch
        guard let key = keys.vaultKey(ofEpoch: before) else { return .needsKey(epoch: before) }
        guard
            let checkpoint = opened(parts.1, .memberCheckpoint, key, before).flatMap({ Checkpoint(decoding: $0) })
        else { return .unreadable }
        let details = keys.vaultKey(ofEpoch: epoch).flatMap { opened(parts.0, .memberDetails, $0, epoch) }
            .flatMap { MemberDetails(decoding: $0) }
        // Details with a checkpoint of their own are not the form of an epoch link.
        return .read(details: details?.checkpoint == nil ? details : nil, checkpoint: checkpoint)
    }
}
