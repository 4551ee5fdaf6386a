// What every storage of the server must do for vaults of several people: rights by role, ends of access, who pays, and who is
// told.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

/// A vault with an owner, a writer, a viewer and one who was added and has not answered, and a stranger beside it.
struct SharedVault {
    let vault: LogVault
    let owner: TestAccount
    let writer: TestAccount
    let viewer: TestAccount
    let added: TestAccount
    let stranger: TestAccount

    init(_ world: StoreWorld) throws {
        (owner, writer, viewer) = (try world.account(), try world.account(), try world.account())
        (added, stranger) = (try world.account(), try world.account())
        vault = try world.logVault(owner)
        try world.add(writer, .writer, to: vault)
        try world.add(viewer, .viewer, to: vault)
        try world.add(added, .writer, to: vault, accepting: false)
    }

    var members: [TestAccount] { [owner, writer, viewer, added] }

    /// A push of one object that becomes the head.
    func push(
        _ world: StoreWorld, by account: TestAccount, from head: [UInt8]? = nil, byteCount: Int = 100
    ) throws -> ZoneObject {
        let object = ZoneObject.random(byteCount: byteCount)
        let push = vault.push([object], from: head, to: object.address, epoch: vault.epoch, by: account.device)
        _ = try world.store.push(push, to: vault.id, by: account.owner)
        return object
    }

    func sweep(_ world: StoreWorld, _ object: ZoneObject, by account: TestAccount) throws -> SweepReceipt {
        let hash = vault.hash(0)
        let proof = SweepProof(zoneID: vault.id, linkHash: hash, objects: [object.address], chunks: [])
        let request = ZoneSweep(
            linkHash: hash, objects: [object.address], chunks: [],
            signature: proof.sign(with: account.device.signing))
        return try world.store.sweep(request, of: vault.id, by: account.owner)
    }
}

extension StoreCheck {
    static let members = roles + departures + finding

