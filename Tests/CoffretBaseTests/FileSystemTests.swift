// The file system seam: both implementations keep the same promises, and the simulated one breaks
// what it may break.

import CoffretBase
import CoffretTestSupport
import Testing

@Suite("File systems")
struct FileSystemTests {
    /// A file system and a folder of it to work in.
    struct Place {
        let fileSystem: any FileSystem
        let root: String
        let keepAlive: TemporaryDirectory?
    }

    static func places() throws -> [Place] {
        let directory = try TemporaryDirectory("files")
        return [
            Place(fileSystem: PosixFileSystem(), root: directory.path, keepAlive: directory),
            Place(fileSystem: SimulatedFileSystem(), root: "/", keepAlive: nil),
        ]
    }

    @Test("conformance: files are created, written, read, cut, renamed and removed")
    func files() throws {
        for place in try Self.places() {
            let fileSystem = place.fileSystem
            let path = PathText.join(place.root, "a")
            #expect(throws: FileSystemError(.notFound, place: path)) { try fileSystem.open(path, .read) }
            let file = try fileSystem.open(path, .createNew)
            #expect(throws: FileSystemError(.exists, place: path)) { try fileSystem.open(path, .createNew) }
            try file.write([1, 2, 3, 4], at: 2)
            #expect(try file.byteCount() == 6)
            #expect(try file.read(byteCount: 6, at: 0) == [0, 0, 1, 2, 3, 4])
            #expect(throws: FileSystemError(.endOfFile, place: path)) { try file.read(byteCount: 7, at: 0) }
            try file.truncate(to: 3)
            try file.truncate(to: 5)
            #expect(try fileSystem.readFile(path, byteCountMax: 5) == [0, 0, 1, 0, 0])
            #expect(throws: FileSystemError(.noSpace, place: path)) { try fileSystem.readFile(path, byteCountMax: 4) }
            try file.preallocate(byteCount: 4_096)
            #expect(try file.byteCount() == 4_096)
            let region = try file.map(byteCount: 4_096)
            try file.write([9], at: 4_095)
            #expect(unsafe region.withUnsafeBytes { unsafe $0[4_095] } == 9, "a region shows later writes")
            #expect(throws: FileSystemError.self) { try file.map(byteCount: 4_097) }
            try file.synchronizeData()
            let status = try #require(try fileSystem.status(path))
            #expect(status.kind == .file && status.byteCount == 4_096 && status.mode == 0o600)
            let reader = try fileSystem.open(path, .read)
            #expect(throws: FileSystemError.self) { try reader.write([1], at: 0) }
            try fileSystem.rename(path, to: path + "2")
            #expect(try !fileSystem.exists(path))
            try fileSystem.remove(path + "2")
            #expect(throws: FileSystemError(.notFound, place: path + "2")) { try fileSystem.remove(path + "2") }
            #expect(unsafe region.withUnsafeBytes { unsafe $0[2] } == 1, "a region outlives the name")
        }
    }

    @Test("conformance: directories are made, listed, and removed when empty")
    func directories() throws {
        for place in try Self.places() {
            let fileSystem = place.fileSystem
            let deep = PathText.join(place.root, "x/y/z")
            try fileSystem.makeDirectories(deep)
            try fileSystem.makeDirectories(deep)
            #expect(try fileSystem.status(deep)?.mode == 0o700)
            try fileSystem.replaceFile(deep + "/file", with: [1])
            try fileSystem.replaceFile(deep + "/file", with: [2, 3])
            #expect(try fileSystem.readFile(deep + "/file", byteCountMax: 9) == [2, 3])
            #expect(try fileSystem.list(deep) == [DirectoryEntry(name: "file", kind: .file)])
            // Another process is about to replace it, too: its beginning stays its own.
            let other = try fileSystem.open(deep + "/file.new", .createNew)
            try other.write([4], at: 0)
            try fileSystem.replaceFile(deep + "/file", with: [5])
            #expect(try fileSystem.readFile(deep + "/file", byteCountMax: 9) == [5])
            #expect(try fileSystem.readFile(deep + "/file.new", byteCountMax: 9) == [4])
            // With a lock it is a crash's remainder.
            try fileSystem.replaceFile(deep + "/file", with: [6], isLocked: true)
            #expect(try fileSystem.list(deep) == [DirectoryEntry(name: "file", kind: .file)])
            #expect(throws: FileSystemError(.notEmpty, place: deep)) { try fileSystem.removeDirectory(deep) }
            try fileSystem.removeTree(PathText.join(place.root, "x"))
            #expect(try fileSystem.list(place.root).isEmpty)
        }
    }

