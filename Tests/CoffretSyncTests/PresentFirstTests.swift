// A device that was let in and begins with the present: what it asks for, what it keeps to itself, and what comes of a
// server that lies meanwhile.

import CoffretBase
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretWire
import Testing

@Suite("The present first")
struct PresentFirstTests {
    private let random = SeededGenerator(seed: 29)
    private let key = SimulatedDevice.key(1)
    private let zone = SimulatedZone()
    private let old: SimulatedDevice
    private let new: SimulatedDevice

    /// One device has edited a text often; another one is new.
    init() throws {
        let (keys, signers) = (SimulatedKeys(random), SimulatedSigners())
        old = try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        new = try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        for number in 1...20 { try old.addLine("line \(number) " + String(repeating: "x", count: 900), to: key) }
        try old.sync()
    }

    private func letIn() throws -> PresentMark {
        let present = try #require(try old.offerPresent())
        try new.join(toldOf: try old.toldHead(), present: present)
        return present
    }

    /// The new device has the present; of the history nothing comes yet.
    @discardableResult
    private func begin() throws -> PresentMark {
        let present = try letIn()
        new.network.onRequest = { if case .changes = $0 { .unreachable } else { nil } }
        try fail(.unreachable)
        #expect(try new.repository.presentStanding == .ahead && new.head == present.head)
        #expect(try new.texts(key) == old.texts(key))
        new.network.onRequest = nil
        return present
    }

    private func fail(_ code: SyncError.Code, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let error = #expect(throws: SyncError.self, sourceLocation: sourceLocation) { try new.sync() }
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
        try new.start()
    }

    /// Nothing of it was lost, and nothing was said to the server.
    private func expectWaiting(
        _ code: SyncError.Code, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (head, pushes) = (new.head, zone.pushCount)
        for _ in 0..<2 { try fail(code, sourceLocation: sourceLocation) }
        #expect(new.head == head && zone.pushCount == pushes, sourceLocation: sourceLocation)
        #expect(try new.texts(key).first?.contains("by the new one") ?? false, sourceLocation: sourceLocation)
    }

    private func expectSame(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for device in [new, old, new] { try device.sync() }
        #expect(new.head == old.head, sourceLocation: sourceLocation)
        #expect(try new.repository.presentStanding == .whole, sourceLocation: sourceLocation)
        #expect(new.repository.fsck(signers: new.signers).isClean, sourceLocation: sourceLocation)
    }

    @Test(
        "before the first list the tree comes and not the history; what is written then waits for it, over restarts and cuts"
    )
    func life() throws {
        let history = zone.objects.reduce(0) { $0 + $1.ciphertext.count }
        _ = try letIn()
        var asked: Set<[UInt8]> = []
        new.network.onRequest = { request in
            switch request {
            case .changes: return .unreachable
            case .fetch(let addresses): asked.formUnion(addresses.map(\.bytes))
            default: break
            }
            return nil
        }
        try fail(.unreachable)
        let byteCount = zone.objects.filter { asked.contains($0.address) }.reduce(0) { $0 + $1.ciphertext.count }
        #expect(byteCount > 0 && byteCount * 4 < history, "\(byteCount) of \(history)")
        #expect(try new.texts(key) == old.texts(key))
        try new.addLine("by the new one", to: key)
        // A device that has something to send begins with what it always begins with.
        for beginning in [SyncEngine.Beginning.push, .changes] {
            let pushes = zone.pushCount
            #expect(throws: SyncError.self) { try new.sync { $0.beginning = beginning } }
            #expect(zone.pushCount == pushes)
        }
        // The history comes in parts, each after another break.
        new.network.onRequest = nil
        new.network.faultRate = 2
        for _ in 0..<60 where try new.repository.presentStanding == .ahead {
            _ = try? new.sync()
            try new.crash()
        }
        new.network.faultRate = 0
        try old.addLine("by the old one", to: key)
        try expectSame()
        let text = try #require(try old.texts(key).first)
        #expect(text.contains("by the new one") && text.contains("by the old one") && text.contains("line 1 "))
        #expect(try new.repository.versions(of: #require(new.head)).sequences.count == 2)
    }

    @Test("a server that has not the tree, or another one in its place, is left to the whole history")
    func wrongTree() throws {
        let present = try letIn()
        let root = try old.repository.commit(named: present.head).commit.root
        let address = try old.repository.addresses(of: root)[0]
        zone.replace(address, by: [0, 0, 0, 1] + [UInt8](repeating: 3, count: 400))
        try new.sync()
        #expect(try new.repository.presentStanding == .whole && new.head == old.head)

        let third = try SimulatedDevice(keys: old.keys, signers: old.signers, zone: zone, random: random)
        try third.join(toldOf: try old.toldHead(), present: present)
        zone.remove(address)
        try third.sync()
        #expect(try third.repository.presentStanding == .whole && third.head == old.head)
        try expectSame()
    }

    @Test("R5: a commit that the server keeps back is named; the present stays, and what was written waits")
    func withheld() throws {
        try begin()
        try new.addLine("by the new one", to: key)
        var cursor = try old.repository.log()
        _ = try cursor.next()
        _ = try cursor.next()
        let dropped = try #require(try cursor.next()).name
        let address = try old.repository.addresses(of: dropped)[0]
        let object = try #require(zone.objects.first { $0.address == address.bytes })
        zone.remove(address)
        try expectWaiting(.chainBroken)
        _ = zone.push(
            ZonePush(expectedHead: zone.head, newHead: zone.head, epoch: 1, objects: [object]), by: [9])
        try expectSame()
    }

    @Test(
        "R1, R2, R7: nothing, an older head or another history is refused before anything is sent, and after the history came"
    )
    func otherHeads() throws {
        let first = try #require(zone.head)
        try begin()
        try new.addLine("by the new one", to: key)
        let count = zone.objects.count
        zone.restore(objectCount: count, head: nil)
        try expectWaiting(.headRolledBack)
        #expect(throws: SyncError.self) { try new.sync { $0.acceptsRestoredServer = true } }
        #expect(zone.head == nil)
        // A head that is here, and older than what was told.
        var cursor = try old.repository.log()
        _ = try cursor.next()
        let parent = try #require(try cursor.next()).name
        zone.restore(objectCount: count, head: try old.repository.addresses(of: parent)[0].bytes)
        try expectWaiting(.headRolledBack)
        #expect(try new.repository.presentStanding == .whole, "the history was there")
        zone.restore(objectCount: count, head: first)
        try expectSame()
    }

    @Test("R2: a head that has not seen what was told is a fork, history or not")
    func fork() throws {
        // The zone as another device would have gone on without the last line.
        let apart = try SimulatedDevice(keys: old.keys, signers: old.signers, zone: zone, random: random)
        let split = (zone.objects.count, zone.head)
        try apart.sync()
        try old.addLine("told", to: key)
        try old.sync()
        try begin()
        try new.addLine("by the new one", to: key)
        zone.restore(objectCount: split.0, head: split.1)
        try apart.addLine("yours", to: key)
        try apart.sync()
        try expectWaiting(.headForked)
    }
}
