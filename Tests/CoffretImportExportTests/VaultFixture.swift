// A vault on a real repository in a temporary folder, with its attachments.

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
    let files: SealedFileContentStore
    let attachments: AttachmentStore

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
        attachments = blobs.attachments
        files = SealedFileContentStore(attachments)
        let repository = VaultRepository(backend: blobs, keys: keys, author: author, random: random)
        vault = Vault(
            name: "Personal", repository: repository, clock: clock, random: random, attachments: attachments)
    }

    /// Imports what lies at a path.
    @discardableResult
    func importPath(_ path: String, isDryRun: Bool = false) throws -> ImportReport {
        let source = try openImportSource(atPath: path)
        return try vault.importFrom(source, files: files, random: random, isDryRun: isDryRun)
    }

    /// The content of a file; nil if there is none.
    func content(_ reference: [UInt8]) throws -> [UInt8]? {
        guard files.contains(reference) else { return nil }
        var bytes: [UInt8] = []
        try files.load(reference) { piece in bytes += piece }
        return bytes
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
