// What each export carries: out of one vault, into another, and looked at there. Invariant: Docs/import-export.md has the table that
// this makes, and no other.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("What exports carry")
struct CarriedTableTests {
    /// The vault that goes out.
    private struct World {
        let fixture: ImportFixture
        let note: EntityID

        static let (created, modified): (Milliseconds, Milliseconds) = (1_600_000_000_000, 1_650_000_000_000)
        static let noteText = "# Plain\n\nwords, and a [link](coffret:%)\n"

        init() throws {
            fixture = try ImportFixture()
            let vault = fixture.vault
            var target = ItemDraft(text: "# Target\n\naim\n")
            (target.created, target.modified) = (Self.created, Self.modified)
            let id = try vault.create(target)
            var plain = ItemDraft(text: Self.noteText.replacing("%", with: id.uuid.hex))
            plain.tags = [try TagPath("garden/beds"), try TagPath("kitchen")]
            (plain.created, plain.modified) = (Self.created, Self.modified)
            note = try vault.create(plain)
            try fixture.attach(Array("paper".utf8), named: "paper.txt", to: note)
            for (title, change) in [
                ("Pinned", { $0.isPinned = true }), ("Archived", { $0.isArchived = true }),
                ("Trashed", { $0.isTrashed = true }),
            ] as [(String, (inout ItemDraft) -> Void)] {
                var draft = ItemDraft(text: "# \(title)\n")
                change(&draft)
                _ = try vault.create(draft)
            }
            try makeLogin()
            var card = ItemDraft(kind: .card, title: "Card")
            card.fields = ItemKind.card.standardFields.map {
                ItemField(key: $0.key, label: $0.label, kind: $0.kind, value: "value of \($0.key.name)")
            }
            _ = try vault.create(card)
            // A past beside the present.
            _ = try vault.update(id) { $0.text += "more\n" }
        }

