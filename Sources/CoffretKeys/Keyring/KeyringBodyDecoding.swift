// Reading what a keyring holds. Invariant: keys go from the opened envelope straight into locked memory, and nothing
// is believed that its chain does not confirm.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust

/// The body's fields before their chains are verified.
private struct UnverifiedBody {
    var device: DevicePrivateKeys?
    var instanceID: UniqueID
    var markerKey: AuthenticationKey
    var detailsKey: LinkDetailsKey
    var deviceLinks: [UnverifiedLink]
    var formerLinks: [[UnverifiedLink]]
    var slotDetails: [SlotDetails]
    var vaults: [UnverifiedVault]
    var server: ServerRecord?
    var identity: UnverifiedIdentity?
}

/// A vault's record before its chain is verified.
struct UnverifiedVault {
    let vaultID: VaultID
    let name: String
    let kind: VaultKind
    let links: [UnverifiedLink]
    let vaultKeys: [UInt32: VaultKey]
    let offered: [OfferedKey]
    let splitKey: SplitKey
    let localKey: LocalKey
}

extension KeyringBody {
    /// Reads and verifies an opened body, as a result: the envelope's closure has errors of its own.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> Result<KeyringBody, KeyError> {
        do throws(KeyError) {
            return .success(try unsafe KeyringBody(decoding: bytes))
        } catch {
            return .failure(error)
        }
    }

    /// Reads and verifies an opened body.
    ///
    /// - Throws: `.keyringInconsistent` if it is not of the specified shape, a chain does not verify, the
    ///   device's keys are not those of its chain, or a vault's key is not the one its chain commits to.
    init(decoding bytes: UnsafeRawBufferPointer) throws(KeyError) {
        let unverified: UnverifiedBody
        do throws(CBORError) {
            unverified = try unsafe withCBORDecoder(over: bytes) { (decoder) throws(CBORError) in
                try UnverifiedBody(from: &decoder)
            }
        } catch {
            throw KeyError(.keyringInconsistent, at: "body", cause: error)
        }
        do throws(TrustError) {
            try self.init(verifying: unverified)
        } catch {
            throw KeyError(.keyringInconsistent, at: "chain", cause: error)
        }
        if let device {
            guard let entry = deviceChain.device(device.deviceID), entry.keys == device.publicKeys else {
                throw KeyError(.keyringInconsistent, at: "device")
            }
        }
        for vault in vaults {
            guard vault.keysFitFoundation else { throw KeyError(.keyringInconsistent, at: "vault key") }
        }
    }

    private init(verifying body: UnverifiedBody) throws(TrustError) {
        let chain = try VerifiedDeviceChain.verify(body.deviceLinks)
        var former: [VerifiedDeviceChain] = []
        for links in body.formerLinks { former.append(try VerifiedDeviceChain.verify(links)) }
        var vaults: [VaultRecord] = []
        for vault in body.vaults {
            vaults.append(try Self.verify(vault, accounts: [chain] + former))
        }
        self.init(
            device: body.device, instanceID: body.instanceID, markerKey: body.markerKey, detailsKey: body.detailsKey,
            deviceChain: chain, formerChains: former, slotDetails: body.slotDetails, vaults: vaults,
            server: body.server)
        identity = try body.identity?.verified(by: accountDevices)
    }

    static func verify(
        _ vault: UnverifiedVault, accounts: [VerifiedDeviceChain]
    ) throws(TrustError) -> VaultRecord {
        let chain = try memberChain(of: vault, accounts: accounts)
        return VaultRecord(
            vaultID: vault.vaultID, name: vault.name, kind: vault.kind, memberChain: chain, vaultKeys: vault.vaultKeys,
            offered: vault.offered, splitKey: vault.splitKey, localKey: vault.localKey)
    }

    /// A vault that none of these accounts founded is another person's: its id says which link 0 is meant.
    private static func memberChain(
        of vault: UnverifiedVault, accounts: [VerifiedDeviceChain]
    ) throws(TrustError) -> VerifiedMemberChain {
        guard let first = vault.links.first else { throw TrustError(.chainEmpty) }
        let founder = try VaultFoundation(decoding: first).accountID
        var failure = TrustError(.founderDiffers)
        for account in accounts {
            do throws(TrustError) {
                return try VerifiedMemberChain.verify(vault.links, founder: account, vaultID: vault.vaultID)
            } catch {
                failure = error
            }
        }
        guard let own = accounts.first, !accounts.contains(where: { $0.accountID == founder }) else { throw failure }
        return try VerifiedMemberChain.identify(vault.links, vaultID: vault.vaultID, notBy: own.accountID)
    }
}

