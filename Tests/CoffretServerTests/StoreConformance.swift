// What every storage of the server must do. The one thing to keep true: the same checks run on SQLite and on
// PostgreSQL, and none knows which it is.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

/// A store in a new database, with a clock to move.
final class StoreWorld {
    let store: ServerStore
    let clock = MovingClock()
    let notices = NoticeBox()

    init(_ database: any SQLDatabase, quota: Quota = Quota()) throws {
        try ServerStore.initialize(database, random: SystemRandomSource())
        store = try ServerStore(
            database: database, random: SystemRandomSource(), clock: clock, quota: quota,
            uptime: { [clock] in clock.now })
        try database.listen { [notices] in notices.add($0) }
    }

    func account() throws -> TestAccount {
        let account = try TestAccount()
        _ = try store.register(AccountRegistration(link: account.firstLink), policy: .open)
        return account
    }

    /// A zone whose founding link came 30 days ago, so that things may be collected below it. Its hash is the zone's id.
    func zone(_ account: TestAccount) throws -> [UInt8] {
        let vault = try account.vault()
        _ = try store.found(vault, by: account.owner)
        try store.database.write { session in
            _ = try session.execute(
                "UPDATE steps SET time = time - $1 WHERE hash = $2",
                [.int(30 * 86_400_000), .bytes(vault.vaultID)])
        }
        return vault.vaultID
    }

    func login(_ account: TestAccount, as device: TestDevice? = nil, name: String = "here") throws -> LoginSession {
        let device = device ?? account.device
        let request = LoginChallengeRequest(
            accountID: account.id, deviceID: device.id, clientNonce: SystemRandomSource().bytes(count: 32))
        let challenge = try store.challenge(request, serverName: "here")
        let proof = LoginProof(
            serverName: name, fingerprint: LoginProof.noFingerprint, accountID: account.chain.accountID,
            deviceID: device.id, serverNonce: challenge.serverNonce, clientNonce: request.clientNonce,
            expiry: challenge.expiry)
        return try store.login(
            LoginRequest(challenge: challenge, request: request, signature: proof.sign(with: device.signing)),
            serverName: "here", fingerprint: LoginProof.noFingerprint)
    }

    /// Everything that a client reads from a cursor on.
    func pull(_ zone: [UInt8], from cursor: [UInt8] = [], _ account: TestAccount) throws -> ([ZoneObject], [UInt8]?) {
        var (objects, cursor): ([ZoneObject], [UInt8]) = ([], cursor)
        while true {
            let batch = try store.changes(in: zone, since: cursor, for: account.owner)
            objects += batch.objects.map(\.object)
            if batch.isLast { return (objects, batch.head) }
            cursor = batch.cursor
        }
    }
}

final class NoticeBox: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var notices: [StoreNotice] = []

    func add(_ notice: StoreNotice) { lock.withLock { notices.append(notice) } }

    /// Waits for a notice, which may come from another process.
    func has(_ notice: StoreNotice) -> Bool {
        (try? Waiting.until("\(notice)") { lock.withLock { notices.contains(notice) } }) != nil
    }
}

struct StoreCheck: Sendable, CustomTestStringConvertible {
    let name: String
    var quota = Quota()
    let body: @Sendable (StoreWorld) throws -> Void

    var testDescription: String { name }

    static func code(_ body: () throws -> Void) -> ServerFailure.Code? {
        do {
            try body()
            return nil
        } catch { return (error as? ServerFailure)?.code }
    }

    static func endOf(_ outcome: AppendOutcome) -> ChainHead? {
        if case .appended(let head) = outcome { head } else { nil }
    }

    static func receiptOf(_ outcome: PushOutcome) -> PushReceipt? {
        if case .accepted(let receipt) = outcome { receipt } else { nil }
    }

    static let all = basics + sweeps + ends + logs + members + keys + people + circles