        private func makeLogin() throws {
            var login = ItemDraft(kind: .login, title: "Shop", text: "about the shop")
            login.tags = [try TagPath("money/shops"), try TagPath("kitchen")]
            let standard = [
                ("username", "ada"), ("password", "pw"), ("url", "https://a.example"), ("totp", "JBSWY3DPEHPK3PXP"),
            ]
            login.fields = try standard.map { try #require(ItemField(standard: $0.0, of: .login, value: $0.1)) }
            let others: [(String, FieldKind, String)] = [
                ("Website", .url, "https://b.example"), ("Shelf", .text, "left"), ("Door", .secret, "4711"),
                ("Mail", .email, "a@b.example"), ("Poem", .text, "roses\nviolets"),
                ("Passkey of a.example", .passkey, #"{"KPEX_PASSKEY_RELYING_PARTY":"a.example"}"#),
                ("Previous password, until 2020-01-02", .secret, "older"),
            ]
            for (index, field) in others.enumerated() {
                login.fields.append(
                    ItemField(listed: field.0, kind: field.1, value: field.2, position: UInt32(index) + 1))
            }
            (login.created, login.modified) = (Self.created, Self.modified)
            let id = try fixture.vault.create(login)
            try fixture.attach(Array("key".utf8), named: "key.txt", to: id)
        }
    }

    /// The vault that it came into.
    fileprivate struct Arrived {
        let fixture: ImportFixture
        let items: [Item]

        func item(_ title: String) -> Item? { items.first { $0.title == title } }

        func has(_ field: String, _ value: String, _ kind: FieldKind? = nil, in title: String = "Shop") -> Bool {
            let fields = item(title)?.fields ?? []
            return fields.contains {
                ($0.label == field || $0.key.name == field) && $0.value == value && (kind ?? $0.kind) == $0.kind
            }
        }

        func has(_ text: String, as name: String, in title: String) throws -> Bool {
            guard let file = item(title)?.attachments.first(where: { $0.name == name }) else { return false }
            return try fixture.content(file.encodedReference) == Array(text.utf8)
        }

        /// Whether the note's link leads to the other note.
        func hasLink() -> Bool {
            guard let note = item("Plain"), let target = item("Target"),
                let link = MarkdownScan(note.text).links.first
            else { return false }
            let keys = NoteLink.keys(of: target.id, title: target.title, path: target.path)
            return NoteLink.keys(in: link, from: note.path).contains { keys.contains($0) }
        }
    }

    private static let features: [(name: String, isCarried: @Sendable (Arrived) throws -> Bool)] = [
        ("text of notes", { $0.item("Plain")?.text.contains("words, and a [link](") == true }),
        ("text of other items", { $0.item("Shop")?.text == "about the shop" }),
        (
            "times of notes",
            { $0.item("Plain")?.created == World.created && $0.item("Plain")?.modified == World.modified }
        ),
        (
            "times of other items",
            { $0.item("Shop")?.created == World.created && $0.item("Shop")?.modified == World.modified }
        ),
        ("first tag of notes, as a folder", { $0.item("Plain")?.tagPaths.contains("garden/beds") == true }),
        ("further tags of notes", { $0.item("Plain")?.tagPaths.contains("kitchen") == true }),
        ("tags of other items", { Set($0.item("Shop")?.tagPaths ?? []) == ["kitchen", "money/shops"] }),
        ("pinned", { $0.item("Pinned")?.isPinned == true }),
        ("archived", { $0.item("Archived")?.isArchived == true }),
        ("trash", { $0.item("Trashed")?.isTrashed == true }),
        (
            "user name, password, address",
            { $0.has("username", "ada") && $0.has("password", "pw", .secret) && $0.has("url", "https://a.example") }
        ),
        ("one-time code", { $0.has("totp", "JBSWY3DPEHPK3PXP", .oneTimeCode) }),
        ("further addresses", { $0.has("Website", "https://b.example", .url) }),
        ("own fields", { $0.has("Shelf", "left", .text) }),
        ("own secret fields, as secrets", { $0.has("Door", "4711", .secret) }),
        ("kinds of own fields", { $0.has("Mail", "a@b.example", .email) }),
        ("fields of several lines", { $0.has("Poem", "roses\nviolets") }),
        ("passkeys", { $0.has("Passkey of a.example", #"{"KPEX_PASSKEY_RELYING_PARTY":"a.example"}"#, .passkey) }),
        ("earlier passwords", { $0.has("Previous password, until 2020-01-02", "older", .secret) }),
        (
            "cards and other kinds",
            { arrived in
                arrived.item("Card")?.kind == .card
                    && ItemKind.card.standardFields.allSatisfy {
                        arrived.has($0.key.name, "value of \($0.key.name)", $0.kind, in: "Card")
                    }
            }
        ),
        ("files of notes", { try $0.has("paper", as: "paper.txt", in: "Plain") }),
        ("files of other items", { try $0.has("key", as: "key.txt", in: "Shop") }),
        ("links between notes", { $0.hasLink() }),
        ("earlier versions", { try $0.hasPast() }),
    ]

    private typealias Export = @Sendable (Vault, String, ImportFixture) throws -> Void

    private static let formats: [(name: String, write: Export, read: @Sendable (String) throws -> ImportFixture)] = [
        ("JSON", { _ = try $0.exportEverything(to: $1, files: $2.files, time: 0) }, { try full($0) }),
        ("Markdown", { _ = try $0.exportMarkdown(to: $1, files: $2.files) }, { try ForeignTrial($0).fixture }),
        ("TextBundle", { _ = try $0.exportTextBundles(to: $1, files: $2.files) }, { try ForeignTrial($0).fixture }),
        ("Bitwarden", { vault, path, _ in _ = try vault.exportBitwarden(to: path) }, { try ForeignTrial($0).fixture }),
        (
            "KDBX",
            { vault, path, fixture in
                var password = Array("x".utf8)
                _ = try vault.exportKDBX(
                    to: path, password: SecretBytes(consuming: &password),
                    costs: KDBXCosts(memoryByteCount: 8 << 20, passCount: 1), files: fixture.files)
            }, { try ForeignTrial($0, password: "x").fixture }
        ),
        ("CSV", { vault, path, _ in _ = try vault.exportTable(to: path) }, { try ForeignTrial($0).fixture }),
    ]

    private static func full(_ path: String) throws -> ImportFixture {
        let fixture = try ImportFixture()
        _ = try fixture.vault.importEverything(fromPath: path, files: fixture.files)
        return fixture
    }

    /// The table as it follows from what arrives.
    private static func table() throws -> String {
        let world = try World()
        let folder = try TemporaryFolder()
        var columns: [[Bool]] = []
        for (name, write, read) in formats {
            let suffix = ["KDBX": ".kdbx", "CSV": ".csv", "Bitwarden": ".json", "JSON": ".json"][name] ?? ""
            let path = folder.url.appendingPathComponent(name + suffix).path
            try write(world.fixture.vault, path, world.fixture)
            let fixture = try read(path)
            let arrived = Arrived(fixture: fixture, items: try ForeignTrial.all(fixture))
            columns.append(try features.map { try $0.isCarried(arrived) })
        }
        var lines = ["| | \(formats.map(\.name).joined(separator: " | ")) |"]
        lines.append("|" + String(repeating: " --- |", count: formats.count + 1))
        for (index, feature) in features.enumerated() {
            lines.append("| \(feature.name) | \(columns.map { $0[index] ? "x" : "-" }.joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    @Test("the table in Docs says of each export what arrives in another vault")
    func document() throws {
        let made = try Self.table()
        let stated = try GeneratedPart.update(
            "Docs/import-export.md", from: "<!-- CarriedTableTests makes this table. -->\n",
            to: "<!-- End of the table. -->\n", made)
        #expect(stated == made)
        // The one that is for coming back carries all.
        #expect(
            !made.split(separator: "\n").dropFirst(2).contains { $0.split(separator: "|").dropFirst().first == " - " })
    }
}

extension CarriedTableTests.Arrived {
    fileprivate func hasPast() throws -> Bool {
        guard let target = item("Target") else { return false }
        return try fixture.vault.history(of: target.id).count > 1
    }
}
