// What requests cost the server, in counts. The one thing to keep true: nothing that one account does makes the server
// read, write or keep more than its limits say.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite("Server costs")
struct ServerCostTests {
    private struct World {
        let counts: CountingDatabase
        let world: StoreWorld
        let folder: TemporaryDirectory

        init() throws {
            folder = try TemporaryDirectory("server-costs")
            counts = CountingDatabase(try SQLiteDatabase(path: folder.file("d")))
            world = try StoreWorld(counts)
        }
    }

    /// The next link, which describes the first device anew.
    private static func describing(_ account: TestAccount, byteCount: Int) -> [UInt8] {
        account.chain.sign(
            .describe(id: account.device.id), details: SystemRandomSource().bytes(count: byteCount),
            with: account.device.signing
        ).encoded
    }

    @Test("storage H1 (R104): a link, or a zone that is there, costs the same however long the chain is")
    func chain() throws {
        let costs = try World()
        let (world, account) = (costs.world, try costs.world.account())
        let vault = try account.vault()
        _ = try world.store.found(vault, by: account.owner)
        for _ in 0..<100 {
            let link = Self.describing(account, byteCount: 100)
            _ = costs.counts.take()
            guard case .appended = try world.store.append(link, to: .device, account.id, by: account.owner) else {
                Issue.record("a link was refused")
                return
            }
            let counts = costs.counts.take()
            #expect(counts.writes == 1 && counts.links <= 4, "\(counts)")
            try account.follow(link)
        }
        for vault in [vault, try account.vault()] {
            _ = try world.store.found(vault, by: account.owner)
            let counts = costs.counts.take()
            #expect(counts.writes == 1 && counts.links <= 4, "\(counts)")
        }
        // A server that has just begun reads the chain once.
        let store = try ServerStore(database: costs.counts, random: SystemRandomSource(), clock: world.clock)
        for expected in [101 + 2...101 + 4, 1...4] {
            let link = Self.describing(account, byteCount: 100)
            _ = costs.counts.take()
            _ = try store.append(link, to: .device, account.id, by: account.owner)
            try account.follow(link)
            let counts = costs.counts.take()
            #expect(expected.contains(counts.links), "\(counts)")
        }
        // What another process stored meanwhile is seen.
        let head = try world.store.append(
            Self.describing(account, byteCount: 1), to: .device, account.id, by: account.owner)
        #expect(StoreCheck.endOf(head)?.sequenceNumber == 103)
    }

