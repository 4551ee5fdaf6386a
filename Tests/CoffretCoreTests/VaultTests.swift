// Items in a vault: made, changed, found, tagged, thrown away; always over a real repository.

import CoffretBase
import CoffretCore
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite("Vault")
struct VaultTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }

    init() throws { fixture = try VaultFixture() }

    func note(_ text: String, tags: [String] = []) throws -> EntityID {
        try vault.create(ItemDraft(text: text, tags: tags.map { try TagPath($0) }))
    }

    @Test("a note reads back as it was written, also after the vault is opened anew")
    func roundTrip() throws {
        let text = "# Tomatoes\nsecond sowing #garden/beds\n" + String(repeating: "a long line of text. ", count: 500)
        let id = try note(text, tags: ["2024"])
        for vault in [vault, try fixture.reopened()] {
            let item = try vault.item(id)
            #expect(item.text == text)
            #expect(item.title == "Tomatoes")
            #expect(item.tags.map(\.path) == ["2024", "garden/beds"])
            #expect(item.created == fixture.clock.now && item.modified == fixture.clock.now)
            #expect(item.conflicts.isEmpty && item.unreadableAttributes.isEmpty)
        }
    }

    @Test("a login has its fields in order, whatever the order of writing, and its own ones behind")
    func login() throws {
        var draft = ItemDraft(kind: .login, title: "Example")
        let own = FieldKey.generate(from: fixture.random)
        draft.fields = [
            ItemField(key: own, label: "Recovery code", kind: .secret, value: "1234", position: 1),
            try #require(ItemField(standard: "password", of: .login, value: "s3cret")),
            try #require(ItemField(standard: "username", of: .login, value: "alice")),
        ]
        let id = try vault.create(draft)
        let item = try fixture.reopened().item(id)
        #expect(item.fields.map(\.label) == ["Username", "Password", "Recovery code"])
        #expect(try item.field(named: "password").value == "s3cret")
        #expect(try item.field(named: "recovery CODE").key == own)
        #expect(throws: CoreError.self) { try item.field(named: "pin") }
    }

    @Test("an update writes one entry with only the facts that changed")
    func minimalUpdates() throws {
        let id = try note("# A\ntext")
        fixture.nextDay()
        #expect(try vault.update(id) { $0.text += "\nmore" })
        let changes = try vault.repository.changes(of: #require(try vault.lastEntry))
        #expect(changes.map { $0.key.attribute.name } == ["modified", "text"])
        let last = try vault.lastEntry
        #expect(try !vault.update(id) { $0.text += "" })
        #expect(try vault.lastEntry == last, "an update without effect makes no entry")
        let item = try vault.item(id)
        #expect(item.modified == fixture.clock.now && item.created < item.modified)
    }

    @Test("an update that throws, or breaks a limit, changes nothing")
    func failedUpdates() throws {
        let id = try note("text")
        let last = try vault.lastEntry
        let limits: [(inout Item) -> Void] = [
            { $0.givenTitle = String(repeating: "x", count: 1_025) }, { $0.givenTitle = "two\nlines" },
            { $0.fields = [ItemField(key: FieldKey("a")!, label: "", kind: .text, value: "")] },
            { item in
                let field = ItemField(key: FieldKey("a")!, label: "A", kind: .text, value: "")
                item.fields = [field, field]
            },
            { $0.path = String(repeating: "p", count: 4_097) },
        ]
        for breakLimit in limits {
            #expect(throws: CoreError.self) { try vault.update(id) { breakLimit(&$0) } }
        }
        #expect(throws: CoreError(.itemNotFound, at: "x")) {
            try vault.batch { batch in
                try batch.update(id) { $0.text = "changed" }
                throw CoreError(.itemNotFound, at: "x")
            }
        }
        #expect(try vault.lastEntry == last)
        #expect(try vault.item(id).text == "text")
    }

    @Test("a batch is one commit and sees its own changes")
    func batches() throws {
        let before = try vault.log().count
        let (first, second) = try vault.batch { batch in
            let first = try batch.create(ItemDraft(text: "first"))
            let second = try batch.create(ItemDraft(text: "second"))
            try batch.update(first) { $0.text = "changed" }
            #expect(try batch.item(first)?.text == "changed")
            try batch.delete(second)
            #expect(try batch.item(second) == nil)
            return (first, second)
        }
        #expect(try vault.log().count == before + 1)
        #expect(try vault.item(first).text == "changed")
        #expect(throws: CoreError(.itemNotFound, at: second.uuid.hex)) { try vault.item(second) }
    }

    @Test("trash, archive and pin leave the time of modification alone")
    func flags() throws {
        let id = try note("text")
        let modified = try vault.item(id).modified
        fixture.nextDay()
        try vault.trash(id)
        try vault.set(.pinned, of: id, to: true)
        try vault.set(.archived, of: id, to: true)
        var item = try vault.item(id)
        #expect(item.isTrashed && item.isPinned && item.isArchived && item.modified == modified)
        #expect(try vault.list().isEmpty)
        #expect(try vault.list(.everything).map(\.id) == [id])
        try vault.restoreFromTrash(id)
        try vault.set(.archived, of: id, to: false)
        item = try vault.item(id)
        #expect(!item.isTrashed && !item.isArchived)
        #expect(try vault.list().map(\.id) == [id])
    }

    @Test("a deleted item is gone from the present and its facts with it")
    func deletion() throws {
        let id = try note("text", tags: ["a", "b"])
        try vault.deletePermanently([id])
        #expect(throws: CoreError.self) { try vault.item(id) }
        #expect(try vault.present.snapshot.factCount == 0)
    }

    @Test("lists follow kind, tag and order")
    func lists() throws {
        let garden = try note("# Garden #plants/beds")
        fixture.nextDay()
        let login = try vault.create(ItemDraft(kind: .login, title: "beds.example", tags: [TagPath("Plants")]))
        fixture.nextDay()
        let other = try note("# Zebra")
        #expect(try vault.list().map(\.id) == [other, login, garden])
        #expect(try vault.list(order: .title).map(\.id) == [login, garden, other])
        try vault.set(.pinned, of: garden, to: true)
        #expect(try vault.list().map(\.id) == [garden, other, login])
        var filter = ItemFilter()
        filter.tags = [try TagPath("plants")]
        #expect(try Set(vault.list(filter).map(\.id)) == [garden, login])
        filter.kinds = [.login]
        #expect(try vault.list(filter).map(\.id) == [login])
    }

    @Test("R34: an ambiguous reference is an error that lists the candidates")
    func references() throws {
        let first = try note("# Tar")
        let second = try note("# tar")
        let third = try note("# Tarpaulin")
        #expect(try vault.resolve(first.uuid.hex) == first)
        #expect(try vault.resolve(String(first.uuid.hex.prefix(12)).uppercased()) == first)
        #expect(try vault.resolve(first.uuid.description) == first)
        #expect(try vault.resolve("TARP") == third)
        do {
            _ = try vault.resolve("tar")
            Issue.record("a guess was made")
        } catch let error as CoreError {
            #expect(error.code == .itemAmbiguous)
            #expect(Set(error.candidates.map(\.id)) == [first.uuid.hex, second.uuid.hex])
        }
        try vault.trash(second)
        #expect(try vault.resolve("tar") == first, "what is in the trash does not stand in the way")
        for reference in ["nothing", "", "abc", "0000"] {
            #expect(throws: CoreError.self) { try vault.resolve(reference) }
        }
    }

    @Test("ids that begin alike are told apart at any odd digit")
    func ambiguousIDs() throws {
        let common: [UInt8] = [0xAB, 0xCD, 0xE0]
        var ids: [EntityID] = []
        for (kind, last) in [(ItemKind.note, UInt8(0x10)), (.login, 0x1F), (.note, 0x20)] {
            var draft = ItemDraft(kind: kind, title: "t", text: "text")
            draft.uuid = UniqueID(bytes: common + [last] + [UInt8](repeating: 7, count: 12))
            ids.append(try vault.create(draft))
        }
        #expect(try vault.resolve("abcde02") == ids[2])
        #expect(throws: CoreError.self) { try vault.resolve("abcde") }
        do {
            _ = try vault.resolve("abcde01")
            Issue.record("a guess was made")
        } catch let error as CoreError {
            #expect(error.candidates.count == 2)
        }
        #expect(try vault.resolve("abcde01f") == ids[1])
    }

    @Test("a tag is renamed in lists and in texts, with all below it, in one commit")
    func renameTag() throws {
        let first = try note("# A\nsee #Garden/beds and #garden, not `#garden`", tags: ["garden/old", "other"])
        let second = try note("# B #gardening")
        let count = try vault.log().count
        let renamed = try vault.renameTag(TagPath("garden"), to: TagPath("back yard"))
        #expect(renamed == (1, 1))
        #expect(try vault.log().count == count + 1)
        let item = try vault.item(first)
        #expect(item.text == "# A\nsee #back yard/beds# and #back yard#, not `#garden`")
        #expect(item.tags.map(\.path) == ["back yard", "back yard/beds", "back yard/old", "other"])
        #expect(try vault.item(second).text == "# B #gardening")
    }

    @Test("tags are added once and taken out of the text too")
    func tags() throws {
        let id = try note("#one text #two\n#two #five\n", tags: ["three"])
        try vault.batch { batch in
            try batch.addTags([TagPath("ONE"), TagPath("four")], to: id)
            try batch.removeTags([TagPath("two"), TagPath("three")], from: id)
        }
        let item = try vault.item(id)
        #expect(item.tags.map(\.path) == ["five", "four", "one"])
        #expect(item.text == "#one text two\n#five\n")
        #expect(throws: CoreError.self) {
            try vault.batch { batch in try batch.removeTags([TagPath("none")], from: id) }
        }
    }

    @Test("use 3: a tag command changes tags and never words")
    func tagsAndWords() throws {
        let id = try note("F# and #dotnet C# code\nuse #hashtag C# .NET here, in A#")
        #expect(try vault.item(id).tags.map(\.path) == ["dotnet", "hashtag"])
        try vault.batch { batch in try batch.removeTags([TagPath("dotnet")], from: id) }
        _ = try vault.renameTag(TagPath("hashtag"), to: TagPath("plan b"))
        let item = try vault.item(id)
        // "plan b" cannot stand in a text, where it would be "#plan".
        #expect(item.text == "F# and dotnet C# code\nuse hashtag C# .NET here, in A#")
        #expect(item.tags.map(\.path) == ["plan b"])
    }

    @Test("an attribute or a field that this version cannot read is reported, kept, and survives an edit")
    func unknownFacts() throws {
        let id = try note("text")
        let future = FactKey(entity: id, attribute: "hologram")
        let odd = FactKey(entity: id, attribute: "field/odd")
        try vault.batch { (batch) in
            batch.write([LogChange(key: future, value: [0x01]), LogChange(key: odd, value: [0x82, 0x01, 0x02])])
        }
        #expect(try vault.item(id).unreadableAttributes == ["field/odd", "hologram"])
        try vault.update(id) { $0.text = "changed" }
        #expect(try vault.present.snapshot.facts(under: future).first?.plainInlineValue == [0x01])
        #expect(try !vault.present.snapshot.facts(under: odd).isEmpty)
    }

    @Test("finding one item of thousands by its id and reading it touches a handful of tree nodes")
    func fewReads() throws {
        let ids = try vault.batch { batch in
            var ids: [EntityID] = []
            for index in 0..<3_000 {
                ids.append(try batch.create(ItemDraft(text: "# Note \(index)\nwith a little text #tag\(index % 10)")))
            }
            return ids
        }
        let reopened = try fixture.reopened()
        let id = ids[1_234]
        #expect(try reopened.resolve(id.uuid.hex) == id)
        #expect(try reopened.item(id).title == "Note 1234")
        // Seven kinds, the item and its files: ranges whose paths share all but their last nodes.
        #expect(reopened.repository.nodeReadCount <= 40)
    }
}
