// Vaults with many members, made quickly: links that people sign one after the other, without a sync between them. The one thing
// to keep true: the server's store took each link, by all of its checks.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
package import CoffretSync
package import CoffretTrust
internal import CoffretWire

/// The end of a vault's member chain, to which links are added by hand.
package struct LogLinks {
    private let host: LogPerson
    private var number: Int
    private var before: [UInt8]

    /// - Parameter host: has synced everything.
    package init(_ host: LogPerson) throws {
        guard let newest = host.devices[0].repository.chains.members.links.last else {
            throw SimulationFailure("no links")
        }
        self.host = host
        (number, before) = (newest.number, newest.hash.bytes)
    }

    package var count: Int { number + 1 }

    /// Posts what somebody signs with his first device.
    package mutating func post(_ kind: MemberOperation.Kind, by person: LogPerson) throws -> LogReply {
        let device = person.devices[0]
        guard let head = Bytes32(person.chain.head.linkHash) else { throw SimulationFailure("no head") }
        let link = UnverifiedLink.sign(
            kind: .member, chainID: ChainID(host.vaultID.bytes), sequenceNumber: UInt64(number + 1),
            publicPart: MemberOperation(kind, by: person.account, deviceHead: head).encoded, sealedPart: [],
            previousLinkHash: before, with: device.secrets.signing)
        let reply = try person.ask(.members(MemberPost(link: link.encoded)), by: device)
        if case .links = reply { (number, before) = (number + 1, link.hash(inChain: ChainID(host.vaultID.bytes))) }
        return reply
    }

    /// Adds somebody.
    package mutating func add(_ person: LogPerson, _ role: MemberRole) throws -> LogReply {
        guard let head = Bytes32(person.chain.head.linkHash) else { throw SimulationFailure("no head") }
        return try post(.add(StatedHead(accountID: person.account, device: head), role), by: host)
    }

    /// Adds somebody, who accepts.
    package mutating func join(_ person: LogPerson, _ role: MemberRole) throws {
        guard case .links = try add(person, role), let adding = Bytes32(before),
            case .links = try post(.accept(addingLink: adding), by: person)
        else { throw SimulationFailure("not added") }
    }

    /// Changes a role to and fro until the chain has so many links.
    package mutating func pad(to count: Int, with person: LogPerson) throws {
        var role = MemberRole.viewer
        while self.count < count {
            let change = MemberOperation.RoleChange(person.account, role)
            guard case .links = try post(.changeRoles([change]), by: host) else { throw SimulationFailure("refused") }
            role = role == .viewer ? .writer : .viewer
        }
    }
}

extension LogCircle {
    /// A vault with so many members beside its founder.
    ///
    /// - Parameters:
    ///   - keys: the founder's, which members that sync here need.
    ///   - deviceCount: of each of them.
    package func fill(_ count: Int, role: MemberRole = .writer, deviceCount: Int = 1) throws -> LogLinks {
        let host = people[0]
        (host.server as? LogServer)?.introducesAll = false
        guard try host.devices[0].change(.renewKey) != nil else { throw SimulationFailure("no epoch") }
        var links = try LogLinks(host)
        for _ in 0..<count {
            // 60 additions a day.
            host.server.clock.now += 30 * 60_000
            let person = try addPerson(isKnownTo: [host])
            for _ in 1..<max(deviceCount, 1) { try person.addDevice() }
            try links.join(person, role)
        }
        return links
    }
}
