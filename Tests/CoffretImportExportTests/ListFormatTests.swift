// Tables of other programs: each column's value is found again, real exports come in whole, and a broken table changes
// nothing.

import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Lists of other programs")
struct ListFormatTests {
    private func importTable(_ text: String, named name: String = "export.csv") throws -> (ImportReport, ImportFixture)
    {
        let fixture = try ImportFixture()
        let folder = try TemporaryFolder()
        let file = try folder.write(Data(text.utf8), to: name)
        return (try fixture.importPath(file.path), fixture)
    }

    /// Everything that an item says, as one text.
    private static func everything(_ item: Item) -> String {
        let fields = item.fields.map { "\($0.label)=\($0.value)" }
        return ([item.title, item.text, "\(item.created)", "\(item.modified)"] + item.tags.map(\.path) + fields)
            .joined(separator: "\n")
    }

    /// A value for a column that stands nowhere else in the row.
    private static func sample(_ meaning: ListFormat.Column?, _ number: Int) -> (value: String, kept: String)? {
        switch meaning {
        case .ignored, .pinned, .archived, .trashed, .kind, .id: nil
        case .created, .modified: nil
        case .addresses: ("https://a\(number).example", "https://a\(number).example")
        case .lines: ("label\(number): value\(number).", "label\(number)=value\(number).")
        case .field("totp"): ("JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXP")
        default: ("value\(number).", "value\(number).")
        }
    }

