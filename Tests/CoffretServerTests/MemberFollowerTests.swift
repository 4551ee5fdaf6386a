// A device follows chains at the real server's store: what it comes to, what a lying server gains, and what a kill leaves.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretServer
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite("Following member chains")
struct MemberFollowerTests {
    /// A key for each epoch: what is sealed in these worlds opens with none of them.
    fileprivate struct Keys: MemberKeys {
        private let key = VaultKey.generate(from: SystemRandomSource())
        var isMissing = false
        func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { isMissing ? nil : key }
    }

    /// A server, an account with a vault of logs, and a device that follows.
    fileprivate final class World {
        let folder: TemporaryDirectory
        let world: StoreWorld
        let account: TestAccount
        let vault: LogVault
        var follower: MemberFollower
        var keys = Keys()
        /// Changes answers on their way.
        var lie: (ChainUpdates) -> ChainUpdates = { $0 }
        private(set) var answerCount = 0

        init() throws {
            folder = try TemporaryDirectory("follower")
            world = try StoreWorld(SQLiteDatabase(path: folder.file("d")))
            account = try world.account()
            vault = try world.logVault(account)
            follower = MemberFollower(vaultID: try #require(VaultID(vault.id)))
        }

        /// Asks until nothing is left, as a process that may end after each follow.
        func follow() throws -> MemberError? {
            follower = try #require(MemberFollower(decoding: follower.encoded))
            follower.begin()
            while let request = follower.request {
                answerCount += 1
                #expect(answerCount < 1_000)
                let answer = try world.store.updates(request, for: account.owner)
                // As it comes over the wire.
                try follower.take(lie(ChainUpdates(decoding: answer.encoded())), now: world.clock.now)
            }
            return try follower.finish(keys: keys)
        }

        func failure() -> FollowFailure? {
            do {
                _ = try follow()
                return nil
            } catch { return error as? FollowFailure }
        }

        func post(_ link: [UInt8], opens: Bool = false) throws { try world.post(link, to: vault, opens: opens) }

        func add(_ device: TestDevice, _ kind: DeviceKind = .ordinary) throws {
            try send(account.adding(device, kind))
        }

        func send(_ link: [UInt8]) throws {
            #expect(try world.numbers([account.item(link)], by: account.owner) != nil)
            try account.follow(link)
        }

        var linkCount: Int? { follower.members?.state.count }
    }

    @Test("first contact, and what is new, of all accounts that the links name")
    func follows() throws {
        let world = try World()
        #expect(try world.follow() == nil)
        #expect(world.linkCount == 2 && world.follower.devices.keys.map(\.bytes) == [world.account.id])
        let guest = try world.world.account()
        try world.world.allow(world.account, to: guest)
        try world.post(world.vault.link(.add(guest.stated, .writer)))
        try world.add(TestDevice())
        try world.post(world.vault.link())
        #expect(try world.follow() == nil)
        #expect(world.linkCount == 4 && world.follower.devices.count == 2)
        let own = try #require(world.follower.accounts[world.account.chain.accountID])
        #expect(own.chain == world.account.chain)
        // Nothing new: one question.
        let before = world.answerCount
        #expect(try world.follow() == nil)
        #expect(world.linkCount == 4 && world.answerCount == before + 1)
        // The rules take what came.
        var view = MemberView()
        view.follow(accounts: world.follower.devices, chain: try #require(world.follower.members).state)
        #expect(view.takenCount == 4)
    }

    @Test("a chain waits for a key, and goes on with it")
    func waits() throws {
        let world = try World()
        world.keys.isMissing = true
        #expect(try world.follow() == MemberError(.keyMissing, at: 1))
        #expect(world.linkCount == 1 && world.follower.waitingLinkCount == 1)
        world.keys.isMissing = false
        #expect(try world.follower.finish(keys: world.keys) == nil)
        #expect(world.linkCount == 2 && world.follower.waitingLinkCount == 0)
    }

    @Test("recoveries, of which a device saw the replaced links or not, leave the same branches")
    func branches() throws {
        let world = try World()
        let (paper, thief) = (TestDevice(), TestDevice())
        try world.add(paper, .paper)
        try world.add(thief)
        #expect(try world.follow() == nil)
        let early = world.follower
        // More on the branch than the device saw, and a link of the vault that rests on it.
        try world.send(world.account.adding(TestDevice()))
        try world.post(world.vault.link(as: thief))
        try world.send(try world.account.recovering(behind: 1, by: paper))
        try world.add(TestDevice())
        try world.send(try world.account.recovering(behind: 2, by: paper))
        try world.post(world.vault.link(heads: [world.account.stated], opening: world.vault.opening), opens: true)
        for start in [early, MemberFollower(vaultID: early.vaultID)] {
            world.follower = start
            #expect(try world.follow() == nil)
            #expect(world.linkCount == 4)
            let own = try #require(world.follower.accounts[world.account.chain.accountID])
            #expect(own.chain == world.account.chain && own.branches.map(\.links.count) == [4, 4])
            #expect(own.devices.isOut(thief.id, at: own.devices.newest))
        }
    }

    @Test("a long chain comes in several answers, whatever is lost between")
    func pages() throws {
        let world = try World()
        world.world.clock.now += 1
        // Of about 4 KiB each: more than an answer of 1 MiB.
        for _ in 0..<300 {
            let link = world.account.chain.sign(
                .describe(id: world.account.device.id), details: SystemRandomSource().bytes(count: 4_000),
                with: world.account.device.signing)
            try world.send(link.encoded)
        }
        #expect(try world.follow() == nil)
        #expect(world.answerCount >= 3)
        let own = try #require(world.follower.accounts[world.account.chain.accountID])
        #expect(own.chain.links.count == 301)
    }

    @Test("what a lying server gives or keeps back is named, and nothing is taken (R1, R2, R5)")
    func lies() throws {
        let world = try World()
        let thief = TestDevice()
        try world.add(thief)
        #expect(try world.follow() == nil)
        let (good, vaultID) = (world.follower, world.vault.id)
        func lying(_ lie: @escaping ([ChainUpdates.Chain]) -> [ChainUpdates.Chain]) -> FollowFailure? {
            world.follower = good
            world.lie = { ChainUpdates(lie($0.chains), hasMore: $0.hasMore) }
            defer { world.lie = { $0 } }
            let failure = world.failure()
            #expect(world.follower.encoded == good.encoded)
            return failure
        }
        #expect(lying { $0.filter { $0.kind == 1 } } == .rolledBack(chain: vaultID))
        #expect(lying { $0.filter { $0.kind == 3 } } == .rolledBack(chain: world.account.id))
        func replaced(_ kind: UInt8, _ links: [[UInt8]], start: UInt64? = nil, branches: [ChainUpdates.Branch] = [])
            -> ([ChainUpdates.Chain]) -> [ChainUpdates.Chain]
        {
            { chains in
                chains.map { chain in
                    guard chain.kind == kind else { return chain }
                    return ChainUpdates.Chain(
                        kind: kind, chainID: chain.chainID, branches: branches, start: start ?? chain.start,
                        links: links)
                }
            }
        }
        // Another continuation of the vault's chain (K9).
        let twin = try world.twin(of: 1)
        #expect(lying(replaced(3, [twin])) == .members(MemberError(.forked, at: 1)))
        #expect(lying(replaced(3, [world.vault.links[0]])) == .answerMalformed)
        #expect(lying(replaced(3, [[1, 2]])) == .members(MemberError(.linkMalformed, at: 1)))
        #expect(lying(replaced(3, [world.vault.links[1]], start: 0)) == .answerMalformed)
        // A device chain that differs, with and without a branch that says why; one with a hole.
        let sibling = try world.sibling()
        let account = world.account.chain.accountID
        #expect(lying(replaced(1, [sibling])) == .devices(account: account, TrustError(.chainForked, at: 1)))
        let branch = ChainUpdates.Branch(start: 1, links: [world.account.chain.links[1].link.encoded])
        #expect(
            lying(replaced(1, [sibling], branches: [branch]))
                == .devices(account: account, TrustError(.chainForked, at: 1)))
        #expect(lying(replaced(1, [sibling], start: 2)) == .answerMalformed)
        #expect(lying { $0 + $0 } == .answerMalformed)
        #expect(lying { $0.reversed() } == .answerMalformed)
        // Answers without end.
        world.follower = good
        world.lie = { _ in ChainUpdates([], hasMore: true) }
        #expect(world.failure() == .answerMalformed)
        var number: UInt64 = 1
        world.lie = { _ in
            defer { number += 1 }
            let link = [UInt8](repeating: 0, count: 100_000)
            return ChainUpdates(
                [ChainUpdates.Chain(kind: 3, chainID: vaultID, branches: [], start: number, links: [link])],
                hasMore: true)
        }
        #expect(world.failure() == .answerMalformed)
        #expect(number < 100, "bounded in bytes")
        (world.lie, world.follower) = ({ $0 }, good)
        #expect(try world.follow() == nil, "the truth is taken afterwards")
    }

    @Test("a device chain that the server keeps back makes the links wait that state it")
    func withheld() throws {
        let world = try World()
        let guest = try world.world.account()
        try world.world.allow(world.account, to: guest)
        try world.post(world.vault.link(.add(guest.stated, .writer)))
        try world.post(world.vault.link())
        world.lie = { ChainUpdates($0.chains.filter { $0.chainID != guest.id }, hasMore: $0.hasMore) }
        #expect(try world.follow() == MemberError(.chainMissing, at: 2))
        #expect(world.linkCount == 2 && world.follower.waitingLinkCount == 2)
        world.lie = { $0 }
        #expect(try world.follow() == nil)
        #expect(world.linkCount == 4)
    }

    @Test("of a thousand links that are known none is verified again; what was not verified before is")
    func knownLinks() throws {
        let world = try World()
        let other = try world.world.account()
        try world.world.allow(world.account, to: other)
        try world.post(world.vault.link(.add(other.stated, .writer)))
        var items: [LinkPost.Item] = []
        while world.vault.links.count < 1_000 {
            let role: MemberRole = world.vault.links.count % 2 == 1 ? .viewer : .writer
            let link = world.vault.link(
                .changeRoles([MemberOperation.RoleChange(other.chain.accountID, role)]), sealedByteCount: 100)
            items.append(world.vault.item(link))
            world.vault.take(link)
            guard items.count == ServerLimits.linkCountMaxPerPost || world.vault.links.count == 1_000 else { continue }
            _ = try #require(try world.world.numbers(items, by: world.account.owner))
            items = []
        }
        #expect(try world.follow() == nil)
        #expect(world.linkCount == 1_000)
        // Signatures that no key has made: nobody looks at them, or the chain ends.
        func forged(_ record: [UInt8]) throws -> FollowedChains {
            var bytes = record
            for link in world.follower.chains.links {
                let signature = try #require(bytes.firstRange(of: link.signature))
                bytes.replaceSubrange(signature, with: [UInt8](repeating: 1, count: link.signature.count))
            }
            return try #require(FollowedChains(decoding: bytes))
        }
        var known = try forged(world.follower.encoded)
        #expect(try known.finish(keys: world.keys) == nil)
        #expect(known.members?.state.count == 1_000 && known.rights?.count == 1_000)
        // A record of links that came and were not verified.
        var fresh = FollowedChains(vaultID: known.vaultID)
        for account in world.follower.accounts.values { fresh.set(account) }
        try fresh.take(links: world.follower.chains.links, from: 0)
        var unknown = try forged(fresh.encoded)
        let code = #expect(throws: FollowFailure.self) { try unknown.finish(keys: world.keys) }
        #expect(code == .foundation(TrustError(.signatureInvalid, at: 0)))
        // One that goes on behind the known ones is verified.
        let next = world.vault.link()
        try world.post(next)
        var link = try UnverifiedLink(decoding: next)
        let at = try #require(next.firstRange(of: link.signature)).lowerBound
        link = try UnverifiedLink(decoding: next[..<at] + [next[at] ^ 1] + next[(at + 1)...])
        try known.take(links: [link], from: 1_000)
        #expect(try known.finish(keys: world.keys) == MemberError(.signatureInvalid, at: 1_000))
    }

    @Test("records that are cut, or altered, are none or verify (R14)")
    func records() throws {
        let world = try World()
        try world.add(TestDevice())
        #expect(try world.follow() == nil)
        let good = world.follower.encoded
        #expect(MemberFollower(decoding: good)?.encoded == good)
        for count in stride(from: 0, to: good.count, by: 7) {
            #expect(MemberFollower(decoding: Array(good.prefix(count))) == nil)
        }
        #expect(MemberFollower(decoding: good + [0]) == nil)
        let generator = SeededGenerator.fromEnvironment()
        for _ in 0..<300 {
            var bytes = good
            bytes[generator.int(in: 0...bytes.count - 1)] ^= UInt8(generator.int(in: 1...255))
            guard let other = MemberFollower(decoding: bytes) else { continue }
            #expect(other.encoded == bytes)
        }
    }
}

extension MemberFollowerTests.World {
    /// Another link of the vault at a place, by the same device.
    fileprivate func twin(of number: Int) throws -> [UInt8] {
        let operation = MemberOperation(.state, by: account.chain.accountID, deviceHead: LogVault.head(account))
        return UnverifiedLink.sign(
            kind: .member, chainID: ChainID(vault.id), sequenceNumber: UInt64(number), publicPart: operation.encoded,
            sealedPart: [7], previousLinkHash: vault.hash(number - 1), with: account.device.signing
        ).encoded
    }

    /// Another link 1 of the device chain.
    fileprivate func sibling() throws -> [UInt8] {
        let before = try #require(account.chain.asOf(0))
        return before.sign(.describe(id: account.device.id), details: [1], with: account.device.signing).encoded
    }
}