    @Test(
        "storage H1, M1 (R104): links, acknowledgements, mail and rows count; a revocation is taken however full it is")
    func charges() throws {
        let folder = try TemporaryDirectory("server-charges")
        var quota = Quota()
        quota.byteCount = 50_000
        let world = try StoreWorld(try SQLiteDatabase(path: folder.file("d")), quota: quota)
        let account = try world.account()
        let zone = try world.zone(account)
        func usage() throws -> Int { Int(try world.store.usage(of: account.owner).usedByteCount) }
        func step(_ expected: Int, _ body: () throws -> Void) throws {
            let before = try usage()
            try body()
            #expect(try usage() - before == expected)
            #expect(try world.used(account) >= 0, "the sum is that of the rows")
        }
        let second = TestDevice()
        let addition = account.adding(second)
        try step(addition.count + 256) {
            _ = try world.store.append(addition, to: .device, account.id, by: account.owner)
        }
        try account.follow(addition)
        try step(4_096 + 256) {
            try world.store.acknowledge([UInt8](repeating: 1, count: 4_096), in: zone, by: account.owner)
        }
        try step(-4_000) {
            try world.store.acknowledge([UInt8](repeating: 1, count: 96), in: zone, by: account.owner)
        }
        try step(100 + 256) {
            try world.store.post(
                MailboxPost(deviceID: nil, bytes: [UInt8](repeating: 1, count: 100)), by: account.owner)
        }
        let mail = try #require(try world.store.mail(for: account.owner).entries.first)
        try step(-356) { try world.store.deleteMail(mail.id, for: account.owner) }
        // Objects up to the end of the space.
        let rest = 50_000 - (try usage()) - 256
        _ = try world.store.take(
            ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [.random(byteCount: rest)]), to: zone,
            by: account.owner)
        #expect(try usage() == 50_000)
        // Long links, within what devices need.
        var refused = 0
        for _ in 0..<2 {
            let link = Self.describing(account, byteCount: ChainKind.device.sealedPartByteCountMax + 1)
            let outcome = try world.store.append(link, to: .device, account.id, by: account.owner)
            if case .untrusted = outcome { refused += 1 }
        }
        #expect(refused == 2, "a sealed part above 4 KiB")
        try world.store.database.write { session in
            try session.script("UPDATE accounts SET used = used + 17000000")
        }
        let described = Self.describing(account, byteCount: 10)
        #expect(
            StoreCheck.code { _ = try world.store.append(described, to: .device, account.id, by: account.owner) }
                == .quotaExceeded)
        guard
            case .appended = try world.store.append(
                account.revoking(second), to: .device, account.id, by: account.owner)
        else {
            Issue.record("the revocation was refused")
            return
        }
    }

    @Test("storage H2 (R105): what is fetched is read in batches, and of an address 64 variants are served")
    func variants() throws {
        let costs = try World()
        let (world, account) = (costs.world, try costs.world.account())
        let zone = try world.zone(account)
        let good = ZoneObject.random(byteCount: 100_000)
        let others = (0..<99).map { _ in
            ZoneObject(address: good.address, ciphertext: SystemRandomSource().bytes(count: 100_000))
        }
        _ = try world.store.take(
            ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [good] + others), to: zone, by: account.owner)
        _ = costs.counts.take()
        #expect(try world.fetched([good.address], zone, account) == Array(([good] + others).prefix(64)))
        let counts = costs.counts.take()
        #expect(counts.byteCountMax < 1_200_000, "\(counts)")
        // Beside many addresses, with the order and the end kept.
        let small = (0..<600).map { _ in ZoneObject.random() }
        _ = try world.store.take(
            ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: small), to: zone, by: account.owner)
        let asked = small.map(\.address) + [good.address]
        #expect(try world.fetched(asked, zone, account) == small + ([good] + others).prefix(64))
    }

    @Test("storage H1 (R105): a long chain is read by bytes")
    func links() throws {
        let costs = try World()
        let (world, account) = (costs.world, try costs.world.account())
        for _ in 0..<300 {
            let link = Self.describing(account, byteCount: 4_000)
            _ = try world.store.append(link, to: .device, account.id, by: account.owner)
            try account.follow(link)
        }
        _ = costs.counts.take()
        var links: [[UInt8]] = []
        while links.count < 301 {
            let more = try world.store.links(.device, account.id, from: Int64(links.count), for: account.owner).links
            guard !more.isEmpty else { break }
            links += more
        }
        #expect(links == account.chain.links.map(\.link.encoded))
        #expect(costs.counts.take().byteCountMax < 1_200_000)
    }

    @Test("storage H4 (R106): a challenge and a login that fails write nothing, however many there are")
    func challenges() throws {
        let costs = try World()
        let (world, account) = (costs.world, try costs.world.account())
        _ = costs.counts.take()
        for _ in 0..<50 {
            let request = LoginChallengeRequest(
                accountID: account.id, deviceID: account.device.id, clientNonce: SystemRandomSource().bytes(count: 32))
            let challenge = try world.store.challenge(request, serverName: "here")
            let forged = LoginRequest(
                challenge: challenge, request: request, signature: [UInt8](repeating: 7, count: 64))
            #expect(
                StoreCheck.code {
                    _ = try world.store.login(forged, serverName: "here", fingerprint: LoginProof.noFingerprint)
                } == .loginRefused)
        }
        #expect(costs.counts.take().writes == 0)
        // Of a device that logs in again and again the newest sessions count.
        let sessions = try (0..<20).map { _ in
            world.clock.now += 1
            return try world.login(account)
        }
        let good = sessions.filter { session in (try? world.store.session(token: session.token)) != nil }
        #expect(good.map(\.token) == sessions.suffix(16).map(\.token))
        // Another server's challenge is none.
        let other = try World()
        _ = try other.world.store.register(AccountRegistration(link: account.firstLink), policy: .open)
        let request = LoginChallengeRequest(
            accountID: account.id, deviceID: account.device.id, clientNonce: [UInt8](repeating: 1, count: 32))
        let challenge = try world.store.challenge(request, serverName: "here")
        let proof = LoginProof(
            serverName: "here", fingerprint: LoginProof.noFingerprint, accountID: account.chain.accountID,
            deviceID: account.device.id, serverNonce: challenge.serverNonce, clientNonce: request.clientNonce,
            expiry: challenge.expiry)
        let login = LoginRequest(
            challenge: challenge, request: request, signature: proof.sign(with: account.device.signing))
        #expect(
            StoreCheck.code {
                _ = try other.world.store.login(login, serverName: "here", fingerprint: LoginProof.noFingerprint)
            } == .loginRefused)
        _ = try world.store.login(login, serverName: "here", fingerprint: LoginProof.noFingerprint)
    }

    @Test("storage M6 (R108): the number of a zone is given once")
    func numbers() throws {
        let costs = try World()
        let (world, account) = (costs.world, try costs.world.account())
        func number(_ zone: [UInt8]) throws -> Int64 {
            try world.store.database.lookUp("SELECT number FROM zones WHERE zone = $1", [.bytes(zone)])[0][0].int
        }
        let zone = try world.zone(account)
        let first = try number(zone)
        try world.store.delete(zone, by: account.owner)
        #expect(try number(try world.zone(account)) > first)
    }

    @Test("storage L8: each device of a chain costs the same, however many came before")
    func manyDevices() throws {
        let account = try TestAccount()
        var links = account.chain.links.map(\.link)
        // Signatures are not looked at again, so that one is as good as the other.
        for number in 1...4_000 {
            let device = TestDevice()
            let operation = DeviceOperation.add(
                id: device.id, kind: .ordinary, keys: device.keys, countersignature: [UInt8](repeating: 0, count: 64))
            let previous = links[number - 1].hash(inChain: number == 1 ? nil : account.chain.accountID)
            links.append(
                UnverifiedLink.sign(
                    kind: .device, chainID: account.chain.accountID, sequenceNumber: UInt64(number),
                    publicPart: operation.encoded, sealedPart: [], previousLinkHash: previous,
                    with: account.device.signing))
        }
        func cost(_ count: Int, _ runCount: Int) throws -> Double {
            let part = Array(links.prefix(count))
            return try (0..<runCount).map { _ in
                try ProcessorTime.measure {
                    try VerifiedDeviceChain.resume(part, accountID: account.chain.accountID)
                }.1
            }.min() ?? 0
        }
        // Once: the keys of a short chain are remembered from then on, those of a long one are too many for that.
        let (short, long) = (try cost(501, 1), try cost(4_001, 3))
        #expect(long < 20 * short, "eight times as many: \(short) s, \(long) s")
    }
}
