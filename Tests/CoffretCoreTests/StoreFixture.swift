// Stores with keyrings in temporary folders, with the cheapest parameters that are allowed.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretStorage
import CoffretTestSupport
import Testing

final class StoreFixture {
    static let passphrase = "correct horse battery"

    let folder: TemporaryDirectory
    let random = SeededGenerator.fromEnvironment()
    let clock = ManualClock()
    let environment: StoreEnvironment
    var storePath: String { folder.file("store") }

    init() throws {
        folder = try TemporaryDirectory("store")
        environment = Self.environment(state: folder.file("state"), random: random, clock: clock)
    }

    static func environment(state: String, random: SeededGenerator, clock: ManualClock) -> StoreEnvironment {
        StoreEnvironment(stateDirectory: state, fileSystem: PosixFileSystem(), random: random, clock: clock)
    }

    /// Another machine: another state directory, the same disk.
    func otherMachine() -> StoreEnvironment {
        Self.environment(state: folder.file("other-state"), random: random, clock: clock)
    }

    static func passphrase(_ text: String = passphrase) throws -> Passphrase {
        var bytes = Array(text.utf8)
        return try Passphrase(typed: &bytes)
    }

    func parameters() -> PasswordParameters {
        PasswordParameters.generate(from: random, memoryKibibytes: 65_536, passCount: 3)
    }

    func create() throws -> Store {
        try Store.create(
            at: storePath, passphrase: Self.passphrase(), parameters: parameters(), deviceName: "laptop",
            environment: environment)
    }

    func open(_ text: String = passphrase, environment: StoreEnvironment? = nil) throws -> Store {
        try Store.open(
            at: storePath, with: .passphrase(Self.passphrase(text)), environment: environment ?? self.environment)
    }
}

/// The machine's disk. Other processes act before something in a folder is looked at.
final class MeanwhileFileSystem: FileSystem, @unchecked Sendable {
    // SAFETY: used by one test on one thread.
    private let below = PosixFileSystem()
    private let folder: String
    /// What they do, one after the other.
    var hooks: [() throws -> Void] = []

    init(_ folder: String) { self.folder = folder }

    func status(_ path: String) throws(FileSystemError) -> FileStatus? {
        if path.hasPrefix(folder), !hooks.isEmpty {
            let hook = hooks.removeFirst()
            do { try hook() } catch { Issue.record(error) }
        }
        return try below.status(path)
    }

    func open(_ path: String, _ opening: FileOpening, mode: UInt32) throws(FileSystemError) -> any OpenFile {
        try below.open(path, opening, mode: mode)
    }
    func makeDirectory(_ path: String, mode: UInt32) throws(FileSystemError) {
        try below.makeDirectory(path, mode: mode)
    }
    func list(_ path: String) throws(FileSystemError) -> [DirectoryEntry] { try below.list(path) }
    func rename(_ path: String, to newPath: String) throws(FileSystemError) { try below.rename(path, to: newPath) }
    func remove(_ path: String) throws(FileSystemError) { try below.remove(path) }
    func removeDirectory(_ path: String) throws(FileSystemError) { try below.removeDirectory(path) }
    func synchronizeDirectory(_ path: String) throws(FileSystemError) { try below.synchronizeDirectory(path) }
}
