// Values that two devices wrote at the same time: both stay readable, and a person settles them. And values that
// nobody should have written: they cost their own attribute and nothing else.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite("Conflicts")
struct ConflictTests {
    let random = SeededGenerator.fromEnvironment()
    /// Texts of these facts grew from nothing in common.
    let reader = ItemReader(value: { (fact) in fact.inlineValue ?? [] }) { (_, facts) in
        let winner = facts.winner
        return ShownText(
            text: winner?.inlineValue, replaces: [winner].compactMap { $0?.dot }, hiddenCount: facts.count - 1,
            isMerged: false)
    }

    func text(_ text: String) -> [UInt8] { CBOREncoder.encode { $0.encode(text: text) } }
    /// The text of an item lies as it is.
    func plain(_ text: String) -> [UInt8] { Array(text.utf8) }
    func time(_ time: Int64) -> [UInt8] { CBOREncoder.encode { $0.encode(signed: time) } }

    func fact(_ id: EntityID, _ attribute: Attribute, _ value: [UInt8], sequence: UInt64) -> Fact {
        Fact(
            key: FactKey(entity: id, attribute: attribute), content: .inline(value),
            dot: Dot(instance: UniqueID.generate(from: random), sequence: sequence), height: sequence)
    }

    func newID() -> EntityID { EntityID(kind: ItemKind.login.rawValue, uuid: UniqueID.generate(from: random)) }

    @Test("of concurrent values the greatest height's is shown, the others are a visible conflict")
    func siblings() throws {
        let id = newID()
        let facts = [
            fact(id, "created", time(5), sequence: 1), fact(id, "created", time(3), sequence: 1),
            fact(id, "modified", time(10), sequence: 2), fact(id, "modified", time(30), sequence: 1),
            fact(id, "pinned", time(1), sequence: 1), fact(id, "pinned", time(2), sequence: 2),
            fact(id, "text", plain("mine"), sequence: 2), fact(id, "text", plain("theirs"), sequence: 7),
            fact(id, "title", text("same"), sequence: 1), fact(id, "title", text("same"), sequence: 2),
        ].sorted()
        let item = try #require(try reader.item(id, facts: facts, attachments: []))
        #expect(item.text == "theirs" && item.givenTitle == "same")
        #expect(item.created == 3 && item.modified == 30 && item.isPinned)
        #expect(item.conflicts.map(\.attribute) == ["text"])
        #expect(item.conflicts.map(\.otherText) == ["mine"])
        #expect(item.conflicts.map(\.dot.sequence) == [2])
    }

    @Test("settling a conflict writes the shown value anew, which supersedes all others, and nothing else")
    func settling() throws {
        let id = newID()
        let facts = [
            fact(id, "created", time(1), sequence: 1), fact(id, "text", plain("a"), sequence: 1),
            fact(id, "text", plain("b"), sequence: 2),
        ].sorted()
        let old = try #require(try reader.item(id, facts: facts, attachments: []))
        #expect(try ItemWriter.changes(from: old, to: old).isEmpty)
        var settled = old
        settled.conflicts = []
        let changes = try ItemWriter.changes(from: old, to: settled)
        #expect(changes == [LogChange(key: FactKey(entity: id, attribute: "text"), value: plain("b"))])
        settled.text = "a and b"
        #expect(try ItemWriter.changes(from: old, to: settled).map(\.value) == [plain("a and b")])
    }

    @Test("any bytes as values leave the rest of the item readable")
    func randomValues() {
        let attributes: [Attribute] = [
            "title", "text", "tag", "modified", "field/password", "field/x-1", "path", "other",
        ]
        forAll(count: 300) { random in
            let id = newID()
            var facts = [fact(id, "created", time(1), sequence: 1), fact(id, "text", plain("good"), sequence: 1)]
            for attribute in attributes where attribute != "text" && random.bool() {
                facts.append(fact(id, attribute, random.bytes(count: 0...12), sequence: 1))
            }
            let item = try reader.item(id, facts: facts.sorted(), attachments: [])
            try require(item?.text == "good", "the text is lost")
        }
    }

    @Test("what is written reads back as the same item, whatever it holds")
    func roundTrip() {
        forAll(count: 200) { random in
            let id = newID()
            var item = Item(id: id, kind: .login, created: random.int(in: -1_000...1_000_000).asMilliseconds)
            item.givenTitle = random.bool() ? "title \(random.int(in: 0...9))" : nil
            item.text = random.text(countMax: 40)
            item.flagTimes[.pinned] = random.bool() ? 7 : nil
            item.path = random.bool() ? "a/b.md" : nil
            for tag in ["a", "b/c", "two words"] where random.bool() { item.givenTags.append(try TagPath(tag)) }
            if random.bool() {
                item.fields.append(ItemField(standard: "password", of: .login, value: random.text(countMax: 20))!)
            }
            for index in 0..<random.int(in: 0...3) {
                item.fields.append(
                    ItemField(
                        key: FieldKey("x-\(index)")!, label: "Label \(index)", kind: .secret,
                        value: random.text(countMax: 20), position: UInt32(index)))
            }
            let changes = try ItemWriter.changes(from: nil, to: item)
            let facts = changes.compactMap { change in
                change.value.map {
                    Fact(
                        key: change.key, content: .inline($0),
                        dot: Dot(instance: UniqueID.generate(from: random), sequence: 1))
                }
            }
            let read = try reader.item(id, facts: facts.sorted(), attachments: [])
            try require(read == item, "\(String(describing: read)) is not \(item)")
        }
    }
}

extension Int {
    fileprivate var asMilliseconds: Milliseconds { Milliseconds(self) }
}
