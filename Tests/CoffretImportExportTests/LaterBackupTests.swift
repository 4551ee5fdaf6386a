// Backups of one program at two times, under two names: the later one brings in what changed, and another person's brings in all.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Later backups")
struct LaterBackupTests {
    let folder: TemporaryFolder
    let fixture: ImportFixture

    init() throws {
        folder = try TemporaryFolder()
        fixture = try ImportFixture()
    }

    private func bear(_ backup: String, _ notes: [(id: String, title: String, text: String)]) throws -> ImportReport {
        for note in notes {
            let members = "{\"uniqueIdentifier\":\"\(note.id)\"}"
            let bundle = "\(backup).bear2bk/\(note.title).textbundle"
            try folder.write("# \(note.title)\n\n\(note.text)\n\n![](assets/a.bin)\n", to: bundle + "/text.md")
            try folder.write("file of \(note.id)", to: bundle + "/assets/a.bin")
            try folder.write("{\"version\":2,\"net.shinyfrog.bear\":\(members)}", to: bundle + "/info.json")
        }
        return try fixture.importPath("\(folder.path)/\(backup).bear2bk")
    }

    @Test("Bear: what changed, what is new and what has another title, while the earlier backup still lies there")
    func bear() throws {
        let first = try bear("monday", [("A", "Apples", "one"), ("B", "Beans", "one"), ("C", "Corn", "one")])
        #expect(first.imported == 3)
        let later = try bear(
            "tuesday",
            [("A", "Apples", "two"), ("B", "Bush beans", "one"), ("D", "Dill", "one"), ("E", "Endives", "x")])
        // The note and its file.
        #expect((later.imported, later.updated, later.missing) == (2, 2, 2))
        #expect(later.attachments == 2 && later.attachmentsUnchanged == 2)
        let items = try ForeignTrial.all(fixture)
        #expect(items.map(\.title).sorted() == ["Apples", "Bush beans", "Corn", "Dill", "Endives"])
        #expect(items.first { $0.title == "Apples" }?.text.contains("two") == true)
        #expect(items.allSatisfy { $0.attachments.count == 1 })
        // And the earlier one again brings its texts back as it always did, and no second note.
        #expect(try fixture.importPath(folder.path + "/monday.bear2bk").imported == 0)
    }

    @Test("Bear: notes of somebody else under the same titles come in beside")
    func another() throws {
        _ = try bear("mine", [("A", "Apples", "one"), ("B", "Beans", "one"), ("C", "Corn", "one")])
        let report = try bear("yours", [("X", "Apples", "two"), ("Y", "Beans", "two"), ("Z", "Corn", "two")])
        #expect((report.imported, report.updated, report.conflicts) == (3, 0, 0))
    }

    private func bitwarden(_ items: [(id: String, password: String)]) -> String {
        let list = items.map { item in
            "{\"id\":\"\(item.id)\",\"type\":1,\"name\":\"Site \(item.id)\","
                + "\"login\":{\"username\":\"u\",\"password\":\"\(item.password)\"}}"
        }
        return "{\"encrypted\":false,\"folders\":[],\"items\":[\(list.joined(separator: ","))]}"
    }

    @Test("Bitwarden: a file with the next day in its name")
    func bitwarden() throws {
        try folder.write(bitwarden([("1", "a"), ("2", "b"), ("3", "c")]), to: "bitwarden_export_1.json")
        try folder.write(bitwarden([("1", "a"), ("2", "new"), ("4", "d")]), to: "bitwarden_export_2.json")
        try folder.write(bitwarden([("7", "a"), ("8", "b")]), to: "bitwarden_export_3.json")
        #expect(try fixture.importPath(folder.path + "/bitwarden_export_1.json").imported == 3)
        let later = try fixture.importPath(folder.path + "/bitwarden_export_2.json")
        #expect((later.imported, later.updated, later.unchanged) == (1, 1, 1))
        #expect(try fixture.importPath(folder.path + "/bitwarden_export_2.json").isNothingNew)
        let other = try fixture.importPath(folder.path + "/bitwarden_export_3.json")
        #expect((other.imported, other.updated) == (2, 0))
        #expect(try ForeignTrial.all(fixture).count == 6)
    }

    @Test("a table without ids: known by nine tenths of its entries, and not by a few names that are the same")
    func table() throws {
        func table(_ range: Range<Int>, _ password: String) -> String {
            "name,url,username,password,note\n"
                + range.map { "Site \($0),https://\($0).example,ada,\($0 == 0 ? password : "pw"),\n" }.joined()
        }
        try folder.write(table(0..<20, "one"), to: "Passwords.csv")
        try folder.write(table(0..<21, "two"), to: "Passwords (1).csv")
        try folder.write(table(15..<35, "three"), to: "of-somebody-else.csv")
        #expect(try fixture.importPath(folder.path + "/Passwords.csv").imported == 20)
        let later = try fixture.importPath(folder.path + "/Passwords (1).csv")
        #expect((later.imported, later.updated, later.unchanged) == (1, 1, 19))
        #expect(try fixture.importPath(folder.path + "/of-somebody-else.csv").imported == 20)
    }
}
