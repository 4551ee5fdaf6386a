// What vaults of several people cost the server, in counts of statements and rows.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite("Server costs of members")
struct MemberCostTests {
    private struct World {
        let counts: CountingDatabase
        let world: StoreWorld
        let folder: TemporaryDirectory

        init() throws {
            folder = try TemporaryDirectory("member-costs")
            counts = CountingDatabase(try SQLiteDatabase(path: folder.file("d")))
            world = try StoreWorld(counts)
        }

        /// What a push costs that moves the head, of so many objects.
        func pushCost(_ vault: LogVault, by account: TestAccount, objectCount: Int) throws -> CountingDatabase.Counts {
            let head = try world.logHead(vault).address
            let objects = (0..<objectCount).map { _ in ZoneObject.random() }
            let push = vault.push(objects, from: head, to: objects[0].address, by: account.device)
            _ = counts.take()
            guard case .accepted = try world.store.push(push, to: vault.id, by: account.owner) else {
                throw ClientFailure(text: "a push was refused")
            }
            return counts.take()
        }
    }

    @Test("a push into a vault of ten people costs at most 1.3 times one into an own vault")
    func sharedPush() throws {
        let costs = try World()
        let owner = try costs.world.account()
        let (own, shared) = (try costs.world.logVault(owner), try costs.world.logVault(owner))
        var writer = owner
        for _ in 1..<10 {
            writer = try costs.world.account()
            try costs.world.add(writer, .writer, to: shared)
        }
        for vault in [own, shared] { _ = try costs.pushCost(vault, by: owner, objectCount: 1) }
        for objectCount in [1, 10, 100] {
            let alone = try costs.pushCost(own, by: owner, objectCount: objectCount)
            let together = try costs.pushCost(shared, by: writer, objectCount: objectCount)
            #expect(Double(together.statements) <= 1.3 * Double(alone.statements), "\(together) \(alone)")
            #expect(together.writes == alone.writes)
            // Beside who is told, one row for each member.
            #expect(Double(together.rows - 10) <= 1.3 * Double(alone.rows - 1), "\(together) \(alone)")
        }
    }

    @Test("a link behind a thousand others is verified behind a kept beginning, and read with what a short chain needs")
    func longChain() throws {
        let costs = try World()
        let world = costs.world
        let (owner, other) = (try world.account(), try world.account())
        let vault = try world.logVault(owner)
        try world.add(other, .writer, to: vault)
        func link() -> [UInt8] {
            let role: MemberRole = vault.links.count % 2 == 0 ? .viewer : .writer
            return vault.link(
                .changeRoles([MemberOperation.RoleChange(other.chain.accountID, role)]), sealedByteCount: 20)
        }
        func cost(_ store: ServerStore) throws -> CountingDatabase.Counts {
            let next = link()
            _ = costs.counts.take()
            guard case .taken = try store.take([vault.item(next)], by: owner.owner) else {
                throw ClientFailure(text: "a link was refused")
            }
            vault.take(next)
            return costs.counts.take()
        }
        let short = try cost(world.store)
        while vault.links.count < 1_000 {
            var items: [LinkPost.Item] = []
            while items.count < ServerLimits.linkCountMaxPerPost, vault.links.count < 1_000 {
                let next = link()
                items.append(vault.item(next))
                vault.take(next)
            }
            _ = try #require(try world.numbers(items, by: owner.owner))
        }
        let long = try cost(world.store)
        #expect(long.links == short.links && long.statements == short.statements && long.rows == short.rows)
        // A server that has just begun reads the chain once.
        let store = try ServerStore(database: costs.counts, random: SystemRandomSource(), clock: world.clock)
        #expect(try cost(store).links > 1_000)
        #expect(try cost(store).links == short.links)
    }

    @Test("R78: a stranger's letter costs the same whether the account is here or not")
    func strangers() throws {
        let costs = try World()
        let (world, sender) = (costs.world, try costs.world.account())
        let (known, unknown) = (try world.account(), try TestAccount())
        // Its own chain is read once, by the first.
        var found: [CountingDatabase.Counts] = []
        for recipient in [known, known, unknown, known, unknown] {
            let letter = sender.letter(to: recipient, .contactRequest, scope: recipient.id)
            _ = costs.counts.take()
            let code = StoreCheck.code {
                try world.store.post(PersonalLetter(letter: letter), to: recipient.id, by: sender.owner)
            }
            #expect(code == .notAllowed)
            var counts = costs.counts.take()
            // Whether its row is there is the one difference.
            if recipient.id == known.id { counts.rows -= 1 }
            counts.byteCountMax = 0
            found.append(counts)
        }
        #expect(Set(found.dropFirst().map { "\($0)" }).count == 1, "\(found)")
    }
}
