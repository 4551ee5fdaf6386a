// What a server may do wrong, and what must come of it: a named error, and nothing changed (R1 to R7, R14).

import CoffretBase
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretWire
import Testing

@Suite("A lying server")
struct LyingServerTests {
    private let random = SeededGenerator(seed: 11)

    private func devices(_ count: Int, zone: SimulatedZone) throws -> [SimulatedDevice] {
        let keys = SimulatedKeys(random)
        let signers = SimulatedSigners()
        return try (0..<count).map { _ in
            try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        }
    }

    private func expect(
        _ code: SyncError.Code, from device: SimulatedDevice, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let head = device.head
        let memory = try VaultSync.memory(of: device.repository)
        for _ in 0..<2 {
            // The second time after a restart: what was seen is not forgotten.
            let error = #expect(throws: SyncError.self, sourceLocation: sourceLocation) { try device.sync() }
            #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
            try device.start()
        }
        #expect(device.head == head, sourceLocation: sourceLocation)
        #expect(try VaultSync.memory(of: device.repository)?.head == memory?.head, sourceLocation: sourceLocation)
    }

    private let key = SimulatedDevice.key(1)

    @Test("R1: an older head than was seen is refused, also after a restart; on request it gets the newer one again")
    func rollback() throws {
        let zone = SimulatedZone()
        let device = try devices(1, zone: zone)[0]
        try device.addLine("one", to: key)
        try device.sync()
        let old = (zone.objects.count, zone.head)
        try device.addLine("two", to: key)
        try device.sync()
        let newest = zone.head
        zone.restore(objectCount: old.0, head: old.1)
        try expect(.headRolledBack, from: device)
        try device.sync { $0.acceptsRestoredServer = true }
        #expect(zone.head == newest)
        try device.sync()
    }

    @Test("R7: a server that has nothing where it had something is refused")
    func empty() throws {
        let zone = SimulatedZone()
        let device = try devices(1, zone: zone)[0]
        try device.addLine("one", to: key)
        try device.sync()
        zone.restore(objectCount: 0, head: nil)
        try expect(.headRolledBack, from: device)
        try device.sync { $0.acceptsRestoredServer = true }
        #expect(zone.head != nil)
    }

    @Test("R2: a head that has not seen what was seen before is a fork")
    func fork() throws {
        let zone = SimulatedZone()
        let devices = try devices(2, zone: zone)
        try devices[0].addLine("base", to: key)
        try devices[0].sync()
        try devices[1].sync()
        // The server shows each device a world in which the other never was.
        let split = (zone.objects.count, zone.head)
        try devices[0].addLine("mine", to: key)
        try devices[0].sync()
        zone.restore(objectCount: split.0, head: split.1)
        try devices[1].addLine("yours", to: key)
        try devices[1].sync()
        try expect(.headForked, from: devices[0])
    }

    @Test("R5: a commit that the server drops is named")
    func hole() throws {
        let zone = SimulatedZone()
        let devices = try devices(2, zone: zone)
        try devices[0].addLine("one", to: key)
        let dropped = try #require(devices[0].head)
        try devices[0].addLine("two", to: key)
        try devices[0].sync()
        zone.remove(try devices[0].repository.addresses(of: dropped)[0])
        let error = #expect(throws: SyncError.self) { try devices[1].sync() }
        #expect(error?.code == .chainBroken)
        #expect(error?.place?.contains("\(dropped)") ?? false)
        #expect(devices[1].head == nil)
    }

    @Test("a head that was told at pairing may come long before the context that it names")
    func toldHeadInParts() throws {
        let zone = SimulatedZone()
        let devices = try devices(2, zone: zone)
        for number in 1...12 { try devices[0].addLine("\(number) " + String(repeating: "x", count: 900), to: key) }
        try devices[0].sync()
        // Commits first, and what they need behind them, so that the parts that are put down end in between.
        let other = SimulatedZone()
        _ = other.push(
            ZonePush(expectedHead: nil, newHead: zone.head, epoch: 1, objects: zone.objects.reversed()))
        var memory = SyncMemory(server: "simulated")
        memory.head = devices[0].head
        try devices[1].repository.setSyncNote(memory.encode())
        devices[1].network.zone = other
        try devices[1].sync()
        #expect(devices[1].head == devices[0].head)
    }

    @Test("protocol 4: a poisoned address does no harm; the variant that verifies counts")
    func poison() throws {
        let zone = SimulatedZone()
        let devices = try devices(2, zone: zone)
        try devices[0].addLine("one", to: key)
        let head = try #require(devices[0].head)
        zone.poison(try devices[0].repository.addresses(of: head)[0])
        try devices[0].sync()
        try devices[1].sync()
        #expect(devices[1].head == head)
    }

    @Test("R14: any bit flipped in an object, with no true variant, is a broken chain and never another text")
    func flips() throws {
        let zone = SimulatedZone()
        let devices = try devices(2, zone: zone)
        try devices[0].addLine("one", to: key)
        try devices[0].sync()
        for round in 0..<24 {
            let random = random
            let copy = SimulatedZone()
            let victim = random.int(in: 0...zone.objects.count - 1)
            var objects = zone.objects
            var bytes = objects[victim].ciphertext
            bytes[random.int(in: 0...bytes.count - 1)] ^= 1 << UInt8(round % 8)
            objects[victim] = ZoneObject(address: objects[victim].address, ciphertext: bytes)
            _ = copy.push(ZonePush(expectedHead: nil, newHead: zone.head, epoch: 1, objects: objects))
            let other = SimulatedNetwork(zone: copy, random: random)
            let vault = VaultSync(
                repository: devices[1].repository, signers: devices[1].signers, rule: SimulatedRule()
            ) { 1 }
            defer { vault.cancel() }
            var options = SyncEngine.Options()
            options.acknowledges = false
            let engine = SyncEngine(memory: SyncMemory(server: "x"), knownEpoch: 1, options: options)
            let error = #expect(throws: SyncError.self) {
                try SyncSession(transport: other, vault: vault).run(engine)
            }
            #expect(error?.code == .chainBroken)
            #expect(devices[1].head == nil)
        }
    }

    @Test("one edit costs one push and one stream; nothing new costs one request")
    func cost() throws {
        let zone = SimulatedZone()
        let devices = try devices(2, zone: zone)
        try devices[0].addLine(String(repeating: "long ", count: 12_000), to: key)
        try devices[0].sync()
        try devices[1].sync()
        try devices[0].addLine("edit", to: key)
        let up = try devices[0].sync { $0.partByteCountMax = 1 << 20 }
        #expect(up.requestCount == 2 && up.sentCommitCount == 1)
        #expect(up.progress.sentByteCount <= 32 << 10)
        let down = try devices[1].sync()
        #expect(down.requestCount == 2 && down.receivedCommitCount == 1)
        #expect(down.progress.receivedByteCount <= 32 << 10)
        #expect(try devices[1].sync().requestCount == 1)
        #expect(try devices[0].sync().requestCount == 1)
    }
}
