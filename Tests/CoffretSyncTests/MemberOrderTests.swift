// Members who come, go, lie and are away, in unlucky orders: all who stay meet in one state (Spec/history.md, Spec/sharing.md).

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

@Suite("Members in unlucky orders")
struct MemberOrderTests {
    private func change(_ person: LogPerson, _ role: MemberRole?) -> MemberChange {
        .changeRoles([MemberOperation.RoleChange(person.account, role)], confirming: [])
    }

    private func add(_ person: LogPerson, _ role: MemberRole) throws -> MemberChange {
        .add(
            StatedHead(accountID: person.account, device: try #require(Bytes32(person.chain.head.linkHash))), role,
            name: nil)
    }

    /// Everybody syncs until nobody has news.
    private func settle(_ devices: LogDevice...) throws {
        for _ in 0..<3 { for device in devices { try device.hurry() } }
        for device in devices {
            #expect(try device.facts() == devices[0].facts())
            #expect(device.repository.fsck().isClean)
        }
    }

    @Test(
        "R58, R175: the stolen owner's device, a writer and an owner that it made itself: nothing of it holds, and all goes at once"
    )
    func threeColluders() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer, devices: 2)
        let (host, honest, writer) = (circle.people[0], circle.people[1], circle.people[2])
        let (one, stolen, two, bad) = (host.devices[0], host.devices[1], honest.devices[0], writer.devices[0])
        let (friend, other) = (try circle.addPerson(), try circle.addPerson())
        try stolen.sync()
        // The server takes all of it before anybody hears of the revocation.
        #expect(try stolen.change(add(friend, .owner), introducing: friend) != nil)
        #expect(try friend.devices[0].change(.accept) != nil)
        #expect(try friend.devices[0].change(add(other, .viewer), introducing: other) != nil)
        #expect(try other.devices[0].change(.accept) != nil)
        // The owner whom it made says that its links count, and so does the writer, who may not.
        try friend.devices[0].sync()
        let confirming = try HostileDevice(friend.devices[0]).link(confirms: [host.account])
        guard case .links = try HostileDevice(friend.devices[0]).post(confirming) else { throw SimulationFailure("no") }
        try bad.sync()
        let forbidden = try HostileDevice(bad).post(HostileDevice(bad).link(confirms: [host.account]))
        #expect(forbidden == .refused(code: "trust.member.not-permitted"), "\(forbidden)")
        try host.revoke(stolen, by: one)
        try host.renewIdentity()
        for device in [two] {
            let told = try device.hurry()
            #expect(told.waitsForWord?.account == host.account && told.memberCount == 3)
        }
        let own = try one.hurry()
        #expect(own.memberCount == 3 && own.unconfirmed.count == 1)
        // What rests on it goes with it.
        let state = one.repository.chains.members
        let undone = state.undoing(own.unconfirmed)
        #expect(Set(undone.changes.map(\.accountID)) == [friend.account, other.account])
        #expect(undone.changes.allSatisfy { $0.role == nil } && undone.numbers.count >= 4)
        let wish = MemberChange.changeRoles(undone.changes, confirming: [host.account])
        #expect(try one.change(wish, shown: ShownLinks(undoneFrom: own.unconfirmed.first)) != nil)
        try one.put(LogDevice.text(7), "among ourselves\n")
        try settle(one, two, bad)
        #expect(try two.sync().memberCount == 3 && two.shown(LogDevice.text(7)) == "among ourselves\n")
        for guest in [friend.devices[0], other.devices[0], stolen] {
            #expect(guest.vaultKeys[one.repository.keys.currentEpoch] == nil)
        }
    }

    @Test("R69: a checkpoint with another tree is refuted by whoever has the entries, and a right one takes its place")
    func falseCheckpoint() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let hostile = HostileDevice(two)
        for device in [one, three, two] { try device.hurry() }
        let facts = try one.facts()
        // The tree of nothing, at what everybody has.
        let accepted = try two.repository.ask { (machine) in machine.frontier }
        let empty = try #require(
            try two.repository.ask { (machine) throws(StorageError) in
                try machine.store.root(of: nil, with: [:])
            })
        let wrong = Checkpoint(
            base: nil, accepted: accepted, root: empty, digest: Bytes32(0, 0, 0, 0), factCount: 0)
        guard case .links(let receipt) = try hostile.post(hostile.link(checkpoint: wrong)) else {
            throw SimulationFailure("refused")
        }
        _ = receipt
        let told = try one.sync()
        #expect(
            told.findings == [SyncFinding(.checkpointDiffers, by: two.repository.author.device, mayBeServer: false)],
            "\(told.findings)")
        #expect(try one.facts() == facts)
        let better = try one.hurry()
        #expect(better.linkCount == 1 || one.repository.chains.members.links.last?.checkpoint?.refutes.isEmpty == false)
        for device in [three, one] { try device.hurry() }
        #expect(try one.sync().findings.isEmpty && three.sync().findings.isEmpty)
        // Who comes anew takes the right one.
        let newcomer = try circle.people[0].addDevice()
        try newcomer.sync()
        #expect(try newcomer.facts() == facts && three.facts() == facts)
    }

    @Test("R90: two entries with one number are named with their account; a link ends the log, and all meet")
    func doubledNumber() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let hostile = HostileDevice(two)
        let context = try hostile.context()
        let first = try hostile.entry(context, put: "one way\n", at: LogDevice.text(5))
        let second = try hostile.entry(context, put: "the other\n", at: LogDevice.text(6))
        try hostile.push(first.objects)
        try three.sync()
        try hostile.push(second.objects)
        let finding = SyncFinding(.logForked, by: two.repository.author.device, mayBeServer: false)
        #expect(try one.sync().findings.contains(finding))
        for device in [one, three, one] { try device.hurry() }
        #expect(try !one.sync().findings.contains(finding))
        try one.put(LogDevice.text(7), "goes on\n")
        try settle(one, three)
    }

    @Test(
        "R89: an own device that does not know of the sharing opens an epoch by the old rule: refused, its key goes, it follows"
    )
    func unawareDevice() throws {
        let host = try LogExchangeTests.person(2)
        let (one, two) = (host.devices[0], host.devices[1])
        try one.put(LogDevice.text(1), "before\n")
        for device in [one, two] { try device.sync() }
        let circle = try LogCircle(host)
        let guest = try circle.addPerson()
        let count = two.repository.chains.members.count
        try one.share(.writer, with: guest)
        // It still sees the vault as its own alone, in its first look.
        var isDark = true
        two.lie = { reply in
            guard isDark, case .chains(let updates) = reply else { return reply }
            return .chains(
                ChainUpdates(
                    updates.chains.map { chain in
                        guard chain.kind == ChainKind.member.rawValue else { return chain }
                        return ChainUpdates.Chain(
                            kind: chain.kind, chainID: chain.chainID, branches: [], start: chain.start,
                            links: Array(chain.links.prefix(max(0, count - Int(chain.start)))))
                    }, hasMore: false))
        }
        var refused: [LogReply] = []
        two.intercept = { request in
            switch request {
            case .links, .members: break
            default: return nil
            }
            guard isDark else { return nil }
            isDark = false
            let reply = try host.ask(request, by: two)
            refused.append(reply)
            return reply
        }
        #expect(try two.change(.renewKey) != nil)
        two.intercept = nil
        guard case .conflict? = refused.first else { throw SimulationFailure("\(refused)") }
        for device in [guest.devices[0], one, two] { try device.hurry() }
        #expect(two.offered.isEmpty && two.vaultKeys.keys.sorted() == one.vaultKeys.keys.sorted())
        #expect(guest.devices[0].vaultKeys.keys.sorted() == one.vaultKeys.keys.sorted())
        try guest.devices[0].put(LogDevice.text(3), "read by all\n")
        try settle(guest.devices[0], one, two)
    }

    // MARK: What section 17 of the design asks for first

    @Test("two owners act at once: one order, and both go on by it")
    func ownersAtOnce() throws {
        let circle = try MemberSyncTests.circle(.owner, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        var isOpen = true
        one.intercept = { request in
            if case .members = request, isOpen {
                isOpen = false
                let made = try two.change(change(circle.people[2], .viewer))
                #expect(made != nil)
            }
            return nil
        }
        #expect(try one.change(change(circle.people[2], nil)) != nil)
        one.intercept = nil
        #expect(!isOpen)
        #expect(try LogExchangeTests.failure { try three.sync() }?.code == .chainsRefused)
        try two.put(LogDevice.text(3), "we two\n")
        try settle(two, one)
        #expect(try one.sync().memberCount == 2)
    }

    @Test("a member is removed while he pushes: what the server took before counts, what comes later goes nowhere")
    func removedWhilePushing() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        try two.put(LogDevice.text(3), "in time\n")
        var isOpen = true
        two.intercept = { request in
            guard case .push = request, isOpen else { return nil }
            isOpen = false
            let reply = try circle.people[1].ask(request, by: two)
            let made = try one.change(change(circle.people[1], nil))
            #expect(made != nil)
            return reply
        }
        _ = try? two.sync()
        two.intercept = nil
        #expect(!isOpen)
        try two.put(LogDevice.text(4), "too late\n")
        #expect(try LogExchangeTests.failure { try two.sync() } != nil)
        try settle(one, three)
        #expect(try one.shown(LogDevice.text(3)) == "in time\n" && one.shown(LogDevice.text(4)) == nil)
    }

    @Test("a device is added and revoked between two stated heads: closed by the link that states the revocation")
    func shortLived() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let brief = try circle.people[1].addDevice()
        try brief.sync()
        try brief.put(LogDevice.text(3), "counts\n")
        try brief.sync()
        try one.hurry()
        try brief.put(LogDevice.text(4), "dated back\n")
        let stolen = try circle.people[1].stolenPush(of: brief)
        try two.sync()
        try circle.people[1].revoke(brief, by: two)
        try circle.people[1].renewIdentity()
        try two.hurry()
        one.serverAlso = stolen
        try settle(one, two)
        #expect(try one.shown(LogDevice.text(3)) == "counts\n" && one.shown(LogDevice.text(4)) == nil)
        #expect(brief.vaultKeys[one.repository.keys.currentEpoch] == nil)
    }

    @Test("a viewer's device is revoked: its key ends, though it never wrote; a writer opens the next epoch")
    func viewersDevice() throws {
        let circle = try MemberSyncTests.circle(.viewer, .writer)
        let (one, viewer, three) = (circle.people[0].devices[0], circle.people[1], circle.people[2].devices[0])
        let second = try viewer.addDevice()
        try second.sync()
        let epoch = one.repository.keys.currentEpoch
        try viewer.revoke(second, by: viewer.devices[0])
        try viewer.renewIdentity()
        #expect(try viewer.devices[0].hurry().linkCount == 0)
        try three.put(LogDevice.text(3), "after the loss\n")
        try three.hurry()
        try settle(three, one, viewer.devices[0])
        #expect(one.repository.keys.currentEpoch == epoch + 1)
        #expect(second.vaultKeys[epoch + 1] == nil && viewer.devices[0].vaultKeys[epoch + 1] != nil)
        #expect(try viewer.devices[0].shown(LogDevice.text(3)) == "after the loss\n")
    }

    @Test("who was removed and comes back begins a new log; words of the old one that nobody had stay set aside")
    func comesBack() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let guest = circle.people[1]
        try two.put(LogDevice.text(3), "unsent when he was removed\n")
        let stolen = try guest.stolenPush(of: two)
        let old = try #require(try two.repository.ownLog()?.instance)
        #expect(try one.change(change(guest, nil)) != nil)
        #expect(try one.change(add(guest, .writer), introducing: guest) != nil)
        #expect(try two.change(.accept) != nil)
        try two.hurry()
        try two.put(LogDevice.text(4), "back again\n")
        one.serverAlso = stolen
        try settle(two, one)
        #expect(try two.repository.ownLog()?.instance != old)
        #expect(try one.shown(LogDevice.text(4)) == "back again\n" && one.shown(LogDevice.text(3)) == nil)
        #expect(try one.repository.setAsideChanges().map(\.key) == [LogDevice.text(3)])
    }

    @Test("K1: what a closing link accepts is asked for by address, also where later links accept without it")
    func acceptedBeforeItCame() throws {
        let circle = try MemberSyncTests.circle(.owner, devices: 3)
        let (host, two) = (circle.people[0], circle.people[1].devices[0])
        let (one, other, lost) = (host.devices[0], host.devices[1], host.devices[2])
        try one.put(LogDevice.text(2), "at the server\n")
        for device in [one, other, two] { try device.hurry() }
        try one.put(LogDevice.text(3), "behind the link that accepts it\n")
        try host.revoke(lost, by: one)
        try host.renewIdentity()
        // The link is taken, and the network is gone before the entry is sent.
        one.intercept = { request in if case .push = request { .unreachable } else { nil } }
        #expect(throws: SyncError.self) { try one.hurry() }
        one.intercept = nil
        let unsent = try host.stolenPush(of: one)
        try other.hurry()
        #expect(try other.change(.leave) != nil)
        for _ in 0..<2 { try two.hurry() }
        let log = try #require(try one.repository.ownLog()?.instance)
        let states = two.repository.chains.members.states
        #expect(states.contains { $0.accepted.number(of: log) > 0 } && states.last?.accepted.number(of: log) == 0)
        #expect(try two.shown(LogDevice.text(2)) == nil && two.shown(LogDevice.text(3)) == nil)
        two.serverAlso = unsent
        try two.hurry()
        #expect(try two.shown(LogDevice.text(2)) == "at the server\n")
        #expect(try two.shown(LogDevice.text(3)) == "behind the link that accepts it\n")
        #expect(two.repository.fsck().isClean)
    }

    @Test("an entry that stayed with a person who left goes out once the person may write again")
    func sentAfterReturning() throws {
        let circle = try MemberSyncTests.circle(.owner, devices: 2)
        let (host, two) = (circle.people[0], circle.people[1].devices[0])
        let (one, other) = (host.devices[0], host.devices[1])
        try one.put(LogDevice.text(3), "behind the link that accepts it\n")
        one.intercept = { request in if case .push = request { .unreachable } else { nil } }
        #expect(throws: SyncError.self) { try one.change(.renewKey) }
        one.intercept = nil
        try other.hurry()
        #expect(try other.change(.leave) != nil)
        for _ in 0..<2 { try two.hurry() }
        #expect(try two.shown(LogDevice.text(3)) == nil)
        try two.share(.writer, with: host)
        for _ in 0..<3 { for device in [one, other, two] { try device.hurry() } }
        for device in [other, two] {
            #expect(try device.shown(LogDevice.text(3)) == "behind the link that accepts it\n")
            #expect(try device.facts() == one.facts() && device.missingNames().isEmpty)
        }
    }

    @Test("a group in two halves that see nothing of each other comes together, with what both wrote")
    func groupSplit() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer, .writer)
        let all = circle.people.map { $0.devices[0] }
        for (index, device) in all.enumerated() { try device.put(LogDevice.text(20 + index), "half \(index % 2)\n") }
        // Half of them see no list and no head of the others for a week.
        let old = try #require(try circle.people[0].head())
        for device in [all[1], all[3]] {
            device.intercept = { request in if case .push = request { .unreachable } else { nil } }
            device.lie = { reply in
                switch reply {
                case .head: .head(old)
                case .page(let page): .page(LogPage(objects: [], cursor: page.cursor, hasMore: page.hasMore))
                default: reply
                }
            }
        }
        for _ in 0..<3 {
            for device in all { _ = try? device.sync() }
            circle.people[0].server.clock.now += 2 * 86_400_000
        }
        for device in all { (device.intercept, device.lie) = (nil, { $0 }) }
        for device in all { try device.reopen() }
        try settle(all[0], all[1], all[2], all[3])
        for index in all.indices { #expect(try all[0].shown(LogDevice.text(20 + index)) == "half \(index % 2)\n") }
    }

    @Test("clocks that are wrong by 400 days change no order, and keep nobody out", arguments: [-400, 400])
    func wrongClock(days: Int) throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        two.clockError = Milliseconds(days) * 86_400_000
        try two.put(LogDevice.text(3), "by a wrong clock\n")
        try one.put(LogDevice.text(3), "by a right one\n")
        try two.hurry()
        #expect(try two.change(.renewKey) != nil)
        try settle(one, two, three)
        #expect(try one.change(change(circle.people[2], nil)) != nil)
        try two.put(LogDevice.text(4), "still here\n")
        try settle(two, one)
        #expect(try one.shown(LogDevice.text(4)) == "still here\n")
    }

    @Test("a year away: one of two devices comes back by the other's keys; what it wrote then counts")
    func awayForAYear() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let guest = circle.people[1]
        let (one, two, gone) = (circle.people[0].devices[0], guest.devices[0], circle.people[2])
        let away = try guest.addDevice()
        try away.sync()
        try away.put(LogDevice.text(3), "written a year ago\n")
        for month in 0..<12 {
            circle.people[0].server.clock.now += 30 * 86_400_000
            for person in circle.people { try person.renewIdentity() }
            if month == 5 {
                #expect(try one.change(change(gone, nil)) != nil)
            } else {
                #expect(try one.change(.renewKey) != nil)
            }
            try one.put(LogDevice.text(30 + month), "month \(month)\n")
            for device in [one, two] { try device.hurry() }
        }
        for _ in 0..<3 { try away.hurry() }
        try settle(away, one, two)
        #expect(
            try one.shown(LogDevice.text(3)) == "written a year ago\n" && away.shown(LogDevice.text(41)) == "month 11\n"
        )
        #expect(away.vaultKeys.keys.sorted() == one.vaultKeys.keys.sorted())
    }

    @Test("a year away with the only device: the newest letter and the older keys under it bring all")
    func onlyDeviceAway() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        for _ in 0..<6 { #expect(try one.change(.renewKey) != nil) }
        try one.put(LogDevice.text(3), "under the newest key\n")
        try one.hurry()
        circle.people[0].server.clock.now += 30 * 86_400_000
        for _ in 0..<3 { try two.hurry() }
        try settle(two, one)
        #expect(two.vaultKeys.keys.sorted() == one.vaultKeys.keys.sorted())
    }
}
