// What each import carries: a small export of each program, and what arrives of it. Invariant: Docs/import-export.md has the table
// that this makes, and no other; a value of a sample that is nowhere afterwards is a failure, whatever the table says.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("What imports carry")
struct ImportedTableTests {
    fileprivate struct Arrived {
        let fixture: ImportFixture
        let items: [Item]
        let main: Item

        func item(_ title: String) -> Item? { items.first { $0.title == title } }

        func has(_ field: String, _ value: String, _ kind: FieldKind) -> Bool {
            main.fields.contains { $0.label == field && $0.value == value && $0.kind == kind }
        }

        func hasFile() throws -> Bool {
            try items.filter { !$0.title.hasPrefix("Files of") }.flatMap(\.attachments).contains { file in
                try file.name.hasPrefix("paper")
                    && fixture.content(file.encodedReference)?.starts(with: "paper".utf8) == true
            }
        }

        /// Whether a link of the item leads to the other one.
        func hasLink() -> Bool {
            guard let other = item("Other") else { return false }
            let keys = NoteLink.keys(of: other.id, title: other.title, path: other.path)
            return MarkdownScan(main.text).links.contains { link in
                NoteLink.keys(in: link, from: main.path).contains { keys.contains($0) }
            }
        }

        /// Whether a value is anywhere.
        func holds(_ value: String) throws -> Bool {
            let texts = items.flatMap { item in
                [item.title, item.text, item.path ?? ""] + item.tagPaths + item.fields.flatMap { [$0.label, $0.value] }
                    + item.attachments.map(\.name)
            }
            return texts.contains { $0.contains(value) }
        }
    }

    private static let features: [(name: String, isCarried: @Sendable (Arrived) throws -> Bool)] = [
        ("text", { $0.main.text.contains("words") }),
        (
            "dates",
            {
                $0.main.modified == 1_609_556_645_000
                    && ($0.main.created == 1_577_934_245_000 || $0.main.created == $0.main.modified)
            }
        ),
        ("folders", { $0.main.tagPaths.contains { $0 == "Folder/Inner" || $0 == "Folder" } }),
        ("tags", { $0.main.tagPaths.contains("kitchen") }), ("favourite", { $0.item("Fav")?.isPinned == true }),
        ("archived", { $0.item("Arch")?.isArchived == true }), ("trash", { $0.item("Gone")?.isTrashed == true }),
        (
            "login",
            {
                $0.main.value("username") == "ada" && $0.main.value("password") == "pw"
                    && $0.main.value("url") == "https://a.example"
            }
        ),
        (
            "code",
            {
                $0.main.fields.contains {
                    $0.kind == .oneTimeCode && $0.value.contains("secret=") || $0.value == "JBSWY3DPEHPK3PXP"
                }
            }
        ),
        ("passkeys", { $0.main.fields.contains { $0.kind == .passkey } }),
        ("own fields", { $0.has("Shelf", "left", .text) }),
        (
            "secret ones",
            { $0.main.fields.contains { $0.label.hasPrefix("Door") && $0.value == "4711" && $0.kind == .secret } }
        ),
        (
            "past",
            {
                $0.main.fields.contains {
                    $0.label.hasPrefix("Previous password") && $0.value == "older" && $0.kind == .secret
                }
            }
        ),
        ("files", { try $0.hasFile() }), ("links", { $0.hasLink() }),
        ("tasks", { $0.items.contains { $0.text.contains("- [x] done") } }),
        ("the rest", { try $0.holds("odd value") }),
    ]

    /// Formats of programs that give their items ids.
    private static let naming: Set = [
        "bitwarden", "1pux", "1pif", "keepass-xml", "proton-pass", "dashlane-json", "firefox", "aegis",
        "proton-authenticator",
        "bear", "joplin", "enex", "standard-notes", "notesnook", "simplenote",
    ]

    /// Values that are nowhere lost.
    private static let values = [
        "words", "ada", "left", "4711", "older", "odd value", "https://a.example", "kitchen", "Inner",
    ]

