// One account's device chain as this device follows it. The one thing to keep true: what was verified stays: a server may
// add links and branches, and takes nothing away.

package import CoffretBase
package import CoffretTrust

/// A device chain with the branches that recoveries replaced, and the times that were seen of it.
package struct FollowedAccount: Equatable, Sendable {
    package private(set) var chain: VerifiedDeviceChain
    /// Each from link 0 on, the oldest first.
    package private(set) var branches: [VerifiedDeviceChain]
    package private(set) var watch: ChainWatch
    /// Chain and branches, as rules ask of them.
    package private(set) var devices: AccountDevices

    /// An account that is met for the first time.
    ///
    /// - Parameter now: by this device's clock.
    /// - Throws: `TrustError`.
    package init(
        _ id: ChainID, links: [UnverifiedLink], branches: [ReplacedLinks], now: Milliseconds
    ) throws(TrustError) {
        chain = try VerifiedDeviceChain.verify(links, accountID: id)
        self.branches = []
        devices = AccountDevices(chain)
        // Stated times are all there is at first.
        watch = try Self.watch(of: chain, nil, now: now)
        try add(branches)
        devices = AccountDevices(chain, replaced: self.branches)
    }

    /// An account whose chains somebody else verified.
    ///
    /// - Parameter replaced: the branches that recoveries replaced, each from link 0 on, the oldest first.
    package init(_ chain: VerifiedDeviceChain, replaced: [VerifiedDeviceChain], watch: ChainWatch) {
        self.chain = chain
        branches = replaced
        self.watch = watch
        devices = AccountDevices(chain, replaced: replaced)
    }

    /// Whether a link of that hash is known of the account, in its chain or on a branch.
    package func knows(_ linkHash: [UInt8]) -> Bool {
        ([chain] + branches).contains { line in line.links.contains { $0.hash == linkHash } }
    }

    /// Goes on with links from some place of the chain to its end, and the branches that are new.
    ///
    /// - Throws: `TrustError`: `.chainForked` where a link differs and no recovery replaced it, or where the branch of a
    ///   recovery is not what this device had; nothing is changed then.
    package mutating func follow(
        _ links: [UnverifiedLink], branches added: [ReplacedLinks], now: Milliseconds
    ) throws(TrustError) {
        let followed = try chain.following(links, watch: watch, now: now)
        var next = self
        next.chain = followed.chain
        next.watch = followed.watch ?? watch
        try next.add(added)
        if !followed.replacedLinks.isEmpty { try next.keepReplaced(chain, isNew: !added.isEmpty) }
        if next.chain.head != chain.head || next.branches != branches {
            next.devices = AccountDevices(next.chain, replaced: next.branches)
        }
        self = next
    }

    /// The links behind the recovery that replaced this device's own end of the chain: the server's branch has them, or this
    /// device has more than the server gave.
    private mutating func keepReplaced(_ old: VerifiedDeviceChain, isNew: Bool) throws(TrustError) {
        let head = old.head
        for index in branches.indices.reversed() {
            let line = branches[index].links
            if head.sequenceNumber < UInt64(line.count), line[Int(head.sequenceNumber)].hash == head.linkHash { return }
            let last = line.count - 1
            if isNew, last < old.links.count, old.links[last].hash == line[last].hash {
                branches[index] = old
                return
            }
        }
        // A server that gives a recovery gives what it replaced.
        throw TrustError(.chainForked, at: head.sequenceNumber)
    }

    /// Takes branches in, the oldest first: each one's beginning is that of the next newer one, or of the chain.
    private mutating func add(_ added: [ReplacedLinks]) throws(TrustError) {
        var lines: [VerifiedDeviceChain] = []
        for branch in added.reversed() {
            let newer = lines.last ?? chain
            guard branch.start > 0, branch.start <= newer.links.count, !branch.links.isEmpty else {
                throw TrustError(.chainGap, at: UInt64(branch.start))
            }
            let known = newer.links[branch.start - 1]
            let remembered = RememberedHead(sequenceNumber: UInt64(branch.start - 1), linkHash: known.hash)
            lines.append(
                try VerifiedDeviceChain.verify(
                    newer.links[..<branch.start].map(\.link) + branch.links, accountID: chain.accountID,
                    remembered: remembered))
        }
        branches += lines.reversed()
    }

    private static func watch(
        of chain: VerifiedDeviceChain, _ watch: ChainWatch?, now: Milliseconds
    ) throws(TrustError) -> ChainWatch {
        guard let last = chain.links.last?.link else { throw TrustError(.chainEmpty) }
        return try chain.following([last], watch: watch, now: now).watch ?? ChainWatch(confirmedAt: now)
    }
}

