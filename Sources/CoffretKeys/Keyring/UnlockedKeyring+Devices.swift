// A person's devices, as the keyring of one of them keeps them. Invariant: the chain here only ever goes on from what
// was verified, or to a recovery, and the links that a recovery replaced are kept as evidence.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

extension UnlockedKeyring {
    /// The account's server; nil for an account that lives on this device only.
    package func server() throws(KeyError) -> ServerRecord? { try body().server }

    /// Sets or forgets the server.
    package func setServer(_ record: ServerRecord?) throws(KeyError) {
        if let record { try KeyringName.check(record.name) }
        try change { (body, _) throws(KeyError) in body.server = record }
    }

    /// Keeps a chain that was followed.
    ///
    /// - Throws: `.deviceRevoked` if a recovery took this device out of the chain altogether; `.keyringTooLarge` if there is no
    ///   room for it beside what recoveries replaced. The old chain is kept then.
    package func adopt(_ followed: FollowedDeviceChain) throws(KeyError) {
        try change(byteCountMax: Limits.keyringForeignByteCountMax) { (body, slots) throws(KeyError) in
            guard let device = body.device, followed.chain.device(device.deviceID)?.keys == device.publicKeys else {
                throw KeyError(.deviceRevoked)
            }
            if !followed.replacedLinks.isEmpty { body.formerChains.append(body.deviceChain) }
            body.deviceChain = followed.chain
            if let watch = followed.watch { body.server = body.server?.watching(watch) }
            Keyring.dropPaper(&body, &slots)
        }
    }

    /// The next link of the device chain, signed by this device. It counts once it is in the chain.
    ///
    /// - Parameters:
    ///   - details: what only the person's devices may read; `subject` is the device that they are about.
    /// - Throws: `.deviceRevoked` if this device may sign no more.
    package func signLink(
        _ operation: DeviceOperation, details: LinkDetails? = nil, subject: UniqueID? = nil
    ) throws(KeyError) -> UnverifiedLink {
        let (body, device) = (try body(), try trustedDevice())
        var sealed: [UInt8] = []
        if let details, let subject {
            guard details.isWithinLimits else { throw KeyError(.nameTooLong) }
            sealed = details.seal(
                kind: .device, subject: subject.bytes, key: body.detailsKey, random: environment.random)
        }
        return body.deviceChain.sign(operation, details: sealed, with: device.signing)
    }

    /// The next link of the device chain, which gives a device another name and keeps what else is said of it.
    ///
    /// - Throws: `.deviceRevoked`; `.keyringInconsistent` if the chain has no such device.
    package func signRename(of id: UniqueID, to name: String) throws(KeyError) -> UnverifiedLink {
        guard let device = try deviceChain().device(id) else { throw KeyError(.keyringInconsistent, at: "device") }
        let known = try details(of: device)
        let details = LinkDetails(
            name: name, model: known?.model ?? "", time: known?.time ?? environment.clock.now,
            notificationAddress: known?.notificationAddress ?? "")
        return try signLink(.describe(id: id), details: details, subject: id)
    }

    /// An unambiguous name for a device that joins: `name`, or `name` with a number if a trusted device has that name,
    /// in any case.
    package func freeDeviceName(_ name: String) throws(KeyError) -> String {
        let body = try body()
        return LinkDetails.freeName(name, in: body.deviceChain, key: body.detailsKey)
    }

    private func trustedDevice() throws(KeyError) -> DevicePrivateKeys {
        let body = try body()
        guard let device = body.device else { throw KeyError(.keyringInconsistent, at: "device") }
        guard body.deviceChain.device(device.deviceID)?.isTrusted == true else { throw KeyError(.deviceRevoked) }
        return device
    }

    /// This device's signature under what `statement` makes of its key, for a login.
    package func login(_ statement: (UniqueID, ChainID) -> LoginProof) throws(KeyError) -> [UInt8] {
        let (body, device) = (try body(), try trustedDevice())
        return statement(device.deviceID, body.deviceChain.accountID).sign(with: device.signing)
    }

    /// The message that a device needs that was just added: the chain, the keys of all synced vaults, sealed to it,
    /// and this device's word of each vault (R7).
    package func makeWelcome(
        for device: UniqueID, words: [VaultID: [UInt8]] = [:]
    ) throws(KeyError) -> [UInt8] {
        let body = try body()
        let box = try sealBox(to: device)
        return AccountWelcome.encode(
            body.deviceChain, box, serverName: body.server?.name ?? "", words: words)
    }

    /// Boxes with the keys of all synced vaults, for every other device that the chain trusts.
    package func makeDeviceBoxes() throws(KeyError) -> [DeviceBox] {
        let (body, own) = (try body(), try trustedDevice())
        var boxes: [DeviceBox] = []
        for device in body.deviceChain.devices where device.isTrusted && device.id != own.deviceID {
            boxes.append(try sealBox(to: device.id))
        }
        return boxes
    }

