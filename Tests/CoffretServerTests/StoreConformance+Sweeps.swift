// What every storage of the server must do with sweeps: what goes, what is refused, what comes back.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

extension StoreWorld {
    /// A push that moves the head to its first object.
    @discardableResult
    func push(_ objects: [ZoneObject], on head: [UInt8]?, in zone: [UInt8], by owner: SessionOwner) throws -> [UInt8] {
        let push = ZonePush(expectedHead: head, newHead: objects[0].address, epoch: 1, objects: objects)
        _ = try #require(StoreCheck.receiptOf(try store.take(push, to: zone, by: owner)))
        return objects[0].address
    }

    /// A push that leaves the head.
    func stage(_ objects: [ZoneObject], on head: [UInt8]?, in zone: [UInt8], by owner: SessionOwner) throws {
        let push = ZonePush(expectedHead: head, newHead: head, epoch: 1, objects: objects)
        _ = try #require(StoreCheck.receiptOf(try store.take(push, to: zone, by: owner)))
    }

    func put(_ bytes: [UInt8], at address: [UInt8], in zone: [UInt8], by owner: SessionOwner) throws {
        #expect(
            try store.upload(bytes, at: 0, of: bytes.count, address: address, in: zone, by: owner) == .complete)
    }

    /// - Parameter link: the hash of the link below which things are collected; nil is the founding one's.
    func sweep(
        _ objects: [[UInt8]], chunks: [[UInt8]] = [], below link: [UInt8]? = nil, in zone: [UInt8],
        _ account: TestAccount, as device: TestDevice? = nil
    ) throws -> SweepReceipt {
        let (device, link) = (device ?? account.device, link ?? zone)
        let proof = SweepProof(zoneID: zone, linkHash: link, objects: objects, chunks: chunks)
        return try store.sweep(
            ZoneSweep(
                linkHash: link, objects: objects, chunks: chunks, signature: proof.sign(with: device.signing)),
            of: zone, by: SessionOwner(accountID: account.id, deviceID: device.id.bytes))
    }

    func fetched(_ addresses: [[UInt8]], _ zone: [UInt8], _ account: TestAccount) throws -> [ZoneObject] {
        var objects: [ZoneObject] = []
        var place: ServerStore.FetchPlace? = ServerStore.FetchPlace()
        while let from = place {
            let found = try store.objects(at: addresses, from: from, in: zone, for: account.owner)
            objects += found.batch.objects.map(\.object)
            place = found.next
        }
        return objects
    }

    /// What counts of objects, chunks and uploads without what each row counts beside; the sum that stands with the account
    /// is that of all that is stored.
    func used(_ account: TestAccount) throws -> UInt64 {
        let used = try store.usage(of: account.owner).usedByteCount
        return try store.database.read { session in
            #expect(try store.countedByteCount(of: .bytes(account.id), session) == Int64(used))
            var total: Int64 = 0
            for (table, mark) in [("objects", " AND seq > 0"), ("chunks", " AND created > 0"), ("uploads", "")] {
                let rows = try session.query(
                    """
                    SELECT CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) FROM \(table)
                    WHERE account = $1\(mark) AND number NOT IN (SELECT number FROM deletions)
                    """,
                    [.bytes(account.id)])
                total += rows[0][0].int
            }
            return UInt64(total)
        }
    }

    /// A second device of an account, with the link that added it.
    func secondDevice(of account: TestAccount) throws -> TestDevice {
        let device = TestDevice()
        let addition = account.adding(device)
        _ = try #require(StoreCheck.endOf(try store.append(addition, to: .device, account.id, by: account.owner)))
        try account.follow(addition)
        return device
    }

    func listed(_ kind: StoredKind, _ zone: [UInt8], _ account: TestAccount) throws -> [[UInt8]] {
        try store.storedAddresses(kind, after: [], in: zone, for: account.owner).addresses
    }
}

extension StoreCheck {
    private static func swept(_ count: UInt64, _ byteCount: UInt64) -> SweepReceipt {
        SweepReceipt(count: count, byteCount: byteCount)
    }

