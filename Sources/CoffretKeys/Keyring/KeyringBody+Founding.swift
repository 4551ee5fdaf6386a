// The first content of a keyring: an account of one device, and its vaults. Invariant: a founded body passes the same
// verification as one that is read.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust

extension KeyringBody {
    /// A new account of one device, without a vault.
    static func founded(deviceName: String, random: any RandomSource, time: Milliseconds) -> KeyringBody {
        let device = DevicePrivateKeys(
            deviceID: .generate(from: random), signing: .generate(from: random), box: .generate(from: random),
            noise: .generate(from: random))
        let detailsKey = LinkDetailsKey.generate(from: random)
        let details = LinkDetails(name: deviceName, time: time)
        let link = VerifiedDeviceChain.found(
            deviceID: device.deviceID, keys: device.publicKeys,
            details: details.seal(kind: .device, subject: device.deviceID.bytes, key: detailsKey, random: random),
            with: device.signing)
        let chain: VerifiedDeviceChain
        do throws(TrustError) {
            chain = try VerifiedDeviceChain.verify([link])
        } catch {
            preconditionFailure("a chain that was just founded verifies: \(error.code.rawValue)")
        }
        return KeyringBody(
            device: device, instanceID: .generate(from: random), markerKey: .generate(from: random),
            detailsKey: detailsKey, deviceChain: chain, formerChains: [], slotDetails: [], vaults: [], server: nil)
    }

    /// Founds a vault.
    ///
    /// - Throws: `.vaultExists`, `.keyringInconsistent`.
    mutating func addVault(
        named name: String, kind: VaultKind, purpose: VaultPurpose? = nil, random: any RandomSource,
        time: Milliseconds
    ) throws(KeyError) -> VaultID {
        guard !vaults.contains(where: { $0.name == name }) else { throw KeyError(.vaultExists) }
        guard let device else { throw KeyError(.keyringInconsistent, at: "device") }
        let vaultKey = VaultKey.generate(from: random)
        let splitKey = SplitKey.generate(from: random)
        let seed = random.bytes(count: VaultFoundation.randomByteCount)
        let foundation = VaultFoundation(
            random: seed, accountID: deviceChain.accountID, deviceChainHead: deviceChain.head.linkHash,
            keyCommitment: EpochKeys.deriveCommitment(to: vaultKey, scope: seed, epoch: 1), purpose: purpose)
        let detailsKey: LinkDetailsKey = KDF.derive(from: splitKey, .linkDetailsKey, seed)
        let details = LinkDetails(name: name, time: time)
        let link = VerifiedMemberChain.found(
            foundation, details: details.seal(kind: .member, subject: seed, key: detailsKey, random: random),
            with: device.signing)
        do throws(TrustError) {
            let chain = try VerifiedMemberChain.verify([link], founder: deviceChain)
            vaults.append(
                VaultRecord(
                    vaultID: chain.vaultID, name: name, kind: kind, memberChain: chain, vaultKeys: [1: vaultKey],
                    offered: [], splitKey: splitKey, localKey: .generate(from: random)))
            return chain.vaultID
        } catch {
            // A device that was revoked founds no vaults.
            throw KeyError(.keyringInconsistent, at: "device", cause: error)
        }
    }
}