    private static func arrived(_ sample: ImportedSample) throws -> Arrived {
        let folder = try TemporaryFolder()
        let isFile = sample.files[sample.place] != nil
        for (path, text) in sample.files { try folder.write(text, to: isFile ? path : "\(sample.place)/\(path)") }
        let fixture = try ImportFixture()
        let keys = ForeignTrial.keys(nil)
        // The files of a password store stand here as gpg would open them.
        keys.decryptOpenPGP = { $0 }
        let source = try openImportSource(atPath: folder.path + "/" + sample.place)
        let importer = try ImporterRegistry.detect(source)
        #expect(importer.name == sample.format)
        let report = try fixture.vault.importFrom(
            source, with: importer, keys: keys, files: fixture.files, random: fixture.random)
        #expect(report.dropped == 0, "\(sample.format)")
        let items = try ForeignTrial.all(fixture)
        let main = try #require(items.first { $0.title == sample.main }, "\(sample.format): \(items.map(\.title))")
        return Arrived(fixture: fixture, items: items, main: main)
    }

    private static func table() throws -> String {
        var lines = ["| | \(features.map(\.name).joined(separator: " | ")) |"]
        lines.append("|" + String(repeating: " --- |", count: features.count + 1))
        for sample in ImportedSample.all {
            let arrived = try arrived(sample)
            for value in values where sample.files.values.contains(where: { $0.contains(value) }) {
                #expect(try arrived.holds(value), "\(sample.format) loses \(value)")
            }
            let cells = try features.map { try $0.isCarried(arrived) ? "x" : "-" }
            lines.append("| \(sample.program) | \(cells.joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    @Test("the table in Docs says of each import what arrives, and no value is lost")
    func document() throws {
        let made = try Self.table()
        let stated = try GeneratedPart.update(
            "Docs/import-export.md", from: "<!-- ImportedTableTests makes this table. -->\n",
            to: "<!-- End of the imports. -->\n", made)
        #expect(stated == made)
    }

    @Test("each format that is read has a sample in the table, or is one of another's tables")
    func allFormats() {
        let covered = Set(ImportedSample.all.map(\.format))
        // Of these the columns alone differ from one that is there.
        let alike: Set = [
            "items", "keepass-kdbx", "bitwarden-org-csv", "dashlane-payments", "dashlane-ids", "dashlane-personal",
            "dashlane-notes", "passwords-csv",
        ]
        #expect(Set(ImporterRegistry.all.map(\.name)).subtracting(covered) == alike)
    }

    @Test(
        "a second run of each changes nothing, and neither does a later export under another name",
        arguments: 0..<ImportedSample.all.count)
    func again(_ index: Int) throws {
        let sample = ImportedSample.all[index]
        let folder = try TemporaryFolder()
        let fixture = try ImportFixture()
        let isFile = sample.files[sample.place] != nil
        var counts: [Int] = []
        for round in ["first", "second"] {
            // The folder of the first stays: a later export lies beside it.
            let place = isFile ? "\(round)/\(round)-\(sample.place)" : "\(round)-\(sample.place)"
            for (path, text) in sample.files { try folder.write(text, to: isFile ? place : "\(place)/\(path)") }
            for _ in 1...2 {
                let keys = ForeignTrial.keys(nil)
                keys.decryptOpenPGP = { $0 }
                let report = try fixture.vault.importFrom(
                    openImportSource(atPath: folder.path + "/" + place), keys: keys, files: fixture.files,
                    random: fixture.random)
                counts.append(report.imported)
                // Fewer than three items without ids say too little under another name.
                let isKnown = round == "first" || (counts.first ?? 0) >= 3 || Self.naming.contains(sample.format)
                #expect(
                    counts.count == 1 || !isKnown || report.isNothingNew,
                    "\(sample.format), \(place): \(report.imported), \(report.updated)")
            }
        }
        #expect(counts.first ?? 0 > 0)
    }
}