    private static func owner(_ device: TestDevice, _ account: TestAccount) -> SessionOwner {
        SessionOwner(accountID: account.id, deviceID: device.id.bytes)
    }

    static let sweeps: [StoreCheck] = [
        StoreCheck(
            name: "what is swept leaves lists, streams and the space, is served for 30 days, and is deleted then (R14)"
        ) { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let (head, old, twin) = (ZoneObject.random(), ZoneObject.random(byteCount: 700), ZoneObject.random())
            let variant = ZoneObject(address: old.address, ciphertext: [1, 2, 3])
            try world.push([head, old, variant, twin], on: nil, in: zone, by: account.owner)
            let chunk = SystemRandomSource().bytes(count: 32)
            let keptChunk = SystemRandomSource().bytes(count: 32)
            for address in [chunk, keptChunk] { try world.put([9, 9, 9], at: address, in: zone, by: account.owner) }
            #expect(try world.used(account) == 100 + 700 + 3 + 100 + 6)
            #expect(
                try world.listed(.object, zone, account)
                    == [head.address, old.address, old.address, twin.address])
            #expect(
                try world.listed(.chunk, zone, account)
                    == [chunk, keptChunk].sorted { $0.lexicographicallyPrecedes($1) })
            let before = try world.store.head(zone, for: account.owner)
            let unknown = SystemRandomSource().bytes(count: 32)
            let sweep = {
                try world.sweep(
                    [old.address, unknown, old.address], chunks: [chunk, unknown], in: zone, account)
            }
            #expect(try sweep() == swept(3, 706))
            #expect(try sweep() == swept(0, 0), "asked again")
            #expect(try world.store.head(zone, for: account.owner) == before)
            #expect(try world.pull(zone, account).0 == [head, twin])
            #expect(try world.listed(.object, zone, account) == [head.address, twin.address])
            #expect(try world.listed(.chunk, zone, account) == [keptChunk])
            #expect(try world.used(account) == 203)
            world.clock.now += 30 * 86_400_000
            try world.store.clean()
            let kept = try world.fetched([old.address], zone, account)
            #expect(kept.count == 2 && kept.contains(old) && kept.contains(variant))
            #expect(
                try world.store.chunk(address: chunk, variant: 0, in: zone, for: account.owner).bytes == [9, 9, 9])
            let asked = ChunkList.Chunk(address: chunk, digest: BLAKE2b.hash([9, 9, 9]))
            #expect(try world.store.missing(ChunkList([asked]), in: zone, for: account.owner).chunks == [asked])
            world.clock.now += 1
            try world.store.clean()
            #expect(try world.fetched([old.address, head.address], zone, account) == [head])
            #expect(
                code { _ = try world.store.chunk(address: chunk, variant: 0, in: zone, for: account.owner) }
                    == .objectUnknown)
            #expect(try world.used(account) == 203)
            try world.store.delete(zone, by: account.owner)
            #expect(try world.used(account) == 0)
        },
        StoreCheck(name: "a sweep that may not be is refused with its name, and changes nothing") { world in
            let account = try world.account()
            let stranger = try world.account()
            let zone = try world.zone(account)
            let (first, head) = (ZoneObject.random(), ZoneObject.random())
            try world.push([first], on: nil, in: zone, by: account.owner)
            try world.push([head], on: first.address, in: zone, by: account.owner)
            #expect(
                code { _ = try world.sweep([first.address], below: head.address, in: zone, account) } == .malformed,
                "a head is no link")
            #expect(code { _ = try world.sweep([first.address], in: zone, stranger) } == .zoneUnknown)
            #expect(
                code { _ = try world.sweep([first.address, head.address], in: zone, account) }
                    == .malformed, "the head itself")
            let second = try world.secondDevice(of: account)
            // Another device's signature, one about another zone, other addresses, or another kind.
            let other = try world.zone(account)
            for proof in [
                SweepProof(zoneID: other, linkHash: zone, objects: [first.address], chunks: []),
                SweepProof(zoneID: zone, linkHash: other, objects: [first.address], chunks: []),
                SweepProof(zoneID: zone, linkHash: zone, objects: [], chunks: []),
                SweepProof(zoneID: zone, linkHash: zone, objects: [], chunks: [first.address]),
            ] {
                let sweep = ZoneSweep(
                    linkHash: zone, objects: [first.address], chunks: [],
                    signature: proof.sign(with: account.device.signing))
                #expect(code { _ = try world.store.sweep(sweep, of: zone, by: account.owner) } == .forbidden)
            }
            let proof = SweepProof(zoneID: zone, linkHash: zone, objects: [first.address], chunks: [])
            let theirs = ZoneSweep(
                linkHash: zone, objects: [first.address], chunks: [],
                signature: proof.sign(with: second.signing))
            #expect(code { _ = try world.store.sweep(theirs, of: zone, by: account.owner) } == .forbidden)
            _ = try world.store.append(account.revoking(second), to: .device, account.id, by: account.owner)
            #expect(
                code { _ = try world.store.sweep(theirs, of: zone, by: owner(second, account)) } == .forbidden,
                "a revoked device, whose session was under way")
            #expect(try world.pull(zone, account).0 == [first, head])
            #expect(try world.used(account) == 200)
        },
        StoreCheck(name: "while another device puts something down that no head names yet, nothing is swept") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let second = try world.secondDevice(of: account)
            let (head, old, part) = (ZoneObject.random(), ZoneObject.random(), ZoneObject.random())
            try world.push([head, old], on: nil, in: zone, by: account.owner)
            let sweep = { try world.sweep([old.address, part.address], in: zone, account) }
            // A push in parts, until its head comes.
            try world.stage([part], on: head.address, in: zone, by: owner(second, account))
            #expect(code { _ = try sweep() } == .pushPending)
            let next = ZoneObject.random()
            try world.push([next], on: head.address, in: zone, by: owner(second, account))
            #expect(try world.pull(zone, account).0 == [head, old, part, next])
            // Another's head is not the end of this one's push.
            let third = ZoneObject.random()
            try world.stage([third], on: next.address, in: zone, by: owner(second, account))
            let newest = ZoneObject.random()
            try world.push([newest], on: next.address, in: zone, by: account.owner)
            let later = { try world.sweep([old.address], in: zone, account) }
            #expect(code { _ = try later() } == .pushPending)
            world.clock.now += 86_400_001
            // Chunks, whole and in part, and the word that one is there.
            let chunk = SystemRandomSource().bytes(count: 32)
            try world.put([1], at: chunk, in: zone, by: owner(second, account))
            #expect(code { _ = try later() } == .pushPending)
            world.clock.now += 86_400_001
            _ = try world.store.upload(
                [1], at: 0, of: 2, address: chunk, in: zone, by: owner(second, account))
            #expect(code { _ = try later() } == .pushPending)
            world.clock.now += 86_400_001
            let asked = ChunkList([ChunkList.Chunk(address: chunk, digest: BLAKE2b.hash([1]))])
            #expect(try world.store.missing(asked, in: zone, for: owner(second, account)).chunks.isEmpty)
            #expect(code { _ = try later() } == .pushPending)
            // Their own is no hindrance, and neither is what was left for a day.
            world.clock.now += 86_400_001
            _ = try world.store.missing(asked, in: zone, for: account.owner)
            try world.store.clean()
            #expect(try later() == swept(1, 100))
        },
        StoreCheck(name: "what was swept comes back by a push, an upload, and the revocation of who swept it (R28)") {
            world in
            let account = try world.account()
            let zone = try world.zone(account)
            let thief = try world.secondDevice(of: account)
            let (head, one, two, three) = (
                ZoneObject.random(), ZoneObject.random(), ZoneObject.random(), ZoneObject.random()
            )
            let chunks = (0..<2).map { _ in SystemRandomSource().bytes(count: 32) }
            for chunk in chunks { try world.put(chunk, at: chunk, in: zone, by: account.owner) }
            try world.push([head, one, two, three], on: nil, in: zone, by: account.owner)
            let cursor = try world.store.head(zone, for: account.owner).cursor
            #expect(
                try world.sweep(
                    [one.address, two.address], chunks: chunks, in: zone, account, as: thief)
                    == swept(4, 264))
            #expect(try world.sweep([three.address], in: zone, account) == swept(1, 100))
            #expect(try world.used(account) == 100)
            // Pushed and uploaded again they are as new, whoever swept them.
            try world.stage([two], on: head.address, in: zone, by: account.owner)
            try world.put(chunks[1], at: chunks[1], in: zone, by: account.owner)
            #expect(try world.pull(zone, account).0 == [head, two])
            #expect(try world.pull(zone, from: cursor, account).0 == [two], "whoever reads on from a cursor meets it")
            #expect(try world.used(account) == 232)
            _ = try #require(
                endOf(try world.store.append(account.revoking(thief), to: .device, account.id, by: account.owner)))
            // Served at once, as before; in the lists once the server has come to it.
            #expect(try world.fetched([one.address], zone, account) == [one])
            try world.store.clean()
            #expect(try world.pull(zone, from: cursor, account).0 == [two, one])
            #expect(
                try world.listed(.chunk, zone, account) == chunks.sorted { $0.lexicographicallyPrecedes($1) })
            #expect(try world.used(account) == 364)
            // What was swept by others stays so, and what came back is not deleted in its place.
            world.clock.now += 31 * 86_400_000
            try world.store.clean()
            #expect(
                try world.fetched([one, two, three, head].map(\.address), zone, account) == [one, two, head])
            #expect(try world.used(account) == 364)
            #expect(try world.sweep([one.address], in: zone, account) == swept(1, 100), "again")
        },
        StoreCheck(
            name: "of what was swept at most the account's space is kept, and nothing goes before its time for it",
            quota: {
                var quota = Quota()
                quota.byteCount = 100_000
                return quota
            }()
        ) { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let head = try world.push([ZoneObject.random()], on: nil, in: zone, by: account.owner)
            let old = (0..<3).map { _ in ZoneObject.random(byteCount: 60_000) }
            for index in 0..<2 {
                try world.stage([old[index]], on: head, in: zone, by: account.owner)
                guard index == 0 else { break }
                #expect(try world.sweep([old[0].address], in: zone, account) == swept(1, 60_000))
            }
            #expect(code { _ = try world.sweep([old[1].address], in: zone, account) } == .quotaExceeded)
            #expect(try world.used(account) == 60_100 && world.pull(zone, account).0.contains(old[1]))
            #expect(try world.fetched([old[0].address], zone, account) == [old[0]])
            // What comes back may be above the space: it was there before.
            try world.stage([ZoneObject.random(byteCount: 30_000)], on: head, in: zone, by: account.owner)
            world.clock.now += 30 * 86_400_000 + 1
            try world.store.clean()
            #expect(try world.sweep([old[1].address], in: zone, account) == swept(1, 60_000))
        },
        StoreCheck(name: "a large zone is swept in parts, each once, and the rest stays (R14)") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let count = 2 * ServerLimits.sweepAddressCountMax + 700
            let objects = (0..<count).map { _ in ZoneObject.random(byteCount: 20) }
            let kept = Array(objects.prefix(100))
            try world.push(objects, on: nil, in: zone, by: account.owner)
            var rest = objects.dropFirst(kept.count).reversed().map(\.address)[...]
            while !rest.isEmpty {
                let part = Array(rest.prefix(ServerLimits.sweepAddressCountMax))
                rest = rest.dropFirst(part.count)
                #expect(
                    try world.sweep(part, in: zone, account)
                        == swept(UInt64(part.count), 20 * UInt64(part.count)))
                #expect(try world.sweep(part, in: zone, account) == swept(0, 0), "asked again")
                #expect(try world.used(account) == 20 * UInt64(kept.count + rest.count))
                #expect(try world.listed(.object, zone, account).count == kept.count + rest.count)
            }
            #expect(try world.pull(zone, account).0 == kept)
            world.clock.now += 31 * 86_400_000
            try world.store.clean()
            #expect(try world.fetched(objects.suffix(3).map(\.address), zone, account).isEmpty)
            #expect(try world.pull(zone, account).0 == kept && world.used(account) == 2_000)
        },
        StoreCheck(name: "lists come in pages, to the end, and from an unknown place on") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let objects = (0..<5).map { _ in ZoneObject.random() }
            try world.push(objects, on: nil, in: zone, by: account.owner)
            let page = { (kind: StoredKind, after: [UInt8]) in
                try world.store.storedAddresses(kind, after: after, in: zone, for: account.owner, countMax: 3)
            }
            let first = try page(.object, [])
            #expect(first.addresses == objects.prefix(3).map(\.address) && !first.next.isEmpty)
            #expect(
                try page(.object, first.next) == AddressPage(next: [], addresses: objects.suffix(2).map(\.address)))
            #expect(try page(.object, [1]) == first)
            for number in 0..<3 {
                try world.put([1], at: [UInt8](repeating: UInt8(number), count: 32), in: zone, by: account.owner)
            }
            let addresses = (0..<3).map { [UInt8](repeating: $0, count: 32) }
            #expect(try page(.chunk, []) == AddressPage(next: addresses[2], addresses: addresses))
            #expect(try page(.chunk, addresses[2]) == AddressPage(next: [], addresses: []))
            #expect(try page(.chunk, addresses[0]) == AddressPage(next: [], addresses: Array(addresses.suffix(2))))
        },
        StoreCheck(name: "sweeps, pushes, uploads and revocations at once end, and every sum is right") { world in
            let account = try world.account()
            let zone = try world.zone(account)
            let devices = try (0..<3).map { _ in try world.secondDevice(of: account) }
            let head = try world.push([ZoneObject.random()], on: nil, in: zone, by: account.owner)
            let objects = (0..<24).map { _ in ZoneObject.random() }
            let chunk = SystemRandomSource().bytes(count: 32)
            let (store, owner, id) = (world.store, account.owner, account.id)
            let sweep = { (device: TestDevice) in
                let addresses = objects.map(\.address)
                let proof = SweepProof(zoneID: zone, linkHash: zone, objects: addresses, chunks: [chunk])
                return ZoneSweep(
                    linkHash: zone, objects: addresses, chunks: [chunk],
                    signature: proof.sign(with: device.signing))
            }
            let requests = devices.map { ($0.id.bytes, sweep($0)) }
            let revocation = account.revoking(devices[0])
            let failures = FailureBox()
            DispatchQueue.concurrentPerform(iterations: 16) { index in
                do {
                    switch index % 4 {
                    case 0:
                        let push = ZonePush(expectedHead: head, newHead: head, epoch: 1, objects: objects.shuffled())
                        _ = try store.take(push, to: zone, by: owner)
                    case 1:
                        let (device, request) = requests[index / 4 % 3]
                        _ = try store.sweep(request, of: zone, by: SessionOwner(accountID: id, deviceID: device))
                    case 2:
                        _ = try store.upload([1, 2], at: 0, of: 2, address: chunk, in: zone, by: owner)
                        try store.clean()
                    default: _ = try store.append(revocation, to: .device, id, by: owner)
                    }
                } catch { failures.add(error) }
            }
            // Only what is foreseen: a sweep beside a push in parts, or by the device that was revoked.
            #expect(failures.codes.subtracting([.pushPending, .forbidden]) == [])
            let live = try world.pull(zone, account).0.reduce(0) { $0 + $1.ciphertext.count }
            let chunkCount = try world.listed(.chunk, zone, account).count
            #expect(try world.used(account) == UInt64(live + 2 * chunkCount))
        },
    ]
}

final class FailureBox: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var found: Set<ServerFailure.Code> = []

    func add(_ error: any Error) {
        lock.withLock { _ = found.insert((error as? ServerFailure)?.code ?? .malformed) }
    }

    var codes: Set<ServerFailure.Code> { lock.withLock { found } }
}
