// What one device knows and has taken of a vault's chains. The one thing to keep true: all devices that know the same
// links answer alike.

package import CoffretBase
internal import CoffretStorage
package import CoffretTrust

/// An instance by what its context says of it.
package struct InstanceOwner: Hashable, Sendable {
    package let accountID: ChainID
    package let deviceID: UniqueID
    package let firstLink: UInt32

    package init(accountID: ChainID, deviceID: UniqueID, firstLink: UInt32) {
        self.accountID = accountID
        self.deviceID = deviceID
        self.firstLink = firstLink
    }

    package init(_ context: EntryContext) {
        self.init(accountID: context.accountID, deviceID: context.deviceID, firstLink: context.firstLink)
    }
}

/// The chains of a vault's accounts, the verified links of its member chain, and how many of them this device has taken.
package struct MemberView: Equatable, Sendable {
    package private(set) var accounts: [ChainID: AccountDevices]
    package private(set) var chain: MemberState
    /// Links that hold here: all before the first that lacks confirmation (K7).
    package private(set) var takenCount: Int

    package init(accounts: [ChainID: AccountDevices] = [:], chain: MemberState = MemberState(), takenCount: Int = 0) {
        self.accounts = accounts
        self.chain = chain
        self.takenCount = takenCount
    }

    /// The newest link that was taken.
    package var newest: Int { takenCount - 1 }
    /// The state behind it; before any was taken, that of a vault which nobody has.
    package var newestState: LinkState { takenCount > 0 ? chain.states[newest] : LinkState() }

    // MARK: Following

    /// Learns of newer links, and takes as many as may be taken.
    ///
    /// Links that were taken stay taken.
    package mutating func follow(accounts: [ChainID: AccountDevices], chain: MemberState) {
        learn(accounts: accounts, chain: chain)
        while takenCount < chain.count, !lacksConfirmation(takenCount) {
            takenCount += 1
        }
    }

    /// Learns of links and takes none.
    package mutating func learn(accounts: [ChainID: AccountDevices], chain: MemberState) {
        self.accounts = accounts
        self.chain = chain
    }

    /// Takes links that lack confirmation, since a person was shown them and decides (K8).
    package mutating func takeShown(count: Int) {
        takenCount = max(takenCount, min(count, chain.count))
    }

    /// The first link that waits for another one's word, if one does.
    package var waitingForWord: Int? {
        takenCount < chain.count && lacksConfirmation(takenCount) ? takenCount : nil
    }

    // MARK: Confirmation (K7, K8)

    /// Whether a link needs confirmation and has none among the links that are known here, taken or not.
    package func lacksConfirmation(_ number: Int) -> Bool {
        let link = chain.links[number]
        return link.changesRights && isRevoked(link.deviceID, of: link.accountID) && !isConfirmed(number)
    }

    private func isConfirmed(_ number: Int) -> Bool {
        let link = chain.links[number]
        let before = chain.states[number - 1]
        return chain.links.indices.dropFirst(number + 1).contains { later in
            let other = chain.links[later]
            let removes = other.roleChanges[link.accountID] == .some(nil) && !other.effect.leaves
            let speaks = removes || other.confirms.contains(link.accountID)
            guard speaks else { return false }
            let wasOwner = before.members[other.accountID].map { $0.role == .owner && $0.hasAccepted } ?? false
            guard other.accountID == link.accountID || wasOwner else { return false }
            return !isRevoked(other.deviceID, of: other.accountID) || isConfirmed(later)
        }
    }

    /// K8: links, taken or not, for which this account can speak and which lack confirmation. An account that is no owner
    /// at the newest link known here speaks for no other one.
    ///
    /// - Parameter others: accounts without a device that could speak, as this device's person says.
    package func unconfirmedLinks(spokenForBy account: ChainID, and others: Set<ChainID> = []) -> [Int] {
        guard let now = chain.states.last?.members[account] else { return [] }
        return chain.links.indices.dropFirst().filter { number in
            let signer = chain.links[number].accountID
            let speaks =
                signer == account
                || others.contains(signer) && now.owns && chain.states[number - 1].members[account]?.owns == true
            return speaks && lacksConfirmation(number)
        }
    }

    /// K8a: links that were not taken, lack confirmation, and that nobody can confirm any more: at the newest link known here
    /// their account is no member, and nobody is an owner who was one before them.
    package var unspokenLinks: [Int] {
        let now = chain.states.last?.members ?? [:]
        return chain.links.indices.dropFirst(max(takenCount, 1)).filter { number in
            guard now[chain.links[number].accountID] == nil, lacksConfirmation(number) else { return false }
            return !chain.states[number - 1].members.contains { $1.owns && now[$0]?.owns == true }
        }
    }

    /// K8a: takes those of some links that nobody can confirm any more, since the person of this device was shown them, and the
    /// links behind them that may be taken.
    package mutating func takeUnspoken(_ shown: Set<Int>) {
        let unspoken = shown.intersection(unspokenLinks)
        while takenCount < chain.count, unspoken.contains(takenCount) || !lacksConfirmation(takenCount) {
            takenCount += 1
        }
    }

    // MARK: Devices

    package func isRevoked(_ device: UniqueID, of account: ChainID) -> Bool {
        !(accounts[account]?.isTrusted(device) ?? false)
    }

    func place(of account: ChainID, _ head: Bytes32?) -> DevicePosition? {
        head.flatMap { accounts[account]?.position(of: $0) }
    }

    /// K3: members of whose chains a revocation or a recovery is known behind the head that the newest epoch link knew of.
    package var accountsDue: [ChainID] {
        guard takenCount > 0 else { return [] }
        let state = newestState
        return state.members.keys.filter { account in
            guard let devices = accounts[account], let known = place(of: account, state.headsAtEpoch[account]) else {
                return false
            }
            return devices.takesAway(from: known, to: devices.newest)
        }.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    // MARK: Closings (K1)

    /// The first taken link that closes an instance, up to one; nil: it is open there.
    ///
    /// - Parameter last: the newest link that is looked at.
    package func closingLink(of owner: InstanceOwner, upTo last: Int? = nil) -> Int? {
        let last = last ?? newest
        var found = chain.roleLosses[owner.accountID]?.first { $0 > Int(owner.firstLink) }
        guard let devices = accounts[owner.accountID] else { return found.flatMap { $0 <= last ? $0 : nil } }
        for number in chain.headChanges[owner.accountID] ?? [] where number > Int(owner.firstLink) && number <= last {
            if let found, found < number { break }
            guard let now = place(of: owner.accountID, chain.states[number].heads[owner.accountID]),
                devices.isOut(owner.deviceID, at: now)
            else { continue }
            let before = number > 0 ? chain.states[number - 1].heads[owner.accountID] : nil
            let was = place(of: owner.accountID, before)
            if was.map({ devices.isOut(owner.deviceID, at: $0) }) != true { found = number }
        }
        return found.flatMap { $0 <= last ? $0 : nil }
    }
}