    private static let basics: [StoreCheck] = [
        StoreCheck(name: "registration follows the policy, and the same link twice is one account") { world in
            let account = try TestAccount()
            let request = AccountRegistration(link: account.firstLink)
            #expect(code { _ = try world.store.register(request, policy: .closed) } == .registrationClosed)
            #expect(code { _ = try world.store.register(request, policy: .invitation) } == .invitationInvalid)
            try world.store.invite(Array("abc".utf8), milliseconds: 1_000)
            try world.store.invite(Array("old".utf8), milliseconds: 10)
            world.clock.now += 500
            let invited = { (text: String) in AccountRegistration(link: account.firstLink, invitation: Array(text.utf8))
            }
            #expect(code { _ = try world.store.register(invited("old"), policy: .invitation) } == .invitationInvalid)
            let head = ChainHead(sequenceNumber: 0, linkHash: account.id)
            #expect(try world.store.register(invited("abc"), policy: .invitation) == .appended(head))
            #expect(try world.store.register(request, policy: .closed) == .appended(head))
            let other = try TestAccount()
            let again = AccountRegistration(link: other.firstLink, invitation: Array("abc".utf8))
            #expect(code { _ = try world.store.register(again, policy: .invitation) } == .invitationInvalid)
        },
        StoreCheck(name: "a login works once per challenge, for this server, in time, by a device of the account") {
            world in
            let account = try world.account()
            let session = try world.login(account)
            #expect(try world.store.session(token: session.token) == account.owner)
            #expect(code { _ = try world.login(account, name: "there") } == .loginRefused)
            #expect(code { _ = try world.login(account, as: TestDevice()) } == .loginRefused)
            let request = LoginChallengeRequest(
                accountID: account.id, deviceID: account.device.id, clientNonce: [UInt8](repeating: 1, count: 32))
            let challenge = try world.store.challenge(request, serverName: "here")
            let proof = LoginProof(
                serverName: "here", fingerprint: LoginProof.noFingerprint, accountID: account.chain.accountID,
                deviceID: account.device.id, serverNonce: challenge.serverNonce, clientNonce: request.clientNonce,
                expiry: challenge.expiry)
            let good = LoginRequest(
                challenge: challenge, request: request, signature: proof.sign(with: account.device.signing))
            let attempt = { try world.store.login(good, serverName: "here", fingerprint: LoginProof.noFingerprint) }
            _ = try attempt()
            #expect(code { _ = try attempt() } == .loginRefused, "a nonce is good once")
            world.clock.now += 13 * 3_600_000
            #expect(code { _ = try world.store.session(token: session.token) } == .sessionUnknown, "sessions expire")
            let late = try world.store.challenge(request, serverName: "here")
            world.clock.now += 60_001
            let proofLate = LoginRequest(challenge: late, request: request, signature: good.signature)
            #expect(
                code {
                    _ = try world.store.login(proofLate, serverName: "here", fingerprint: LoginProof.noFingerprint)
                } == .loginRefused)
            try world.store.clean()
        },
        StoreCheck(name: "a revoked device's sessions end with the link that revokes it (R28)") { world in
            let account = try world.account()
            let second = TestDevice()
            let addition = account.adding(second)
            guard case .appended = try world.store.append(addition, to: .device, account.id, by: account.owner) else {
                Issue.record("the addition was refused")
                return
            }
            try account.follow(addition)
            let session = try world.login(account, as: second)
            _ = try world.store.session(token: session.token)
            let revocation = account.revoking(second)
            #expect(
                try world.store.append(revocation, to: .device, account.id, by: account.owner)
                    == .appended(
                        ChainHead(
                            sequenceNumber: 2,
                            linkHash: try UnverifiedLink(decoding: revocation).hash(inChain: account.chain.accountID))))
            #expect(code { _ = try world.store.session(token: session.token) } == .sessionUnknown)
            #expect(code { _ = try world.login(account, as: second) } == .loginRefused)
            #expect(world.notices.has(.sessionsEnded(accountID: account.id, deviceID: second.id.bytes)))
            // The first device goes on.
            _ = try world.login(account)
        },
        StoreCheck(name: "a chain takes links that verify, in order, once; a second at one place is told the head") {
            world in
            let account = try world.account()
            let (second, third) = (TestDevice(), TestDevice())
            let (one, two) = (account.adding(second), account.adding(third))
            let head = try #require(
                endOf(try world.store.append(one, to: .device, account.id, by: account.owner)))
            #expect(try world.store.append(two, to: .device, account.id, by: account.owner) == .conflict(head))
            #expect(
                try world.store.append(one, to: .device, account.id, by: account.owner) == .appended(head),
                "asked again")
            try account.follow(one)
            let unsigned = account.adding(third)
            var forged = unsigned
            forged[forged.count - 1] ^= 1
            #expect(
                try world.store.append(forged, to: .device, account.id, by: account.owner)
                    == .untrusted("trust.link.signature-invalid"))
            #expect(
                try world.store.append([1, 2], to: .device, account.id, by: account.owner)
                    == .untrusted("trust.link.malformed"))
            let stranger = try world.account()
            #expect(
                code { _ = try world.store.append(unsigned, to: .device, account.id, by: stranger.owner) } == .forbidden
            )
            let links = try world.store.links(.device, account.id, from: 0, for: stranger.owner)
            #expect(links.links == [account.firstLink, one])
            #expect(try world.store.links(.device, account.id, from: 1, for: stranger.owner).links == [one])
            #expect(
                code {
                    _ = try world.store.links(.device, [UInt8](repeating: 9, count: 32), from: 0, for: stranger.owner)
                }
                    == .chainUnknown)
        },
        StoreCheck(name: "a zone belongs to the vault's founder, and others do not see it") { world in
            let (account, stranger) = (try world.account(), try world.account())
            let vault = try account.vault()
            #expect(
                try world.store.take([vault.item], by: stranger.owner) == .untrusted("trust.member.founder-differs"))
            let head = try world.store.found(vault, by: account.owner)
            #expect(head.address == nil && head.epoch == 0 && head.word == nil)
            #expect(try world.store.found(vault, by: account.owner) == head, "asked again")
            #expect(code { _ = try world.store.take([vault.item], by: stranger.owner) } == .zoneUnknown)
            #expect(try world.store.zones(of: account.owner) == [vault.vaultID])
            #expect(code { _ = try world.store.head(vault.vaultID, for: stranger.owner) } == .zoneUnknown)
            #expect(
                code { _ = try world.store.changes(in: vault.vaultID, since: [], for: stranger.owner) } == .zoneUnknown)
            let push = ZonePush(expectedHead: nil, newHead: [UInt8](repeating: 1, count: 32), epoch: 1, objects: [])
            #expect(code { _ = try world.store.take(push, to: vault.vaultID, by: stranger.owner) } == .zoneUnknown)
            #expect(
                code { _ = try world.store.links(.member, vault.vaultID, from: 0, for: stranger.owner) } == .zoneUnknown
            )
            #expect(try world.store.links(.member, vault.vaultID, from: 0, for: account.owner).links == [vault.link])
            try world.store.delete(vault.vaultID, by: account.owner)
            #expect(code { _ = try world.store.head(vault.vaultID, for: account.owner) } == .zoneUnknown)
        },
        StoreCheck(name: "a push moves the head by compare and swap, whole or not at all, and may be repeated") {
            world in
            let account = try world.account()
            let zone = try world.zone(account)
            let (first, second, third) = (ZoneObject.random(), ZoneObject.random(), ZoneObject.random())
            let push = ZonePush(expectedHead: nil, newHead: first.address, epoch: 1, objects: [first, second])
            let receipt = try #require(
                receiptOf(try world.store.take(push, to: zone, by: account.owner)))
            let head = try world.store.head(zone, for: account.owner)
            #expect(head.address == first.address && head.cursor == receipt.cursor && head.epoch == 1)
            #expect(head.word?.isWord(of: account.device, for: first.address, epoch: 1, in: zone) == true)
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: [account.id],
                        bytes: ServerEvent.zone(id: zone, head: first.address, cursor: receipt.cursor).encoded())))
            #expect(
                try world.store.take(push, to: zone, by: account.owner) == .accepted(receipt), "the answer was lost")
            let stale = ZonePush(expectedHead: nil, newHead: third.address, epoch: 1, objects: [third])
            #expect(try world.store.take(stale, to: zone, by: account.owner) == .moved(head))
            #expect(try world.pull(zone, account).0 == [first, second], "nothing of a refused push is there")
            let staging = ZonePush(expectedHead: first.address, newHead: first.address, epoch: 1, objects: [third])
            guard case .accepted(let staged) = try world.store.take(staging, to: zone, by: account.owner) else {
                Issue.record("a push that leaves the head was refused")
                return
            }
            let after = try world.store.head(zone, for: account.owner)
            #expect(after.address == first.address && after.cursor == staged.cursor && after.word == head.word)
            #expect(try world.pull(zone, from: receipt.cursor, account).0 == [third])
        },
        StoreCheck(name: "every variant under an address is kept and served, with who put it there (poisoned address)")
        { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let good = ZoneObject.random()
            let garbage = ZoneObject(address: good.address, ciphertext: [1, 2, 3])
            for object in [garbage, good, good] {
                _ = try world.store.take(
                    ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [object]), to: zone, by: account.owner)
            }
            let batch = try world.store.objects(at: [good.address], in: zone, for: account.owner).batch
            #expect(batch.objects.map(\.object) == [garbage, good])
            #expect(batch.objects.allSatisfy { $0.uploader == account.id })
            #expect(try world.pull(zone, account).0 == [garbage, good])
        },
        StoreCheck(name: "changes come in batches, from any cursor, and an unknown cursor is the beginning") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let objects = (0..<9).map { _ in ZoneObject.random(byteCount: 300_000) }
            for object in objects {
                _ = try world.store.take(
                    ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [object]), to: zone, by: account.owner)
            }
            let first = try world.store.changes(in: zone, since: [], for: account.owner)
            #expect(first.objects.count == 3 && !first.isLast)
            #expect(try world.pull(zone, account).0 == objects)
            #expect(try world.pull(zone, from: first.cursor, account).0 == Array(objects.dropFirst(3)))
            let end = try world.store.head(zone, for: account.owner).cursor
            #expect(try world.pull(zone, from: end, account).0 == [])
            var foreign = end
            foreign[0] ^= 1
            #expect(try world.pull(zone, from: foreign, account).0.count == 9)
            var future = end
            future[future.count - 1] = 200
            #expect(try world.pull(zone, from: future, account).0.count == 9)
        },
        StoreCheck(
            name: "an account's space is counted, refused above the quota, and given back",
            quota: {
                var quota = Quota()
                quota.byteCount = 100_000
                quota.zoneCount = 2
                return quota
            }()
        ) { world in
            let (account, other) = (try world.account(), try world.account())
            let zone = try world.zone(account)
            let push = { (byteCount: Int) throws in
                _ = try world.store.take(
                    ZonePush(
                        expectedHead: nil, newHead: nil, epoch: 1, objects: [ZoneObject.random(byteCount: byteCount)]),
                    to: zone, by: account.owner)
            }
            let links = try world.store.usage(of: account.owner).usedByteCount
            #expect(links > 2 * 256, "the links of account and zone")
            try push(90_000)
            let usage = AccountUsage(usedByteCount: links + 90_256, byteCountMax: 100_000)
            #expect(try world.store.usage(of: account.owner) == usage)
            let left = 100_000 - Int(usage.usedByteCount) - 256
            #expect(code { try push(left + 1) } == .quotaExceeded)
            #expect(try world.store.usage(of: account.owner) == usage, "what is refused is not counted")
            try push(left)
            #expect(
                code { _ = try world.store.upload([1], at: 0, of: 2, address: account.id, in: zone, by: account.owner) }
                    == .quotaExceeded)
            let theirs = try world.zone(other)
            _ = try world.store.take(
                ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [ZoneObject.random(byteCount: 95_000)]),
                to: theirs, by: other.owner)
            try world.store.delete(zone, by: account.owner)
            let next = try world.zone(account)
            _ = try world.zone(account)
            #expect(code { _ = try world.zone(account) } == .quotaExceeded)
            _ = try world.store.take(
                ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [ZoneObject.random(byteCount: 95_000)]),
                to: next, by: account.owner)
        },
        StoreCheck(name: "chunks arrive in parts, are seen when whole, and keep their variants") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let address = [UInt8](repeating: 5, count: 32)
            let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
            let put = { (start: Int, end: Int) in
                try world.store.upload(
                    Array(bytes[start..<end]), at: start, of: 1_000, address: address, in: zone, by: account.owner)
            }
            #expect(try put(0, 400) == .partial(byteCount: 400))
            #expect(try put(500, 600) == .offset(byteCount: 400))
            #expect(
                code { _ = try world.store.chunk(address: address, variant: 0, in: zone, for: account.owner) }
                    == .objectUnknown)
            #expect(try world.store.uploadOffset(address: address, in: zone, for: account.owner) == 400)
            #expect(try put(400, 700) == .partial(byteCount: 700))
            #expect(try put(700, 1_000) == .complete)
            #expect(try world.store.chunk(address: address, variant: 0, in: zone, for: account.owner).bytes == bytes)
            let wanted = ChunkList.Chunk(address: address, digest: BLAKE2b.hash(bytes))
            let other = ChunkList.Chunk(address: address, digest: BLAKE2b.hash([1]))
            #expect(
                try world.store.missing(ChunkList([wanted, other]), in: zone, for: account.owner).chunks == [other])
            world.clock.now += 1
            #expect(
                try world.store.upload([1], at: 0, of: 1, address: address, in: zone, by: account.owner) == .complete)
            let second = try world.store.chunk(address: address, variant: 1, in: zone, for: account.owner)
            #expect(second.bytes == [1] && second.variantCount == 2)
            #expect(try put(0, 400) == .partial(byteCount: 400))
            world.clock.now += 86_000_000
            #expect(try put(400, 500) == .partial(byteCount: 500))
            world.clock.now += 86_400_000
            try world.store.clean()
            #expect(
                try world.store.uploadOffset(address: address, in: zone, for: account.owner) == 500,
                "it does not rest as long as parts come")
            #expect(try world.used(account) == 1_501)
            world.clock.now += 1
            try world.store.clean()
            #expect(
                try world.store.uploadOffset(address: address, in: zone, for: account.owner) == 0,
                "what rests is dropped")
            #expect(try world.used(account) == 1_001, "and counts no more")
        },
        StoreCheck(name: "acknowledgements are one per device, replaced") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            try world.store.acknowledge([1], in: zone, by: account.owner)
            try world.store.acknowledge([2, 3], in: zone, by: account.owner)
            let entry = Acknowledgements.Entry(accountID: account.id, deviceID: account.device.id, bytes: [2, 3])
            #expect(try world.store.acknowledgements(in: zone, for: account.owner) == Acknowledgements([entry]))
        },
        StoreCheck(name: "mail waits until it is taken, by the device it is for") { world in
            let account = try world.account()
            let second = SessionOwner(accountID: account.id, deviceID: TestDevice().id.bytes)
            try world.store.post(MailboxPost(deviceID: nil, bytes: [1]), by: second)
            world.clock.now += 1
            try world.store.post(MailboxPost(deviceID: account.device.id, bytes: [2]), by: second)
            #expect(
                world.notices.has(
                    .event(accountIDs: [account.id], bytes: ServerEvent.mailbox(accountID: account.id).encoded())))
            let mine = try world.store.mail(for: account.owner).entries
            #expect(mine.map(\.bytes) == [[1], [2]])
            #expect(try world.store.mail(for: second).entries.map(\.bytes) == [[1]])
            #expect(code { try world.store.deleteMail(mine[1].id, for: second) } == .objectUnknown)
            try world.store.deleteMail(mine[0].id, for: second)
            try world.store.deleteMail(mine[1].id, for: account.owner)
            #expect(try world.store.mail(for: account.owner).entries.isEmpty)
            // What nobody takes goes after 90 days, but the newest for a device.
            try world.store.post(MailboxPost(deviceID: nil, bytes: [3]), by: account.owner)
            for byte: UInt8 in [4, 5] {
                world.clock.now += 1
                try world.store.post(MailboxPost(deviceID: account.device.id, bytes: [byte]), by: account.owner)
            }
            world.clock.now += 91 * 86_400_000
            try world.store.clean()
            #expect(try world.store.mail(for: account.owner).entries.map(\.bytes) == [[5]])
        },
        StoreCheck(name: "R47: mail for a device that the account does not trust is refused; for one, the newest wait")
        {
            world in
            let account = try world.account()
            let (second, stranger) = (TestDevice(), try world.account())
            func post(_ bytes: [UInt8], to device: UniqueID?) throws {
                try world.store.post(MailboxPost(deviceID: device, bytes: bytes), by: account.owner)
            }
            for device in [second.id, stranger.device.id] {
                #expect(code { try post([1], to: device) } == .recipientUnknown)
            }
            let link = account.adding(second)
            _ = try world.store.append(link, to: .device, account.id, by: account.owner)
            try account.follow(link)
            // One that never takes its mail, such as one on paper, keeps neither the newest nor the others' from coming.
            let limit = ServerLimits.mailboxEntryCountMaxPerDevice
            for number in 0...limit {
                world.clock.now += 1
                try post(UInt32(number).bigEndianBytes, to: second.id)
            }
            var numbers: [[UInt8]] = []
            let reader = SessionOwner(accountID: account.id, deviceID: second.id.bytes)
            while case let entries = try world.store.mail(for: reader).entries, !entries.isEmpty {
                for entry in entries {
                    numbers.append(entry.bytes)
                    try world.store.deleteMail(entry.id, for: reader)
                }
            }
            #expect(numbers == (1...limit).map { UInt32($0).bigEndianBytes })
            _ = try world.store.append(account.revoking(second), to: .device, account.id, by: account.owner)
            #expect(code { try post([1], to: second.id) } == .recipientUnknown)
            for _ in 0..<ServerLimits.mailboxEntryCountMax { try post([], to: nil) }
            #expect(code { try post([], to: nil) } == .quotaExceeded)
        },
        StoreCheck(
            name: "an account is found by the beginning of its id, and told of a device that waits; nothing is stored"
        ) {
            world in
            let (account, other) = (try world.account(), try world.account())
            for known in [account, other] {
                #expect(try world.store.account(named: Array(known.id.prefix(8))) == known.id)
                #expect(try world.store.account(named: known.id) == known.id)
            }
            for byte: UInt8 in [0, 255] {
                #expect(try world.store.account(named: [UInt8](repeating: byte, count: 8)) == nil)
            }
            #expect(try world.store.account(named: []) == nil, "a name that fits two is nobody's")
            let relayID = UniqueID.generate(from: SystemRandomSource())
            try world.store.announcePairing(relayID, to: account.id)
            #expect(world.notices.has(.pairing(accountID: account.id, relayID: relayID)))
        },
        StoreCheck(name: "of many pushes on one head at once exactly one wins, and cursors miss nothing") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let owner = account.owner
            let store = world.store
            let wins = WinCounter()
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                let object = ZoneObject.random()
                let push = ZonePush(expectedHead: nil, newHead: object.address, epoch: 1, objects: [object])
                if case .accepted? = try? store.take(push, to: zone, by: owner) { wins.add() }
                let staging = ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [object])
                _ = try? store.take(staging, to: zone, by: owner)
            }
            #expect(wins.count == 1)
            let (objects, head) = try world.pull(zone, account)
            #expect(objects.contains { $0.address == head })
        },
    ]
}