    func sealBox(to device: UniqueID) throws(KeyError) -> DeviceBox {
        let (body, own) = (try body(), try trustedDevice())
        guard let recipient = body.deviceChain.device(device), recipient.isTrusted else {
            throw KeyError(.deviceRevoked)
        }
        let vaults = body.vaults.filter { $0.kind == .synced }
        let random = environment.random
        return try unsafe AccountKeys.withEncoded(body, vaults: vaults) { (content) throws(KeyError) in
            try unsafe DeviceBox.seal(
                content, to: recipient, from: own, chain: body.deviceChain, random: random)
        }
    }

    /// Takes keys from another device: vaults that are new here, aside keys of epochs that are new here, and private halves of
    /// the account's identity. What is known stays as it is.
    ///
    /// - Parameter makePlaces: as `PlaceMaking`.
    /// - Returns: the ids of vaults that are new, and of those that were offered new keys.
    /// - Throws: `.boxInvalid`; then nothing is changed.
    package func accept(
        _ box: DeviceBox, makingPlaces makePlaces: PlaceMaking = { _ in }
    ) throws(KeyError) -> (added: [VaultID], renewed: [VaultID]) {
        let (body, own) = (try body(), try trustedDevice())
        let (random, now) = (environment.random, environment.clock.now)
        let content = try unsafe box.open(with: own, chain: body.deviceChain) {
            unsafe AccountKeys.decode($0, chain: body.deviceChain, random: random)
        }
        let keys = try content.get()
        var (added, renewed): ([VaultID], [VaultID]) = ([], [])
        var (vaults, formerChains) = (body.vaults, body.formerChains)
        for vault in keys.vaults {
            guard let index = vaults.firstIndex(where: { $0.vaultID == vault.vaultID }) else {
                try Self.addFounder(of: vault, to: &formerChains, keys.formerChains, account: body.deviceChain)
                vaults.append(
                    vault.renamed(Self.freeName(vault.name, among: vaults)).replacing(offered: [])
                        .offering(vault.offered, at: now))
                added.append(vault.vaultID)
                continue
            }
            let known = vaults[index].offered.count
            vaults[index] = vaults[index].offering(vault.offered, at: now)
            guard vaults[index].offered.count > known else { continue }
            renewed.append(vault.vaultID)
        }
        let identity = (body.identity?.keys ?? IdentityKeys()).joined(by: keys.identity, at: now)
        guard !added.isEmpty || !renewed.isEmpty || identity != nil else { return ([], []) }
        try change(byteCountMax: Limits.keyringForeignByteCountMax, makingPlaces: makePlaces) {
            (body, _) throws(KeyError) in
            body.vaults = vaults
            body.formerChains = formerChains
            body.takeIdentity(keys.identity, at: now)
        }
        return (added, renewed)
    }

    /// Keeps the chain that founded a vault, without which this device could not read its own keyring.
    ///
    /// - Parameter sent: what the sender kept as evidence. Of another account's chains none is taken: their devices would count.
    private static func addFounder(
        of vault: VaultRecord, to known: inout [VerifiedDeviceChain], _ sent: [VerifiedDeviceChain],
        account: VerifiedDeviceChain
    ) throws(KeyError) {
        // Another person's vault needs no chain here.
        guard vault.memberChain.foundation.accountID == account.accountID else { return }
        let links = vault.memberChain.links.map(\.link)
        func founded(_ chain: VerifiedDeviceChain) -> Bool {
            (try? VerifiedMemberChain.verify(links, founder: chain, vaultID: vault.vaultID)) != nil
        }
        if founded(account) || known.contains(where: founded) { return }
        guard let founder = sent.first(where: { $0.accountID == account.accountID && founded($0) }) else {
            throw KeyError(.boxInvalid, at: "founder")
        }
        known.append(founder)
    }

    /// Two devices may have called different vaults the same.
    static func freeName(_ name: String, among vaults: [VaultRecord]) -> String {
        KeyringName.free(name, among: Set(vaults.map { $0.name.lowercased() }))
    }

    /// Says whether a vault is on this device only, or on all of the person's.
    package func setVaultKind(_ id: VaultID, _ kind: VaultKind) throws(KeyError) {
        try change { (body, _) throws(KeyError) in
            guard let index = body.vaults.firstIndex(where: { $0.vaultID == id }) else {
                throw KeyError(.vaultNotFound)
            }
            body.vaults[index] = body.vaults[index].replacing(kind: kind)
        }
    }
}

extension LinkDetails {
    /// The current description of a device; the first one, if the newest was sealed with another key.
    static func newest(of device: VerifiedDevice, in chain: VerifiedDeviceChain, key: LinkDetailsKey) -> LinkDetails? {
        for number in [device.describedAt, device.addedAt] where number < UInt64(chain.links.count) {
            let link = chain.links[Int(number)].link
            let details = try? open(link.sealedPart, kind: .device, subject: device.id.bytes, key: key)
            if let details { return details }
        }
        return nil
    }

    /// `name`, or `name` with the first free number from 2 on if a device that the chain trusts is called so, in any case.
    static func freeName(_ name: String, in chain: VerifiedDeviceChain, key: LinkDetailsKey) -> String {
        let trusted = chain.devices.filter(\.isTrusted)
        return KeyringName.free(
            name, among: Set(trusted.compactMap { newest(of: $0, in: chain, key: key)?.name.lowercased() }))
    }
}