/// Links that a recovery replaced, from the place where it begins.
package struct ReplacedLinks: Equatable, Sendable {
    package let start: Int
    package let links: [UnverifiedLink]

    package init(start: Int, links: [UnverifiedLink]) {
        self.start = start
        self.links = links
    }
}

// MARK: - The record

extension FollowedAccount {
    /// `[[+ link], [* [start, [+ link]]], confirmed at, [* [announcement, seen after]]]`.
    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 4)
        encoder.encode(links: chain.links.map(\.link))
        encoder.encodeArrayHeader(count: branches.count)
        for (index, line) in branches.enumerated() {
            let newer = index + 1 < branches.count ? branches[index + 1] : chain
            let start = zip(line.links, newer.links).prefix { $0.hash == $1.hash }.count
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: UInt64(start))
            encoder.encode(links: line.links[start...].map(\.link))
        }
        encoder.encode(signed: watch.confirmedAt)
        encoder.encodeArrayHeader(count: watch.announcedAfter.count)
        for (number, time) in watch.announcedAfter.sorted(by: { $0.key < $1.key }) {
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: number)
            encoder.encode(signed: time)
        }
    }

    /// Reads what this device wrote; hashes are checked, and no signature.
    init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        try decoder.readArrayHeader(count: 4)
        let links = try decoder.readLinks()
        var added: [ReplacedLinks] = []
        for _ in 0..<(try decoder.readArrayHeader()) {
            try decoder.readArrayHeader(count: 2)
            let first = try decoder.readUnsigned(as: Int.self)
            added.append(ReplacedLinks(start: first, links: try decoder.readLinks()))
        }
        let confirmedAt = try decoder.readSigned()
        var announcedAfter: [UInt64: Milliseconds] = [:]
        for _ in 0..<(try decoder.readArrayHeader()) {
            try decoder.readArrayHeader(count: 2)
            let number = try decoder.readUnsigned()
            announcedAfter[number] = try decoder.readSigned()
        }
        do {
            guard let first = links.first, let id = ChainID(first.hash(inChain: nil)) else {
                throw TrustError(.chainEmpty)
            }
            let chain = try VerifiedDeviceChain.resume(links, accountID: id)
            var lines: [VerifiedDeviceChain] = []
            for branch in added.reversed() {
                let newer = lines.last ?? chain
                guard branch.start <= newer.links.count else { throw TrustError(.chainGap) }
                let line = newer.links[..<branch.start].map(\.link) + branch.links
                lines.append(try VerifiedDeviceChain.resume(line, accountID: id))
            }
            self.chain = chain
            branches = lines.reversed()
            devices = AccountDevices(chain, replaced: branches)
            watch = ChainWatch(confirmedAt: confirmedAt, announcedAfter: announcedAfter)
        } catch {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
    }
}

extension CBOREncoder {
    mutating func encode(links: [UnverifiedLink]) {
        encodeArrayHeader(count: links.count)
        for link in links { link.encode(to: &self) }
    }
}

extension CBORDecoder {
    mutating func readLinks() throws(CBORError) -> [UnverifiedLink] {
        var links: [UnverifiedLink] = []
        for _ in 0..<(try readArrayHeader()) { links.append(try UnverifiedLink(from: &self)) }
        return links
    }
}
