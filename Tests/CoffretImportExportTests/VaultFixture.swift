// A vault on a real repository in a temporary folder, with its attachments.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretLogs
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import CoffretVaultSupport

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
        let account = try TestAccount(random: random, clock: clock)
        let keys = account.makeKeys()
        let repository = try account.create(at: folder.file("vault"), keys: keys, isText: ItemTexts.isText)
        attachments = AttachmentStore(directory: folder.file("vault"), keys: keys, environment: account.environment)
        files = SealedFileContentStore(attachments)
        vault = Vault(
            name: "Personal", repository: repository, clock: clock, random: random, attachments: attachments)
        vault.writeCheckpoint = { purges, frontier in
            try account.writeCheckpoint(in: repository, purges: purges, upTo: frontier)
        }
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

    /// How many entries the vault has.
    func commitCount() throws -> Int { try vault.repository.entryCount() }

    /// All items by their path, or by their title without one.
    func items() throws -> [String: Item] {
        var items: [String: Item] = [:]
        try vault.present.forEachItem { items[$0.path ?? $0.title] = $0 }
        return items
    }
}
