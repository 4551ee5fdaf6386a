// What every storage of the server must do with circles: it verifies their links, tells their people, and stores nothing in them.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

/// A circle of a founder and two contacts, with the paper device in the founder's chain.
private struct ServerCircle {
    let vault: LogVault
    let founder: TestAccount
    let contacts: [TestAccount]
    let paper = TestDevice()

    init(_ world: StoreWorld) throws {
        founder = try world.account()
        contacts = [try world.account(), try world.account()]
        let terms = try #require(CircleTerms(threshold: 2, count: 2, hours: 24))
        vault = try LogVault(circle: terms, of: founder)
        #expect(try world.numbers([vault.item(vault.links[0])], by: founder.owner) == [0])
        let link = founder.adding(paper, .paper)
        _ = try world.store.append(link, to: .device, founder.id, by: founder.owner)
        try founder.follow(link)
    }

    func link(_ kind: MemberOperation.Kind, by account: TestAccount? = nil, sealedByteCount: Int = 0) -> [UInt8] {
        vault.link(kind, by: account, sealedByteCount: sealedByteCount)
    }

    func refusal(_ world: StoreWorld, _ link: [UInt8], by account: TestAccount? = nil) throws -> String? {
        guard case .untrusted(let code) = try world.store.take([vault.item(link)], by: (account ?? founder).owner)
        else {
            return nil
        }
        return code
    }

    func add(_ world: StoreWorld, accepting: Bool) throws {
        for contact in contacts {
            try world.allow(founder, to: contact)
            try world.post(link(.add(contact.stated, .contact)), to: vault)
        }
        guard accepting else { return }
        for (number, contact) in contacts.enumerated() {
            let adding = try #require(Bytes32(vault.hash(number + 1)))
            try world.post(link(.accept(addingLink: adding), by: contact), to: vault, by: contact)
        }
    }

    var arming: MemberOperation.Kind {
        let sorted = contacts.map(\.chain.accountID).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        return .circle(
            .arm(
                paper: paper.id,
                shares: sorted.enumerated().map {
                    CircleShareRow(accountID: $1, x: UInt8($0 + 1), shareHash: Bytes32(1, 2, 3, UInt64($0)))
                }))
    }
}

extension StoreCheck {
    static let circles: [StoreCheck] = [
        StoreCheck(name: "R86, R87: a circle from its founding to a release, and what its links may not say") { world in
            let circle = try ServerCircle(world)
            let (founder, bob, carol) = (circle.founder, circle.contacts[0], circle.contacts[1])
            // Nobody is added without his leave, nor with another role.
            #expect(
                code {
                    _ = try world.store.take(
                        [circle.vault.item(circle.link(.add(bob.stated, .contact)))], by: founder.owner)
                }
                    == .notAllowed)
            try world.allow(founder, to: bob)
            #expect(try circle.refusal(world, circle.link(.add(bob.stated, .viewer))) == "trust.member.not-permitted")
            #expect(
                try circle.refusal(world, circle.link(.add(bob.stated, .contact), sealedByteCount: 8))
                    == "trust.link.malformed")
            try circle.add(world, accepting: false)
            #expect(try circle.refusal(world, circle.link(circle.arming)) == "recovery.consent-required")
            for (number, contact) in circle.contacts.enumerated() {
                let adding = try #require(Bytes32(circle.vault.hash(number + 1)))
                try world.post(circle.link(.accept(addingLink: adding), by: contact), to: circle.vault, by: contact)
            }
            try world.post(circle.link(circle.arming), to: circle.vault)
            let request = Bytes32(1, 2, 3, 4)
            let asking = CircleOperation.request(request, time: 0)
            #expect(try circle.refusal(world, circle.link(.circle(asking))) == "trust.member.not-permitted")
            try world.post(circle.link(.circle(asking), by: bob), to: circle.vault, by: bob)
            let event = ServerEvent.chain(
                kind: ChainKind.member.rawValue, id: circle.vault.id,
                sequenceNumber: UInt64(circle.vault.links.count - 1))
            let people = [founder, bob, carol].map(\.id).sorted { $0.lexicographicallyPrecedes($1) }
            #expect(world.notices.has(.event(accountIDs: people, bytes: event.encoded())))
            try world.post(circle.link(.circle(.release(request, time: 0)), by: carol), to: circle.vault, by: carol)
            try world.post(circle.link(.circle(.forbid(request))), to: circle.vault)
            #expect(
                try circle.refusal(world, circle.link(.circle(.release(request, time: 0)), by: bob), by: bob)
                    == "trust.member.not-permitted")
            // A process that starts anew verifies the same chain.
            let again = try ServerStore(
                database: world.store.database, random: SystemRandomSource(), clock: world.clock,
                uptime: { [clock = world.clock] in clock.now })
            let last = circle.link(.circle(.request(Bytes32(5, 6, 7, 8), time: 0)), by: bob)
            guard case .taken = try again.take([circle.vault.item(last)], by: bob.owner) else {
                Issue.record("a stored circle does not verify")
                return
            }
            for account in [founder, bob, carol] { _ = try world.used(account) }
        },
        StoreCheck(name: "nothing is stored in the zone of a circle, and strangers find none") { world in
            let circle = try ServerCircle(world)
            try circle.add(world, accepting: true)
            let stranger = try world.account()
            let id = circle.vault.id
            for account in [circle.founder] + circle.contacts {
                for epoch: UInt32 in [0, 1] {
                    let object = ZoneObject.random()
                    let push = circle.vault.push(
                        [object], from: nil, to: object.address, epoch: epoch, by: account.device)
                    #expect(code { _ = try world.store.push(push, to: id, by: account.owner) } == .forbidden)
                }
                #expect(
                    code {
                        _ = try world.store.upload([1], at: 0, of: 1, address: account.id, in: id, by: account.owner)
                    } == .forbidden)
            }
            #expect(code { _ = try world.store.head(id, for: stranger.owner) } == .zoneUnknown)
            let found = try world.store.memberships(of: circle.contacts[0].owner).entries
            #expect(found.map(\.epoch) == [0] && found.map(\.role) == [4] && found.map(\.state) == [2])
            #expect(try world.store.memberships(of: circle.founder.owner).entries.map(\.epoch) == [0])
            #expect(try world.store.memberships(of: stranger.owner).entries.isEmpty)
            // A share goes to a fellow member by a letter of the circle, and from nobody else.
            let (founder, bob) = (circle.founder, circle.contacts[0])
            let letter = founder.letter(to: bob, .recoveryShare, scope: id)
            try world.store.post(PersonalLetter(token: nil, letter: letter), to: bob.id, by: founder.owner)
            #expect(try world.store.letters(for: bob.owner).entries.map(\.letter) == [letter])
            let foreign = stranger.letter(to: bob, .recoveryShare, scope: id)
            #expect(
                code {
                    try world.store.post(PersonalLetter(token: nil, letter: foreign), to: bob.id, by: stranger.owner)
                }
                    == .notAllowed)
            // A contact that leaves finds it no more.
            try world.post(circle.link(.leave, by: bob), to: circle.vault, by: bob)
            #expect(try world.store.memberships(of: bob.owner).entries.isEmpty)
            try world.store.delete(id, by: founder.owner)
            #expect(try world.store.memberships(of: founder.owner).entries.isEmpty)
        },
    ]
}
