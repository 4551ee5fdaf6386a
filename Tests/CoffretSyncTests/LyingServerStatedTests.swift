// What devices state in one vault of the others: a server has to lie in all of them alike (R2, R4), and honest ones never
// look like liars.

import CoffretBase
import CoffretCrypto
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretSync

@Suite("A lying server: what one vault says of another")
struct LyingServerStatedTests {
    private static let hour: Int64 = 3_600_000
    private let key = SimulatedDevice.key(1)

    private func error(_ body: () throws -> SyncReport) -> SyncError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? SyncError
        }
    }

    private func stated(_ device: SimulatedDevice) throws -> Int {
        try VaultSync.memory(of: device.repository)?.stated.count ?? 0
    }

    @Test("R4: a vault that is frozen for one device, words and all, is found by a commit in another vault")
    func frozen() throws {
        let people = try SimulatedPeople(devices: 2, vaults: 2)
        let (writer, reader) = (people.devices[0], people.devices[1])
        reader[0].network.zone = people.copy(of: people.zones[0])
        try writer[0].addLine("hidden", to: key)
        try writer[0].sync(SimulatedPeople.talk)
        let hidden = try #require(writer[0].head)
        // Alone, the frozen vault looks as well as ever.
        reader[0].now += 30 * Self.hour
        #expect(try reader[0].sync(SimulatedPeople.talk).peers.map(\.standing) == [.upToDate])
        try writer[1].addLine("honest", to: key)
        try writer[1].sync(SimulatedPeople.talk)
        try reader[1].sync(SimulatedPeople.talk)
        #expect(try VaultSync.memory(of: reader[1].repository)?.unchecked == [])
        #expect(try reader[0].sync(SimulatedPeople.talk).peers.map(\.standing) == [.ahead])
        try reader[0].start()
        let head = reader[0].head
        reader[0].now += Self.hour * 24 - 1
        #expect(try reader[0].sync(SimulatedPeople.talk).peers.map(\.standing) == [.ahead])
        reader[0].now += 1
        for _ in 0..<2 { #expect(error { try reader[0].sync(SimulatedPeople.talk) }?.code == .commitWithheld) }
        #expect(reader[0].head == head)
        // What the server shows in the end makes up for it.
        reader[0].network.zone = people.zones[0]
        #expect(try reader[0].sync(SimulatedPeople.talk).peers.map(\.standing) == [.upToDate])
        #expect(reader[0].head == hidden)
        #expect(try stated(reader[0]) == 0)
    }

    @Test("R4: a newer statement neither ends nor renews the time; a word that is older or newer does not either")
    func frozenForLong() throws {
        let people = try SimulatedPeople(devices: 2, vaults: 2)
        let (writer, reader) = (people.devices[0], people.devices[1])
        let frozen = people.copy(of: people.zones[0])
        reader[0].network.zone = frozen
        for round in 0..<2 {
            try writer[0].addLine("hidden \(round)", to: key)
            try writer[0].sync(SimulatedPeople.talk)
            // The second time its word comes through, and says the same.
            if round == 1 { frozen.acknowledgements = people.zones[0].acknowledgements }
            try writer[1].addLine("honest \(round)", to: key)
            try writer[1].sync(SimulatedPeople.talk)
            try reader[1].sync(SimulatedPeople.talk)
            #expect(try reader[0].sync(SimulatedPeople.talk).peers.map(\.standing) == [.ahead])
            reader[0].now += 12 * Self.hour
        }
        #expect(error { try reader[0].sync(SimulatedPeople.talk) }?.code == .commitWithheld)
        // A person who put the server back says so, and it is forgotten.
        try reader[0].sync {
            SimulatedPeople.talk(&$0)
            $0.acceptsRestoredServer = true
        }
        #expect(try stated(reader[0]) == 0)
    }

    @Test("R2: two worlds in one vault, each without the other, are a fork as soon as another vault is honest")
    func forked() throws {
        let people = try SimulatedPeople(devices: 3, vaults: 2)
        let (writer, reader, third) = (people.devices[0], people.devices[1], people.devices[2])
        // The third device is shown both worlds under one name: an old copy of it, say, that the server keeps apart.
        let split = people.copy(of: people.zones[0])
        let twin = try SimulatedDevice(
            keys: third[0].keys, signers: people.signers, zone: split, random: people.random, author: third[0].author)
        try twin.sync(SimulatedPeople.talk)
        reader[0].network.zone = split
        try third[0].addLine("mine", to: key)
        try third[0].sync(SimulatedPeople.talk)
        try writer[0].sync(SimulatedPeople.talk)
        try twin.addLine("yours", to: key)
        try twin.sync(SimulatedPeople.talk)
        try reader[0].sync(SimulatedPeople.talk)
        try writer[1].addLine("honest", to: key)
        try writer[1].sync(SimulatedPeople.talk)
        try reader[1].sync(SimulatedPeople.talk)
        let (head, seen) = (reader[0].head, try #require(writer[0].head))
        for _ in 0..<2 {
            let error = error { try reader[0].sync(SimulatedPeople.talk) }
            #expect(error == SyncError(.headForked, at: "commit \(seen)"), "\(String(describing: error))")
            try reader[0].start()
        }
        #expect(reader[0].head == head)
        // A device that is revoked is no witness against the server any more.
        people.signers.chain = [writer[0].author.deviceChainHead, third[0].author.deviceChainHead]
        people.signers.revoked = [third[0].author.deviceID: 1]
        let stated = try #require(VaultSync.memory(of: reader[0].repository)?.stated.values.first)
        #expect(try reader[0].check.standing(stated.seen) == .undecided)
    }

    @Test("R1: this very copy of the store is older than it was, says another vault")
    func ownNumber() throws {
        let people = try SimulatedPeople(devices: 2, vaults: 2)
        let (other, own) = (people.devices[0], people.devices[1])
        let frozen = people.copy(of: people.zones[0])
        let twin = try SimulatedDevice(
            keys: own[0].keys, signers: people.signers, zone: frozen, random: people.random, author: own[0].author)
        try twin.sync(SimulatedPeople.talk)
        try twin.addLine("before the disk was put back", to: key)
        let head = try twin.repository.addresses(of: #require(twin.head))[0].bytes
        _ = people.zones[0].push(
            ZonePush(
                expectedHead: people.zones[0].head, newHead: head, epoch: 1,
                objects: try twin.repository.contents(from: []).names.map {
                    let blob = try twin.repository.sealedBlob($0)
                    return ZoneObject(address: blob.address.bytes, ciphertext: blob.bytes)
                }))
        // It hides what the device has said itself, which would tell at once.
        frozen.acknowledgements = [:]
        own[0].network.zone = frozen
        try own[0].addLine("after it", to: key)
        try own[0].sync(SimulatedPeople.talk)
        try other[0].sync(SimulatedPeople.talk)
        try other[1].addLine("honest", to: key)
        for device in [other, own] { try device[1].sync(SimulatedPeople.talk) }
        #expect(error { try own[0].sync(SimulatedPeople.talk) }?.code == .storeRolledBack)
    }

    @Test("a vault whose place is empty for a new device: what it holds for others is known by the other vaults")
    func emptyForOne() throws {
        var people = try SimulatedPeople(devices: 1, vaults: 2)
        try people.devices[0][1].addLine("states", to: key)
        try people.devices[0][1].sync(SimulatedPeople.talk)
        try people.addDevice()
        let reader = people.devices[1]
        reader[0].network.zone = SimulatedZone()
        try reader[1].sync(SimulatedPeople.talk)
        #expect(try reader[0].sync(SimulatedPeople.talk).peers.map(\.standing) == [.ahead])
        reader[0].now += 24 * Self.hour
        #expect(error { try reader[0].sync(SimulatedPeople.talk) }?.code == .commitWithheld)
        reader[0].network.zone = people.zones[0]
        try reader[0].sync(SimulatedPeople.talk)
        #expect(try stated(reader[0]) == 0)
    }

    // MARK: Honest servers

    @Test("most commits carry nothing: only what is new since the last statement is said")
    func silence() throws {
        let people = try SimulatedPeople(devices: 2, vaults: 2)
        let writer = people.devices[0]
        func statement() throws -> [UInt8]? {
            try writer[1].repository.commit(named: #require(writer[1].head)).commit.statement
        }
        try writer[0].addLine("first", to: key)
        try writer[0].sync(SimulatedPeople.talk)
        try writer[1].addLine("one", to: key)
        #expect(try statement()?.count == 512 + 77)
        for line in ["two", "three"] {
            try writer[1].addLine(line, to: key)
            #expect(try statement() == nil)
        }
        try writer[0].addLine("news", to: key)
        try writer[1].addLine("four", to: key)
        #expect(try statement() == nil, "what no server has seen yet is not said")
        try writer[0].sync(SimulatedPeople.talk)
        try writer[1].addLine("five", to: key)
        #expect(try statement() != nil)
        writer[1].heads?.forget()
        try writer[1].addLine("six", to: key)
        #expect(try statement() == nil, "what is lost makes it say less")
    }

    @Test("whatever the order in which vaults are synced, and however long somebody was away: no false alarm")
    func honest() throws {
        let people = try SimulatedPeople(devices: 3, vaults: 3)
        let random = people.random
        var statementCount = 0
        for round in 0..<120 {
            people.time(Int64(round) * 40 * Self.hour)
            let device = people.devices[random.int(in: 0...2)]
            let vault = device[random.int(in: 0...2)]
            switch random.int(in: 0...5) {
            case 0...2: try vault.addLine("line \(round)", to: key)
            case 3 where device[0] === people.devices[0][0]:
                try vault.compact(olderThan: vault.now)
                try vault.sync(SimulatedPeople.talk)
            default:
                for index in [[0, 1, 2], [2, 1, 0], [1], [2]][random.int(in: 0...3)] {
                    #expect(throws: Never.self) { try device[index].sync(SimulatedPeople.talk) }
                    _ = try device[index].followRemovals()
                }
            }
        }
        for _ in 0..<3 {
            for device in people.devices {
                for vault in device {
                    try vault.sync(SimulatedPeople.talk)
                    if try vault.followRemovals() { try vault.sync(SimulatedPeople.talk) }
                }
            }
        }
        for device in people.devices {
            statementCount += device[0].heads?.statementCount ?? 0
            for vault in device { #expect(try stated(vault) == 0) }
        }
        #expect(statementCount > 10)
    }

    @Test("statements are old news after a compaction, to a new device and in a copy that was put back")
    func oldNews() throws {
        var people = try SimulatedPeople(devices: 2, vaults: 2)
        let (writer, reader) = (people.devices[0], people.devices[1])
        try writer[0].addLine("stated", to: key)
        try writer[0].sync(SimulatedPeople.talk)
        let old = try #require(writer[1].heads?.seen[writer[0].keys.vaultID])
        try writer[1].addLine("states", to: key)
        try people.syncAll()
        // The commit that was stated is removed, and stated again from an old record.
        try writer[0].addLine("later", to: key)
        try writer[0].compact(olderThan: .max)
        try people.syncAll()
        for device in people.devices { _ = try device[0].followRemovals() }
        #expect(try reader[0].repository.dot(ofCommit: old.head) == nil)
        writer[1].heads?.note(old)
        try writer[1].addLine("states again", to: key)
        try people.syncAll([1, 0])
        #expect(try stated(reader[0]) == 0)
        // A device that begins with what is left believes nothing else either.
        try people.addDevice()
        try people.syncAll([1, 0])
        _ = try people.devices[2][0].followRemovals()
        try people.syncAll([0, 1])
        for vault in people.devices[2] { #expect(try stated(vault) == 0) }
    }

    @Test("R22: what a revoked device states, and what others saw before its revocation, is no word against the server")
    func revoked() throws {
        let people = try SimulatedPeople(devices: 4, vaults: 2)
        let (owner, reader, thief, cutter) = (
            people.devices[0], people.devices[1], people.devices[2], people.devices[3]
        )
        people.signers.chain = [thief[0].author.deviceChainHead]
        let frozen = people.copy(of: people.zones[0])
        reader[0].network.zone = frozen
        // The thief's statement comes when it is revoked already.
        try thief[0].addLine("stolen", to: key)
        try thief[0].sync(SimulatedPeople.talk)
        try owner[0].sync(SimulatedPeople.talk)
        try thief[1].addLine("states", to: key)
        try thief[1].sync(SimulatedPeople.talk)
        for device in [owner, cutter] { try device[1].sync(SimulatedPeople.talk) }
        people.signers.chain.append(cutter[0].author.deviceChainHead)
        people.signers.revoked = [thief[0].author.deviceID: 1]
        try cutter[1].repository.commitEpoch(time: 1)
        for device in [cutter, owner] { try device[1].sync(SimulatedPeople.talk) }
        // The owner saw the thief's head before it knew.
        let seen = try #require(owner[1].heads?.seen[owner[0].keys.vaultID])
        #expect(seen.chainPosition == 0)
        try owner[1].addLine("states", to: key)
        try owner[1].sync(SimulatedPeople.talk)
        try reader[1].sync(SimulatedPeople.talk)
        #expect(try stated(reader[0]) == 0)
        #expect(try reader[0].check.standing(seen) == .undecided)
        // What is seen from now on counts.
        try owner[0].addLine("later", to: key)
        try owner[0].sync(SimulatedPeople.talk)
        try owner[1].addLine("states once more", to: key)
        try owner[1].sync(SimulatedPeople.talk)
        try reader[1].sync(SimulatedPeople.talk)
        #expect(try stated(reader[0]) == 1)
    }

    @Test("R9: a statement from elsewhere, of this vault itself, and rubbish: nothing, and the vault is well")
    func misplaced() throws {
        let people = try SimulatedPeople(devices: 2, vaults: 3)
        let (writer, reader) = (people.devices[0], people.devices[1])
        final class Planted: CommitStatementSource {
            var bytes: [UInt8]?
            func next() -> [UInt8]? { bytes }
            func written() {}
        }
        let planted = Planted()
        writer[1].repository.statements = planted
        let absent = try #require(BlobName(bytes: people.random.bytes(count: 32...32)))
        func seal(_ head: SimulatedDevice, in vault: SimulatedDevice, by instance: UniqueID) -> [UInt8] {
            let seen = SeenHead(
                vaultID: head.keys.vaultID, head: absent, dot: Dot(instance: writer[0].author.instanceID, sequence: 99),
                chainPosition: 7)
            return HeadStatement.seal(
                [seen], key: head.keys.headsKey, vaultID: vault.keys.vaultID, instance: instance, random: people.random)
        }
        let own = writer[0].author.instanceID
        for bytes in [
            seal(writer[0], in: writer[2], by: own), seal(writer[0], in: writer[1], by: .generate(from: people.random)),
            seal(writer[1], in: writer[1], by: own), people.random.bytes(count: 600...600), [0],
        ] {
            planted.bytes = bytes
            try writer[1].addLine("says \(bytes.count)", to: key)
            try writer[1].sync(SimulatedPeople.talk)
            #expect(try reader[1].sync(SimulatedPeople.talk).receivedCommitCount == 1)
            for vault in reader { #expect(try stated(vault) == 0) }
            #expect(try VaultSync.memory(of: reader[1].repository)?.unchecked == [])
        }
        // The same, where it belongs, counts.
        planted.bytes = seal(writer[0], in: writer[1], by: own)
        try writer[1].addLine("says it", to: key)
        try writer[1].sync(SimulatedPeople.talk)
        try reader[1].sync(SimulatedPeople.talk)
        #expect(try stated(reader[0]) == 1)
        for vault in reader { #expect(vault.repository.fsck(signers: people.signers).allProblems.isEmpty) }
    }

    @Test("a vault that is not synced here any more is not spoken of, and what is said of it is not kept")
    func notSynced() throws {
        let people = try SimulatedPeople(devices: 2, vaults: 3)
        let (writer, reader) = (people.devices[0], people.devices[1])
        reader[0].heads?.remove(reader[0])
        try writer[0].addLine("news", to: key)
        try writer[0].sync(SimulatedPeople.talk)
        try writer[1].addLine("states", to: key)
        try writer[1].sync(SimulatedPeople.talk)
        try reader[1].sync(SimulatedPeople.talk)
        #expect(try VaultSync.memory(of: reader[1].repository)?.unchecked == [])
        #expect(try stated(reader[0]) == 0)
        writer[0].heads?.remove(writer[0])
        writer[1].heads?.forget()
        try writer[2].sync(SimulatedPeople.talk)
        try writer[1].addLine("of the third", to: key)
        let commit = try writer[1].repository.commit(named: #require(writer[1].head))
        let heads = HeadStatement.open(
            try #require(commit.commit.statement), key: writer[1].keys.headsKey, vaultID: writer[1].keys.vaultID,
            instance: commit.instance)
        #expect(heads?.map(\.vaultID) == [writer[2].keys.vaultID])
    }

    @Test("of more than eight vaults the rest is said by the next commit")
    func manyVaults() throws {
        let people = try SimulatedPeople(devices: 1, vaults: 12)
        let writer = people.devices[0]
        var said: [VaultID] = []
        for (line, count) in [("one", 8), ("two", 3), ("three", 0)] {
            try writer[0].addLine(line, to: key)
            let commit = try writer[0].repository.commit(named: #require(writer[0].head))
            let heads = commit.commit.statement.flatMap {
                HeadStatement.open(
                    $0, key: writer[0].keys.headsKey, vaultID: writer[0].keys.vaultID, instance: commit.instance)
            }
            #expect((heads ?? []).count == count)
            said += (heads ?? []).map(\.vaultID)
        }
        #expect(Set(said) == Set(writer.dropFirst().map(\.keys.vaultID)))
    }

    @Test("what is remembered of statements survives, and a memory from before has none")
    func memory() throws {
        let random = SeededGenerator(seed: 5)
        var memory = SyncMemory(server: "x")
        func seen() throws -> SeenHead {
            SeenHead(
                vaultID: try #require(VaultID(random.bytes(count: 32...32))),
                head: try #require(BlobName(bytes: random.bytes(count: 32...32))),
                dot: Dot(instance: .generate(from: random), sequence: 1 << 40), chainPosition: 9)
        }
        let device = UniqueID.generate(from: random)
        memory.stated[device] = StatedHead(seen: try seen(), since: 77)
        memory.take([UncheckedHead(device: device, seen: try seen())])
        #expect(SyncMemory.decode(memory.encode()) == memory)
        memory.take(try (0..<100).map { _ in UncheckedHead(device: device, seen: try seen()) })
        #expect(memory.unchecked.count == SyncMemory.uncheckedCountMax)
        let last = try #require(memory.unchecked.last)
        let newer = SeenHead(
            vaultID: last.seen.vaultID, head: try seen().head, dot: try seen().dot, chainPosition: 10)
        memory.take([UncheckedHead(device: device, seen: newer)])
        #expect(memory.unchecked.count == SyncMemory.uncheckedCountMax && memory.unchecked.last?.seen == newer)
        #expect(SyncMemory.decode(memory.encode()) == memory)
    }
}
