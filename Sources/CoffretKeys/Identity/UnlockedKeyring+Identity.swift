// The account's identity, as the keyring of one of its devices keeps it. The one thing to keep true: private halves are in this
// keyring before a link that names them is posted.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// The account's own identity as this device has it.
package struct OwnIdentity: Sendable {
    /// nil while no link is known here.
    package let chain: VerifiedIdentityChain?
    package let keys: IdentityKeys
    /// The account's devices as they are known here.
    package let devices: AccountDevices

    package var isCurrent: Bool { chain?.isCurrent(for: devices) ?? false }

    /// Whether private halves of the newest links are not here.
    package var lacksKeys: Bool {
        guard let chain else { return false }
        return keys.longTerm(of: chain.newestSet) == nil || keys.transient(of: chain.newest) == nil
    }

    /// Whether keys are here of a link that is not: another device has made it, or its link lost the race.
    package var hasKeysBehind: Bool {
        let count = UInt64(chain?.links.count ?? 0)
        return keys.transients.contains { $0.number >= count }
    }

    /// Whether the newest transient key is 30 days old, by its own time and this clock.
    package func isRefreshDue(at now: Milliseconds) -> Bool {
        guard let made = chain?.newest.operation.transient.made else { return false }
        let (age, overflow) = now.subtractingReportingOverflow(made)
        return !overflow && age >= Self.refreshTime
    }

    private static let refreshTime: Milliseconds = 30 * 86_400_000
}

extension UnlockedKeyring {
    /// The account's identity; nil: nothing of it is here.
    package func identity() throws(KeyError) -> OwnIdentity? {
        let body = try body()
        return body.identity.map { OwnIdentity(chain: $0.chain, keys: $0.keys, devices: body.accountDevices) }
    }

    /// The account's devices, with the lines that recoveries replaced.
    package func accountDevices() throws(KeyError) -> AccountDevices { try body().accountDevices }

    /// The key with which this device signs letters and links.
    package func letterSigner() throws(KeyError) -> SigningKey {
        let (body, device) = (try body(), try device())
        guard body.deviceChain.device(device.deviceID)?.isTrusted == true else { throw KeyError(.deviceRevoked) }
        return device.signing
    }

    /// Keeps a chain that was followed.
    package func keep(_ chain: VerifiedIdentityChain) throws(KeyError) {
        let now = environment.clock.now
        try change(byteCountMax: Limits.keyringForeignByteCountMax) { (body, _) throws(KeyError) in
            var record = body.identity ?? IdentityRecord()
            let known = UInt64(record.chain?.links.count ?? 0)
            for number in known..<max(known, UInt64(chain.links.count)) { record.seen[number] = now }
            record.chain = chain
            body.identity = record.forgetting(at: now) ?? record
        }
    }

    /// Makes the keys of the next link of the identity chain, keeps them here, and signs the link. It counts once it is in the
    /// chain; the account's other devices get the keys before.
    ///
    /// - Parameter sets: whether the link brings long-term keys; link 0 does.
    /// - Throws: `.deviceRevoked`.
    package func makeIdentityLink(sets: Bool) throws(KeyError) -> UnverifiedLink {
        let (random, now) = (environment.random, environment.clock.now)
        let signer = try letterSigner()
        let body = try body()
        let (chain, account) = (body.identity?.chain, body.deviceChain.accountID)
        let number = UInt64(chain?.links.count ?? 0)
        let (key, box) = (AgreementKey.generate(from: random), AgreementKey.generate(from: random))
        let signing = SigningKey.generate(from: random)
        let transient = TransientKey(
            key: key.publicKey, made: now, expires: now.addingReportingOverflow(TransientKey.lifetimeMax).partialValue)
        let head = StatedLink(body.deviceChain.head)
        let operation =
            sets || chain == nil
            ? IdentityOperation.set(
                head: head, box: box.publicKey, transient: transient, number: number, of: account, signing: signing)
            : IdentityOperation.refresh(head: head, transient: transient)
        let made = IdentityKeys(
            longTerm: operation.longTerm == nil
                ? [] : [.init(number: number, signing: signing, box: box, since: now)],
            transients: [.init(number: number, key: key, since: now)])
        try change { (body, _) throws(KeyError) in body.takeIdentity(made, at: now) }
        return VerifiedIdentityChain.sign(operation, after: chain, account: account, with: signer)
    }

    /// Whether the time of private halves is over.
    package func hasOldIdentityKeys() throws(KeyError) -> Bool {
        try body().identity?.forgetting(at: environment.clock.now) != nil
    }

    /// Lets go of private halves whose time is over.
    ///
    /// - Returns: whether something went.
    @discardableResult
    package func forgetIdentityKeys() throws(KeyError) -> Bool {
        guard let record = try body().identity?.forgetting(at: environment.clock.now) else { return false }
        try change { (body, _) throws(KeyError) in body.identity = record }
        return true
    }

    /// A box that asks the account's other devices for keys.
    package func wantKeys() throws(KeyError) -> DeviceBox {
        DeviceBox.wanting(from: try device(), chain: try body().deviceChain)
    }

    /// A full box for the device that asks for keys.
    ///
    /// - Returns: nil for a box of this device itself.
    /// - Throws: `.boxInvalid` if no trusted device asks.
    package func answer(_ wanted: DeviceBox) throws(KeyError) -> DeviceBox? {
        try wanted.checkWanted(try body().deviceChain)
        guard wanted.senderID != (try deviceID()) else { return nil }
        return try sealBox(to: wanted.senderID)
    }
}
