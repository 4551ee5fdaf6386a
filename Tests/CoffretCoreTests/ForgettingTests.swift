// What is left of an item's past after it was forgotten: nothing, and what stands stays.

import CoffretBase
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCore

@Suite("Forgetting the past of an item")
struct ForgettingTests {
    /// A text that is stored as a difference to the one of another round: hardly anything of it can be compressed.
    private static func long(_ round: Int) -> String {
        let bytes = SeededGenerator(seed: 7).bytes(count: 9_000)
        let lines = stride(from: 0, to: bytes.count, by: 30).map { Hex.encode(Array(bytes[$0..<$0 + 30])) + "\n" }
        return "# Long\n\n" + lines.joined() + "round \(round)"
    }

    /// All bytes below a folder.
    private func holds(_ bytes: [UInt8], _ fixture: VaultFixture) -> Bool {
        let path = fixture.folder.file("vault")
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.contains { FileManager.default.contents(atPath: path + "/" + $0)?.range(of: Data(bytes)) != nil }
    }

    @Test("older versions go, with the base of the text that stands; other items keep theirs (P1)")
    func olderVersions() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let other = try vault.create(ItemDraft(text: "one"))
        try vault.update(other) { $0.text = "two" }
        let id = try vault.create(ItemDraft(text: Self.long(0)))
        let first = try #require(try vault.history(of: id).first).commit
        let entry = try #require(try vault.repository.entry(named: first))
        // Other entries have the same context.
        let names = try vault.repository.blobNames(of: entry).filter { $0 != entry.body.context }
        let bytes = try names.map { try vault.repository.exchange.sealedBlob($0).bytes }
        for round in 1...4 { try vault.update(id) { $0.text = Self.long(round) } }
        for bytes in bytes { #expect(holds(bytes, fixture)) }
        #expect(names.count > 1, "the text has a blob of its own, or this test shows nothing")

        let plan = try #require(try vault.forgettingPlan(for: [id]))
        #expect(plan.versionCount == 4 && plan.removedCount == 5 && plan.otherItemCount == 0)
        try vault.prepareForgetting(plan, deletes: false)
        #expect(try vault.forget(plan).link != nil)
        for bytes in bytes { #expect(!holds(bytes, fixture)) }
        #expect(try vault.item(id).text == Self.long(4))
        #expect(try vault.history(of: id).count == 1 && vault.history(of: other).count == 2)
        #expect(try vault.forgettingPlan(for: [id]) == nil)
        #expect(try vault.check().isClean)
        // Its life goes on, and can be forgotten again.
        try vault.update(id) { $0.text = Self.long(5) }
        let next = try #require(try vault.forgettingPlan(for: [id]))
        #expect(next.versionCount == 1)
        try vault.prepareForgetting(next, deletes: false)
        _ = try vault.forget(next)
        #expect(try vault.history(of: id).count == 1 && vault.check().isClean)
        #expect(try fixture.reopened().item(id).text == Self.long(5))
    }

    @Test("an item goes with its past; versions of other items that the same changes made are counted")
    func items() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        var ids: [EntityID] = []
        try vault.batch { batch in
            for text in ["# One", "# Two", "# Three"] { ids.append(try batch.create(ItemDraft(text: text))) }
        }
        try vault.update(ids[0]) { $0.text = "# One, again" }
        try vault.update(ids[1]) { $0.text = "# Two, again" }
        let plan = try #require(try vault.forgettingPlan(for: [ids[0]], deletes: true))
        #expect(plan.versionCount == 2 && plan.removedCount == 2 && plan.otherItemCount == 2 && plan.keptCount == 1)
        try vault.prepareForgetting(plan, deletes: true)
        _ = try vault.forget(plan)
        #expect(throws: CoreError.self) { try vault.item(ids[0]) }
        #expect(try vault.item(ids[1]).text == "# Two, again" && vault.item(ids[2]).text == "# Three")
        #expect(try vault.removedItem(ids[0].uuid.hex) == nil && vault.check().isClean)
        // One that was removed before.
        try vault.deletePermanently([ids[1]])
        #expect(try vault.removedItem(ids[1].uuid.hex) == ids[1])
        let removed = try #require(try vault.forgettingPlan(for: [ids[1]]))
        try vault.prepareForgetting(removed, deletes: false)
        _ = try vault.forget(removed)
        #expect(try vault.removedItem(ids[1].uuid.hex) == nil && vault.check().isClean)
    }

    @Test("values between which a person has to choose stay, each whole")
    func conflicts() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let id = try vault.create(ItemDraft(text: Self.long(0)))
        try vault.update(id) { $0.text = Self.long(1) }
        let fact = try #require(
            try vault.present.snapshot.facts(of: id).first { $0.key.attribute == "text" })
        // Two versions that replace nobody's but the first.
        for round in 2...3 {
            try vault.repository.commit(
                [.init(key: fact.key, value: Array(Self.long(round).utf8), replaces: round == 2 ? [fact.dot] : [])],
                time: fixture.clock.now)
        }
        let before = try vault.present.snapshot.facts(of: id).filter { $0.key == fact.key }.count
        #expect(before == 2)
        let shown = try vault.item(id).text
        let plan = try #require(try vault.forgettingPlan(for: [id]))
        try vault.prepareForgetting(plan, deletes: false)
        _ = try vault.forget(plan)
        #expect(try vault.item(id).text == shown)
        let facts = try vault.present.snapshot.facts(of: id).filter { $0.key == fact.key }
        let values = Set(try facts.map { try vault.present.snapshot.value(of: $0) })
        #expect(facts.count == 2 && values.count == 2)
        #expect(try vault.check().isClean)
    }
}
