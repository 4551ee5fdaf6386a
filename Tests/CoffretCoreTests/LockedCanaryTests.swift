// What is left of a note after it was locked and its past removed: nothing that the vault's keys open.

import CoffretBase
import CoffretCrypto
import CoffretLogs
import CoffretSQLite
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCore
@testable import CoffretSearch

@Suite("Traces of locked notes")
struct LockedCanaryTests {
    private static let canary = "xylophonistically"

    /// All bytes below a folder.
    private func files(below path: String) throws -> [Data] {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.compactMap { FileManager.default.contents(atPath: path + "/" + $0) }.filter { !$0.isEmpty }
    }

    /// Whether a word stands in any row of any table of the opened index.
    private func indexHolds(_ word: String, _ fixture: VaultFixture) throws -> Bool {
        let index = try SearchIndex(
            directory: fixture.folder.file("search"), key: fixture.keys.searchKey, vaultID: fixture.keys.vaultID,
            fileSystem: PosixFileSystem(), random: fixture.random)
        let needle = Data(word.utf8)
        return try index.database.read { connection throws(SQLiteError) in
            var tables: [String] = []
            try connection.forEachRow(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
            ) {
                row throws(SQLiteError) in tables.append(row.string(at: 0))
            }
            var isThere = false
            for table in tables {
                var columns: [String] = []
                try connection.forEachRow("SELECT name FROM pragma_table_info('\(table)')") {
                    row throws(SQLiteError) in columns.append(row.string(at: 0))
                }
                for column in columns {
                    try connection.forEachRow("SELECT CAST(\"\(column)\" AS BLOB) FROM \"\(table)\"") {
                        row throws(SQLiteError) in
                        if Data(row.bytes(at: 0)).range(of: needle) != nil { isThere = true }
                    }
                }
            }
            return isThere
        }
    }

    @Test("after --purge-history no file holds a readable version, and the index no word of it")
    func nothingLeft() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let kept = try vault.create(ItemDraft(text: "stays, with its history"))
        let short = try vault.create(ItemDraft(text: "# Short\n\n\(Self.canary)"))
        let long = try vault.create(
            ItemDraft(text: "# Long\n\n" + (0..<4_000).map { "\($0) \(Self.canary)\n" }.joined()))
        try LockedNoteTests.attach(Array("file \(Self.canary)".utf8), "\(Self.canary).txt", to: long, vault)
        fixture.nextDay()
        try vault.update(short) { $0.text += " and more" }
        #expect(try vault.search(Self.canary).totalCount == 2)
        #expect(try indexHolds(Self.canary, fixture), "the word must be found before, or this test shows nothing")
        // Everything that is stored now, as it is stored: entries, values.
        let repository = vault.repository
        func names() throws -> Set<BlobName> {
            var names: Set<BlobName> = []
            var walk = try repository.walk()
            while let entry = try walk.next() { names.formUnion(try repository.blobNames(of: entry)) }
            return names
        }
        let before = Array(try names())
        let readable = try before.map { Data(try repository.exchange.sealedBlob($0).bytes) }
        let clearFile = try #require(try vault.item(long).attachments.first)
        let reference = try AttachmentReference.parse(clearFile.encodedReference)

        try vault.lockNotes([short, long], with: quickRecord("p"))
        let plan = try #require(try vault.forgettingPlan(for: [short, long]))
        #expect(plan.versionCount == 4 && plan.removedCount == 5)
        #expect(plan.keptCount == 1)
        let report = try vault.forget(plan)
        #expect(report.removedCount == 5 && report.removedFileCount == 1)
        #expect(report.link != nil)
        #expect(try vault.forgettingPlan(for: [short, long]) == nil)

        #expect(try !indexHolds(Self.canary, fixture))
        #expect(try !vault.contents().containsFile(reference.fileID))
        // No entry and no value from before is there any more, not even as ciphertext that nothing names.
        let all = try files(below: fixture.folder.file("vault"))
        let left = try names()
        var goneCount = 0
        for (name, bytes) in zip(before, readable) where !left.contains(name) {
            goneCount += 1
            for file in all { #expect(file.range(of: bytes) == nil) }
        }
        #expect(goneCount > 3)
        // What is kept holds the text nowhere: neither the present nor any state of the past.
        for line in try vault.log() {
            for id in [short, long] {
                let item = try vault.view(at: line.commit).item(id)
                #expect(item?.isSealed ?? true)
                #expect(item?.text.isEmpty ?? true)
            }
        }
        var facts = try vault.present.snapshot.walk(withPrefix: [])
        while let fact = try facts.next() {
            let value = try vault.present.snapshot.value(of: fact)
            #expect(Data(value).range(of: Data(Self.canary.utf8)) == nil)
        }
        #expect(try vault.item(kept).text == "stays, with its history")
        #expect(try vault.check().isClean)
    }
}
