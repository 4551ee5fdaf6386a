// What every storage of the server must do with the links of several chains, rights, epochs, collections.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

extension StoreCheck {
    static let logs = postedLinks + rights + collections

    private static let hour: Int64 = 3_600_000

    private static let postedLinks: [StoreCheck] = [
        StoreCheck(name: "links of several chains are taken together or not at all, and once") { world in
            let account = try world.account()
            let (one, two) = (try LogVault(account), try world.logVault(account))
            let phone = TestDevice()
            let addition = account.adding(phone)
            let before = (one.link(), two.links)
            // The member link states a device link that comes with it.
            try account.follow(addition)
            let stating = two.link()
            let items = [
                one.item(one.links[0]), one.item(before.0), account.item(addition), two.item(stating),
            ]
            var forged = items
            forged[3] = two.item(Array(stating.dropLast()) + [stating.last! ^ 1])
            #expect(try world.store.take(forged, by: account.owner) == .untrusted("trust.link.signature-invalid"))
            #expect(try world.store.links(.device, account.id, from: 0, for: account.owner).links.count == 1)
            #expect(try world.store.zones(of: account.owner) == [two.id], "nothing of it is there")
            #expect(try world.numbers(items, by: account.owner) == [0, 1, 1, 2])
            #expect(try world.numbers(items, by: account.owner) == [0, 1, 1, 2], "asked again")
            #expect(try world.store.links(.member, two.id, from: 0, for: account.owner).links == before.1 + [stating])
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: [account.id],
                        bytes: ServerEvent.chain(kind: 3, id: two.id, sequenceNumber: 2).encoded())))
            _ = try world.login(account, as: phone)
            _ = try world.used(account)
            // Another account sees nothing of the vault, and appends nothing to these chains.
            let stranger = try world.account()
            #expect(code { _ = try world.store.take([two.item(two.link())], by: stranger.owner) } == .zoneUnknown)
            #expect(code { _ = try world.store.take([account.item(addition)], by: stranger.owner) } == .forbidden)
            let own = LinkPost.Item(
                kind: 1, chainID: stranger.id, link: stranger.adding(TestDevice()), expectedHead: [])
            #expect(
                code { _ = try world.store.take([own], by: stranger.owner) } == .malformed, "a device link has no head")
        },
        StoreCheck(
            name: "a link that does not go behind the newest is told where that is, one on another head that head"
        ) {
            world in
            let account = try world.account()
            let vault = try world.logVault(account)
            let (first, second) = (vault.link(), vault.link())
            try world.post(first, to: vault)
            let newest = ChainHead(sequenceNumber: 2, linkHash: vault.hash(2))
            #expect(
                try world.store.take([vault.item(vault.links[1]), vault.item(second)], by: account.owner)
                    == .conflict(index: 1, newest))
            let ahead = try LogVault(account)
            ahead.take(ahead.link())
            #expect(
                try world.store.take([ahead.item(ahead.links[0]), ahead.item(ahead.link())], by: account.owner)
                    == .conflict(index: 1, ChainHead(sequenceNumber: 0, linkHash: ahead.id)))
            #expect(try world.store.zones(of: account.owner) == [vault.id])
            // A link on the zone's head.
            let object = ZoneObject.random()
            let push = vault.push([object], from: nil, to: object.address, by: account.device)
            _ = try #require(receiptOf(try world.store.push(push, to: vault.id, by: account.owner)))
            let third = vault.link()
            let state = try world.logHead(vault)
            for head in [[], SystemRandomSource().bytes(count: 32)] {
                #expect(
                    try world.store.take([vault.item(third, on: head)], by: account.owner)
                        == .moved(index: 0, state))
            }
            #expect(try world.numbers([vault.item(third, on: object.address)], by: account.owner) == [3])
            // Asked again when the head has moved: it was taken.
            let next = ZoneObject.random()
            let move = vault.push([next], from: object.address, to: next.address, by: account.device)
            _ = try #require(receiptOf(try world.store.push(move, to: vault.id, by: account.owner)))
            #expect(try world.numbers([vault.item(third, on: object.address)], by: account.owner) == [3])
        },
        StoreCheck(name: "of many links at one place exactly one is taken") { world in
            let account = try world.account()
            let vault = try world.logVault(account)
            let items = (0..<8).map { _ in vault.item(vault.link()) }
            let (store, owner, wins) = (world.store, account.owner, WinCounter())
            DispatchQueue.concurrentPerform(iterations: items.count) { index in
                if case .taken? = try? store.take([items[index]], by: owner) { wins.add() }
            }
            #expect(wins.count == 1)
            #expect(try world.store.links(.member, vault.id, from: 0, for: account.owner).links.count == 3)
        },
        StoreCheck(name: "what a recovery replaced is kept, given with the chain, and holds for links that state it") {
            world in
            let account = try world.account()
            let (paper, thief, second) = (TestDevice(), TestDevice(), TestDevice())
            for (device, kind) in [(paper, DeviceKind.paper), (thief, .ordinary), (second, .ordinary)] {
                let link = account.adding(device, kind)
                _ = try #require(endOf(try world.store.append(link, to: .device, account.id, by: account.owner)))
                try account.follow(link)
            }
            let replaced = account.chain.links.suffix(2).map(\.link.encoded)
            let vault = try world.logVault(account)
            let stated = LogVault.head(account)
            let recovery = try account.recovering(behind: 1, by: paper)
            try account.follow(recovery)
            #expect(try world.numbers([account.item(recovery)], by: account.owner) == [2])
            func updates(_ links: UInt64, _ branches: UInt64) throws -> ChainUpdates {
                try world.store.updates(
                    ChainUpdateRequest([
                        .init(kind: 1, chainID: account.id, linkCount: links, branchCount: branches),
                        .init(kind: 3, chainID: vault.id, linkCount: 2),
                    ]), for: account.owner)
            }
            let branch = ChainUpdates.Branch(start: 2, links: replaced)
            #expect(
                try updates(4, 0)
                    == ChainUpdates(
                        [
                            ChainUpdates.Chain(
                                kind: 1, chainID: account.id, branches: [branch], start: 2, links: [recovery])
                        ], hasMore: false))
            #expect(try updates(3, 1) == ChainUpdates([], hasMore: false))
            // Who read that chain when it was stored anew, as a process that starts does.
            let again = try ServerStore(
                database: world.store.database, random: SystemRandomSource(), clock: world.clock,
                uptime: { [clock = world.clock] in clock.now })
            // A device that the recovery left out may have signed before it; from the link that states the recovery on none did.
            let late = vault.link(as: second, head: stated)
            vault.take(late)
            #expect(
                try again.take([vault.item(late)], by: account.owner)
                    == .taken([ChainHead(sequenceNumber: 2, linkHash: vault.hash(2))]))
            let closing = vault.link(heads: [account.stated], opening: vault.opening)
            guard case .taken = try again.take([vault.item(closing)], by: account.owner) else {
                Issue.record("a link that states a recovery was refused")
                return
            }
            vault.take(closing, opens: true)
            #expect(
                try again.take([vault.item(vault.link(as: second, head: stated))], by: account.owner)
                    == .untrusted("trust.member.heads-behind"))
            _ = try world.used(account)
        },
    ]

    private static let rights: [StoreCheck] = [
        StoreCheck(name: "who writes, under which epoch, and whose word set the head") { world in
            let account = try world.account()
            let phone = try world.secondDevice(of: account)
            let vault = try world.logVault(account)
            let (first, second) = (ZoneObject.random(), ZoneObject.random())
            func refused(_ push: ZonePush, as device: TestDevice? = nil) -> ServerFailure.Code? {
                code { _ = try world.store.push(push, to: vault.id, by: account.owner(as: device ?? account.device)) }
            }
            let good = vault.push([first], from: nil, to: first.address, by: account.device)
            _ = try #require(receiptOf(try world.store.push(good, to: vault.id, by: account.owner)))
            let state = try world.logHead(vault)
            #expect(state.address == first.address && state.epoch == 1)
            let word = try #require(state.word)
            #expect(
                word.accountID == account.id
                    && word.isWord(of: account.device, for: first.address, epoch: 1, in: vault.id))
            // The word covers each object, and is the session's device's.
            let other = vault.push([second], from: first.address, to: second.address, by: account.device)
            #expect(refused(other, as: phone) == .forbidden)
            let swapped = ZonePush(
                expectedHead: first.address, newHead: second.address, epoch: 1,
                objects: [ZoneObject(address: second.address, ciphertext: first.ciphertext)],
                signature: other.signature)
            #expect(refused(swapped) == .forbidden)
            let nothing = SystemRandomSource().bytes(count: 32)
            #expect(
                refused(vault.push([second], from: first.address, to: nothing, by: account.device)) == .headUnknown)
            #expect(
                refused(vault.push([], from: first.address, to: first.address, epoch: 2, by: account.device))
                    == .epochUnknown)
            #expect(
                try world.store.push(
                    vault.push([second], from: nil, to: second.address, by: account.device), to: vault.id,
                    by: account.owner) == .moved(state))
            #expect(try world.pull(vault.id, account).0 == [first], "nothing of a refused push is there")
            // An epoch that ends nobody's reading leaves the one before open.
            try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
            for epoch: UInt32 in [1, 2] {
                let push = vault.push([], from: first.address, to: first.address, epoch: epoch, by: account.device)
                _ = try #require(receiptOf(try world.store.push(push, to: vault.id, by: account.owner)))
            }
            // A revocation closes it, in one request with the device link; until a new epoch nobody pushes.
            let revocation = account.revoking(phone)
            try account.follow(revocation)
            let closing = vault.link(sealedByteCount: 60)
            #expect(
                try world.numbers(
                    [account.item(revocation), vault.item(closing, on: first.address)], by: account.owner) == [2, 3])
            vault.take(closing)
            for epoch: UInt32 in [1, 2] {
                let push = vault.push([], from: first.address, to: first.address, epoch: epoch, by: account.device)
                #expect(refused(push) == .epochStale)
            }
            let late = vault.push([], from: first.address, to: first.address, epoch: 2, by: phone)
            #expect(refused(late, as: phone) == .forbidden, "a revoked device that still has its session")
            try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
            let last = vault.push([second], from: first.address, to: second.address, epoch: 3, by: account.device)
            _ = try #require(receiptOf(try world.store.push(last, to: vault.id, by: account.owner)))
            #expect(try world.logHead(vault).epoch == 3)
            #expect(
                try world.store.take([vault.item(vault.link(as: phone))], by: account.owner)
                    == .untrusted("trust.link.signer-revoked"))
        },
        StoreCheck(name: "who is no writer any more pushes nothing, and a link without the right is refused") { world in
            let (account, guest) = (try world.account(), try world.account())
            let vault = try world.logVault(account)
            let object = ZoneObject.random()
            let unknown = try TestAccount()
            #expect(
                code {
                    let link = vault.link(.add(unknown.stated, .writer))
                    _ = try world.store.take([vault.item(link)], by: account.owner)
                } == .notAllowed, "as somebody who is here and has not allowed it")
            let stated = vault.link(heads: [unknown.stated])
            #expect(
                try world.store.take([vault.item(stated)], by: account.owner)
                    == .untrusted("trust.member.chain-missing"))
            try world.allow(account, to: guest)
            try world.post(vault.link(.add(guest.stated, .owner)), to: vault)
            #expect(
                try world.store.take(
                    [vault.item(vault.link(opening: vault.opening).replacing(vault, guest))], by: account.owner)
                    == .untrusted("trust.member.not-permitted"), "who has not accepted opens no epoch")
            let adding = Bytes32(vault.hash(2))!
            try world.post(vault.link(.accept(addingLink: adding), by: guest), to: vault)
            let push = { vault.push([object], from: nil, to: nil, by: account.device) }
            _ = try #require(receiptOf(try world.store.push(push(), to: vault.id, by: account.owner)))
            let lowered = MemberOperation.RoleChange(account.chain.accountID, .viewer)
            #expect(
                try world.store.take(
                    [vault.item(vault.link(.changeRoles([lowered]), by: guest))], by: account.owner)
                    == .untrusted("trust.member.outranked"))
            try world.post(vault.link(.changeRoles([lowered])), to: vault)
            #expect(code { _ = try world.store.push(push(), to: vault.id, by: account.owner) } == .forbidden)
            let raised = MemberOperation.RoleChange(account.chain.accountID, .writer)
            try world.post(vault.link(.changeRoles([raised]), by: guest), to: vault)
            _ = try #require(receiptOf(try world.store.push(push(), to: vault.id, by: account.owner)))
            #expect(code { _ = try world.collect([object.address], below: 1, vault, account.device) } == .forbidden)
        },
        StoreCheck(name: "a bad head, an unreadable object and a bad epoch of one device stop nobody, and are named") {
            world in
            let account = try world.account()
            let thief = try world.secondDevice(of: account)
            let vault = try world.logVault(account)
            let (good, rubbish, next) = (ZoneObject.random(), ZoneObject.random(), ZoneObject.random())
            let store = world.store
            _ = try #require(
                receiptOf(
                    try store.push(
                        vault.push([good], from: nil, to: good.address, by: account.device), to: vault.id,
                        by: account.owner)))
            _ = try #require(
                receiptOf(
                    try store.push(
                        vault.push([rubbish], from: good.address, to: rubbish.address, by: thief), to: vault.id,
                        by: account.owner(as: thief))))
            let wild = vault.push([], from: rubbish.address, to: rubbish.address, epoch: .max, by: thief)
            #expect(code { _ = try store.push(wild, to: vault.id, by: account.owner(as: thief)) } == .epochUnknown)
            let word = try #require(try world.logHead(vault).word)
            #expect(word.expectedHead == good.address)
            #expect(word.isWord(of: thief, for: rubbish.address, epoch: 1, in: vault.id))
            _ = try #require(
                receiptOf(
                    try store.push(
                        vault.push([next], from: rubbish.address, to: next.address, by: account.device), to: vault.id,
                        by: account.owner)))
            // Its epochs end at a row, and other devices open theirs.
            for number in 0..<VerifiedMemberRights.epochRowMax {
                world.clock.now += hour
                let link = vault.link(as: thief, opening: vault.opening)
                try world.post(link, to: vault, opens: true)
                #expect(vault.epoch == UInt32(number + 2))
            }
            #expect(
                try store.take([vault.item(vault.link(as: thief, opening: vault.opening))], by: account.owner)
                    == .untrusted("trust.member.not-permitted"))
            try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
            #expect(try world.pull(vault.id, account).0 == [good, rubbish, next])
        },
        StoreCheck(name: "C3: a device writes few links that may be plain checkpoints, and other links as they are due")
        {
            world in
            let account = try world.account()
            let phone = try world.secondDevice(of: account)
            let vault = try world.logVault(account)
            for _ in 2...4 { try world.post(vault.link(), to: vault) }
            world.clock.now += hour / 2
            #expect(
                try world.store.take([vault.item(vault.link())], by: account.owner)
                    == .tooMany(retryAfterSeconds: 1_800))
            try world.post(vault.link(as: phone), to: vault)
            try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
            world.clock.now += hour / 2
            for _ in 0..<2 { try world.post(vault.link(), to: vault) }
            // All of a day, however they are spread: 26.
            for _ in 0..<20 {
                world.clock.now += hour
                try world.post(vault.link(), to: vault)
            }
            world.clock.now += hour
            guard case .tooMany(let seconds) = try world.store.take([vault.item(vault.link())], by: account.owner)
            else {
                Issue.record("a device writes checkpoints without end")
                return
            }
            #expect(seconds == 2 * 3_600, "the first is a day old then")
            world.clock.now += 2 * hour
            try world.post(vault.link(), to: vault)
        },
    ]
}

