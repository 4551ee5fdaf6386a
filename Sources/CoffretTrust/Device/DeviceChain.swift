// A person's devices. Invariant: after link 0, which signs itself, only a device that the chain trusts at that point
// changes the chain.

package import CoffretBase
package import CoffretCrypto

/// A verifier's record of times of a chain that it follows, by its own clock.
///
/// Links state times, and their signers may lie; a revocation that has to be announced for seven days is therefore
/// believed only if this verifier itself was without it for as long.
package struct ChainWatch: Equatable, Sendable {
    /// When the chain was last looked at.
    package let confirmedAt: Milliseconds
    /// For each announcement: a moment at which it was not yet there.
    package let announcedAfter: [UInt64: Milliseconds]

    package init(confirmedAt: Milliseconds, announcedAfter: [UInt64: Milliseconds] = [:]) {
        self.confirmedAt = confirmedAt
        self.announcedAfter = announcedAfter
    }
}

/// The result of following a chain.
package struct FollowedDeviceChain: Equatable, Sendable {
    package let chain: VerifiedDeviceChain
    /// Links that were not there before.
    package let newLinks: [VerifiedLink]
    /// Links that a recovery took away; programs show them prominently.
    package let replacedLinks: [VerifiedLink]
    /// The record of times to keep; nil if no time was given.
    package let watch: ChainWatch?
}

/// A device chain whose every link was checked.
package struct VerifiedDeviceChain: Equatable, Sendable {
    private let chain: VerifiedChain<DeviceRules>

    package var accountID: ChainID { chain.id }
    package var links: [VerifiedLink] { chain.links }
    /// In the order in which they were added.
    package var devices: [VerifiedDevice] { chain.rules.devices }
    /// Paper devices whose revocation has been announced and not been carried out.
    package var announcements: [RevocationAnnouncement] { chain.rules.announcements }
    package var head: RememberedHead { chain.head }

    package func device(_ id: UniqueID) -> VerifiedDevice? { chain.rules.device(id) }

    private init(_ chain: VerifiedChain<DeviceRules>) { self.chain = chain }

    /// Checks all links; see `TrustError` for what may be wrong.
    ///
    /// - Parameter remembered: the newest link that was verified before, from where only this device writes.
    /// - Complexity: one signature verification per link behind `remembered`, about 50 µs.
    package static func verify(
        _ links: [UnverifiedLink], accountID: ChainID? = nil, remembered: RememberedHead? = nil
    ) throws(TrustError) -> VerifiedDeviceChain {
        VerifiedDeviceChain(
            try VerifiedChain.verify(links, expectedID: accountID, remembered: remembered, rules: DeviceRules()))
    }

    /// A chain whose every link was verified before it was put where nobody else writes: places and hashes are checked
    /// again, and no signature.
    ///
    /// - Complexity: one hash per link.
    package static func resume(
        _ links: [UnverifiedLink], accountID: ChainID
    ) throws(TrustError) -> VerifiedDeviceChain {
        guard let last = links.last else { throw TrustError(.chainEmpty) }
        let head = RememberedHead(
            sequenceNumber: UInt64(links.count - 1), linkHash: last.hash(inChain: links.count == 1 ? nil : accountID))
        return try verify(links, accountID: accountID, remembered: head)
    }

    /// Goes on with what a server gives, from any link of this chain to the newest.
    ///
    /// A recovery by a paper device may replace links of this chain; nothing else may.
    /// - Parameters:
    ///   - watch: what was known before; nil on first contact, when stated times are all there is.
    ///   - now: by this device's clock; nil leaves time out of it.
    /// - Throws: `.chainRolledBack`, `.chainForked`: the server withholds, or shows different people different
    ///   chains, or the links begin behind a recovery: ask again from link 0. `.revocationTooEarly` names a link
    ///   that may become good later; what comes before it can be followed.
    package func following(
        _ links: [UnverifiedLink], watch: ChainWatch? = nil, now: Milliseconds? = nil
    ) throws(TrustError) -> FollowedDeviceChain {
        let (next, replaced) = try chain.following(links)
        let keptCount = chain.links.count - replaced.count
        for device in next.rules.devices {
            guard let watch, let now, let announced = device.announcedAt, let revoked = device.revokedAt,
                revoked >= UInt64(keptCount)
            else { continue }
            let since = announced < UInt64(keptCount) ? watch.announcedAfter[announced] : nil
            let (elapsed, overflow) = now.subtractingReportingOverflow(since ?? watch.confirmedAt)
            guard !overflow, elapsed >= DeviceOperation.announcementTime else {
                throw TrustError(.revocationTooEarly, at: revoked)
            }
        }
        return FollowedDeviceChain(
            chain: VerifiedDeviceChain(next), newLinks: Array(next.links[keptCount...]), replacedLinks: replaced,
            watch: now.map { Self.watch(next.rules.announcements, keptCount: keptCount, watch, now: $0) })
    }

    private static func watch(
        _ announcements: [RevocationAnnouncement], keptCount: Int, _ watch: ChainWatch?, now: Milliseconds
    ) -> ChainWatch {
        var announcedAfter: [UInt64: Milliseconds] = [:]
        for announcement in announcements {
            let number = announcement.sequenceNumber
            let before = number < UInt64(keptCount) ? watch?.announcedAfter[number] : nil
            announcedAfter[number] = before ?? watch?.confirmedAt ?? announcement.time
        }
        return ChainWatch(confirmedAt: now, announcedAfter: announcedAfter)
    }

    /// The device that signed the link which added another one; nil for the first.
    package func bringer(of device: VerifiedDevice) -> VerifiedDevice? {
        device.bringer.flatMap { chain.rules.device($0) }
    }

    /// The trusted devices that are here because of one: it added them, or a device that it added did.
    ///
    /// - Parameter own: the device that asks; it and those that it added are left out.
    package func devicesBrought(by id: UniqueID, sparing own: UniqueID) -> [VerifiedDevice] {
        var bringers: Set<UniqueID> = [id]
        // The device that adds another one comes before it.
        for device in devices where device.id != own {
            if let bringer = bringer(of: device), bringers.contains(bringer.id) { bringers.insert(device.id) }
        }
        return devices.filter { $0.isTrusted && $0.id != id && bringers.contains($0.id) }
    }

    /// All trusted devices that a revocation of a device decides about (K10).
    package func broughtDevices(by id: UniqueID) -> [VerifiedDevice] { devicesBrought(by: id, sparing: id) }

    /// The chain as it was when link `sequenceNumber` was its newest; nil if it has no such link.
    package func asOf(_ sequenceNumber: UInt64) -> VerifiedDeviceChain? {
        guard sequenceNumber < UInt64(links.count), let prefix = try? chain.prefix(Int(sequenceNumber) + 1) else {
            return nil
        }
        return VerifiedDeviceChain(prefix)
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
}
