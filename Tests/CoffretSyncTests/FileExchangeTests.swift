// Files between two devices over a server that breaks off, lies and refuses (R14).

import CoffretBase
import CoffretCrypto
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretSync

/// The chunks of a zone in memory.
private final class SimulatedChunks: FileTransport {
    var chunks: [[UInt8]: [[UInt8]]] = [:]
    /// Requests that go well until the connection breaks; nil for ever.
    var requestsLeft: Int?
    /// What the account may still store; nil for no end.
    var bytesLeft: Int?
    /// Space that another device takes behind so many more chunks.
    var chunksUntilFull: Int?
    var tellsSpace = true
    private(set) var requestCount = 0
    private(set) var uploadCount = 0

    private func count() throws(SyncError) {
        requestCount += 1
        guard let left = requestsLeft else { return }
        guard left > 0 else { throw SyncError(.unreachable) }
        requestsLeft = left - 1
    }

    func missingChunks(_ list: [ChunkList.Chunk]) throws(SyncError) -> [ChunkList.Chunk] {
        try count()
        return list.filter { chunk in
            !(chunks[chunk.address] ?? []).contains { BLAKE2b.hash($0) == chunk.digest }
        }
    }

    func upload(_ bytes: [UInt8], to address: BlobAddress, mayBeBegun: Bool) throws(SyncError) -> Bool {
        try count()
        if let left = chunksUntilFull {
            if left == 0 { bytesLeft = 0 }
            chunksUntilFull = left - 1
        }
        if let left = bytesLeft {
            guard bytes.count <= left else { throw SyncError(.quotaExceeded, at: "server.quota.exceeded") }
            bytesLeft = left - bytes.count
        }
        uploadCount += 1
        chunks[address.bytes, default: []].append(bytes)
        return false
    }

    func space() throws(SyncError) -> ServerSpace? {
        try count()
        guard tellsSpace, let bytesLeft else { return nil }
        return ServerSpace(usedByteCount: 0, byteCountMax: bytesLeft)
    }

    func withdraw(_ address: BlobAddress) throws(SyncError) {
        try count()
        let gone = chunks.removeValue(forKey: address.bytes) ?? []
        bytesLeft = bytesLeft.map { $0 + gone.reduce(0) { $0 + $1.count } }
    }

    func chunk(at address: BlobAddress, variant: Int) throws(SyncError) -> StoredVariant? {
        try count()
        let variants = chunks[address.bytes] ?? []
        return variant < variants.count ? StoredVariant(bytes: variants[variant], count: variants.count) : nil
    }
}

@Suite("Files between devices")
struct FileExchangeTests {
    private let random = SeededGenerator(seed: 5)
    private let zone = SimulatedChunks()
    private let here: AttachmentStore
    private let there: AttachmentStore
    private let disk = SimulatedFileSystem()

    init() {
        let random = random
        guard let vaultID = VaultID(random.bytes(count: 32)) else { preconditionFailure("32 bytes are an id") }
        let (vaultKey, splitKey) = (VaultKey.generate(from: random), SplitKey.generate(from: random))
        func store(_ disk: SimulatedFileSystem) -> AttachmentStore {
            AttachmentStore(
                directory: "vault",
                keys: VaultKeys(
                    vaultID: vaultID, vaultKeys: [1: vaultKey], splitKey: splitKey,
                    localKey: .generate(from: random)),
                environment: StorageEnvironment(
                    fileSystem: disk, random: random, clock: ManualClock(), tuning: StorageTuning()))
        }
        (here, there) = (store(disk), store(SimulatedFileSystem()))
    }

    private func attach(_ byteCount: Int, to store: AttachmentStore) throws -> (AttachmentReference, [UInt8]) {
        let block = random.bytes(count: 1_021...1_021)
        var bytes: [UInt8] = []
        while bytes.count < byteCount { bytes += block }
        bytes = Array(bytes.prefix(byteCount))
        let writer = try store.makeWriter()
        try writer.write(bytes)
        return (try writer.finish(), bytes)
    }

