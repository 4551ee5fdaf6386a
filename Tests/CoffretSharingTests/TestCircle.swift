// A circle of people with real keys, for tests.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretSharing
import CoffretTestSupport
import CoffretTrust

/// A circle; the first of its people is the founder.
struct TestCircle {
    var people: [Person]
    let terms: CircleTerms
    private(set) var rights: VerifiedMemberRights

    init(_ people: [Person], threshold: Int = 2, hours: Int = 24, _ generator: SeededGenerator) throws {
        self.people = people
        guard let terms = CircleTerms(threshold: threshold, count: people.count - 1, hours: hours) else {
            throw SharingError(.letterInvalid, at: "test")
        }
        self.terms = terms
        let founder = people[0]
        let link = VerifiedMemberChain.found(
            VaultFoundation(
                random: generator.bytes(count: 32), accountID: founder.accountID,
                deviceChainHead: founder.chain.head.linkHash, keyCommitment: [], purpose: .circle(terms)), details: [],
            with: founder.signing)
        rights = try VerifiedMemberRights(
            founding: link, founder: founder.devices, chain: founder.chain, allowsCircle: true)
    }

    var known: [ChainID: AccountDevices] {
        Dictionary(uniqueKeysWithValues: people.map { ($0.accountID, $0.devices) })
    }

    func view() throws -> CircleView {
        guard let view = rights.circle(known: known) else { throw SharingError(.letterInvalid, at: "test") }
        return view
    }

    private func head(_ person: Person) throws -> Bytes32 {
        guard let head = Bytes32(person.chain.head.linkHash) else { throw SharingError(.letterInvalid, at: "test") }
        return head
    }

    /// - Parameter signer: who signs in the place of `number`'s device.
    mutating func append(
        _ kind: MemberOperation.Kind, by number: Int, confirms: [ChainID] = [], signedBy signer: SigningKey? = nil
    ) throws {
        let person = people[number]
        let operation = MemberOperation(kind, by: person.accountID, deviceHead: try head(person), confirms: confirms)
        let link = UnverifiedLink.sign(
            kind: .member, chainID: ChainID(rights.vaultID.bytes), sequenceNumber: UInt64(rights.count),
            publicPart: operation.encoded, sealedPart: [],
            previousLinkHash: rights.links[rights.count - 1].hash.bytes, with: signer ?? person.signing)
        try rights.append(link, accounts: known)
    }

    mutating func append(_ operation: CircleOperation, by number: Int) throws {
        try append(.circle(operation), by: number)
    }

    mutating func add(_ number: Int) throws {
        let person = people[number]
        try append(.add(StatedHead(accountID: person.accountID, device: head(person)), .contact), by: 0)
    }

    mutating func accept(_ number: Int) throws {
        let account = people[number].accountID
        guard let adding = rights.rights.members[account]?.addedAt else {
            throw SharingError(.letterInvalid, at: "test")
        }
        try append(.accept(addingLink: rights.links[adding].hash), by: number)
    }

    /// Adds all, lets all accept, and arms; the founder's chain gets the paper device.
    mutating func arm(_ generator: SeededGenerator) throws -> CircleArmament {
        for number in people.indices.dropFirst() { try add(number) }
        for number in people.indices.dropFirst() { try accept(number) }
        let armament = try CircleArmament(of: view(), random: generator)
        try people[0].follow(armament.paper.addition(to: people[0].chain))
        try append(armament.operation, by: 0)
        return armament
    }
}