    private static let roles: [StoreCheck] = [
        StoreCheck(
            name: "R57, R64, R66, R75: members read, writers write, owners collect and delete, others find nothing"
        ) {
            world in
            let shared = try SharedVault(world)
            let (store, id) = (world.store, shared.vault.id)
            let first = try shared.push(world, by: shared.owner)
            let chunk = SystemRandomSource().bytes(count: 32)
            _ = try store.upload([1, 2], at: 0, of: 2, address: chunk, in: id, by: shared.owner.owner)
            for account in shared.members {
                let owner = account.owner
                #expect(try store.head(id, for: owner).people > 0)
                #expect(try store.changes(in: id, since: [], for: owner).objects.map(\.object) == [first])
                #expect(try store.objects(at: [first.address], in: id, for: owner).batch.objects.count == 1)
                #expect(try store.chunk(address: chunk, variant: 0, in: id, for: owner).bytes == [1, 2])
                #expect(try store.storedAddresses(.object, after: [], in: id, for: owner).addresses == [first.address])
                #expect(try store.links(.member, id, from: 0, for: owner).links == shared.vault.links)
                #expect(try store.collectionRecords(after: [], in: id, for: owner).statements.isEmpty)
                try store.acknowledge([7], in: id, by: owner)
            }
            let acks = try store.acknowledgements(in: id, for: shared.viewer.owner).entries
            #expect(Set(acks.map(\.accountID)) == Set(shared.members.map(\.id)) && acks.count == 4)
            let list = ChunkList([ChunkList.Chunk(address: chunk, digest: chunk)])
            for (account, writes, owns) in [
                (shared.writer, true, false), (shared.viewer, false, false), (shared.added, false, false),
            ] {
                let owner = account.owner
                let refused: ServerFailure.Code? = writes ? nil : .forbidden
                #expect(
                    code { _ = try store.upload([1], at: 0, of: 1, address: owner.accountID, in: id, by: owner) }
                        == refused)
                #expect(code { _ = try store.missing(list, in: id, for: owner) } == refused)
                #expect(code { try store.withdrawChunk(address: chunk, in: id, by: owner) } == refused)
                let head = try #require(try store.head(id, for: owner).address)
                #expect(code { _ = try shared.push(world, by: account, from: head) } == refused)
                #expect(code { _ = try shared.sweep(world, first, by: account) } == .forbidden || owns)
                #expect(code { try store.delete(id, by: owner) } == .forbidden || owns)
            }
            #expect(try store.chunk(address: chunk, variant: 0, in: id, for: shared.owner.owner).bytes == [1, 2])
            let owner = shared.stranger.owner
            for refusal in [
                code { _ = try store.head(id, for: owner) },
                code { _ = try store.changes(in: id, since: [], for: owner) },
                code { _ = try store.objects(at: [first.address], in: id, for: owner) },
                code { _ = try store.chunk(address: chunk, variant: 0, in: id, for: owner) },
                code { _ = try store.storedAddresses(.chunk, after: [], in: id, for: owner) },
                code { _ = try store.links(.member, id, from: 0, for: owner) },
                code { _ = try store.collectionRecords(after: [], in: id, for: owner) },
                code { try store.acknowledge([1], in: id, by: owner) },
                code { _ = try store.acknowledgements(in: id, for: owner) },
                code { _ = try store.missing(list, in: id, for: owner) },
                code { _ = try shared.push(world, by: shared.stranger) },
                code { _ = try shared.sweep(world, first, by: shared.stranger) },
                code { try store.delete(id, by: owner) },
                code { _ = try store.take([shared.vault.item(shared.vault.link(by: shared.stranger))], by: owner) },
            ] {
                #expect(refusal == .zoneUnknown)
            }
            let updates = try store.updates(
                ChainUpdateRequest([.init(kind: 3, chainID: id, linkCount: 0)]), for: owner)
            #expect(updates.chains.isEmpty)
        },
        StoreCheck(name: "R57: a link is taken from any member, if its signer may sign it") { world in
            let shared = try SharedVault(world)
            let vault = shared.vault
            let newcomer = try world.account()
            try world.store.setContacts(ContactList(shared.members.map(\.id)), of: newcomer.owner)
            for signer in [shared.writer, shared.viewer, shared.added] {
                let link = vault.link(.add(newcomer.stated, .viewer), by: signer)
                #expect(
                    try world.store.take([vault.item(link)], by: signer.owner)
                        == .untrusted("trust.member.not-permitted"))
            }
            let epoch = vault.link(by: shared.viewer, opening: vault.opening)
            #expect(
                try world.store.take([vault.item(epoch)], by: shared.viewer.owner)
                    == .untrusted("trust.member.not-permitted"))
            // A viewer states its own head, and brings an owner's link.
            try world.post(vault.link(by: shared.viewer), to: vault, by: shared.viewer)
            try world.post(vault.link(.add(newcomer.stated, .viewer)), to: vault, by: shared.viewer)
            #expect(try world.store.memberships(of: newcomer.owner).entries.map(\.zone) == [vault.id])
        },
        StoreCheck(name: "two accounts whose devices have one id do not touch each other's words") { world in
            let shared = try SharedVault(world)
            let twin = SessionOwner(accountID: shared.writer.id, deviceID: shared.owner.device.id.bytes)
            try world.store.acknowledge([1], in: shared.vault.id, by: shared.owner.owner)
            try world.store.acknowledge([2], in: shared.vault.id, by: twin)
            let address = SystemRandomSource().bytes(count: 32)
            _ = try world.store.upload([1], at: 0, of: 1, address: address, in: shared.vault.id, by: shared.owner.owner)
            _ = try world.store.upload([2], at: 0, of: 1, address: address, in: shared.vault.id, by: twin)
            try world.store.withdrawChunk(address: address, in: shared.vault.id, by: twin)
            let acks = try world.store.acknowledgements(in: shared.vault.id, for: twin).entries
            #expect(Set(acks.map(\.bytes)) == [[1], [2]])
            // The owner's still counts: it is served first.
            let left = try world.store.chunk(address: address, variant: 0, in: shared.vault.id, for: twin)
            #expect(left.bytes == [1] && left.variantCount == 2)
        },
    ]

    private static let departures: [StoreCheck] = [
        StoreCheck(name: "R84: a removal ends access at once, and hands what was stored over to its signer") { world in
            let shared = try SharedVault(world)
            let (store, id) = (world.store, shared.vault.id)
            let object = try shared.push(world, by: shared.writer, byteCount: 5_000)
            _ = try store.upload([1], at: 0, of: 70_000, address: object.address, in: id, by: shared.writer.owner)
            try store.acknowledge([1, 2, 3], in: id, by: shared.writer.owner)
            let (before, theirs) = (try world.used(shared.owner), try world.used(shared.writer))
            try world.remove(shared.writer, from: shared.vault)
            #expect(code { _ = try store.head(id, for: shared.writer.owner) } == .zoneUnknown)
            #expect(code { _ = try shared.push(world, by: shared.writer, from: object.address) } == .zoneUnknown)
            #expect(try store.memberships(of: shared.writer.owner).entries.isEmpty)
            #expect(try world.used(shared.writer) == 0 && theirs == 5_001)
            #expect(try world.used(shared.owner) == before + 5_000)
            #expect(try store.acknowledgements(in: id, for: shared.owner.owner).entries.isEmpty)
            for account in shared.members { _ = try world.used(account) }
        },
        StoreCheck(
            name: "R84: whoever leaves takes no debt along: the most senior owner pays, above the quota too",
            quota: {
                var quota = Quota()
                quota.byteCount = 60_000
                return quota
            }()
        ) { world in
            let shared = try SharedVault(world)
            let object = try shared.push(world, by: shared.writer, byteCount: 50_000)
            let own = try shared.push(world, by: shared.owner, from: object.address, byteCount: 40_000)
            try world.post(shared.vault.link(.leave, by: shared.writer), to: shared.vault, by: shared.writer)
            #expect(try world.used(shared.writer) == 0)
            #expect(try world.store.usage(of: shared.owner.owner).usedByteCount > 90_000)
            // Nothing new is taken until there is room.
            #expect(code { _ = try shared.push(world, by: shared.owner, from: own.address) } == .epochStale)
            try world.post(shared.vault.link(opening: shared.vault.opening), to: shared.vault, opens: true)
            #expect(code { _ = try shared.push(world, by: shared.owner, from: own.address) } == .quotaExceeded)
            for account in shared.members { _ = try world.used(account) }
        },
        StoreCheck(name: "the founder leaves: the vault goes on with its next owner, who holds and pays") { world in
            let (founder, next) = (try world.account(), try world.account())
            let vault = try world.logVault(founder)
            try world.add(next, .owner, to: vault)
            try world.post(vault.link(.leave), to: vault)
            #expect(try world.used(founder) == 0)
            #expect(code { _ = try world.store.head(vault.id, for: founder.owner) } == .zoneUnknown)
            let entry = try #require(try world.store.memberships(of: next.owner).entries.first)
            #expect(entry.founder == founder.id && entry.role == 1 && entry.state == 2 && entry.adder == founder.id)
            try world.store.delete(vault.id, by: next.owner)
            #expect(try world.used(next) == 0)
            _ = try world.used(next)
        },
        StoreCheck(name: "what an owner's device deleted or collected of others comes back when it is revoked") {
            world in
            let shared = try SharedVault(world)
            let phone = TestDevice()
            let addition = shared.owner.adding(phone)
            _ = try world.store.append(addition, to: .device, shared.owner.id, by: shared.owner.owner)
            try shared.owner.follow(addition)
            let thief = shared.owner.owner(as: phone)
            let first = try shared.push(world, by: shared.writer, byteCount: 3_000)
            _ = try shared.push(world, by: shared.writer, from: first.address, byteCount: 2_000)
            let used = try world.used(shared.writer)
            world.clock.now += 31 * 86_400_000
            let hash = shared.vault.hash(0)
            let proof = SweepProof(
                zoneID: shared.vault.id, linkHash: hash, objects: [first.address], chunks: [])
            let sweep = ZoneSweep(
                linkHash: hash, objects: [first.address], chunks: [], signature: proof.sign(with: phone.signing))
            #expect(try world.store.sweep(sweep, of: shared.vault.id, by: thief).count == 1)
            #expect(try world.used(shared.writer) == used - 3_000)
            try world.store.delete(shared.vault.id, by: thief)
            #expect(try world.used(shared.writer) == 0)
            #expect(code { _ = try world.store.head(shared.vault.id, for: shared.writer.owner) } == .zoneUnknown)
            #expect(try world.store.memberships(of: shared.viewer.owner).entries.isEmpty)
            for account in shared.members { _ = try world.used(account) }
            let revocation = shared.owner.revoking(phone)
            _ = try world.store.append(revocation, to: .device, shared.owner.id, by: shared.owner.owner)
            try world.store.clean()
            #expect(try world.used(shared.writer) == used)
            #expect(
                try world.store.changes(in: shared.vault.id, since: [], for: shared.viewer.owner).objects.count == 2)
            for account in shared.members { _ = try world.used(account) }
        },
    ]

    private static let finding: [StoreCheck] = [
        StoreCheck(name: "members are told of pushes, of links, and of each other's chains; strangers of nothing") {
            world in
            let shared = try SharedVault(world)
            let ids = shared.members.map(\.id).sorted { $0.lexicographicallyPrecedes($1) }
            let people = { try world.store.head(shared.vault.id, for: shared.viewer.owner).people }
            let before = try people()
            let object = try shared.push(world, by: shared.writer)
            let cursor = try world.store.head(shared.vault.id, for: shared.viewer.owner).cursor
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: ids,
                        bytes: ServerEvent.zone(id: shared.vault.id, head: object.address, cursor: cursor).encoded())))
            #expect(try people() == before, "no chain has grown")
            try world.post(shared.vault.link(), to: shared.vault)
            let number = UInt64(shared.vault.links.count - 1)
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: ids,
                        bytes: ServerEvent.chain(kind: 3, id: shared.vault.id, sequenceNumber: number).encoded())))
            #expect(try people() == before + 1)
            let link = shared.viewer.adding(TestDevice())
            _ = try world.store.append(link, to: .device, shared.viewer.id, by: shared.viewer.owner)
            let others = ids.filter { $0 != shared.viewer.id }
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: [shared.viewer.id] + others,
                        bytes: ServerEvent.chain(kind: 1, id: shared.viewer.id, sequenceNumber: 1).encoded())))
            #expect(try people() == before + 2)
            // Who is removed hears of it.
            try world.remove(shared.added, from: shared.vault)
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: [shared.added.id],
                        bytes: ServerEvent.membership(zone: shared.vault.id).encoded())))
        },
        StoreCheck(name: "an account's vaults are listed with role, state, who added it and where") { world in
            let shared = try SharedVault(world)
            let number = UInt64(shared.vault.links.count - 1)
            #expect(
                try world.store.memberships(of: shared.added.owner).entries == [
                    Memberships.Entry(
                        zone: shared.vault.id, founder: shared.owner.id, role: 2, state: 1, adder: shared.owner.id,
                        number: number, epoch: 1)
                ])
            let own = try #require(try world.store.memberships(of: shared.owner.owner).entries.first)
            #expect(own.role == 1 && own.state == 2 && own.adder == shared.owner.id && own.number == number)
            #expect(try world.store.memberships(of: shared.stranger.owner).entries.isEmpty)
        },
        StoreCheck(name: "an account is found by 130 bits of its id or by 40, and by no others") { world in
            let account = try world.account()
            var prefix = Array(account.id.prefix(17))
            prefix[16] &= 0xC0
            #expect(try world.store.account(prefix, bitCount: 130).accounts == [account.id])
            #expect(try world.store.account(Array(account.id.prefix(5)), bitCount: 40).accounts == [account.id])
            var wrong = prefix
            wrong[3] ^= 1
            #expect(try world.store.account(wrong, bitCount: 130).accounts.isEmpty)
            prefix[16] |= 1
            #expect(code { _ = try world.store.account(prefix, bitCount: 130) } == .malformed)
        },
    ]
}
