// Heads that nobody can take, and servers that do not end. The one thing to keep true: what stops a vault today lets it go
// on once the device that did it is revoked, and no answer fills the memory here.

import CoffretBase
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretWire
import Testing

@Suite("Heads that nobody can take")
struct VoidHeadTests {
    private let random = SeededGenerator(seed: 57)
    private let key = SimulatedDevice.key(1)

    private func devices(_ count: Int, zone: SimulatedZone) throws -> [SimulatedDevice] {
        let keys = SimulatedKeys(random)
        let signers = SimulatedSigners()
        return try (0..<count).map { _ in
            try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        }
    }

    /// Puts something under an address that is no commit, and makes it the head.
    private func spoil(_ zone: SimulatedZone, by device: SimulatedDevice) {
        let rubbish = ZoneObject(address: random.bytes(count: 32...32), ciphertext: random.bytes(count: 600...600))
        let push = ZonePush(expectedHead: zone.head, newHead: rubbish.address, epoch: 1, objects: [rubbish])
        guard case .pushed = zone.push(push, by: device.author.deviceID) else {
            Issue.record("the push is taken")
            return
        }
    }

    private func code(_ body: () throws -> Void) -> SyncError.Code? {
        do { try body() } catch { return (error as? SyncError)?.code }
        return nil
    }

    @Test(
        "storage H6: a head that nobody can take is pushed over once who set it is revoked, and nothing is lost (R111)")
    func pushedOver() throws {
        let zone = SimulatedZone()
        let devices = try devices(3, zone: zone)
        let thief = devices[2]
        try devices[0].addLine("base", to: key)
        for device in devices { try device.sync() }
        // What the first has not seen when the thief comes, and is said by what the server kept of the head before.
        try devices[1].addLine("of the second", to: key)
        try devices[1].sync()
        spoil(zone, by: thief)
        spoil(zone, by: thief)
        let spoiled = zone.head
        for device in devices[..<2] {
            #expect(code { try device.sync() } == .chainBroken)
            // Another device's revocation says nothing of this head.
            #expect(code { try device.sync { $0.revokedDevices = [devices[1].author.deviceID] } } == .chainBroken)
        }
        #expect(zone.head == spoiled)
        let report = try devices[0].sync { $0.revokedDevices = [thief.author.deviceID] }
        #expect(report.replacedHeadCount == 1)
        #expect(try zone.head == devices[0].repository.addresses(of: #require(devices[0].head))[0].bytes)
        #expect(try devices[1].sync().replacedHeadCount == 0)
        for device in devices[..<2] { #expect(try device.texts(key) == ["base\nof the second"]) }
        #expect(devices[0].head == devices[1].head)
        try devices[1].addLine("later", to: key)
        try devices[1].sync()
        try devices[0].sync()
        #expect(try devices[0].texts(key) == ["base\nof the second\nlater"])
    }

    @Test("storage H6: the own head goes in place of such a one also where nothing is new here")
    func nothingNew() throws {
        let zone = SimulatedZone()
        let devices = try devices(3, zone: zone)
        try devices[0].addLine("base", to: key)
        for device in devices[..<2] { try device.sync() }
        let good = zone.head
        spoil(zone, by: devices[1])
        let report = try devices[0].sync { $0.revokedDevices = [devices[1].author.deviceID] }
        #expect(report.replacedHeadCount == 1 && zone.head == good)
        try devices[2].sync()
        #expect(try devices[2].texts(key) == ["base"])
    }

    @Test(
        "storage M5: a server that sends objects without end and never a mark is refused before memory is short (R112)")
    func noMark() throws {
        var options = SyncEngine.Options()
        options.unmarkedByteCountMax = 1 << 20
        var engine = SyncEngine(memory: SyncMemory(server: "s"), knownEpoch: 1, options: options)
        let address = random.bytes(count: 32...32)
        _ = engine.handle(.begin)
        _ = engine.handle(.server(.head(ZoneHead(address: address, cursor: [1], epoch: 1))))
        _ = engine.handle(.vault(.judged(.unknown)))
        let bytes = [UInt8](repeating: 7, count: 64 << 10)
        var offered = 0
        var last: [SyncEngine.Action] = []
        for _ in 0..<100 {
            let object = ZoneObject(address: random.bytes(count: 32...32), ciphertext: bytes)
            last = engine.handle(.server(.frame(.object(object, uploader: address))))
            guard case .vault(.offer)? = last.first else { break }
            offered += 1
            _ = engine.handle(.vault(.offered(true)))
        }
        #expect(offered == 16)
        guard case .failed(let error)? = last.first else {
            Issue.record("it goes on: \(last)")
            return
        }
        #expect(error.code == .answerMalformed)
    }

    @Test("storage M5: what was asked for by its address is taken once, and what was not asked for never")
    func onceEach() throws {
        let memory = SyncMemory(server: "s")
        var engine = SyncEngine(memory: memory, knownEpoch: 1)
        let address = random.bytes(count: 32...32)
        let wanted = try #require(BlobAddress(bytes: random.bytes(count: 32...32)))
        _ = engine.handle(.begin)
        _ = engine.handle(.server(.head(ZoneHead(address: address, cursor: [1], epoch: 1))))
        _ = engine.handle(.vault(.judged(.unknown)))
        _ = engine.handle(.server(.frame(.mark(head: address, cursor: [2], hasMore: false))))
        _ = engine.handle(.server(.streamEnd))
        _ = engine.handle(.vault(.missing([wanted], place: "x")))
        func offers(_ address: [UInt8], isGood: Bool) -> Bool {
            let object = ZoneObject(address: address, ciphertext: [1])
            let actions = engine.handle(.server(.frame(.object(object, uploader: address))))
            guard case .vault(.offer)? = actions.first else { return false }
            _ = engine.handle(.vault(.offered(isGood)))
            return true
        }
        #expect(!offers(address, isGood: true))
        #expect(offers(wanted.bytes, isGood: false))
        #expect(offers(wanted.bytes, isGood: true))
        #expect(!offers(wanted.bytes, isGood: true))
    }
}
