// The effects of links on the set of a person's devices. Invariant: the holder of an ordinary device can never, alone
// and unseen, take a paper device's power away.

package import CoffretBase
internal import CoffretCrypto

/// A device as a verified chain shows it.
package struct VerifiedDevice: Equatable, Sendable {
    package let id: UniqueID
    package let kind: DeviceKind
    package let keys: DeviceKeys
    package let addedAt: UInt64
    /// The device that signed the link which added it; nil for the first.
    package let bringer: UniqueID?
    /// The link whose sealed part says what the device is called now.
    package fileprivate(set) var describedAt: UInt64
    package fileprivate(set) var revokedAt: UInt64?
    /// The link that announced the revocation, if it had to be announced.
    package fileprivate(set) var announcedAt: UInt64?
    /// Of a paper device: the link with which an ordinary device brought it, or the paper device that it came from.
    /// The lower outranks the higher.
    fileprivate let rank: UInt64

    package var isTrusted: Bool { revokedAt == nil }
}

/// A paper device that an ordinary one is about to revoke.
package struct RevocationAnnouncement: Equatable, Sendable {
    /// The paper device.
    package let target: UniqueID
    /// The device that announced it, and alone may carry it out.
    package let announcer: UniqueID
    package let sequenceNumber: UInt64
    /// As the announcer states it.
    package let time: Milliseconds

    /// From when on it may be carried out.
    package var endOfWaiting: Milliseconds { time &+ DeviceOperation.announcementTime }
}

/// The state of a device chain.
struct DeviceRules: ChainRules {
    static let kind = ChainKind.device

    private(set) var devices: [VerifiedDevice] = []
    private(set) var announcements: [RevocationAnnouncement] = []
    /// Places in `devices`, so that a link costs the same however many there are.
    private var places: [UniqueID: Int] = [:]
    private var signerPlaces: [[UInt8]: Int] = [:]
    /// Box and Noise keys that are taken.
    private var agreementKeys: [Set<[UInt8]>] = [[], []]

    var beginning: DeviceRules { DeviceRules() }

    mutating func apply(
        _ link: UnverifiedLink, by key: VerifyingKey, chainID: ChainID, isVerified: Bool
    ) throws(TrustError) {
        let number = link.sequenceNumber
        let operation = try DeviceOperation(decoding: link)
        guard number > 0 else { return try applyFirst(operation, signedBy: key) }
        guard let signer = signer(key.bytes) else { throw TrustError(.signerUnknown, at: number) }
        guard signer.isTrusted else { throw TrustError(.signerRevoked, at: number) }
        switch operation {
        case .add(let id, let kind, let keys, let countersignature):
            guard places[id] == nil, !isTaken(keys) else { throw TrustError(.deviceExists, at: number) }
            if !isVerified { try Self.checkCountersignature(countersignature, id, keys, number, chainID) }
            append(
                VerifiedDevice(
                    id: id, kind: kind, keys: keys, addedAt: number, bringer: signer.id, describedAt: number,
                    rank: signer.kind == .paper ? signer.rank : number)
            )
        case .revoke(let id, let brought):
            try revoke(id, brought, by: signer, at: number)
        case .recover(let kept):
            try recover(kept, by: signer, at: number)
        case .announceRevocation(let id, let time):
            guard devices[try trusted(id, at: number)].kind == .paper else {
                throw TrustError(.linkMalformed, at: number)
            }
            announcements.removeAll { $0.target == id && $0.announcer == signer.id }
            announcements.append(
                RevocationAnnouncement(target: id, announcer: signer.id, sequenceNumber: number, time: time))
        case .revokeAnnounced(let id, let time):
            let index = try trusted(id, at: number)
            guard let announced = announcements.first(where: { $0.target == id && $0.announcer == signer.id }) else {
                throw TrustError(.paperOutranks, at: number)
            }
            let (elapsed, overflow) = time.subtractingReportingOverflow(announced.time)
            guard !overflow, elapsed >= DeviceOperation.announcementTime else {
                throw TrustError(.revocationTooEarly, at: number)
            }
            devices[index].revokedAt = number
            devices[index].announcedAt = announced.sequenceNumber
        case .describe(let id):
            devices[try trusted(id, at: number)].describedAt = number
        }
        announcements = announcements.filter {
            device($0.target)?.isTrusted == true && device($0.announcer)?.isTrusted == true
        }
    }

    func device(_ id: UniqueID) -> VerifiedDevice? { places[id].map { devices[$0] } }

    private func signer(_ key: [UInt8]) -> VerifiedDevice? { signerPlaces[key].map { devices[$0] } }

    private func isTaken(_ keys: DeviceKeys) -> Bool {
        signerPlaces[keys.signing.bytes] != nil || agreementKeys[0].contains(keys.box.bytes)
            || agreementKeys[1].contains(keys.noise.bytes)
    }

