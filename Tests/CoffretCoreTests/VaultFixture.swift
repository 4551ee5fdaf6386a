// A vault on a real repository in a temporary folder, with keys made directly and a clock that tests turn.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretSearch
import CoffretStorage
import CoffretTestSupport

/// One store of one vault, without a keyring.
final class VaultFixture {
    let folder: TemporaryDirectory
    let random: SeededGenerator
    let clock = ManualClock()
    let keys: VaultKeys
    let author: CommitAuthor
    let vault: Vault

    init() throws {
        folder = try TemporaryDirectory("vault")
        random = SeededGenerator.fromEnvironment()
        guard let id = VaultID(random.bytes(count: 32)) else { preconditionFailure("32 bytes are an id") }
        keys = VaultKeys.generate(vaultID: id, from: random)
        author = CommitAuthor(
            signingKey: SigningKey.generate(from: random), deviceID: random.bytes(count: 16),
            instanceID: UniqueID.generate(from: random), accountID: random.bytes(count: 32),
            deviceChainHead: random.bytes(count: 32), memberChainHead: random.bytes(count: 32))
        let environment = StorageEnvironment(fileSystem: PosixFileSystem(), random: random, clock: clock)
        let blobs = try BlobStore.create(directory: folder.file("vault"), keys: keys, environment: environment)
        let repository = VaultRepository(backend: blobs, keys: keys, author: author, random: random)
        let openIndex = Self.indexOpener(folder.file("search"), keys, random)
        vault = Vault(
            name: "Personal", repository: repository, clock: clock, random: random, attachments: blobs.attachments,
            openIndex: openIndex)
    }

    private static func indexOpener(
        _ directory: String, _ keys: VaultKeys, _ random: SeededGenerator
    ) -> @Sendable () throws(SearchError) -> SearchIndex {
        { () throws(SearchError) in
            try SearchIndex(
                directory: directory, key: keys.searchKey, vaultID: keys.vaultID, fileSystem: PosixFileSystem(),
                random: random)
        }
    }

    /// The same vault as another process would open it to read.
    ///
    /// - Parameter hasIndex: whether it may use the index.
    func reopened(hasIndex: Bool = true) throws -> Vault {
        let environment = StorageEnvironment(fileSystem: PosixFileSystem(), random: random, clock: clock)
        let blobs = try BlobStore.open(
            directory: folder.file("vault"), keys: keys, environment: environment, mode: .readOnly)
        let repository = VaultRepository(backend: blobs, keys: keys, author: nil, random: random)
        return Vault(
            name: "Personal", repository: repository, clock: clock, random: random, attachments: blobs.attachments,
            openIndex: hasIndex ? Self.indexOpener(folder.file("search"), keys, random) : nil)
    }

    /// Lets a day pass.
    func nextDay() { clock.advance(by: CivilTime.millisecondsPerDay) }
}

extension Vault {
    /// The newest commit.
    var lastCommit: CommitSummary? {
        get throws {
            var cursor = try repository.log()
            return try cursor.next()
        }
    }
}