extension StoreWorld {
    /// A collection by a device, below the checkpoint of a link.
    func collect(
        _ objects: [[UInt8]], below link: Int, _ vault: LogVault, _ device: TestDevice, as account: TestAccount? = nil
    ) throws -> SweepReceipt {
        try sweep(objects, below: vault.hash(link), in: vault.id, account ?? vault.founder, as: device)
    }
}

extension StoreCheck {
    private static let collections: [StoreCheck] = [
        StoreCheck(name: "G5: a collection names a link that another device acknowledged, or that is 30 days old") {
            world in
            let account = try world.account()
            let phone = try world.secondDevice(of: account)
            let vault = try world.logVault(account)
            let objects = (0..<3).map { _ in ZoneObject.random() }
            let push = vault.push(objects, from: nil, to: objects[0].address, by: account.device)
            _ = try #require(receiptOf(try world.store.push(push, to: vault.id, by: account.owner)))
            func refusal(_ addresses: [[UInt8]], below link: Int, _ device: TestDevice? = nil) -> ServerFailure.Code? {
                code { _ = try world.collect(addresses, below: link, vault, device ?? account.device) }
            }
            let old = objects[1].address
            #expect(refusal([old], below: 1) == .checkpointYoung)
            // An own word is nobody else's; one from before the link does not know it.
            try world.store.acknowledge([1], in: vault.id, by: account.owner)
            #expect(refusal([old], below: 1) == .checkpointYoung)
            try world.store.acknowledge([2], in: vault.id, by: account.owner(as: phone))
            world.clock.now += 1
            try world.post(vault.link(), to: vault)
            #expect(refusal([old], below: 2) == .checkpointYoung)
            let proof = SweepProof(zoneID: vault.id, linkHash: objects[0].address, objects: [old], chunks: [])
            let onHead = ZoneSweep(
                linkHash: objects[0].address, objects: [old], chunks: [],
                signature: proof.sign(with: account.device.signing))
            #expect(
                code { _ = try world.store.sweep(onHead, of: vault.id, by: account.owner) } == .malformed,
                "a head is no link")
            #expect(refusal([objects[0].address], below: 1) == .malformed, "the head")
            let strange = TestDevice()
            #expect(refusal([old], below: 1, strange) == .forbidden)
            #expect(
                try world.collect([old], below: 1, vault, account.device)
                    == SweepReceipt(count: 1, byteCount: 100))
            #expect(try world.fetched([old], vault.id, account) == [objects[1]], "for 30 days")
            // Later by the server's own time, whatever its clock says meanwhile.
            let last = objects[2].address
            #expect(refusal([last], below: 2) == .checkpointYoung)
            world.clock.now += 30 * 24 * hour
            #expect(
                try world.collect([last], below: 2, vault, account.device)
                    == SweepReceipt(count: 1, byteCount: 100))
            _ = try world.used(account)
            world.clock.now += 1
            try world.store.clean()
            #expect(try world.fetched([old, last], vault.id, account) == [objects[2]])
        },
        StoreCheck(name: "what was collected is told as it was signed, in pages, and goes with the zone") { world in
            let account = try world.account()
            _ = try world.secondDevice(of: account)
            let vault = try world.logVault(account)
            world.clock.now += 30 * 24 * hour
            let objects = (0..<70).map { _ in ZoneObject.random() }
            let push = vault.push(objects, from: nil, to: objects[0].address, by: account.device)
            _ = try #require(receiptOf(try world.store.push(push, to: vault.id, by: account.owner)))
            for object in objects[1...] { _ = try world.collect([object.address], below: 1, vault, account.device) }
            // Nothing is left of it: nothing more is told.
            _ = try world.collect([objects[1].address], below: 1, vault, account.device)
            var (statements, next): ([CollectionRecords.Statement], [UInt8]) = ([], [])
            repeat {
                let page = try world.store.collectionRecords(after: next, in: vault.id, for: account.owner)
                #expect(page.statements.count <= ServerLimits.collectionCountMaxPerAnswer)
                statements += page.statements
                next = page.next
            } while !next.isEmpty
            #expect(statements.map(\.objects) == objects[1...].map { [$0.address] })
            for statement in statements {
                let proof = SweepProof(
                    zoneID: vault.id, linkHash: vault.hash(1), objects: statement.objects, chunks: [])
                try proof.verify(statement.signature, by: account.device.keys.signing)
                #expect(statement.linkHash == vault.hash(1) && statement.accountID == account.id)
            }
            let stranger = try world.account()
            #expect(
                code { _ = try world.store.collectionRecords(after: [], in: vault.id, for: stranger.owner) }
                    == .zoneUnknown)
            _ = try world.used(account)
            try world.store.delete(vault.id, by: account.owner)
            _ = try world.used(account)
            world.clock.now += 31 * 24 * hour
            try world.store.clean()
            for table in ["vaults", "members", "steps", "collections"] {
                #expect(try world.store.database.lookUp("SELECT COUNT(*) FROM \(table)", [])[0][0].int == 0, "\(table)")
            }
        },
    ]
}

extension [UInt8] {
    /// A link of the same content by another account's first device.
    fileprivate func replacing(_ vault: LogVault, _ account: TestAccount) throws -> [UInt8] {
        let operation = try MemberOperation(decoding: try UnverifiedLink(decoding: self))
        return vault.link(operation.kind, by: account, opening: operation.opening)
    }
}
