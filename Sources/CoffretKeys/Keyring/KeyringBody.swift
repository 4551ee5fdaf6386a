// The sealed content of a keyring. Invariant: its encoding exists in one buffer only, which never grows while it is
// written, so that zeroing it leaves no copy behind.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

package enum VaultKind: UInt8, Sendable {
    /// On this device only.
    case local = 1
    /// On all devices of one person.
    case synced = 2
    /// Between several people.
    case shared = 3
}

/// A vault as the keyring knows it.
package struct VaultRecord: Sendable {
    package let vaultID: VaultID
    package let name: String
    package let kind: VaultKind
    package let memberChain: VerifiedMemberChain
    /// By epoch: those that the member chain commits to.
    let vaultKeys: [UInt32: VaultKey]
    /// Keys of epochs that no link has yet, as far as this device knows; they open nothing.
    let offered: [OfferedKey]
    let splitKey: SplitKey
    /// Of this vault on this device: its journal and search keys come from it.
    let localKey: LocalKey

    /// Whether it holds what the account knows of people; it is shown to nobody as a vault.
    package var isAccountVault: Bool { memberChain.foundation.purpose == .account }

    /// Seals the chains that lie beside the vault: KDF(local key, "heads/local", vault id).
    var chainsKey: HeadsKey { KDF.derive(from: localKey, .headsLocalKey, vaultID.bytes) }

    func renamed(_ name: String) -> VaultRecord {
        VaultRecord(
            vaultID: vaultID, name: name, kind: kind, memberChain: memberChain, vaultKeys: vaultKeys,
            offered: offered, splitKey: splitKey, localKey: localKey)
    }
}

/// A key that another device sent or that was made here. It becomes a vault's key when the chain commits to it.
struct OfferedKey: Sendable {
    let epoch: UInt32
    let key: VaultKey
    /// When it came, by this device's clock.
    let since: Milliseconds
}

/// The name and time of a slot, for people.
package struct SlotDetails: Equatable, Sendable {
    package let slotID: UniqueID
    package let kind: SlotKind
    package let name: String
    package let created: Milliseconds

    package init(slotID: UniqueID, kind: SlotKind, name: String, created: Milliseconds) {
        self.slotID = slotID
        self.kind = kind
        self.name = name
        self.created = created
    }
}

/// The private half of this device.
struct DevicePrivateKeys: Sendable {
    let deviceID: UniqueID
    let signing: SigningKey
    let box: AgreementKey
    let noise: AgreementKey

    /// The key that this device's slots are derived for, and the author of its keyring: the signing key.
    var anchor: [UInt8] { signing.verifyingKey.bytes }

    var publicKeys: DeviceKeys {
        DeviceKeys(signing: signing.verifyingKey, box: box.publicKey, noise: noise.publicKey)
    }
}

/// Everything inside the keyring, checked.
struct KeyringBody {
    /// nil in a backup, which holds no device's private keys.
    var device: DevicePrivateKeys?
    var instanceID: UniqueID
    /// Authenticates the marker outside the store.
    var markerKey: AuthenticationKey
    /// Seals the private parts of this account's links.
    var detailsKey: LinkDetailsKey
    var deviceChain: VerifiedDeviceChain
    /// Accounts whose devices wrote into these vaults before the store was restored from a backup.
    var formerChains: [VerifiedDeviceChain]
    var slotDetails: [SlotDetails]
    var vaults: [VaultRecord]
    /// nil for an account without one.
    var server: ServerRecord?
    /// nil until the account shares something, or hears of an identity.
    var identity: IdentityRecord?
}

