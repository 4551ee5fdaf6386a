// Operations of links of a device chain, as bytes. Invariant: a link lists all of its effects, and has no others.

package import CoffretBase
package import CoffretCrypto

/// The public half of a device.
package struct DeviceKeys: Equatable, Sendable {
    package let signing: VerifyingKey
    /// Receives boxes from other devices.
    package let box: AgreementPublicKey
    /// Authenticates Noise handshakes.
    package let noise: AgreementPublicKey

    package init(signing: VerifyingKey, box: AgreementPublicKey, noise: AgreementPublicKey) {
        self.signing = signing
        self.box = box
        self.noise = noise
    }

    /// Signing key ‖ box key ‖ Noise key.
    package var bytes: [UInt8] { signing.bytes + box.bytes + noise.bytes }
}

package enum DeviceKind: UInt8, Sendable {
    case ordinary = 1
    /// A printed recovery sheet.
    case paper = 2
}

/// Of the trusted devices that a revoked one added, and that these added, which go with it and which stay (K10). Both lists
/// ascend and have no duplicates.
package struct BroughtDevices: Equatable, Sendable {
    package let going: [UniqueID]
    package let kept: [UniqueID]

    package init(going: [UniqueID], kept: [UniqueID]) {
        self.going = going
        self.kept = kept
    }
}

