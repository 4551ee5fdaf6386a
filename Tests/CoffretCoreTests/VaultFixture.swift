// A vault on a real repository in a temporary folder, with keys made directly and a clock that tests turn.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import CoffretVaultSupport

@testable import CoffretCore

/// One store of one vault, without a keyring.
final class VaultFixture {
    let folder: TemporaryDirectory
    let random: SeededGenerator
    let clock = ManualClock()
    let keys: VaultKeys
    let account: TestAccount
    let vault: Vault

    init() throws {
        folder = try TemporaryDirectory("vault")
        random = SeededGenerator.fromEnvironment()
        account = try TestAccount(random: random, clock: clock)
        keys = account.makeKeys()
        let repository = try account.create(at: folder.file("vault"), keys: keys, isText: ItemTexts.isText)
        let attachments = AttachmentStore(
            directory: folder.file("vault"), keys: keys, environment: account.environment)
        let openIndex = Self.indexOpener(folder.file("search"), keys, random)
        vault = Vault(
            name: "Personal", repository: repository, clock: clock, random: random, attachments: attachments,
            openIndex: openIndex)
        let account = account
        vault.writeCheckpoint = { purges, frontier in
            try account.writeCheckpoint(in: repository, purges: purges, upTo: frontier)
        }
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
        let repository = try account.open(at: folder.file("vault"), keys: keys, isText: ItemTexts.isText)
        let attachments = AttachmentStore(
            directory: folder.file("vault"), keys: keys, environment: account.environment)
        return Vault(
            name: "Personal", repository: repository, clock: clock, random: random, attachments: attachments,
            openIndex: hasIndex ? Self.indexOpener(folder.file("search"), keys, random) : nil)
    }

    /// Lets a day pass.
    func nextDay() { clock.advance(by: CivilTime.millisecondsPerDay) }
}

extension Vault {
    /// The newest entry.
    var lastEntry: VerifiedEntry? {
        get throws {
            var walk = try repository.walk()
            return try walk.next()
        }
    }
}