    private func read(_ reference: AttachmentReference, from store: AttachmentStore) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try unsafe store.makeReader(reference).read { (content) throws(StorageError) in
            unsafe bytes.append(contentsOf: content)
        }
        return bytes
    }

    private func wanted(_ reference: AttachmentReference) -> WantedFile {
        WantedFile(reference: reference, home: nil, place: "the file")
    }

    @Test("files of all sizes travel; what is there already is not sent again, nor fetched")
    func roundTrip() throws {
        let sizes = [0, 1, 300_000, 1 << 20, (2 << 20) + 77]
        let files = try sizes.map { try attach($0, to: here) }
        var steps: [FileProgress] = []
        let sender = FileExchange(store: here, transport: zone, progress: { steps.append($0) })
        let ids = files.map(\.0.fileID)
        let sent = try sender.send(ids)
        #expect(sent.movedCount == sizes.count && sent.absentCount == 0)
        #expect(zone.uploadCount == 7)
        let end = try #require(steps.last)
        #expect(end.doneCount == end.totalCount && end.doneByteCount == end.totalByteCount)
        #expect(sent.movedByteCount == end.totalByteCount)
        let requests = zone.requestCount
        #expect(try sender.send(ids).movedCount == 0)
        #expect(zone.requestCount == requests, "what one exchange has delivered it does not ask for again")
        #expect(try FileExchange(store: here, transport: zone).send(ids).movedCount == 0)
        #expect(zone.requestCount == requests + 1 && zone.uploadCount == 7)

        steps = []
        let receiver = FileExchange(store: there, transport: zone, progress: { steps.append($0) })
        #expect(try receiver.send(ids).absentCount == sizes.count, "what is not here is not sent")
        let fetched = try receiver.fetch(files.map { wanted($0.0) })
        #expect(fetched.movedCount == sizes.count && fetched.problems.isEmpty)
        let last = try #require(steps.last)
        #expect(last.doneByteCount == sizes.reduce(0, +) && last.doneByteCount == last.totalByteCount)
        for (reference, bytes) in files { #expect(try read(reference, from: there) == bytes) }
    }

    @Test("a break at any request costs that request; what was done stays done")
    func breaks() throws {
        let (reference, bytes) = try attach((3 << 20) + 5, to: here)
        var breakCount = 0
        while true {
            // What is missing, how much room there is, and one chunk.
            zone.requestsLeft = 3
            do {
                _ = try FileExchange(store: here, transport: zone).send([reference.fileID])
                break
            } catch {
                #expect(error.code == .unreachable)
                breakCount += 1
            }
        }
        #expect(breakCount == 3 && zone.uploadCount == 4, "each try got one chunk further")
        breakCount = 0
        while true {
            zone.requestsLeft = 1
            do {
                #expect(try FileExchange(store: there, transport: zone).fetch([wanted(reference)]).movedCount == 1)
                break
            } catch {
                #expect(error.code == .unreachable)
                #expect(try !there.contains(reference), "half a file has no name")
                breakCount += 1
            }
        }
        #expect(breakCount == 3)
        #expect(try read(reference, from: there) == bytes)
    }

    @Test("R14: a wrong, short, long, swapped or missing chunk is a named error, and nothing of the file is used")
    func lies() throws {
        let (reference, bytes) = try attach((2 << 20) + 9, to: here)
        let (other, _) = try attach(2 << 20, to: here)
        _ = try FileExchange(store: here, transport: zone).send([reference.fileID, other.fileID])
        let chunks = here.chunks(of: reference)
        let truth = zone.chunks
        let (first, second) = (chunks[0].addresses[0].bytes, chunks[1].addresses[0].bytes)
        let good = try #require(truth[second]?.first)
        var flipped = good
        flipped[good.count / 2] ^= 1
        let foreign = try #require(truth[here.chunks(of: other)[1].addresses[0].bytes]?.first)
        let lies: [(String, [[UInt8]], SyncError.Code)] = [
            ("wrong", [flipped], .fileRefused), ("short", [Array(good.dropLast())], .fileRefused),
            ("long", [good + [0]], .fileRefused), ("empty", [[]], .fileRefused),
            ("another chunk of the file", truth[first] ?? [], .fileRefused),
            ("a chunk of another file", [foreign], .fileRefused), ("nothing", [], .fileMissing),
        ]
        for (name, variants, code) in lies {
            zone.chunks[second] = variants
            let tally = try FileExchange(store: there, transport: zone).fetch([wanted(reference), wanted(other)])
            #expect(tally.problems == [SyncError(code, at: "the file")], "\(name)")
            #expect(try !there.contains(reference), "\(name)")
            #expect(try there.contains(other), "one bad file keeps no other from coming")
        }
        // Beside the truth a lie does no harm, whatever came first.
        zone.chunks[second] = [flipped, foreign, good]
        #expect(try FileExchange(store: there, transport: zone).fetch([wanted(reference)]).problems.isEmpty)
        #expect(try read(reference, from: there) == bytes)
    }

    @Test("a file for which there is no room is not begun, and ends it; what came of one before counts as room")
    func room() throws {
        let files = try [300_000, (2 << 20) + 9, 4 << 20].map { try attach($0, to: here).0 }
        _ = try FileExchange(store: here, transport: zone).send(files.map(\.fileID))
        var room = 0
        func fetch() throws -> FileTally {
            try FileExchange(store: there, transport: zone, hasRoom: { $0 <= room }).fetch(files.map(wanted))
        }
        let full = [SyncError(.diskFull, at: "the file")]
        room = 1 << 20
        let first = try fetch()
        #expect(first.movedCount == 1 && first.problems == full)
        let requests = zone.requestCount
        #expect(try fetch().problems == full)
        #expect(zone.requestCount == requests, "nothing is fetched in vain")
        // A break behind the first chunk of the second.
        room = 3 << 20
        zone.requestsLeft = 1
        #expect(throws: SyncError.self) { _ = try fetch() }
        zone.requestsLeft = nil
        room = (1 << 20) + (64 << 10)
        let second = try fetch()
        #expect(second.movedCount == 1 && second.problems == full)
        #expect(try there.contains(files[1]) && !there.contains(files[2]))
    }

    @Test("a poisoned address does not count as delivered: the digest is asked for, not the address")
    func poison() throws {
        let (reference, _) = try attach(5_000, to: here)
        let address = here.chunks(of: reference)[0].addresses[0]
        zone.chunks[address.bytes] = [[UInt8](repeating: 7, count: 5_136)]
        #expect(try FileExchange(store: here, transport: zone).send([reference.fileID]).movedCount == 1)
        #expect(zone.chunks[address.bytes]?.count == 2)
    }

    @Test("a file that finds no room is named with what it needs; all others go, and it goes when there is room")
    func noRoom() throws {
        let small = try attach(5_000, to: here).0
        let big = try attach((3 << 20) + 5, to: here).0
        let other = try attach(70_000, to: here).0
        let ids = [small, big, other].map(\.fileID)
        zone.bytesLeft = 2 << 20
        let sender = FileExchange(store: here, transport: zone)
        let first = try sender.send(ids)
        #expect(first.movedCount == 2 && first.waiting.map(\.fileID) == [big.fileID])
        let waiting = try #require(first.waiting.first)
        #expect(waiting.byteCount > 3 << 20)
        let room = try #require(waiting.roomByteCount)
        #expect(room < 2 << 20 && room > 1 << 20)
        #expect(try #require(zone.bytesLeft) > (2 << 20) / 50, "files leave some room for changes")

        // Again without room: nothing is read, and one question is asked.
        let before = zone.requestCount
        #expect(try sender.send([big.fileID], known: first.waiting).waiting.count == 1)
        #expect(zone.requestCount == before + 1 && zone.uploadCount == 2)
        zone.bytesLeft = 8 << 20
        let last = try sender.send([big.fileID], known: first.waiting)
        #expect(last.movedCount == 1 && last.waiting.isEmpty)
        #expect(
            try FileExchange(store: there, transport: zone).fetch([small, big, other].map(wanted)).problems.isEmpty)
    }

    @Test(
        "space that runs out in the middle of a file is given back, whether the server tells how much there is or not")
    func outOfRoom() throws {
        for tells in [true, false] {
            let zone = SimulatedChunks()
            zone.tellsSpace = tells
            zone.bytesLeft = 64 << 20
            zone.chunksUntilFull = 2
            let big = try attach((3 << 20) + 5, to: here).0
            let small = try attach(5_000, to: here).0
            let tally = try FileExchange(store: here, transport: zone).send([big.fileID, small.fileID])
            #expect(tally.waiting.map(\.fileID) == [big.fileID])
            #expect(tally.waiting.first.map { $0.byteCount > 3 << 20 } == true, "all of it is missing again")
            #expect(tally.movedCount == 1, "what is given back is room for others")
            #expect(zone.chunks.values.flatMap(\.self).count == 1)
        }
    }

    @Test("a file that cannot be read keeps no other from the server, and is tried again")
    func unreadable() throws {
        let bad = try attach((2 << 20) + 5, to: here).0
        let good = try attach(70_000, to: here).0
        let path = try #require(disk.allFiles().filter { $0.value.count > 1 << 20 }.keys.first)
        disk.setBad(path, true)
        let sender = FileExchange(store: here, transport: zone)
        let ids = [bad, good].map(\.fileID)
        let first = try sender.send(ids)
        #expect(first.movedCount == 1 && first.absentCount == 0)
        #expect(first.waiting.map(\.fileID) == [bad.fileID] && first.waiting.map(\.reason) == [.unreadable])
        #expect(try sender.send([bad.fileID], known: first.waiting).waiting == first.waiting)
        disk.setBad(path, false)
        let last = try sender.send([bad.fileID], known: first.waiting)
        #expect(last.movedCount == 1 && last.waiting.isEmpty)
        #expect(try FileExchange(store: there, transport: zone).fetch([bad, good].map(wanted)).problems.isEmpty)
    }

    @Test("the memory keeps files that wait, the server and failed audits")
    func remembered() throws {
        var memory = LogMemory()
        memory.server = "https://example.org"
        memory.waitingFiles = [
            WaitingFile(fileID: .generate(from: random), byteCount: 9, roomByteCount: 1, reason: .unreadable),
            WaitingFile(fileID: .generate(from: random), byteCount: 9, roomByteCount: nil),
        ]
        (memory.hasMoreWaitingFiles, memory.failedAuditCount) = (true, 2)
        memory.settled = [.generate(from: random): 4]
        let read = try #require(LogMemory(decoding: memory.encoded))
        #expect(read.encoded == memory.encoded && read.waitingFiles == memory.waitingFiles)
        #expect(read.server == memory.server && read.failedAuditCount == 2 && read.settled == memory.settled)
    }

    @Test("entries that name files are pushed after the files; where these cannot be sent nothing is pushed")
    func order() throws {
        let person = try LogPerson(random, server: LogServer(random: random))
        defer { withExtendedLifetime(person) {} }
        let device = person.devices[0]
        try device.sync()
        var asked = 0
        device.willPush = { entries in
            asked += entries.count
            throw SyncError(.unreachable)
        }
        try device.put(LogDevice.text(1), "names a file")
        #expect(throws: SyncError(.unreachable)) { try device.sync() }
        #expect(asked > 0)
        let isPush: (LogRequest) -> Bool = { if case .push = $0 { true } else { false } }
        #expect(!device.requests.contains(where: isPush))
        device.willPush = { _ in }
        try device.sync()
        #expect(device.requests.contains(where: isPush))
    }
}
