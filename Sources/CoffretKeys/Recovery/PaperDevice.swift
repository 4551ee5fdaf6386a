// A device on paper: keys that a person typed in. Invariant: it is in the account's chain like any other device, and
// what it opens was sealed to the key that stands there.

package import CoffretBase
internal import CoffretCrypto
package import CoffretTrust

/// The content of a paper device's sheet: the key, and the account that it belongs to.
///
/// Text: the 14 groups of the key (kind 2), then 14 groups of the account id, in the same form with 3 in the place of the
/// kind. The account is no secret; without it nobody finds the account at a server.
package struct PaperSheet: Sendable {
    private static let accountVersion: UInt8 = 3

    package let key: RecoveryKey
    package let accountID: ChainID

    package init(key: RecoveryKey, accountID: ChainID) {
        precondition(key.kind == .paper, "a store recovery key is no device")
        self.key = key
        self.accountID = accountID
    }

    package func accountGroups() -> [String] { SheetText.encode(Self.accountVersion, accountID.bytes) }

    /// All 28 groups joined by hyphens: a secret in ordinary memory.
    package func text() -> String { (key.textGroups() + accountGroups()).joined(separator: "-") }

    /// - Throws: as `RecoveryKey.parse`; `.recoveryKeyUnsupported` for the sheet of a store recovery key.
    package static func parse(_ text: String) throws(KeyError) -> PaperSheet {
        var characters = text.utf8.filter { !SheetText.isBetweenGroups($0) }
        defer { characters.zero() }
        let keyCount = RecoveryKey.groupCount * RecoveryKey.groupCharacterCount
        let key = try RecoveryKey.parse(String(decoding: characters.prefix(keyCount), as: UTF8.self))
        guard key.kind == .paper else { throw KeyError(.recoveryKeyUnsupported) }
        let (version, bytes) = try SheetText.decode(String(decoding: characters.dropFirst(keyCount), as: UTF8.self))
        guard version == accountVersion, let accountID = ChainID(bytes) else { throw KeyError(.recoveryKeyUnsupported) }
        return PaperSheet(key: key, accountID: accountID)
    }
}

extension RecoveryKey {
    /// The key of what was typed: a recovery key, or a sheet, which says whose it is as well.
    ///
    /// - Throws: as `parse` of the one that its length says it is.
    package static func parse(keyOrSheet text: String) throws(KeyError) -> RecoveryKey {
        guard characterCount(of: text) > groupCount * groupCharacterCount else { return try parse(text) }
        return try PaperSheet.parse(text).key
    }
}

/// The keys of a paper device, for as long as somebody holds the sheet.
package struct PaperDevice: Sendable {
    let keys: DevicePrivateKeys

    package init(_ key: RecoveryKey) {
        precondition(key.kind == .paper, "a store recovery key is no device")
        let signing = key.deriveSigningKey()
        let id = BLAKE2b.hash(Array("coffret/paper-device/1".utf8), signing.verifyingKey.bytes)
        guard let deviceID = UniqueID(bytes: Array(id.prefix(UniqueID.byteCount))) else {
            preconditionFailure("a hash is longer than an id")
        }
        keys = DevicePrivateKeys(
            deviceID: deviceID, signing: signing, box: key.derivePaperBoxKey(), noise: key.deriveNoiseKey())
    }

    package var deviceID: UniqueID { keys.deviceID }

    /// The operation that puts it into a chain as the next link.
    package func addition(to chain: VerifiedDeviceChain) -> DeviceOperation {
        Self.addition(of: keys, kind: .paper, to: chain)
    }

    fileprivate static func addition(
        of keys: DevicePrivateKeys, kind: DeviceKind, to chain: VerifiedDeviceChain
    ) -> DeviceOperation {
        .add(
            id: keys.deviceID, kind: kind, keys: keys.publicKeys,
            countersignature: DeviceOperation.countersign(
                id: keys.deviceID, keys: keys.publicKeys, chainID: chain.accountID,
                sequenceNumber: UInt64(chain.links.count), with: keys.signing))
    }

    /// Whether a chain trusts it.
    package func isTrusted(in chain: VerifiedDeviceChain) -> Bool {
        guard let device = chain.device(deviceID) else { return false }
        return device.isTrusted && device.kind == .paper && device.keys == keys.publicKeys
    }

    package func login(_ proof: LoginProof) -> [UInt8] { proof.sign(with: keys.signing) }

    /// A link that takes out of an account all devices but some.
    ///
    /// - Parameter kept: this one is kept anyhow.
    package func recovery(of chain: VerifiedDeviceChain, keeping kept: Set<UniqueID>) -> UnverifiedLink {
        let ids = kept.union([deviceID]).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        return chain.sign(.recover(kept: ids), details: [], with: keys.signing)
    }

    /// A link that takes it out of an account itself, and keeps all devices that it brought.
    package func ownRevocation(in chain: VerifiedDeviceChain) -> UnverifiedLink {
        let brought = chain.broughtDevices(by: deviceID).map(\.id).sorted()
        return chain.sign(
            .revoke(id: deviceID, brought: brought.isEmpty ? nil : BroughtDevices(going: [], kept: brought)),
            details: [], with: keys.signing)
    }

    /// The keys that the account's devices have sealed to the sheet, all of them together.
    ///
    /// - Returns: nil if nothing of it opens.
    package func open(
        _ boxes: [DeviceBox], chain: VerifiedDeviceChain, random: any RandomSource
    ) -> PaperContents? {
        var contents: AccountKeys?
        for box in boxes {
            let opened = try? unsafe box.open(with: keys, chain: chain) {
                unsafe AccountKeys.decode($0, chain: chain, random: random)
            }
            guard case .success(let more)? = opened else { continue }
            contents = contents?.joined(by: more) ?? more
        }
        return contents.map(PaperContents.init)
    }
}