    private mutating func append(_ device: VerifiedDevice) {
        places[device.id] = devices.count
        signerPlaces[device.keys.signing.bytes] = devices.count
        agreementKeys[0].insert(device.keys.box.bytes)
        agreementKeys[1].insert(device.keys.noise.bytes)
        devices.append(device)
    }

    /// Link 0 adds the device that signs it.
    private mutating func applyFirst(_ operation: DeviceOperation, signedBy key: VerifyingKey) throws(TrustError) {
        guard case .add(let id, let kind, let keys, let countersignature) = operation else {
            throw TrustError(.deviceUnknown, at: 0)
        }
        guard keys.signing == key else { throw TrustError(.signerUnknown, at: 0) }
        guard countersignature.isEmpty else { throw TrustError(.linkMalformed, at: 0) }
        append(VerifiedDevice(id: id, kind: kind, keys: keys, addedAt: 0, bringer: nil, describedAt: 0, rank: 0))
    }

    private func trusted(_ id: UniqueID, at number: UInt64) throws(TrustError) -> Int {
        guard let index = places[id], devices[index].isTrusted else { throw TrustError(.deviceUnknown, at: number) }
        return index
    }

    private static func checkCountersignature(
        _ countersignature: [UInt8], _ id: UniqueID, _ keys: DeviceKeys, _ number: UInt64, _ chainID: ChainID
    ) throws(TrustError) {
        do throws(CryptoError) {
            try keys.signing.verify(
                countersignature, .linkCountersignature,
                scope: UnverifiedLink.scope(kind: .device, chainID: chainID.bytes),
                message: DeviceOperation.countersigned(id, keys, number))
        } catch {
            throw TrustError(.countersignatureInvalid, at: number)
        }
    }

    /// K10: a revocation decides about every trusted device that the revoked one brought.
    private mutating func revoke(
        _ id: UniqueID, _ brought: BroughtDevices?, by signer: VerifiedDevice, at number: UInt64
    ) throws(TrustError) {
        var indices = [try trusted(id, at: number)]
        if let brought {
            for ids in [brought.going, brought.kept] {
                guard zip(ids, ids.dropFirst()).allSatisfy({ $0 < $1 }) else {
                    throw TrustError(.linkMalformed, at: number)
                }
            }
            guard !brought.going.contains(signer.id) else { throw TrustError(.linkMalformed, at: number) }
            let named = brought.going + brought.kept
            guard Set(named).count == named.count, Set(named) == devicesBrought(by: id) else {
                throw TrustError(.broughtUndecided, at: number)
            }
            for other in brought.going { indices.append(try trusted(other, at: number)) }
        }
        for index in indices {
            guard signer.mayRevoke(devices[index]) else { throw TrustError(.paperOutranks, at: number) }
        }
        for index in indices { devices[index].revokedAt = number }
    }

    /// Trusted devices that one added, or that these added, and so on, through devices that are revoked already too.
    private func devicesBrought(by id: UniqueID) -> Set<UniqueID> {
        var bringers: Set<UniqueID> = [id]
        // The device that adds another one comes before it.
        for device in devices where device.bringer.map(bringers.contains) == true { bringers.insert(device.id) }
        return bringers.filter { $0 != id && self.device($0)?.isTrusted == true }
    }

    private mutating func recover(_ kept: [UniqueID], by signer: VerifiedDevice, at number: UInt64) throws(TrustError) {
        guard signer.kind == .paper else { throw TrustError(.paperOutranks, at: number) }
        let isAscending = zip(kept, kept.dropFirst()).allSatisfy { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        guard isAscending, kept.contains(signer.id) else { throw TrustError(.linkMalformed, at: number) }
        for id in kept { _ = try trusted(id, at: number) }
        let kept = Set(kept)
        for index in devices.indices where devices[index].isTrusted && !kept.contains(devices[index].id) {
            guard signer.mayRevoke(devices[index]) else { throw TrustError(.paperOutranks, at: number) }
            devices[index].revokedAt = number
        }
    }

    /// Only a recovery replaces links, and none that another paper device, trusted here too, has recovered with.
    func checkReplacement(
        by link: UnverifiedLink, of replaced: ArraySlice<VerifiedLink>, seen: DeviceRules
    ) throws(TrustError) {
        let number = link.sequenceNumber
        guard case .recover? = try? DeviceOperation(decoding: link) else { throw TrustError(.chainForked, at: number) }
        for other in replaced {
            guard case .recover = try DeviceOperation(decoding: other.link) else { continue }
            // A device that came with the replaced links has no say over them: a thief may bring paper, too.
            if signer(other.link.signerKey)?.isTrusted == true { throw TrustError(.chainForked, at: number) }
        }
        if let signer = seen.signer(link.signerKey), !signer.isTrusted { throw TrustError(.signerRevoked, at: number) }
    }
}

extension VerifiedDevice {
    /// Any device revokes an ordinary one at once; a paper device falls only to itself or to one of its rank or above.
    fileprivate func mayRevoke(_ target: VerifiedDevice) -> Bool {
        target.kind == .ordinary || kind == .paper && (rank <= target.rank || id == target.id)
    }
}