final class WinCounter: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var value = 0
    func add() { lock.withLock { value += 1 } }
    var count: Int { lock.withLock { value } }
}

@Suite("Server storage")
struct ServerStoreTests {
    @Test("on SQLite:", arguments: StoreCheck.all)
    func sqlite(check: StoreCheck) throws {
        let folder = try TemporaryDirectory("server-store")
        let world = try StoreWorld(SQLiteDatabase(path: folder.file("d")), quota: check.quota)
        try check.body(world)
        world.store.database.close()
    }

    @Test("on PostgreSQL: all of them", .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func postgres() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        for check in StoreCheck.all {
            let world = try StoreWorld(PostgresDatabase(connection: cluster.database()), quota: check.quota)
            do { try check.body(world) } catch { Issue.record("\(check.name): \(error)") }
            world.store.database.close()
        }
    }

    @Test("a database of another kind or version is refused")
    func otherDatabase() throws {
        let folder = try TemporaryDirectory("server-store")
        let database = try SQLiteDatabase(path: folder.file("d"))
        func open() throws -> ServerStore {
            try ServerStore(database: database, random: SystemRandomSource(), clock: SystemWallClock())
        }
        #expect(throws: ServerFailure(.dataDirectory)) { try open() }
        try ServerStore.initialize(database, random: SystemRandomSource())
        _ = try open()
        for version in ["06", "08"] {
            try database.write { session in
                try session.script("UPDATE meta SET value = x'\(version)' WHERE name = x'76657273696f6e'")
            }
            #expect(throws: ServerFailure(.dataDirectory)) { try open() }
        }
        database.close()
    }
}