/// The keys that came to a sheet.
package struct PaperContents {
    let keys: AccountKeys

    /// The link that adds a new device, signed by the paper device.
    ///
    /// - Parameter details: a name that a device of the account has gets a number, as at pairing.
    package func link(
        adding device: NewDevice, details: LinkDetails, by paper: PaperDevice, to chain: VerifiedDeviceChain,
        random: any RandomSource
    ) -> UnverifiedLink {
        let operation = PaperDevice.addition(of: device.keys, kind: .ordinary, to: chain)
        let named = LinkDetails(
            name: LinkDetails.freeName(details.name, in: chain, key: keys.detailsKey), model: details.model,
            time: details.time, notificationAddress: details.notificationAddress)
        let sealed = named.seal(
            kind: .device, subject: device.deviceID.bytes, key: keys.detailsKey, random: random)
        return chain.sign(operation, details: sealed, with: paper.keys.signing)
    }

    /// The account as the new device gets it; `chain` has its link.
    package func account(
        of device: NewDevice, chain: VerifiedDeviceChain, serverName: String
    ) -> JoinedAccount {
        JoinedAccount(device: device, chain: chain, keys: keys, serverName: serverName, words: [:])
    }
}

extension AccountKeys {
    /// The keys that two devices sent, as one.
    fileprivate func joined(by other: AccountKeys) -> AccountKeys {
        var vaults = vaults
        for vault in other.vaults {
            if let index = vaults.firstIndex(where: { $0.vaultID == vault.vaultID }) {
                vaults[index] = vaults[index].offering(vault.offered, at: 0)
            } else {
                vaults.append(vault.renamed(UnlockedKeyring.freeName(vault.name, among: vaults)))
            }
        }
        let former = formerChains + other.formerChains.filter { !formerChains.contains($0) }
        return AccountKeys(
            detailsKey: detailsKey, formerChains: former, vaults: vaults,
            identity: identity.joined(by: other.identity, at: 0) ?? identity)
    }
}

extension Keyring {
    /// Takes the slots of paper devices away that the chain trusts no more.
    static func dropPaper(_ body: inout KeyringBody, _ slots: inout [KeySlot]) {
        for device in body.deviceChain.devices where device.kind == .paper && !device.isTrusted {
            guard let slot = slots.first(where: { $0.isOf(device) }) else { continue }
            slots.removeAll { $0.id == slot.id }
            body.slotDetails.removeAll { $0.slotID == slot.id }
        }
    }

    /// Lets the sheet of a paper device open the store.
    static func admit(
        paper device: VerifiedDevice, _ body: inout KeyringBody, _ slots: inout [KeySlot],
        environment: KeyringEnvironment
    ) {
        guard !slots.contains(where: { $0.isOf(device) }) else { return }
        let slot = KeySlot(
            id: .generate(from: environment.random), kind: .recovery, algorithm: .x25519,
            publicKey: device.keys.box.bytes, anchor: [], password: nil, reference: [], sealedStorageKey: [])
        slots.append(slot)
        let told = LinkDetails.newest(of: device, in: body.deviceChain, key: body.detailsKey)
        body.slotDetails.append(details(of: slot, name: told?.name ?? "", environment))
    }
}

extension KeySlot {
    fileprivate func isOf(_ device: VerifiedDevice) -> Bool {
        kind == .recovery && publicKey == device.keys.box.bytes
    }
}

extension UnlockedKeyring {
    /// The paper device that a slot belongs to; nil for a store recovery key.
    package func paperDevice(ofSlot id: UniqueID) throws(KeyError) -> VerifiedDevice? {
        guard let slot = slots.first(where: { $0.id == id }) else { return nil }
        return try deviceChain().devices.first { $0.kind == .paper && slot.isOf($0) }
    }

    /// Paper devices that the chain trusts, and of which nobody at this store has said that they are to open it.
    package func paperAwaitingConsent() throws(KeyError) -> [VerifiedDevice] {
        try deviceChain().devices.filter { device in
            device.kind == .paper && device.isTrusted && !slots.contains { $0.isOf(device) }
        }
    }

    /// Lets the sheet of a paper device open the store, because a person at this store says so.
    ///
    /// - Throws: `.slotNotFound` if the chain has no such paper device; what every change throws.
    package func admitPaper(_ id: UniqueID) throws(KeyError) {
        let environment = environment
        try change { (body, slots) throws(KeyError) in
            guard let device = body.deviceChain.device(id), device.kind == .paper, device.isTrusted else {
                throw KeyError(.slotNotFound)
            }
            Keyring.admit(paper: device, &body, &slots, environment: environment)
        }
    }
}