/// The operation of a link of a device chain.
///
/// Layout of the public part, deterministic CBOR:
///
///     {0: 1, 1: device id, 2: kind, 3: signing key, 4: box key, 5: noise key, 6: countersignature}   adds
///     {0: 2, 1: device id, ? 2: [* device that goes with it], ? 3: [* device that is kept]}          revokes; 2 and 3 or neither
///     {0: 3, 1: [device id...]}                   recovers: keeps these devices and no other
///     {0: 4, 1: paper device id, 2: time}         announces that this paper device will be revoked
///     {0: 5, 1: paper device id, 2: time}         revokes it, seven days later
///     {0: 6, 1: device id}                        gives the device the details that this link seals
///
/// The countersignature is empty in link 0; later it is the new device's, context
/// "link/countersignature", scope as the link's, message = device id ‖ its three keys ‖ sequence number (8).
/// Spec: Spec/trust.md. Source: protocol decision 17.
package enum DeviceOperation: Equatable, Sendable {
    case add(id: UniqueID, kind: DeviceKind, keys: DeviceKeys, countersignature: [UInt8])
    /// - Parameter brought: nil in links as they were written before histories, which decide nothing about other devices.
    case revoke(id: UniqueID, brought: BroughtDevices? = nil)
    /// Ids in ascending order, without duplicates.
    case recover(kept: [UniqueID])
    case announceRevocation(id: UniqueID, time: Milliseconds)
    case revokeAnnounced(id: UniqueID, time: Milliseconds)
    case describe(id: UniqueID)

    /// How long a paper device's revocation by an ordinary device must have been announced: seven days.
    package static let announcementTime: Milliseconds = 7 * 86_400_000

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .add(let id, let kind, let keys, let countersignature):
                Self.encodeStart(of: 1, keyCount: 7, id, to: &encoder)
                encoder.encode(unsigned: 2)
                encoder.encode(unsigned: UInt64(kind.rawValue))
                for (key, bytes) in [
                    (3, keys.signing.bytes), (4, keys.box.bytes), (5, keys.noise.bytes), (6, countersignature),
                ] as [(UInt64, [UInt8])] {
                    encoder.encode(unsigned: key)
                    encoder.encode(bytes: bytes)
                }
            case .revoke(let id, let brought):
                Self.encodeStart(of: 2, keyCount: brought == nil ? 2 : 4, id, to: &encoder)
                guard let brought else { return }
                for (key, ids) in [(2, brought.going), (3, brought.kept)] as [(UInt64, [UniqueID])] {
                    encoder.encode(unsigned: key)
                    encoder.encodeArrayHeader(count: ids.count)
                    for id in ids { encoder.encode(bytes: id.bytes) }
                }
            case .recover(let kept):
                encoder.encodeMapHeader(count: 2)
                encoder.encode(unsigned: 0)
                encoder.encode(unsigned: 3)
                encoder.encode(unsigned: 1)
                encoder.encodeArrayHeader(count: kept.count)
                for id in kept { encoder.encode(bytes: id.bytes) }
            case .announceRevocation(let id, let time):
                Self.encodeStart(of: 4, keyCount: 3, id, to: &encoder)
                encoder.encode(unsigned: 2)
                encoder.encode(signed: time)
            case .revokeAnnounced(let id, let time):
                Self.encodeStart(of: 5, keyCount: 3, id, to: &encoder)
                encoder.encode(unsigned: 2)
                encoder.encode(signed: time)
            case .describe(let id):
                Self.encodeStart(of: 6, keyCount: 2, id, to: &encoder)
            }
        }
    }

    private static func encodeStart(of code: UInt64, keyCount: Int, _ id: UniqueID, to encoder: inout CBOREncoder) {
        encoder.encodeMapHeader(count: keyCount)
        encoder.encode(unsigned: 0)
        encoder.encode(unsigned: code)
        encoder.encode(unsigned: 1)
        encoder.encode(bytes: id.bytes)
    }

    /// Reads what a link does. Throws `.linkMalformed`, or `.linkUnsupported` for an operation of a later version.
    package init(decoding link: UnverifiedLink) throws(TrustError) {
        let number = link.sequenceNumber
        let operation = try withCBORDecoder(link.publicPart, convert: { _ in TrustError(.linkMalformed, at: number) }) {
            (decoder) throws(CBORError) in try Self.read(&decoder)
        }
        guard let operation else { throw TrustError(.linkUnsupported, at: number) }
        self = operation
    }

    /// nil for an operation of another kind, which is then skipped.
    private static func read(_ decoder: inout CBORDecoder) throws(CBORError) -> DeviceOperation? {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(0, in: &map)
        let code = try decoder.readUnsigned()
        guard (1...6).contains(code) else {
            while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
            return nil
        }
        try decoder.expectKey(1, in: &map)
        let operation: DeviceOperation
        switch code {
        case 1:
            operation = try readAddition(try readID(&decoder), &decoder, &map)
        case 2:
            let id = try readID(&decoder)
            if map.remaining == 0 {
                operation = .revoke(id: id)
            } else {
                try decoder.expectKey(2, in: &map)
                let going = try readIDs(&decoder)
                try decoder.expectKey(3, in: &map)
                operation = .revoke(id: id, brought: BroughtDevices(going: going, kept: try readIDs(&decoder)))
            }
        case 3:
            operation = .recover(kept: try readIDs(&decoder))
        case 6:
            operation = .describe(id: try readID(&decoder))
        default:
            let id = try readID(&decoder)
            try decoder.expectKey(2, in: &map)
            let time = try decoder.readSigned()
            operation = code == 4 ? .announceRevocation(id: id, time: time) : .revokeAnnounced(id: id, time: time)
        }
        guard map.remaining == 0 else { throw CBORError(.unexpectedKey, byteOffset: start) }
        return operation
    }

    private static func readIDs(_ decoder: inout CBORDecoder) throws(CBORError) -> [UniqueID] {
        let count = try decoder.readArrayHeader()
        var ids: [UniqueID] = []
        for _ in 0..<count { ids.append(try readID(&decoder)) }
        return ids
    }

    private static func readID(_ decoder: inout CBORDecoder) throws(CBORError) -> UniqueID {
        let start = decoder.byteOffset
        guard let id = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return id
    }

    private static func readAddition(
        _ id: UniqueID, _ decoder: inout CBORDecoder, _ map: inout CBORMapPosition
    ) throws(CBORError) -> DeviceOperation {
        let start = decoder.byteOffset
        try decoder.expectKey(2, in: &map)
        guard let kind = DeviceKind(rawValue: try decoder.readUnsigned(as: UInt8.self)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        try decoder.expectKey(3, in: &map)
        let signing = try decoder.readBytes(count: 32)
        try decoder.expectKey(4, in: &map)
        let box = try decoder.readBytes(count: 32)
        try decoder.expectKey(5, in: &map)
        let noise = try decoder.readBytes(count: 32)
        try decoder.expectKey(6, in: &map)
        let countersignature = try decoder.readBytes(countMax: signatureByteCount)
        guard let signing = try? VerifyingKey(signing), let box = try? AgreementPublicKey(box),
            let noise = try? AgreementPublicKey(noise)
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return .add(
            id: id, kind: kind, keys: DeviceKeys(signing: signing, box: box, noise: noise),
            countersignature: countersignature)
    }

    /// The bytes that a new device signs to prove that it holds its key.
    static func countersigned(_ id: UniqueID, _ keys: DeviceKeys, _ sequenceNumber: UInt64) -> [UInt8] {
        id.bytes + keys.bytes + sequenceNumber.bigEndianBytes
    }

    /// The countersignature of a device that joins `chainID` with link `sequenceNumber`.
    package static func countersign(
        id: UniqueID, keys: DeviceKeys, chainID: ChainID, sequenceNumber: UInt64, with key: SigningKey
    ) -> [UInt8] {
        key.sign(
            .linkCountersignature, scope: UnverifiedLink.scope(kind: .device, chainID: chainID.bytes),
            message: countersigned(id, keys, sequenceNumber))
    }
}