extension KeyringBody {
    /// Encodes into one buffer of sufficient size; the caller zeroes it.
    ///
    /// Layout: Spec/keys.md §3.
    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: identity != nil ? 10 : server == nil ? 8 : 9)
        if let device {
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(bytes: device.deviceID.bytes)
            // EXPOSE: the device's three private keys, into the buffer that is sealed and zeroed.
            unsafe device.signing.duplicateSeed().withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            unsafe device.box.duplicateSecret().withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            unsafe device.noise.duplicateSecret().withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        } else {
            encoder.encodeNull()
        }
        encoder.encode(bytes: instanceID.bytes)
        Self.encode(markerKey, to: &encoder)
        Self.encode(detailsKey, to: &encoder)
        Self.encode(deviceChain.links, to: &encoder)
        encoder.encodeArrayHeader(count: formerChains.count)
        for chain in formerChains { Self.encode(chain.links, to: &encoder) }
        encoder.encodeArrayHeader(count: slotDetails.count)
        for slot in slotDetails {
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(bytes: slot.slotID.bytes)
            encoder.encode(unsigned: UInt64(slot.kind.rawValue))
            encoder.encode(text: slot.name)
            encoder.encode(signed: slot.created)
        }
        encoder.encodeArrayHeader(count: vaults.count)
        for vault in vaults { Self.encode(vault, to: &encoder) }
        if let server { server.encode(to: &encoder) } else if identity != nil { encoder.encodeNull() }
        identity?.encode(to: &encoder)
    }

    /// An upper bound of the encoding's size.
    var encodedByteCountMax: Int {
        func size(_ links: [VerifiedLink]) -> Int {
            links.reduce(16) { $0 + $1.link.publicPart.count + $1.link.sealedPart.count + 256 }
        }
        var byteCount = 512 + size(deviceChain.links) + (server?.encodedByteCountMax ?? 0)
        byteCount += identity?.encodedByteCountMax ?? 0
        for chain in formerChains { byteCount += size(chain.links) }
        for slot in slotDetails { byteCount += 64 + slot.name.utf8.count }
        for vault in vaults {
            byteCount += 256 + vault.name.utf8.count + size(vault.memberChain.links) + vault.vaultKeys.count * 64
            byteCount += vault.offered.count * 64
        }
        return byteCount
    }

    /// Encodes, lends the buffer, and zeroes it.
    func withEncoded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var encoder = CBOREncoder(reservingByteCount: encodedByteCountMax)
        encode(to: &encoder)
        precondition(encoder.bytes.count <= encodedByteCountMax, "the buffer grew and left a copy")
        defer { encoder.zero() }
        return unsafe encoder.bytes.withUnsafeBytes { unsafe body($0) }
    }

    static func encode<Purpose>(_ key: SymmetricKey<Purpose>, to encoder: inout CBOREncoder) {
        // EXPOSE: into the buffer that is sealed and zeroed.
        unsafe key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
    }

    static func encode(_ links: [VerifiedLink], to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: links.count)
        for link in links { link.link.encode(to: &encoder) }
    }

    private static func encode(_ vault: VaultRecord, to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 8)
        encodeShared(vault, to: &encoder)
        encode(vault.localKey, to: &encoder)
    }

    /// The seven items that all of a person's devices have.
    static func encodeShared(_ vault: VaultRecord, to encoder: inout CBOREncoder) {
        encoder.encode(bytes: vault.vaultID.bytes)
        encoder.encode(text: vault.name)
        encoder.encode(unsigned: UInt64(vault.kind.rawValue))
        encode(vault.memberChain.links, to: &encoder)
        let epochs = vault.vaultKeys.sorted { $0.key < $1.key }
        encoder.encodeMapHeader(count: epochs.count)
        // Ascending integers are in ascending order of their encoded bytes, too.
        for (epoch, key) in epochs {
            encoder.encode(unsigned: UInt64(epoch))
            encode(key, to: &encoder)
        }
        encoder.encodeArrayHeader(count: vault.offered.count)
        for offered in vault.offered {
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: UInt64(offered.epoch))
            encode(offered.key, to: &encoder)
            encoder.encode(signed: offered.since)
        }
        encode(vault.splitKey, to: &encoder)
    }
}
