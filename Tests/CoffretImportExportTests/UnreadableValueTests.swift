// Values that no writer may store: each costs its attribute, is named, and keeps nobody from the rest.

import CoffretBase
import CoffretCore
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Exports of vaults with values that nobody can read")
struct UnreadableValueTests {
    private let folder: TemporaryFolder
    private let fixture: ImportFixture

    init() throws {
        folder = try TemporaryFolder()
        fixture = try ImportFixture()
    }

    private func key(_ id: EntityID, _ attribute: Attribute) -> FactKey { FactKey(entity: id, attribute: attribute) }

    /// Writes a value of form 1 whose frame is none, as a broken or hostile program may.
    private func damage(_ key: FactKey) throws {
        let repository = fixture.vault.repository
        let replaces = try repository.ask { (machine) throws(StorageError) in
            try machine.facts(under: key).keys.sorted()
        }
        let batch = try repository.beginBatch()
        batch.add(Change(key: key, content: .inPlace([1, 9, 255, 255, 255]), replaces: replaces))
        try batch.commit(time: fixture.clock.now)
    }

    @Test("the export of everything leaves them out, names them, and comes back with the same state")
    func everything() throws {
        let vault = fixture.vault
        let note = try vault.create(ItemDraft(text: "# Bad\n\nfirst"))
        _ = try vault.create(ItemDraft(text: "# Good\n\nstays"))
        let past = try vault.create(ItemDraft(text: "# Mended\n\nfirst"))
        try damage(key(past, "text"))
        try vault.update(past) { $0.text = "# Mended\n\nagain" }
        try damage(key(note, "text"))
        try damage(key(note, "path"))
        vault.unreadable.forget()
        #expect(try vault.item(note).unreadableAttributes.sorted() == ["path", "text"])
        #expect(try vault.list(.everything).count == 3)

        let path = folder.path + "/all.json"
        vault.unreadable.forget()
        let report = try vault.exportEverything(to: path, files: fixture.files, time: fixture.clock.now)
        #expect(report.items == 3)
        let named = try vault.unreadableValues()
        #expect(named.first { $0.id == note }?.attributes == ["path", "text"])
        #expect(named.first { $0.id == past }?.attributes == ["text"], "a version of before")
        #expect(named.count == 2)
        let other = try ImportFixture()
        let back = try other.vault.importEverything(fromPath: path, files: other.files)
        #expect(back.stateHash == report.stateHash)
        #expect(try other.vault.item(past).text == "# Mended\n\nagain")
        #expect(try other.vault.item(note).text.isEmpty)
    }

    @Test("a folder of Markdown has all others")
    func markdown() throws {
        let vault = fixture.vault
        let note = try vault.create(ItemDraft(title: "Bad", text: "first"))
        for number in 0..<5 { _ = try vault.create(ItemDraft(text: "# Good \(number)")) }
        try damage(key(note, "text"))
        vault.unreadable.forget()
        let report = try vault.exportMarkdown(to: folder.path + "/out", files: fixture.files)
        #expect(report.notes == 6)
        #expect(try vault.unreadableValues().map(\.attributes) == [["text"]])
        // A new value takes its place.
        try vault.update(note) { $0.text = "second" }
        vault.unreadable.forget()
        #expect(try vault.item(note).text == "second" && vault.unreadableValues().isEmpty)
    }
}
