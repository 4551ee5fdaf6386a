// Sweeps among simulated devices, at a server that deletes at once what a real one keeps for 30 days. The one thing to
// keep true: whatever devices compact and sweep, all of them and any new one come to one state.

import CoffretBase
import CoffretCrypto
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretSync

extension SimulatedDevice {
    /// A sync as the program does it: what others removed goes here too, and what that says goes out.
    func syncFollowing() throws {
        try follow()
        do { try sync() } catch {
            try follow()
            throw error
        }
        if try follow() { try sync() }
    }

    /// - Returns: whether there was something to remove.
    @discardableResult
    private func follow() throws -> Bool {
        var memory = try memory
        guard memory.areRemovalsDue else { return false }
        if try !repository.recordedRemovals().isEmpty {
            _ = try repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: now)
        }
        memory.areRemovalsDue = false
        try repository.setSyncNote(memory.encode())
        return true
    }

    var memory: SyncMemory { get throws { try VaultSync.memory(of: repository) ?? SyncMemory(server: "simulated") } }

    func sweeper() -> ZoneSweeper {
        ZoneSweeper(
            repository: repository, files: nil, author: author, zoneID: keys.vaultID.bytes, transport: network)
    }

    /// Sweeps whatever others have said.
    func sweepAtOnce() throws -> SweepTally {
        var memory = try memory
        guard let own = head, memory.head == own, let head = network.zone.head.flatMap({ BlobAddress(bytes: $0) })
        else { return SweepTally() }
        memory.sweep = DueSweep(compaction: own, since: now)
        let (tally, next) = try sweeper().run(memory, at: head, others: [], now: now)
        if tally.problem == nil, !tally.isDue { #expect(next.sweep == nil) }
        return tally
    }
}

/// Devices that write, compact, sync and sweep in any order.
private final class SweepWorld {
    let random: SeededGenerator
    let zone = SimulatedZone()
    let keys: SimulatedKeys
    let signers = SimulatedSigners()
    var devices: [SimulatedDevice] = []
    private var time: Milliseconds = 1_000
    private var lineCount = 0
    private(set) var compactionCount = 0

    init(_ random: SeededGenerator) throws {
        self.random = random
        keys = SimulatedKeys(random)
        for _ in 0..<random.int(in: 2...4) { try join() }
    }

    @discardableResult
    func join() throws -> SimulatedDevice {
        let device = try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        device.now = time
        devices.append(device)
        return device
    }

    func step() throws {
        time += 10
        let device = random.element(of: devices)
        device.now = time
        switch random.int(in: 0...15) {
        case 0...6:
            lineCount += 1
            let size = random.element(of: [1, 40, 700, 5_000, 18_000])
            let text = "\(lineCount) " + String(repeating: "y", count: size)
            let key = SimulatedDevice.key(random.int(in: 0...4))
            let old = try device.texts(key).first ?? ""
            try device.repository.commit(
                [FactChange(key: key, value: Array((old.prefix(12_000) + "\n" + text).utf8))], time: time)
        case 7...11: try sync(device)
        case 12, 13:
            // One device drops history. It is old: all have it.
            let device = devices[0]
            for _ in 0..<2 { for device in devices { try sync(device) } }
            guard try device.memory.head == device.head else { return }
            let report = try device.repository.compact(
                dropHistoryOlderThan: time - Milliseconds(random.int(in: 0...200)), timeMilliseconds: time)
            if report.compactionCommit != nil { compactionCount += 1 }
            if random.bool() { try sync(device) }
        default:
            try sync(device)
            try sweep(device)
        }
    }

    private func sync(_ device: SimulatedDevice) throws {
        try device.syncFollowing()
    }

    func sweep(_ device: SimulatedDevice) throws {
        let tally = try device.sweepAtOnce()
        if let problem = tally.problem {
            try require(problem.place == "server.zone.push-pending" || problem.isTransient, "\(problem)")
        }
    }

    /// Who has nothing yet gets all that is kept, and the same state.
    func newcomer() throws {
        guard zone.head != nil else { return }
        let new = try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        new.now = time
        defer { signers.authors.removeLast() }
        try new.sync { $0.stagedByteCountMax = .max }
        let head = zone.head.flatMap { BlobAddress(bytes: $0) }
        try require(try new.head.map { try new.repository.addresses(of: $0)[0] } == head, "another head")
        for device in devices where device.head == new.head {
            try require(
                try device.repository.present.rootName() == new.repository.present.rootName(), "another root")
        }
        let check = new.repository.fsck(signers: signers)
        try require(check.isClean, "\(check.problems)")
    }

