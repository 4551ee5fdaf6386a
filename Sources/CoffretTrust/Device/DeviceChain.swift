// A person's devices. The one thing to keep true: after link 0, which signs itself, only a device
// that the chain trusts at that point changes the chain.

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

    fileprivate var bytes: [UInt8] { signing.bytes + box.bytes + noise.bytes }
}

package enum DeviceKind: UInt8, Sendable {
    case ordinary = 1
    /// A printed recovery sheet.
    case paper = 2
}

/// What a link of a device chain does.
///
/// Layout of the public part, deterministic CBOR: {0: 1, 1: device id, 2: kind, 3: signing key, 4: box
/// key, 5: noise key, 6: countersignature} adds, {0: 2, 1: device id} revokes. The countersignature is
/// empty in link 0; later it is the new device's, context "link/countersignature", scope as the
/// link's, message = device id ‖ its three keys ‖ sequence number (8).
package enum DeviceOperation: Equatable, Sendable {
    case add(id: UniqueID, kind: DeviceKind, keys: DeviceKeys, countersignature: [UInt8])
    case revoke(id: UniqueID)

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .add(let id, let kind, let keys, let countersignature):
                encoder.encodeMapHeader(count: 7)
                encoder.encode(unsigned: 0)
                encoder.encode(unsigned: 1)
                encoder.encode(unsigned: 1)
                encoder.encode(bytes: id.bytes)
                encoder.encode(unsigned: 2)
                encoder.encode(unsigned: UInt64(kind.rawValue))
                for (key, bytes) in [
                    (3, keys.signing.bytes), (4, keys.box.bytes), (5, keys.noise.bytes), (6, countersignature),
                ] as [(UInt64, [UInt8])] {
                    encoder.encode(unsigned: key)
                    encoder.encode(bytes: bytes)
                }
            case .revoke(let id):
                encoder.encodeMapHeader(count: 2)
                encoder.encode(unsigned: 0)
                encoder.encode(unsigned: 2)
                encoder.encode(unsigned: 1)
                encoder.encode(bytes: id.bytes)
            }
        }
    }

    init(decoding link: UnverifiedLink) throws(TrustError) {
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
        guard code == 1 || code == 2 else {
            while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
            return nil
        }
        try decoder.expectKey(1, in: &map)
        guard let id = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else { return nil }
        if code == 2 {
            guard map.remaining == 0 else { throw CBORError(.unexpectedKey, byteOffset: start) }
            return .revoke(id: id)
        }
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
        guard map.remaining == 0, let signing = try? VerifyingKey(signing), let box = try? AgreementPublicKey(box),
            let noise = try? AgreementPublicKey(noise)
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return .add(
            id: id, kind: kind, keys: DeviceKeys(signing: signing, box: box, noise: noise),
            countersignature: countersignature)
    }

    /// What a new device signs to prove that it holds its key.
    fileprivate static func countersigned(_ id: UniqueID, _ keys: DeviceKeys, _ sequenceNumber: UInt64) -> [UInt8] {
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

/// A device as a verified chain shows it.
package struct VerifiedDevice: Equatable, Sendable {
    package let id: UniqueID
    package let kind: DeviceKind
    package let keys: DeviceKeys
    package let addedAt: UInt64
    package fileprivate(set) var revokedAt: UInt64?

    package var isTrusted: Bool { revokedAt == nil }
}

/// A device chain whose every link was checked.
package struct VerifiedDeviceChain: Equatable, Sendable {
    package let accountID: ChainID
    package let links: [VerifiedLink]
    /// In the order in which they were added.
    package let devices: [VerifiedDevice]

    package var head: RememberedHead {
        RememberedHead(sequenceNumber: UInt64(links.count - 1), linkHash: links[links.count - 1].hash)
    }

    package func device(_ id: UniqueID) -> VerifiedDevice? { devices.first { $0.id == id } }

    fileprivate init(accountID: ChainID, links: [VerifiedLink], devices: [VerifiedDevice]) {
        self.accountID = accountID
        self.links = links
        self.devices = devices
    }

    /// Checks all links; see `TrustError` for what may be wrong.
    ///
    /// - Complexity: one signature verification per link, about 50 µs.
    package static func verify(
        _ links: [UnverifiedLink], accountID: ChainID? = nil, remembered: RememberedHead? = nil
    ) throws(TrustError) -> VerifiedDeviceChain {
        var rules = Rules()
        let (id, verified) = try ChainVerifier.verify(
            links, kind: .device, expectedID: accountID, remembered: remembered, rules: &rules)
        return VerifiedDeviceChain(accountID: id, links: verified, devices: rules.devices)
    }

    /// Founds an account: link 0, which adds the device that signs it.
    package static func found(
        deviceID: UniqueID, keys: DeviceKeys, details: [UInt8], with key: SigningKey
    ) -> UnverifiedLink {
        precondition(keys.signing == key.verifyingKey, "link 0 is signed by the device it adds")
        return UnverifiedLink.sign(
            kind: .device, chainID: nil, sequenceNumber: 0,
            publicPart: DeviceOperation.add(id: deviceID, kind: .ordinary, keys: keys, countersignature: []).encoded,
            sealedPart: details, previousLinkHash: [], with: key)
    }

    /// The next link, signed by a device of the chain. It is verified when the chain is.
    package func sign(_ operation: DeviceOperation, details: [UInt8], with key: SigningKey) -> UnverifiedLink {
        UnverifiedLink.sign(
            kind: .device, chainID: accountID, sequenceNumber: UInt64(links.count), publicPart: operation.encoded,
            sealedPart: details, previousLinkHash: head.linkHash, with: key)
    }

    private struct Rules: ChainRules {
        var devices: [VerifiedDevice] = []

        func checkSigner(_ key: VerifyingKey, of link: UnverifiedLink) throws(TrustError) {
            if link.sequenceNumber == 0 { return }
            guard let device = devices.first(where: { $0.keys.signing == key }) else {
                throw TrustError(.signerUnknown, at: link.sequenceNumber)
            }
            guard device.isTrusted else { throw TrustError(.signerRevoked, at: link.sequenceNumber) }
        }

        mutating func apply(_ link: UnverifiedLink, chainID: ChainID) throws(TrustError) {
            let number = link.sequenceNumber
            switch try DeviceOperation(decoding: link) {
            case .add(let id, let kind, let keys, let countersignature):
                try checkAddition(id, keys, countersignature, of: link, chainID)
                devices.append(VerifiedDevice(id: id, kind: kind, keys: keys, addedAt: number))
            case .revoke(let id):
                guard number > 0, let index = devices.firstIndex(where: { $0.id == id && $0.isTrusted }) else {
                    throw TrustError(.deviceUnknown, at: number)
                }
                devices[index].revokedAt = number
            }
        }

        private func checkAddition(
            _ id: UniqueID, _ keys: DeviceKeys, _ countersignature: [UInt8], of link: UnverifiedLink, _ chainID: ChainID
        ) throws(TrustError) {
            let number = link.sequenceNumber
            let isKnown = devices.contains { device in
                device.id == id || device.keys.signing == keys.signing || device.keys.box == keys.box
                    || device.keys.noise == keys.noise
            }
            guard !isKnown else { throw TrustError(.deviceExists, at: number) }
            if number == 0 {
                guard keys.signing.bytes == link.signerKey else { throw TrustError(.signerUnknown, at: number) }
                guard countersignature.isEmpty else { throw TrustError(.linkMalformed, at: number) }
                return
            }
            do throws(CryptoError) {
                try keys.signing.verify(
                    countersignature, .linkCountersignature,
                    scope: UnverifiedLink.scope(kind: .device, chainID: chainID.bytes),
                    message: DeviceOperation.countersigned(id, keys, number))
            } catch {
                throw TrustError(.countersignatureInvalid, at: number)
            }
        }
    }
}
