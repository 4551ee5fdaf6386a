// Two devices of one vault: what people see after they wrote apart.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretLogs
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import CoffretVaultSupport
import Testing

@Suite("Vaults of two devices")
struct MergedVaultTests {
    /// The copies of one vault, each in a folder, with an index.
    private final class World {
        let account: TestAccount
        let clock = ManualClock()
        let folder: TemporaryDirectory
        private(set) var vaults: [Vault] = []

        init() throws {
            folder = try TemporaryDirectory("devices")
            let random = SeededGenerator.fromEnvironment()
            account = try TestAccount(deviceCount: 2, random: random, clock: clock)
            for (device, name) in ["laptop", "phone"].enumerated() {
                let keys = account.makeKeys()
                let repository = try account.create(
                    at: folder.file(name), keys: keys, device: device, isText: ItemTexts.isText)
                let index = folder.file(name + "-search")
                vaults.append(
                    Vault(name: name, repository: repository, clock: clock, random: random) {
                        () throws(SearchError) in
                        try SearchIndex(
                            directory: index, key: keys.searchKey, vaultID: keys.vaultID,
                            fileSystem: PosixFileSystem(), random: random)
                    })
            }
        }

        func send(_ from: Int, to: Int) throws {
            try account.send(from: vaults[from].repository, to: vaults[to].repository)
        }

        /// Both have seen everything.
        func meet() throws {
            try send(0, to: 1)
            try send(1, to: 0)
            #expect(try vaults[0].presentMark() == vaults[1].presentMark())
        }
    }

    @Test("edits of different lines and fields never meet; the index of each follows, and both histories are there")
    func bothEdits() throws {
        let world = try World()
        let (laptop, phone) = (world.vaults[0], world.vaults[1])
        let id = try laptop.create(ItemDraft(text: "Garden\n\none\ntwo\nthree\n"))
        try world.meet()
        _ = try laptop.search("garden")
        _ = try phone.search("garden")
        world.clock.advance(by: 1_000)
        try laptop.update(id) { $0.text = "Garden\n\none, early\ntwo\nthree\n" }
        try laptop.update(id) { $0.text = "Garden\n\none, very early\ntwo\nthree\n" }
        world.clock.advance(by: -5_000)
        try phone.update(id) { $0.text = "Garden\n\none\ntwo\nthree\nfour late\n" }
        let other = try phone.create(ItemDraft(text: "Shed"))
        try world.meet()
        for vault in [laptop, phone] {
            let item = try vault.item(id)
            #expect(item.text == "Garden\n\none, very early\ntwo\nthree\nfour late\n")
            #expect(item.conflicts.isEmpty)
            #expect(try vault.search("very early").hits.map(\.item.id) == [id])
            #expect(try vault.search("late").hits.map(\.item.id) == [id])
            #expect(try vault.search("shed").hits.map(\.item.id) == [other])
            #expect(try vault.conflictedItems().isEmpty)
            let texts = try vault.history(of: id).compactMap { $0.item?.text }
            #expect(texts.count == 4 && texts.contains { $0.contains("one, early\n") })
            #expect(texts.contains { $0.contains("four late") && !$0.contains("very early") })
            #expect(texts.contains(item.text))
        }
    }

    @Test("edits of one line stay side by side, are listed, and are settled by one choice on all devices")
    func settling() throws {
        for choice in [ConflictChoice.shown, .other(0), .all] {
            let world = try World()
            let (laptop, phone) = (world.vaults[0], world.vaults[1])
            let id = try laptop.create(ItemDraft(text: "Plan\n\nbuy seeds\n"))
            try world.meet()
            try laptop.update(id) { $0.text = "Plan\n\nbuy bean seeds\n" }
            try phone.update(id) { $0.text = "Plan\n\nbuy pea seeds\n" }
            try world.meet()
            let before = try laptop.item(id)
            #expect(try phone.item(id) == before)
            #expect(before.conflicts.map(\.attribute) == ["text"])
            let other = try #require(before.conflicts.first?.otherText)
            #expect(Set([before.text, other]) == ["Plan\n\nbuy bean seeds\n", "Plan\n\nbuy pea seeds\n"])
            #expect(try laptop.conflictedItems().map(\.id) == [id])
            #expect(try laptop.settleConflicts(of: id, choice: choice) == 1)
            try world.meet()
            let expected =
                switch choice {
                case .shown: before.text
                case .other: other
                case .all: before.text + "\n" + other
                }
            for vault in [laptop, phone] {
                #expect(try vault.item(id).text == expected)
                #expect(try vault.item(id).conflicts.isEmpty)
            }
        }
    }
}
