// A device that wants to join an account. Invariant: its keys are made here and never leave; what the account gives is
// checked against the link that pairing named.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// The keys of a device that no chain knows yet.
package struct NewDevice: Sendable {
    let keys: DevicePrivateKeys
    package let instanceID: UniqueID

    package static func generate(from random: any RandomSource) -> NewDevice {
        NewDevice(
            keys: DevicePrivateKeys(
                deviceID: .generate(from: random), signing: .generate(from: random), box: .generate(from: random),
                noise: .generate(from: random)),
            instanceID: .generate(from: random))
    }

    /// With a signing key that is there; all else is new.
    package static func generate(signingWith key: SigningKey, from random: any RandomSource) -> NewDevice {
        NewDevice(
            keys: DevicePrivateKeys(
                deviceID: .generate(from: random), signing: key, box: .generate(from: random),
                noise: .generate(from: random)),
            instanceID: .generate(from: random))
    }

    package var deviceID: UniqueID { keys.deviceID }
    package var publicKeys: DeviceKeys { keys.publicKeys }
    package var signingKey: SigningKey { keys.signing }
}

/// The message from a trusted device to a new one at the end of pairing.
///
/// Layout, deterministic CBOR: [4, device chain, device box, server name, {vault id: word}].
package enum AccountWelcome {
    private static let version: UInt64 = 4
    private static let wordByteCountMax = 64 << 10

    static func encode(
        _ chain: VerifiedDeviceChain, _ box: DeviceBox, serverName: String, words: [VaultID: [UInt8]]
    ) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(unsigned: version)
            encoder.encodeArrayHeader(count: chain.links.count)
            for link in chain.links { encoder.encode(bytes: link.link.encoded) }
            encoder.encode(bytes: box.encoded)
            encoder.encode(text: serverName)
            encode(words, to: &encoder)
        }
    }

    private static func encode(_ map: [VaultID: [UInt8]], to encoder: inout CBOREncoder) {
        encoder.encodeMapHeader(count: map.count)
        for (vault, bytes) in map.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            encoder.encode(bytes: vault.bytes)
            encoder.encode(bytes: bytes)
        }
    }

    private static func decodeMap(
        _ decoder: inout CBORDecoder
    ) throws(CBORError) -> [VaultID: [UInt8]] {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        var entries: [VaultID: [UInt8]] = [:]
        var map = try decoder.readMapHeader()
        guard map.remaining <= Limits.vaultCountMax else { throw malformed }
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: 32) })
        {
            let bytes = try decoder.readBytes(countMax: wordByteCountMax)
            guard let vault = VaultID(key), !bytes.isEmpty else { throw malformed }
            entries[vault] = bytes
        }
        return entries
    }

    /// Opens a welcome.
    ///
    /// - Parameters:
    ///   - head: the link that the chain must contain, from pairing.
    /// - Throws: `.boxInvalid` with its cause: the chain is another one, does not contain the stated link or this
    ///   device, or the box is not from one of its devices.
    package static func open(
        _ bytes: [UInt8], for device: NewDevice, accountID: ChainID, head: RememberedHead, random: any RandomSource
    ) throws(KeyError) -> JoinedAccount {
        let (encodedLinks, boxBytes, serverName, words) = try withCBORDecoder(
            bytes, convert: { KeyError(.boxInvalid, at: "welcome", cause: $0) }
        ) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 5)
            let start = decoder.byteOffset
            guard try decoder.readUnsigned() == version else { throw CBORError(.unexpectedItem, byteOffset: start) }
            var links: [[UInt8]] = []
            for _ in 0..<(try decoder.readArrayHeader()) { links.append(try decoder.readBytes()) }
            let box = try decoder.readBytes(countMax: DeviceBox.byteCountMax)
            let name = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
            return (links, box, name, try decodeMap(&decoder))
        }
        let chain: VerifiedDeviceChain
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for bytes in encodedLinks { links.append(try UnverifiedLink(decoding: bytes)) }
            // Not as something verified before: this device has verified nothing yet.
            chain = try VerifiedDeviceChain.verify(links, accountID: accountID)
            guard chain.links.count > head.sequenceNumber else { throw TrustError(.chainRolledBack) }
            guard chain.links[Int(head.sequenceNumber)].hash == head.linkHash else { throw TrustError(.chainForked) }
        } catch {
            throw KeyError(.boxInvalid, at: "chain", cause: error)
        }
        guard let own = chain.device(device.deviceID), own.isTrusted, own.keys == device.publicKeys else {
            throw KeyError(.boxInvalid, at: "device")
        }
        let box = try DeviceBox(decoding: boxBytes)
        let content = try unsafe box.open(with: device.keys, chain: chain) {
            unsafe AccountKeys.decode($0, chain: chain, random: random)
        }
        switch content {
        case .success(let keys):
            return JoinedAccount(
                device: device, chain: chain, keys: keys, serverName: serverName, words: words)
        case .failure(let error): throw error
        }
    }
}

/// An account that a new device has become part of.
package struct JoinedAccount {
    let device: NewDevice
    package let chain: VerifiedDeviceChain
    let keys: AccountKeys
    package let serverName: String
    /// What the approving device has of each vault, in the bytes of CoffretSync.
    package let words: [VaultID: [UInt8]]

    package var vaultNames: [String] { keys.vaults.filter { !$0.isAccountVault }.map(\.name) }
}

extension Keyring {
    /// Makes the keyring of a device that joined an account: its own slots, storage key and local keys, the account's
    /// chain and vault keys.
    ///
    /// - Throws: as `create(passphrase:…)`.
    package static func create(
        joining account: JoinedAccount, server: ServerRecord, passphrase: Passphrase, parameters: PasswordParameters,
        environment: KeyringEnvironment
    ) throws(KeyError) -> UnlockedKeyring {
        let storeID = UniqueID.generate(from: environment.random)
        let slot = try PassphraseSlot.make(
            passphrase, parameters: parameters, storeID: storeID, anchor: account.device.keys.anchor,
            random: environment.random)
        var body = KeyringBody(
            device: account.device.keys, instanceID: account.device.instanceID,
            markerKey: .generate(from: environment.random), detailsKey: account.keys.detailsKey,
            deviceChain: account.chain, formerChains: account.keys.formerChains,
            slotDetails: [details(of: slot, name: "", environment)],
            vaults: account.keys.vaults.map {
                $0.replacing(offered: []).offering($0.offered, at: environment.clock.now)
            }, server: server)
        body.takeIdentity(account.keys.identity, at: environment.clock.now)
        var slots = [slot]
        // A person who comes back with a sheet has confirmed its purpose by that.
        if let own = account.chain.device(account.device.deviceID), let paper = account.chain.bringer(of: own),
            paper.kind == .paper, paper.isTrusted
        {
            admit(paper: paper, &body, &slots, environment: environment)
        }
        return try create(storeID: storeID, slots: slots, body: body, environment: environment)
    }
}
