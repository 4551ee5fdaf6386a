// A device whose own compaction removed what the server showed last: that is no lie of the server's (R1, R2, R7).

import CoffretBase
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretSync

@Suite("A remembered head that a compaction removed")
struct CompactedHeadTests {
    private let random = SeededGenerator(seed: 31)
    private let key = SimulatedDevice.key(1)
    private let zone = SimulatedZone()
    private let devices: [SimulatedDevice]
    private let newcomer: SimulatedDevice

    init() throws {
        let (keys, signers, random, zone) = (SimulatedKeys(random), SimulatedSigners(), random, zone)
        let all = try (0..<3).map { _ in
            try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        }
        (devices, newcomer) = (Array(all.prefix(2)), all[2])
    }

    private func code(_ body: () throws -> SyncReport) -> SyncError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? SyncError)?.code
        }
    }

    /// Both have synced; then the first writes, and removes all history before that, with the head that it remembers.
    private func compactUnsent() throws {
        for line in ["one", "two", "three"] {
            try devices[0].addLine(line, to: key)
            for device in devices { try device.sync() }
        }
        let remembered = try #require(try VaultSync.memory(of: devices[0].repository)?.head)
        for line in ["four", "five"] { try devices[0].addLine(line, to: key) }
        let report = try devices[0].repository.compact(dropHistoryOlderThan: 2, timeMilliseconds: 3)
        #expect(report.compactionCommit != nil)
        #expect(throws: StorageError.self) { try devices[0].repository.commit(named: remembered) }
    }

    @Test(
        "what another device removed is remembered as due until it is done, from the moment on that its record counts")
    func due() throws {
        try compactUnsent()
        try devices[0].sync()
        #expect(try VaultSync.memory(of: devices[0].repository)?.areRemovalsDue == false)
        // Power goes before each write of the other device in turn.
        let disk = devices[1].disk.syncedCopy()
        var wasDue = false
        for operation in 1... {
            try devices[1].start(on: disk.syncedCopy())
            devices[1].disk.setPlan(FailurePlan(at: devices[1].disk.operationCount + operation, .powerCut))
            let isWhole = (try? devices[1].sync()) != nil
            try devices[1].crash()
            let hasRecord = devices[1].head == devices[0].head
            let isDue = try VaultSync.memory(of: devices[1].repository)?.areRemovalsDue ?? false
            #expect(hasRecord == isDue, "\(operation)")
            wasDue = wasDue || isDue
            if isWhole { break }
        }
        #expect(wasDue)
    }

    private func expectSame() throws {
        for device in devices + devices {
            try device.sync()
            if try device.followRemovals() { try device.sync() }
        }
        #expect(devices[0].head == devices[1].head)
        #expect(try devices[0].texts(key) == devices[1].texts(key))
    }

    @Test("what it wrote is sent, and the other device follows")
    func sent() throws {
        try compactUnsent()
        #expect(try devices[0].sync().sentCommitCount > 0)
        try expectSame()
        #expect(try devices[0].texts(key)[0].contains("five"))
    }

    @Test("what the other device wrote on the removed head comes")
    func received() throws {
        try compactUnsent()
        try devices[1].addLine("other", to: key)
        try devices[1].sync()
        try devices[0].sync()
        try expectSame()
        #expect(try devices[0].texts(key).joined().contains("other"))
    }

    @Test("a push whose answer was lost is found to have arrived, also where the other device went on from it")
    func lostAnswer() throws {
        for goesOn in [false, true] {
            try compactUnsent()
            let network = devices[0].network
            network.onRequest = { request in
                guard case .push(let push) = request else { return nil }
                _ = network.zone.push(push)
                return push.newHead == push.expectedHead ? nil : .unreachable
            }
            #expect(code { try devices[0].sync() } == .unreachable)
            network.onRequest = nil
            if goesOn {
                try devices[1].sync()
                try devices[1].addLine("other", to: key)
                try devices[1].sync()
            }
            try devices[0].start()
            try devices[0].sync()
            try expectSame()
        }
    }

    @Test("a first push whose answer was lost is the own commit that a compaction removed since, and no fork")
    func lostFirstAnswer() throws {
        try devices[0].addLine("one", to: key)
        let network = devices[0].network
        network.onRequest = { request in
            guard case .push(let push) = request else { return nil }
            _ = network.zone.push(push)
            return .unreachable
        }
        #expect(code { try devices[0].sync() } == .unreachable)
        network.onRequest = nil
        for line in ["two", "three"] { try devices[0].addLine(line, to: key) }
        let report = try devices[0].repository.compact(dropHistoryOlderThan: 2, timeMilliseconds: 3)
        #expect(report.removedCommitCount > 0 && zone.head != nil)
        // It comes again, with nothing above it: there is nothing to put down, and nothing to remove.
        #expect(try devices[0].sync().sentCommitCount > 0)
        #expect(try !devices[0].followRemovals())
        try expectSame()
        #expect(try devices[1].texts(key)[0].contains("three"))
    }

    @Test("R1, R7: a server that shows what was before is found out all the same")
    func rollback() throws {
        try devices[0].addLine("zero", to: key)
        for device in devices { try device.sync() }
        let old = (zone.objects.count, zone.head)
        try compactUnsent()
        let newest = (zone.objects, zone.head)
        zone.restore(objectCount: old.0, head: old.1)
        for _ in 0..<2 {
            #expect(code { try devices[0].sync() } == .headRolledBack)
            try devices[0].start()
        }
        // Who says that it was put back gets the rest sent again.
        let disk = devices[0].disk.syncedCopy()
        try devices[0].sync { $0.acceptsRestoredServer = true }
        #expect(zone.head == (try devices[0].repository.addresses(of: #require(devices[0].head))[0].bytes))
        try devices[0].start(on: disk)
        zone.restore(objectCount: 0, head: nil)
        #expect(code { try devices[0].sync() } == .headRolledBack)
        _ = zone.push(ZonePush(expectedHead: nil, newHead: newest.1, epoch: 1, objects: newest.0))
        try devices[0].sync()
        try expectSame()
    }

    @Test(
        "R7: what a new device was told and a compaction removed need not come, if its number is known and the record says so",
        arguments: [0, 1])
    func told(teller: Int) throws {
        try compactUnsent()
        let told = try #require(try devices[teller].toldHead())
        let gone = try devices[0].repository.addresses(of: told.head)
        try devices[0].sync()
        for address in gone { zone.remove(address) }

        try newcomer.join(toldOf: ToldHead(head: told.head, dot: nil), present: nil)
        #expect(code { try newcomer.sync() } == .headRolledBack, "without its number nobody can tell")
        try newcomer.start()
        try newcomer.join(toldOf: told, present: nil)
        // It has something of its own.
        try newcomer.addLine("own", to: SimulatedDevice.key(2))
        // The second time for what it wrote, after the removed history has gone here as well.
        for _ in 0..<2 {
            try newcomer.sync()
            _ = try newcomer.followRemovals()
        }
        try expectSame()
        try newcomer.sync()
        #expect(newcomer.head == devices[0].head)
        #expect(try devices[0].texts(SimulatedDevice.key(2)).joined().contains("own"))
    }

    @Test("a told head has two forms, and nothing else is one")
    func toldForms() throws {
        try devices[0].addLine("one", to: key)
        try devices[0].sync()
        let told = try #require(try devices[0].toldHead())
        let dot = try #require(told.dot)
        #expect(told.encode() == told.head.bytes + dot.instance.bytes + [0, 0, 0, 0, 0, 0, 0, 1])
        for form in [told, ToldHead(head: told.head, dot: nil)] { #expect(ToldHead.decode(form.encode()) == form) }
        for count in [0, 31, 33, 55] { #expect(ToldHead.decode(Array(told.encode().prefix(count))) == nil) }
        #expect(ToldHead.decode(told.encode() + [0]) == nil)
    }
}