    func settle() throws {
        for _ in 0..<4 { for device in devices { try device.syncFollowing() } }
        for device in devices {
            try sweep(device)
            try newcomer()
        }
        try require(Set(devices.map(\.head)).count == 1, "several heads")
        try require(Set(try devices.map { try $0.repository.present.rootName() }).count == 1, "several roots")
        for device in devices {
            let check = device.repository.fsck(signers: signers)
            try require(check.isClean, "\(check.problems)")
        }
    }
}

@Suite("Sweeps")
struct SweepTests {
    @Test("whatever devices sweep, nothing that anybody needs ever goes (R14)")
    func nothingNeededGoes() {
        var (sweptCount, compactionCount) = (0, 0)
        forAll(count: 8) { random in
            let world = try SweepWorld(random)
            for _ in 0..<random.int(in: 20...50) {
                try world.step()
                if random.int(in: 0...7) == 0 { try world.newcomer() }
                if world.devices.count < 5, random.int(in: 0...19) == 0 { try world.join() }
            }
            try world.settle()
            sweptCount += world.zone.sweepCount
            compactionCount += world.compactionCount
        }
        if SeededGenerator.replayedSeed == nil {
            #expect(sweptCount > 20 && compactionCount > 4, "\(sweptCount) \(compactionCount)")
        }
    }

    /// Three devices at one state; the third is away then. The first two go on, the first drops all that it can, and
    /// sweeps at the server when the second has followed.
    private func swept(
        isThirdBusy: Bool, _ body: ([SimulatedDevice], SimulatedZone, SweepTally) throws -> Void
    ) throws {
        let random = SeededGenerator(seed: 71)
        let (keys, signers, zone) = (SimulatedKeys(random), SimulatedSigners(), SimulatedZone())
        let devices = try (0..<3).map { _ in
            try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        }
        var time: Milliseconds = 1_000
        func write(_ number: Int, _ text: String) throws {
            time += 10
            let key = SimulatedDevice.key(number)
            let long = text + String(repeating: " long", count: 2_000)
            try devices[number].repository.commit([FactChange(key: key, value: Array(long.utf8))], time: time)
        }
        for round in 0..<4 {
            for number in 0..<3 {
                try write(number, "round \(round)")
                try devices[number].syncFollowing()
            }
        }
        for device in devices { try device.syncFollowing() }
        if isThirdBusy { try write(2, "while away") }
        for round in 4..<8 {
            for number in 0..<2 {
                try write(number, "round \(round)")
                try devices[number].syncFollowing()
            }
        }
        try devices[0].syncFollowing()
        let report = try devices[0].repository.compact(dropHistoryOlderThan: time, timeMilliseconds: time + 5)
        #expect(report.removedCommitCount > 10 && report.compactionCommit != nil)
        try devices[0].syncFollowing()
        try devices[1].syncFollowing()
        try body(devices, zone, try devices[0].sweepAtOnce())
    }

    @Test(
        "a device that was away takes what is left, whether it wrote meanwhile or not (R1, R14)",
        arguments: [false, true])
    func away(isThirdBusy: Bool) throws {
        try swept(isThirdBusy: isThirdBusy) { devices, zone, tally in
            #expect(tally.problem == nil && tally.count > 20 && tally.byteCount > 100_000, "\(tally)")
            for _ in 0..<2 { for device in devices.reversed() { try device.syncFollowing() } }
            #expect(Set(devices.map(\.head)).count == 1)
            #expect(Set(try devices.map { try $0.repository.present.rootName() }).count == 1)
            for device in devices {
                #expect(try device.texts(SimulatedDevice.key(2)) == devices[2].texts(SimulatedDevice.key(2)))
                #expect(device.repository.fsck(signers: device.signers).isClean)
            }
            #expect(try devices[0].texts(SimulatedDevice.key(2))[0].hasPrefix("while away") == isThirdBusy)
            // Each writes again, though all that it wrote before may be gone.
            for number in [2, 1, 0] {
                let key = SimulatedDevice.key(number, "title")
                try devices[number].repository.commit([FactChange(key: key, value: [1])], time: 9_000)
                try devices[number].syncFollowing()
            }
            for device in devices { try device.syncFollowing() }
            #expect(Set(devices.map(\.head)).count == 1)
        }
    }

