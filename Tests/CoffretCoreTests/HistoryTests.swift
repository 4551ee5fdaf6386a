// Time travel: every state that was committed can be listed, read, compared and brought back.

import CoffretBase
import CoffretCore
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite("History")
struct HistoryTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }

    init() throws { fixture = try VaultFixture() }

    func makeNote() throws -> EntityID {
        let id = try vault.create(ItemDraft(text: "# Tomatoes\none\ntwo\n"))
        fixture.nextDay()
        _ = try vault.create(ItemDraft(text: "another note"))
        fixture.nextDay()
        try vault.update(id) { $0.text = "# Tomatoes\none\n2\n3\n4 #balcony\n" }
        fixture.nextDay()
        try vault.set(.pinned, of: id, to: true)
        return id
    }

    @Test("a history lists what each commit changed, newest first, and nothing of other items")
    func history() throws {
        let id = try makeNote()
        let versions = try fixture.reopened().history(of: id)
        #expect(versions.map(\.change.summary) == ["pinned", "text +3 −1, tag +balcony", "created, text +3"])
        #expect(versions.last?.item?.text == "# Tomatoes\none\ntwo\n")
        #expect(versions.map(\.time) == versions.map(\.time).sorted(by: >))
        #expect(try vault.history(of: id, limit: 1).count == 1)
    }

    @Test("a deleted item still has its history, and comes back with its files and its id")
    func undelete() throws {
        let id = try makeNote()
        try vault.deletePermanently([id])
        let versions = try vault.history(of: id)
        #expect(versions[0].change.isDeletion && versions[0].item == nil)
        #expect(try vault.restore(id, to: versions[1].commit))
        let item = try vault.item(id)
        #expect(item.text.hasSuffix("#balcony\n") && item.isPinned)
        #expect(try !vault.restore(id, to: versions[1].commit), "restoring twice changes nothing")
        #expect(throws: CoreError.self) { try vault.restore(id, to: versions[0].commit) }
        #expect(throws: CoreError.self) {
            try vault.history(of: EntityID(kind: 0x4E, uuid: UniqueID.generate(from: fixture.random)))
        }
    }

    @Test("the vault as of a day shows the items as they were, and not those that came later")
    func views() throws {
        let start = fixture.clock.now
        let id = try makeNote()
        let day = CivilTime.millisecondsPerDay
        let first = try vault.view(at: .time(start + day / 2))
        #expect(try first.list().map(\.title) == ["Tomatoes"])
        #expect(try first.item(id)?.text == "# Tomatoes\none\ntwo\n")
        let second = try vault.view(at: .time(start + day))
        #expect(try second.list(order: .title).map(\.title) == ["another note", "Tomatoes"])
        #expect(try second.resolve("tomat") == id)
        #expect(throws: CoreError(.momentBeforeHistory)) { try vault.view(at: .time(start - 1)) }
    }

    @Test("an entry is found by the beginning of its name")
    func commitNames() throws {
        let id = try makeNote()
        let versions = try vault.history(of: id)
        let oldest = try #require(versions.last)
        let view = try vault.view(at: .commit(String(oldest.commit.description.prefix(16)).uppercased()))
        #expect(try view.item(id) == oldest.item)
        #expect(throws: CoreError(.commitNotFound, at: "00000000")) { try vault.view(at: .commit("00000000")) }
        #expect(throws: CoreError(.momentInvalid, at: "xyzw")) { try vault.view(at: .commit("xyzw")) }
        #expect(throws: CoreError(.momentInvalid, at: "abc")) { try vault.view(at: .commit("abc")) }
    }

    @Test("the difference of two versions names what changed and shows the lines")
    func differences() throws {
        let id = try makeNote()
        let versions = try vault.history(of: id)
        let difference = try vault.difference(of: id, from: versions[2].commit, to: versions[1].commit)
        #expect(difference.change.addedTags.map(\.path) == ["balcony"])
        #expect(difference.text.hunks.map(\.head) == ["@@ -1,3 +1,5 @@"])
        let toNow = try vault.difference(of: id, from: versions[2].commit)
        #expect(toNow.change.flags.map(\.name) == ["pinned"])
    }

    @Test("the log has one entry per commit and says which items it touched")
    func log() throws {
        let id = try makeNote()
        let log = try vault.log()
        #expect(log.map(\.itemCount) == [1, 1, 1, 1])
        #expect(log[0].items == [id] && log[3].items == [id] && log[2].items != [id])
        #expect(try vault.log(limit: 2).count == 2)
        #expect(try vault.log(limit: 0).isEmpty)
    }

    @Test("a change of secret fields is named but never shown")
    func secrets() throws {
        let id = try vault.create(ItemDraft(kind: .login, title: "Example"))
        try vault.update(id) { item in
            item.fields = [ItemField(standard: "password", of: .login, value: "c4nary")!]
        }
        try vault.update(id) { $0.fields[0].value = "other" }
        try vault.update(id) { $0.fields = [] }
        let summaries = try vault.history(of: id).map(\.change.summary)
        #expect(summaries == ["Password removed", "Password changed", "Password added", "created"])
    }

    @Test("any order of random edits can be read back at every commit")
    func everyState() throws {
        let random = fixture.random
        var states: [(commit: BlobName, text: String)] = []
        let id = try vault.create(ItemDraft(text: "start"))
        for round in 0..<40 {
            let text = (0..<random.int(in: 0...30)).map { _ in "line \(random.int(in: 0...9))\n" }.joined() + "\(round)"
            try vault.update(id) { $0.text = text }
            states.append((try #require(try vault.lastEntry).name, text))
        }
        let reopened = try fixture.reopened()
        for state in states {
            #expect(try reopened.view(at: state.commit).item(id)?.text == state.text)
        }
        let whole = try reopened.history(of: id)
        #expect(whole.count == 41)
        for limit in [0, 1, 2, 7, 40, 41, 42] {
            let part = try reopened.history(of: id, limit: limit)
            #expect(part.map(\.commit) == whole.prefix(limit).map(\.commit))
            #expect(part.map(\.change) == whole.prefix(limit).map(\.change))
        }
    }
}
