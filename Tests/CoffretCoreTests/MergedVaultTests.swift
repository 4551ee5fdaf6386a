// Two devices of one vault: what people see after they wrote apart.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite("Vaults of two devices")
struct MergedVaultTests {
    /// One device's copy of a vault, in a folder, with an index.
    private final class Device {
        let vault: Vault
        let author: CommitAuthor

        init(_ folder: TemporaryDirectory, _ name: String, world: World) throws {
            let random = world.random
            author = CommitAuthor(
                signingKey: .generate(from: random), deviceID: random.bytes(count: 16),
                instanceID: .generate(from: random), accountID: random.bytes(count: 32),
                deviceChainHead: random.bytes(count: 32), memberChainHead: random.bytes(count: 32))
            let keys = VaultKeys(
                vaultID: world.vaultID, vaultKeys: [1: world.vaultKey], splitKey: world.splitKey,
                localKey: .generate(from: random))
            let environment = StorageEnvironment(
                fileSystem: PosixFileSystem(), random: random, clock: world.clock)
            let repository = try VaultRepository.create(
                directory: folder.file(name), keys: keys, author: author, environment: environment)
            let index = folder.file(name + "-search")
            vault = Vault(name: name, repository: repository, clock: world.clock, random: random) {
                () throws(SearchError) in
                try SearchIndex(
                    directory: index, key: keys.searchKey, vaultID: keys.vaultID, fileSystem: PosixFileSystem(),
                    random: random)
            }
        }
    }

    private final class World: CommitSignerDirectory {
        let random = SeededGenerator.fromEnvironment()
        let clock = ManualClock()
        let folder: TemporaryDirectory
        let vaultID: VaultID
        let vaultKey: VaultKey
        let splitKey: SplitKey
        private(set) var devices: [Device] = []

        init() throws {
            folder = try TemporaryDirectory("devices")
            guard let id = VaultID(random.bytes(count: 32)) else { preconditionFailure("32 bytes are an id") }
            vaultID = id
            vaultKey = .generate(from: random)
            splitKey = .generate(from: random)
            for name in ["laptop", "phone"] { devices.append(try Device(folder, name, world: self)) }
        }

        func verifyingKey(for context: CommitContext) -> VerifyingKey? {
            devices.first { $0.author.deviceID == context.deviceID }?.author.signingKey.verifyingKey
        }

        func send(_ from: Int, to: Int) throws {
            let repository = devices[from].vault.repository
            let adoption = try devices[to].vault.repository.beginAdoption(rule: TextMergeRule())
            for name in try repository.contents(from: devices[to].vault.repository.headNames).names {
                try adoption.offer(try repository.sealedBlob(name))
            }
            _ = try adoption.adopt(repository.headNames, signers: self, time: clock.now)
        }

        /// Both have seen everything.
        func meet() throws {
            try send(0, to: 1)
            try send(1, to: 0)
            #expect(devices[0].vault.repository.headNames == devices[1].vault.repository.headNames)
        }
    }

    @Test("edits of different lines and fields never meet; the index of each follows, and both histories are there")
    func bothEdits() throws {
        let world = try World()
        let (laptop, phone) = (world.devices[0].vault, world.devices[1].vault)
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
            #expect(texts.contains("Garden\n\none, early\ntwo\nthree\n"))
            #expect(texts.contains("Garden\n\none\ntwo\nthree\nfour late\n"))
            #expect(texts.contains(item.text))
        }
    }

    @Test("edits of one line stay side by side, are listed, and are settled by one choice on all devices")
    func settling() throws {
        for choice in [ConflictChoice.shown, .other(0), .all] {
            let world = try World()
            let (laptop, phone) = (world.devices[0].vault, world.devices[1].vault)
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
