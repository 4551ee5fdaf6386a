// An account's device chain with the branches that recoveries replaced. The one thing to keep true: a replaced branch gives
// no right any more, and stays evidence for what was signed while it held.

package import CoffretBase
internal import CoffretCrypto

/// A link of a device chain or of a branch that a recovery replaced.
///
/// Positions of one account are ordered: by number on one branch, and a replaced branch is below the recovery that replaced
/// it and all behind that. A link that several branches share counts on the lowest.
package struct DevicePosition: Hashable, Comparable, Sendable {
    package let branch: Int
    package let number: Int

    package static func < (left: DevicePosition, right: DevicePosition) -> Bool {
        left.branch != right.branch ? left.branch < right.branch : left.number < right.number
    }
}

/// All links that are known here of one account's devices.
package struct AccountDevices: Equatable, Sendable {
    /// The time of one device on one branch.
    struct Stay: Equatable, Sendable {
        let signingKey: [UInt8]
        let addedAt: Int
        let revokedAt: Int?
        /// Public keys for boxes and handshakes.
        var agreementKeys: [[UInt8]] = []
        var isPaper = false

        func isTrusted(at number: Int) -> Bool { addedAt <= number && (revokedAt.map { number < $0 } ?? true) }
    }

    /// A line of links from link 0 on.
    struct Branch: Equatable, Sendable {
        let hashes: [Bytes32]
        let stays: [UniqueID: Stay]
        /// Numbers of revocations and recoveries, ascending.
        let takingAway: [Int]
    }

    package let accountID: ChainID
    /// In the order in which recoveries replaced them; the chain of today comes last.
    let branches: [Branch]
    private let places: [Bytes32: DevicePosition]
    /// The newest link known here.
    package let newest: DevicePosition

    /// - Parameter replaced: the branches that recoveries replaced, each from link 0 on, the oldest first.
    package init(_ chain: VerifiedDeviceChain, replaced: [VerifiedDeviceChain] = []) {
        var branches: [Branch] = []
        for line in replaced + [chain] {
            let hashes = line.links.compactMap { Bytes32($0.hash) }
            var stays: [UniqueID: Stay] = [:]
            for device in line.devices {
                stays[device.id] = Stay(
                    signingKey: device.keys.signing.bytes, addedAt: Int(device.addedAt),
                    revokedAt: device.revokedAt.map { Int($0) },
                    agreementKeys: [device.keys.box.bytes, device.keys.noise.bytes], isPaper: device.kind == .paper)
            }
            let takingAway = line.links.indices.filter { index in
                switch try? DeviceOperation(decoding: line.links[index].link) {
                case .revoke, .recover, .revokeAnnounced: true
                default: false
                }
            }
            branches.append(Branch(hashes: hashes, stays: stays, takingAway: takingAway))
        }
        self.init(accountID: chain.accountID, branches: branches)
    }

    /// For the initialiser above, and for tests of the rules.
    init(accountID: ChainID, branches: [Branch]) {
        precondition(branches.contains { !$0.hashes.isEmpty }, "a chain has a link")
        self.accountID = accountID
        self.branches = branches
        var places: [Bytes32: DevicePosition] = [:]
        var newest = DevicePosition(branch: 0, number: 0)
        for (index, branch) in branches.enumerated() {
            for (number, hash) in branch.hashes.enumerated() where places[hash] == nil {
                places[hash] = DevicePosition(branch: index, number: number)
            }
            if let last = branch.hashes.last, let place = places[last] { newest = max(newest, place) }
        }
        self.places = places
        self.newest = newest
    }

    /// Where a link stands; nil: it is not known here.
    package func position(of hash: Bytes32) -> DevicePosition? { places[hash] }

    package func hash(at place: DevicePosition) -> Bytes32 { branches[place.branch].hashes[place.number] }

    package func isTrusted(_ device: UniqueID, at place: DevicePosition) -> Bool {
        branches[place.branch].stays[device]?.isTrusted(at: place.number) ?? false
    }

    /// Whether a paper device is trusted at the place.
    func isPaper(_ device: UniqueID, at place: DevicePosition) -> Bool {
        isTrusted(device, at: place) && branches[place.branch].stays[device]?.isPaper == true
    }

    /// Whether the newest chain known here trusts the device.
    package func isTrusted(_ device: UniqueID) -> Bool { isTrusted(device, at: newest) }

    package func signingKey(of device: UniqueID, at place: DevicePosition) -> [UInt8]? {
        branches[place.branch].stays[device]?.signingKey
    }

    /// The public keys of all devices that the account had up to a place, trusted there or not.
    func keys(at place: DevicePosition) -> Set<[UInt8]> {
        let stays = branches[place.branch].stays.values.filter { $0.addedAt <= place.number }
        return Set(stays.flatMap { [$0.signingKey] + $0.agreementKeys })
    }

    /// The device whose key signed something, and whether it is trusted at the place.
    package func signer(_ key: [UInt8], at place: DevicePosition) -> (device: UniqueID, isTrusted: Bool)? {
        let stay = branches[place.branch].stays.first { $0.value.signingKey == key && $0.value.addedAt <= place.number }
        return stay.map { ($0.key, $0.value.isTrusted(at: place.number)) }
    }

    /// K1: whether the device has no right at the place, for good: it was revoked or left out at or before it, or was added
    /// only on a branch that a recovery at or before it replaced.
    package func isOut(_ device: UniqueID, at place: DevicePosition) -> Bool {
        let branch = branches[place.branch]
        if let stay = branch.stays[device] { return stay.addedAt <= place.number && !stay.isTrusted(at: place.number) }
        return branches[..<place.branch].contains { $0.stays[device] != nil }
    }

    /// K3: whether a revocation or a recovery lies behind one place, up to another one.
    package func takesAway(from: DevicePosition, to: DevicePosition) -> Bool {
        branches[to.branch].takingAway.contains { number in
            guard number <= to.number, let place = places[branches[to.branch].hashes[number]] else { return false }
            return place > from
        }
    }

    /// Devices that the newest chain trusts.
    package var trusted: [UniqueID] {
        branches[newest.branch].stays.filter { $0.value.isTrusted(at: newest.number) }.map(\.key).sorted()
    }
}