    @Test(
        "who was heard of lately is waited for until it has the compaction; who never spoke, and who is silent, 30 days"
    )
    func waiting() throws {
        try swept(isThirdBusy: false) { devices, zone, _ in
            let ids = devices.compactMap { UniqueID(bytes: $0.author.deviceID) }
            var memory = try devices[0].memory
            let due = try #require(memory.sweep, "what was pushed is remembered")
            #expect(due.compaction == memory.head)
            let head = try #require(zone.head.flatMap { BlobAddress(bytes: $0) })
            let old = try #require(try devices[2].memory.head)
            func waitsFor(_ now: Milliseconds) throws -> [UniqueID] {
                let (tally, next) = try devices[0].sweeper().run(memory, at: head, others: Set(ids[1...]), now: now)
                #expect((next.sweep == nil) == tally.waitsFor.isEmpty && tally.isDue != tally.waitsFor.isEmpty)
                return tally.waitsFor
            }
            let month = ZoneSweeper.silenceMilliseconds
            func word(_ head: BlobName, at time: Milliseconds) -> SyncMemory.Acknowledged {
                SyncMemory.Acknowledged(counter: 1, head: head, heardAt: time, aheadSince: 0)
            }
            memory.others = [ids[1]: word(due.compaction, at: 0)]
            #expect(try waitsFor(due.since + month) == [ids[2]], "one that never spoke")
            #expect(try waitsFor(due.since + month + 1) == [])
            memory.others[ids[2]] = word(old, at: due.since + 10)
            #expect(try waitsFor(due.since + month + 10) == [ids[2]], "one that has not the compaction")
            #expect(try waitsFor(due.since + month + 11) == [])
            // One that has gone on has seen it.
            try devices[1].repository.commit(
                [FactChange(key: SimulatedDevice.key(1, "title"), value: [1])], time: 9_000)
            try devices[1].syncFollowing()
            try devices[0].syncFollowing()
            let moved = try #require(zone.head.flatMap { BlobAddress(bytes: $0) })
            var next = try devices[0].memory
            next.sweep = due
            next.others = [ids[1]: word(due.compaction, at: 0), ids[2]: word(try #require(next.head), at: 0)]
            let (tally, after) = try devices[0].sweeper().run(next, at: moved, others: Set(ids[1...]), now: 5)
            #expect(tally.waitsFor.isEmpty && after.sweep == nil)
            // And it comes back from the bytes of the memory.
            #expect(SyncMemory.decode(next.encode()) == next)
        }
    }

    @Test("a server that refuses, is gone, or has another head harms nobody, and is asked again later")
    func refused() throws {
        try swept(isThirdBusy: false) { devices, zone, _ in
            let device = devices[0]
            let memory = try device.memory
            let head = try #require(zone.head.flatMap { BlobAddress(bytes: $0) })
            func run(_ memory: SyncMemory, at now: Milliseconds) throws -> (tally: SweepTally, memory: SyncMemory) {
                try device.sweeper().run(memory, at: head, others: [], now: now)
            }
            // Something to ask for, each time.
            device.network.onRequest = nil
            let rubbish = ZoneObject(address: [UInt8](repeating: 7, count: 32), ciphertext: [1])
            let push = ZonePush(expectedHead: zone.head, newHead: zone.head, epoch: 1, objects: [rubbish])
            _ = zone.push(push, by: device.author.deviceID)
            for (error, pause) in [
                (SyncError(.refused, at: "server.request.forbidden"), ZoneSweeper.pauseMilliseconds),
                (SyncError(.refused, at: "server.zone.push-pending"), ZoneSweeper.shortPauseMilliseconds),
                (SyncError(.unreachable), ZoneSweeper.shortPauseMilliseconds),
            ] {
                device.network.onSweep = { _ in .failure(error) }
                let (tally, next) = try run(memory, at: 1_000)
                #expect(tally.isDue && tally.problem == error)
                #expect(next.sweep?.notBefore == 1_000 + pause)
                device.network.onSweep = { _ in
                    Issue.record("it was asked too early")
                    return .success(nil)
                }
                #expect(try run(next, at: 999 + pause).memory == next)
            }
            device.network.onSweep = { _ in .success(nil) }
            #expect(try run(memory, at: 1).memory == memory, "another head: the next sync sees to it")
            device.network.onSweep = { _ in .success(SweepReceipt(count: .max, byteCount: .max)) }
            #expect(try run(memory, at: 1).tally.byteCount == 1 << 40, "a word that is no number of bytes")
            device.network.onSweep = nil
            let (tally, next) = try run(memory, at: 1)
            #expect(tally.count == 1 && next.sweep == nil)
            #expect(!zone.addresses.contains(rubbish.address))
        }
    }

    @Test("what is needed and not there is put there first; what is needed is never named, whatever the server lists")
    func lacking() throws {
        try swept(isThirdBusy: false) { devices, zone, _ in
            let device = devices[0]
            let memory = try device.memory
            let needed = Set(zone.addresses)
            let head = try #require(zone.head.flatMap { BlobAddress(bytes: $0) })
            for address in zone.addresses.shuffled().prefix(5) where address != head.bytes {
                if let address = BlobAddress(bytes: address) { zone.remove(address) }
            }
            var named: Set<[UInt8]> = []
            device.network.onSweep = { sweep in
                named.formUnion(sweep.objects)
                return nil
            }
            _ = try device.sweeper().run(memory, at: head, others: [], now: 1)
            #expect(Set(zone.addresses) == needed)
            #expect(named.isDisjoint(with: needed))
        }
    }
}
