// Members whom a lying server keeps in the dark of a removal or a revocation, and what they build on meanwhile (Spec/history.md, Spec/sharing.md).

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

@testable import CoffretSync

@Suite("Members kept in the dark")
struct DarkMemberTests {
    private func change(_ person: LogPerson, _ role: MemberRole?) -> MemberChange {
        .changeRoles([MemberOperation.RoleChange(person.account, role)], confirming: [])
    }

    /// Everybody syncs until nobody has news.
    private func settle(_ devices: LogDevice...) throws {
        for _ in 0..<3 { for device in devices { try device.hurry() } }
        for device in devices {
            #expect(try device.facts() == devices[0].facts())
            #expect(device.repository.fsck().isClean)
        }
    }

    /// A server that shows a device nothing that comes from now on.
    private func darkness(in circle: LogCircle) throws -> (LogReply) -> LogReply {
        let count = UInt64(circle.people[0].devices[0].repository.chains.members.count)
        let head = try #require(try circle.people[0].head())
        let known = Set(try circle.people[0].objects().map(\.address))
        return { reply in
            switch reply {
            case .head:
                // Something is new, so that it asks for what there is.
                return .head(LogHead(address: head.address, cursor: [1], epoch: head.epoch, word: head.word))
            case .page(let page):
                let objects = page.objects.filter { known.contains($0.address) }
                return .page(LogPage(objects: objects, cursor: page.cursor, hasMore: page.hasMore))
            case .chains(let updates):
                let chains = updates.chains.map { chain in
                    guard chain.kind == ChainKind.member.rawValue else { return chain }
                    return ChainUpdates.Chain(
                        kind: chain.kind, chainID: chain.chainID, branches: [], start: chain.start,
                        links: Array(chain.links.prefix(Int(max(count, chain.start) - chain.start))))
                }
                return .chains(ChainUpdates(chains, hasMore: false))
            default: return reply
            }
        }
    }

    @Test(
        "R67: what an honest member builds on dated-back words counts; they do not, and what they wiped comes back beside"
    )
    func laundering() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer, .writer)
        let devices = circle.people.map { $0.devices[0] }
        let (one, two, three, four) = (devices[0], devices[1], devices[2], devices[3])
        let key = LogDevice.text(1)
        try two.put(key, "wiped\n")
        let stolen = try circle.people[1].stolenPush(of: two)
        let darkness = try darkness(in: circle)
        #expect(try one.change(change(circle.people[1], nil)) != nil)
        try four.hurry()
        // The server tells three nothing of the removal, gives him what was dated back, and keeps what he makes of it.
        three.lie = darkness
        three.serverAlso = stolen
        // The head that it writes is refused: its key is an old one.
        _ = try? three.sync()
        #expect(try three.shown(key) == "wiped\n")
        try three.put(key, "wiped\nand edited in good faith\n")
        let laundered = try circle.people[2].stolenPush(of: three)
        #expect(!laundered.isEmpty)
        // Those who know of the removal are shown both.
        for (reader, other) in [(one, four), (four, one)] {
            try other.put(LogDevice.text(9), "by \(other.id.hex)\n")
            try other.hurry()
            reader.serverAlso = stolen + laundered
            try reader.hurry()
            let texts = try reader.facts().filter { $0.key == key }
            #expect(texts.count == 2, "the founder's text beside the edit: \(texts)")
            let resting = try reader.repository.ask { (machine) throws(StorageError) in try machine.restsOnExcluded() }
            #expect(resting.map(\.key) == [key])
        }
        // Told, he is where all are.
        for device in devices { (device.lie, device.serverAlso) = ({ $0 }, stolen) }
        try settle(one, three, four)
        let texts = try three.facts().filter { $0.key == key }
        #expect(texts.count == 2, "\(texts)")
    }

    @Test(
        "R70: a member's device is revoked, and the member says nothing more: others hold its words back, open a key and close it"
    )
    func revokedUnheard() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, three) = (circle.people[0].devices[0], circle.people[2].devices[0])
        let member = circle.people[1]
        let lost = try member.addDevice()
        try lost.sync()
        try lost.put(LogDevice.text(3), "in time\n")
        for device in [lost, one, three] { try device.hurry() }
        // The member revokes it, sets no identity, and is not seen again. Others have not heard: they read what it writes.
        try lost.put(LogDevice.text(4), "nobody has heard\n")
        let late = try member.stolenPush(of: lost)
        try member.revoke(lost, by: member.devices[0])
        let epoch = one.repository.keys.currentEpoch
        // Then they hear: before a push a key is due, and what comes of that device is held back.
        three.serverAlso = late
        try one.put(LogDevice.text(8), "news\n")
        var isStale = false
        one.intercept = { request in
            if case .push(let push) = request, push.epoch == epoch { isStale = true }
            return nil
        }
        try one.hurry()
        #expect(!isStale, "nothing is pushed under the key that the lost device has")
        #expect(one.repository.keys.currentEpoch == epoch + 1 && lost.vaultKeys[epoch + 1] == nil)
        try three.hurry()
        #expect(try three.shown(LogDevice.text(4)) == nil && three.shown(LogDevice.text(3)) == "in time\n")
        one.serverAlso = late
        try three.put(LogDevice.text(9), "and on\n")
        try settle(three, one)
        #expect(try one.shown(LogDevice.text(4)) == nil && one.shown(LogDevice.text(8)) == "news\n")
        #expect(try one.shown(LogDevice.text(9)) == "and on\n" && one.sync().memberCount == 3)
    }
}