    @Test("conformance: exclusive locks keep everybody else out, shared ones writers only")
    func locks() throws {
        for place in try Self.places() {
            let path = PathText.join(place.root, "lock")
            let files = try (0..<3).map { _ in try place.fileSystem.open(path, .createIfAbsent) }
            try files[0].lock(.shared, waits: false)
            try files[1].lock(.shared, waits: false)
            let blocked = FileSystemError(.wouldBlock, place: path)
            #expect(throws: blocked) { try files[2].lock(.exclusive, waits: false) }
            try files[0].unlock()
            try files[1].unlock()
            try files[2].lock(.exclusive, waits: true)
            #expect(throws: blocked) { try files[0].lock(.shared, waits: false) }
            do {
                let fourth = try place.fileSystem.open(path, .read)
                #expect(throws: blocked) { try fourth.lock(.exclusive, waits: false) }
            }
            try files[2].unlock()
            do {
                let short = try place.fileSystem.open(path, .read)
                try short.lock(.exclusive, waits: false)
            }
            try files[0].lock(.exclusive, waits: false)
        }
    }

    @Test("what was synced survives every power cut; what was not may be lost, torn or kept")
    func powerCut() throws {
        var outcomes: Set<String> = []
        for seed in 0..<200 as Range<UInt64> {
            let disk = SimulatedFileSystem()
            let file = try disk.open("a", .createNew)
            try file.write([UInt8](repeating: 1, count: 2_048), at: 0)
            try file.synchronizeData()
            try disk.synchronizeDirectory("/")
            try file.write([UInt8](repeating: 2, count: 2_048), at: 1_024)
            _ = try disk.open("b", .createNew)
            let after = disk.restarted(keeping: SeededGenerator(seed: seed))
            #expect(throws: FileSystemError.self) { try file.byteCount() }
            let bytes = try after.readFile("a", byteCountMax: 1 << 20)
            #expect(Array(bytes[..<1_024]) == [UInt8](repeating: 1, count: 1_024))
            let second = bytes[1_024...].count { $0 == 2 }
            outcomes.insert(second == 0 ? "lost" : second == 2_048 ? "kept" : "torn")
            outcomes.insert(try after.exists("b") ? "name kept" : "name lost")
        }
        #expect(outcomes == ["lost", "kept", "torn", "name kept", "name lost"])
    }

    @Test("a replaced file is the old one or the new one after a power cut at every operation")
    func replaceSurvives() throws {
        var survivors: Set<[UInt8]> = []
        let (old, new) = ([UInt8](repeating: 1, count: 1_500), [UInt8](repeating: 2, count: 1_700))
        for number in 1...8 {
            for seed in 0..<20 as Range<UInt64> {
                let disk = SimulatedFileSystem()
                try disk.replaceFile("a", with: old)
                let before = disk.operationCount
                disk.setPlan(FailurePlan(at: before + number, .powerCut))
                let isDone = (try? disk.replaceFile("a", with: new)) != nil
                let found = try disk.restarted(keeping: SeededGenerator(seed: seed)).readFile("a", byteCountMax: 9_999)
                #expect(found == new || (!isDone && found == old))
                survivors.insert(found)
            }
        }
        #expect(survivors == [old, new])
    }

    @Test("a failed sync is told, and its bytes may be gone even if the next one succeeds")
    func failedSync() throws {
        let disk = SimulatedFileSystem()
        let file = try disk.open("a", .createNew)
        try disk.synchronizeDirectory("/")
        try file.write([7], at: 0)
        disk.setPlan(FailurePlan(at: disk.operationCount + 1, .fail(.inputOutput)))
        #expect(throws: FileSystemError(.inputOutput, place: "a")) { try file.synchronizeData() }
        try file.synchronizeData()
        #expect(try file.read(byteCount: 1, at: 0) == [7])
        #expect(try disk.restarted(keeping: SeededGenerator(seed: 1)).readFile("a", byteCountMax: 9) == [])
    }

    @Test("a full disk says so")
    func fullDisk() throws {
        let disk = SimulatedFileSystem()
        disk.setCapacity(byteCount: 1_000)
        let file = try disk.open("a", .createNew)
        try file.write([UInt8](repeating: 1, count: 900), at: 0)
        #expect(throws: FileSystemError(.noSpace, place: "a")) {
            try file.write([UInt8](repeating: 2, count: 200), at: 900)
        }
        #expect(throws: FileSystemError(.noSpace, place: "a")) { try file.preallocate(byteCount: 2_000) }
    }

    @Test("paths with a zero byte are refused, and parents are found")
    func paths() {
        #expect(throws: FileSystemError.self) { try PosixFileSystem().open("a\0b", .read) }
        #expect(throws: FileSystemError.self) { try PosixFileSystem().status("") }
        for (path, parent, name) in [
            ("a", ".", "a"), ("/a", "/", "a"), ("/", "/", ""), ("a/b/", "a", "b"), ("a//b", "a", "b"),
        ] {
            #expect(PathText.parent(of: path) == parent && PathText.name(of: path) == name)
        }
    }
}
