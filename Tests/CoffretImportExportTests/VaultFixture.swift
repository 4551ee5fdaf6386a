// A vault on a real repository in a temporary folder, and contents of files in memory.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretSearch
import CoffretStorage
import CoffretTestSupport

@testable import CoffretImportExport

/// One store of one vault, without a keyring.
final class ImportFixture {
    let folder: TemporaryDirectory
    let random: SeededGenerator
    let clock = ManualClock()
    let vault: Vault
    let files = MemoryFileContentStore()

    init() throws {
        folder = try TemporaryDirectory("vault")
        random = SeededGenerator.fromEnvironment()
        guard let id = VaultID(random.bytes(count: 32)) else { preconditionFailure("32 bytes are an id") }
        let keys = VaultKeys.generate(vaultID: id, from: random)
        let author = CommitAuthor(
            signingKey: SigningKey.generate(from: random), deviceID: random.bytes(count: 16),
            instanceID: UniqueID.generate(from: random), accountID: random.bytes(count: 32),
            deviceChainHead: random.bytes(count: 32), memberChainHead: random.bytes(count: 32))
        let environment = StorageEnvironment(fileSystem: PosixFileSystem(), random: random, clock: clock)
        let blobs = try BlobStore.create(directory: folder.file("vault"), keys: keys, environment: environment)
        let repository = VaultRepository(backend: blobs, keys: keys, author: author, random: random)
        vault = Vault(name: "Personal", repository: repository, clock: clock, random: random)
    }

    /// Imports what lies at a path.
    @discardableResult
    func importPath(_ path: String, isDryRun: Bool = false) throws -> ImportReport {
        let source = try openImportSource(atPath: path)
        return try vault.importFrom(source, files: files, random: random, isDryRun: isDryRun)
    }

    /// Commits of the vault, the newest first.
    func commitCount() throws -> Int {
        var cursor = try vault.repository.log()
        var count = 0
        while try cursor.next() != nil { count += 1 }
        return count
    }

    /// All items by their path, or by their title without one.
    func items() throws -> [String: Item] {
        var items: [String: Item] = [:]
        try vault.present.forEachItem { items[$0.path ?? $0.title] = $0 }
        return items
    }
}

/// Contents of files, kept in memory.
final class MemoryFileContentStore: FileContentStore {
    private(set) var contents: [[UInt8]: [UInt8]] = [:]

    func store(
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) -> StoredFile {
        var bytes: [UInt8] = []
        try produce { piece in bytes += piece }
        let reference = Array("reference \(contents.count)".utf8)
        contents[reference] = bytes
        return StoredFile(byteCount: bytes.count, contentHash: BLAKE2b.hash(bytes), encodedReference: reference)
    }

    func load(
        _ encodedReference: [UInt8], _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        guard let bytes = contents[encodedReference] else {
            throw ImportExportError(.vaultFailed, at: "no such content")
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            try body(rest.prefix(1_000))
            rest = rest.dropFirst(1_000)
        }
    }

    func contains(_ encodedReference: [UInt8]) -> Bool { contents[encodedReference] != nil }

    func description(of encodedReference: [UInt8]) -> (byteCount: Int, contentHash: [UInt8])? {
        contents[encodedReference].map { ($0.count, BLAKE2b.hash($0)) }
    }
}