    @Test("no value of a table is lost, of known columns and of others", arguments: ListFormat.tables.map(\.name))
    func keepsAll(name: String) throws {
        let format = try #require(ListFormat.tables.first { $0.name == name })
        let columns = Set(format.telling).union(format.columns.keys).sorted() + ["A surprise"]
        var cells: [String] = []
        var kept: [String] = []
        for (number, column) in columns.enumerated() {
            let sample = Self.sample(format.columns[column], number)
            cells.append(sample?.value ?? "")
            if let text = sample?.kept { kept.append(text) }
        }
        let table = "\(columns.joined(separator: ","))\r\n\"\(cells.joined(separator: "\",\""))\"\r\n"
        let fixture = try ImportFixture()
        let folder = try TemporaryFolder()
        let path = try folder.write(Data(table.utf8), to: "export.csv").path
        let report = try fixture.vault.importFrom(
            openImportSource(atPath: path), with: TableImporter(format: format), files: fixture.files,
            random: fixture.random)
        #expect(report.imported == 1 && report.dropped == 0)
        let item = try #require(fixture.items().values.first)
        let text = Self.everything(item)
        for value in kept { #expect(text.contains(value), "\(name): \(value)") }
        #expect(text.contains("A surprise=value\(columns.count - 1)."))
        // Secrets stay secrets, whatever the kind of the item.
        for field in item.fields where field.label.asciiLowercased().contains("password") {
            #expect(field.kind.isSecret, "\(name): \(field.label)")
        }
        let again = try fixture.vault.importFrom(
            openImportSource(atPath: path), with: TableImporter(format: format), files: fixture.files,
            random: fixture.random)
        #expect(again.imported == 0 && again.unchanged == 1)
    }

    @Test("the header tells which program it was")
    func recognises() throws {
        for format in ListFormat.tables {
            let folder = try TemporaryFolder()
            let header = format.telling.joined(separator: ",").uppercased()
            let file = try folder.write(Data("\u{FEFF}\(header)\n".utf8), to: "x.csv")
            #expect(try ImporterRegistry.detect(openImportSource(atPath: file.path)).name == format.name)
        }
    }

    @Test("cells with several things in them: LastPass's typed notes, NordPass's own fields and folders")
    func packedCells() throws {
        let (_, lastPass) = try importTable(
            """
            url,username,password,totp,extra,name,grouping,fav
            http://sn,,,,"NoteType:Credit Card
            Language:en-US
            Name on Card:A. Lovelace
            Number:4111
            Expiration Date:May,2028
            Notes:first
            second",Card,Money\\Cards,1
            http://sn,,,,just words,Memo,,0
            """)
        let card = try #require(lastPass.items()["Card"])
        #expect(card.kind == .card && card.isPinned && card.text == "first\nsecond")
        #expect(card.field("number")?.value == "4111" && card.field("expiry")?.value == "05/2028")
        #expect(card.tags.map(\.path) == ["Money/Cards"])
        let memo = try #require(lastPass.items()["Memo"])
        #expect(memo.kind == .note && memo.text == "just words" && memo.fields.isEmpty)

        let (report, nordPass) = try importTable(
            """
            name,url,additional_urls,username,password,note,cardholdername,cardnumber,cvc,pin,expirydate,folder,type,custom_fields
            Bank,,"https://b.example,https://c.example",ada,pw,,,,,,,Business,password,"[{""type"":""hidden"",""label"":""Door"",""value"":""4711""}]"
            Business,,,,,,,,,,,,folder,
            """)
        #expect(report.imported == 1)
        let bank = try #require(nordPass.items()["Bank"])
        #expect(bank.field("url")?.value == "https://b.example")
        #expect(bank.fields.contains { $0.value == "https://c.example" && $0.kind == .url })
        #expect(bank.fields.contains { $0.label == "Door" && $0.value == "4711" && $0.kind == .secret })
        #expect(bank.tags.map(\.path) == ["Business"])
    }

    @Test("a table that is cut short, no text or no table changes nothing (R41)")
    func broken() throws {
        let whole = "name,url,username,password\r\nA,https://a.example,ada,\"p,w\"\r\n"
        for (text, code) in [
            (whole.dropLast(3), ImportExportError.Code.formatTruncated), (whole + "\"x\"y,,,\r\n", .formatTruncated),
            (whole + "\u{0},,,\r\n", .formatInvalid),
            (whole + String(repeating: ",", count: 2_000) + "\r\n", .formatInvalid),
        ] as [(any StringProtocol, ImportExportError.Code)] {
            let fixture = try ImportFixture()
            let folder = try TemporaryFolder()
            let file = try folder.write(Data(String(text).utf8), to: "export.csv")
            let failure = #expect(throws: ImportExportError.self) { try fixture.importPath(file.path) }
            #expect(failure?.code == code)
            #expect(try fixture.commitCount() == 0)
        }
    }

    @Test("flags are words or moments; a word that is neither is kept")
    func flags() throws {
        let (_, fixture) = try importTable(
            """
            folder,favorite,type,name,login_uri,login_password,archivedDate
            ,1,login,A,,pw,2026-01-02T03:04:05Z
            ,0,login,B,,pw,
            ,perhaps,login,C,,pw,
            """)
        let items = try fixture.items()
        #expect(items["A"]?.isPinned == true && items["A"]?.isArchived == true)
        #expect(items["B"]?.isPinned == false && items["B"]?.isArchived == false)
        #expect(items["C"]?.fields.contains { $0.label == "favorite" && $0.value == "perhaps" } == true)
    }

    @Test("a quote that is not doubled is taken, and said")
    func looseQuotes() throws {
        let (report, fixture) = try importTable("name,url,username,password\r\n\"a \"b\" c\",,ada,pw\r\n")
        #expect(report.imported == 1 && report.warnings.contains { $0.contains("not doubled") })
        #expect(try fixture.items()["a \"b\" c"]?.field("username")?.value == "ada")
    }

    /// File, format, items, and what one of them has.
    static let real: [(path: String, format: String, count: Int, title: String, field: String, value: String)] = [
        ("1password/1password8.csv", "1password-csv", 14, "aib", "username", "dpbx@fner.ws"),
        (
            "apple-passwords/simplePasswordData.csv", "apple-passwords", 1, "example.com (example_user)", "password",
            "example_p@ssword"
        ),
        (
            "apple-passwords/oldSimplePasswordData.csv", "passwords-csv", 1, "example.com (example_user)", "url",
            "https://example.com"
        ),
        ("bitwarden/bitwarden.csv", "bitwarden-csv", 12, "TutaNota3", "url", "https://www.aliasvault.com"),
        ("chrome/chrome.csv", "browser", 14, "mastodon.social", "username", "ostqxi"),
        ("chrome/edge.csv", "browser", 4, "example.com", "username", "Username"),
        ("dashlane/credentials.csv", "dashlane", 1, "example.com", "password", "somePassword"),
        ("dashlane/payments.csv", "dashlane-payments", 2, "John Doe", "expiry", "01/2023"),
        ("dashlane/id.csv", "dashlane-ids", 5, "passport", "", "123123123"),
        ("dashlane/personalInfo.csv", "dashlane-personal", 5, "Johns email", "email", "jdoe@example.com"),
        ("dashlane/securenotes.csv", "dashlane-notes", 1, "01", "", ""),
        ("firefox/firefox.csv", "firefox", 14, "mastodon.social", "username", "ostqxi"),
        ("firefox/firefoxAccountsData.csv", "firefox", 2, "example.com", "password", "bar"),
        ("keepass/keepass.csv", "keepass-csv", 14, "mastodon.social", "url", "https://mastodon.social/"),
        (
            "keepass/keepass_special_chars.csv", "keepass-csv", 3, "Entry with \"notes\" special chars", "password",
            "DVfIsb4TGkL7oKCwyiet"
        ),
        ("keepass/keepassx2.csv", "keepassx-csv", 14, "dpbx@klivak.xb", "password", "2cUqe}e9}>IVZf)Ye>3C8ZN,r"),
        ("lastpass/lastpass.csv", "lastpass", 5, "Paymentcard1", "expiry", "05/2008"),
        ("lastpass/lastpass-no-totp.csv", "lastpass", 4, "foo.com", "username", "user@foo.com"),
        ("other-csv/nordpass.csv", "nordpass", 4, "Creditcard Visa", "number", "1234123412341234123"),
        ("other-csv/strongbox.csv", "strongbox", 6, "Sample", "password", "&3V_$z?Aiw-_x+nbYj"),
    ]

    @Test(
        "real exports come in with all items, a second time nothing does",
        .enabled(if: SharedData.isAvailable, "needs ../shared"), arguments: real.indices)
    func realExports(index: Int) throws {
        let sample = Self.real[index]
        let folder = try #require(SharedData.root)
        let path = folder.appendingPathComponent("data/imports/" + sample.path).path
        let source = try openImportSource(atPath: path)
        #expect(try ImporterRegistry.detect(source).name == sample.format)
        let fixture = try ImportFixture()
        let report = try fixture.importPath(path)
        #expect(report.imported == sample.count && report.dropped == 0, "\(sample.path): \(report)")
        var found: Item?
        try fixture.vault.present.forEachItem { if $0.title == sample.title { found = $0 } }
        let item = try #require(found)
        if sample.field.isEmpty {
            #expect(sample.value.isEmpty || item.fields.contains { $0.value == sample.value })
        } else {
            #expect(item.field(sample.field)?.value == sample.value)
        }
        let commits = try fixture.commitCount()
        #expect(try fixture.importPath(path).unchanged == sample.count)
        #expect(try fixture.commitCount() == commits)
    }
}

extension Item {
    fileprivate func field(_ name: String) -> ItemField? { fields.first { $0.key.name == name } }
}