extension UnverifiedBody {
    init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard 8...10 ~= count else { throw CBORError(.unexpectedItem, byteOffset: start) }
        if decoder.isNextNull {
            try decoder.readNull()
            device = nil
        } else {
            try decoder.readArrayHeader(count: 4)
            device = DevicePrivateKeys(
                deviceID: try decoder.readUniqueID(), signing: SigningKey(seed: try decoder.readSecret()),
                box: AgreementKey(try decoder.readSecret()), noise: AgreementKey(try decoder.readSecret()))
        }
        instanceID = try decoder.readUniqueID()
        markerKey = SymmetricKey(try decoder.readSecret())
        detailsKey = SymmetricKey(try decoder.readSecret())
        deviceLinks = try decoder.readLinks()
        formerLinks = []
        for _ in 0..<(try decoder.readArrayHeader()) { formerLinks.append(try decoder.readLinks()) }
        slotDetails = []
        for _ in 0..<(try decoder.readArrayHeader()) {
            try decoder.readArrayHeader(count: 4)
            slotDetails.append(
                SlotDetails(
                    slotID: try decoder.readUniqueID(),
                    kind: SlotKind(rawValue: try decoder.readUnsigned(as: UInt8.self)),
                    name: try decoder.readText(byteCountMax: Limits.nameByteCountMax), created: try decoder.readSigned()
                ))
        }
        vaults = try decoder.readVaults { (decoder) throws(CBORError) in try UnverifiedVault(from: &decoder) }
        server = nil
        if count == 10, decoder.isNextNull {
            try decoder.readNull()
        } else if count > 8 {
            server = try ServerRecord(from: &decoder)
        }
        identity = count == 10 ? try UnverifiedIdentity(from: &decoder) : nil
    }
}

extension UnverifiedVault {
    /// - Parameter localKey: of this device, where the bytes come from another one, which has its own.
    init(from decoder: inout CBORDecoder, localKey: LocalKey? = nil) throws(CBORError) {
        try decoder.readArrayHeader(count: localKey == nil ? 8 : 7)
        let start = decoder.byteOffset
        guard let vaultID = VaultID(try decoder.readBytes(count: VaultID.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        self.vaultID = vaultID
        name = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
        guard let kind = VaultKind(rawValue: try decoder.readUnsigned(as: UInt8.self)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        self.kind = kind
        links = try decoder.readLinks()
        var keys: [UInt32: VaultKey] = [:]
        var map = try decoder.readMapHeader()
        guard map.remaining <= Limits.epochCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        while let epoch = try decoder.readUnsignedKey(in: &map) {
            guard let epoch = UInt32(exactly: epoch) else { throw CBORError(.unexpectedItem, byteOffset: start) }
            keys[epoch] = VaultKey(try decoder.readSecret())
        }
        vaultKeys = keys
        var offered: [OfferedKey] = []
        let count = try decoder.readArrayHeader()
        guard count <= Limits.epochCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        for _ in 0..<count {
            try decoder.readArrayHeader(count: 3)
            offered.append(
                OfferedKey(
                    epoch: try decoder.readUnsigned(as: UInt32.self), key: VaultKey(try decoder.readSecret()),
                    since: try decoder.readSigned()))
        }
        self.offered = offered
        splitKey = SplitKey(try decoder.readSecret())
        if let localKey {
            self.localKey = localKey
        } else {
            self.localKey = LocalKey(try decoder.readSecret())
        }
    }
}

extension CBORDecoder {
    /// Reads 32 bytes into locked memory.
    mutating func readSecret() throws(CBORError) -> SecretBytes {
        let start = byteOffset
        let range = try readByteRange()
        guard range.count == 32 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return unsafe SecretBytes(byteCount: 32) { target in
            // EXPOSE: from the opened envelope, which is zeroed, to locked memory.
            unsafe withUnsafeBytes(in: range) { source in unsafe target.copyMemory(from: source) }
        }
    }

    mutating func readUniqueID() throws(CBORError) -> UniqueID {
        let start = byteOffset
        guard let id = UniqueID(bytes: try readBytes(count: UniqueID.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return id
    }

    /// Vaults of a keyring or a device box; no more of them, nor epochs of each, than one process has room for.
    mutating func readVaults(
        _ read: (inout CBORDecoder) throws(CBORError) -> UnverifiedVault
    ) throws(CBORError) -> [UnverifiedVault] {
        let start = byteOffset
        let count = try readArrayHeader()
        guard count <= Limits.vaultCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var vaults: [UnverifiedVault] = []
        for _ in 0..<count { vaults.append(try read(&self)) }
        return vaults
    }

    mutating func readLinks() throws(CBORError) -> [UnverifiedLink] {
        let start = byteOffset
        let count = try readArrayHeader()
        guard count <= Limits.chainLinkCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var links: [UnverifiedLink] = []
        for _ in 0..<count { links.append(try UnverifiedLink(from: &self)) }
        return links
    }
}
