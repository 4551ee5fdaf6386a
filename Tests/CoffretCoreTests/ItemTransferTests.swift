// Items in another vault: what goes along, what does not, and what breaks leave.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCore

@Suite("Items in other vaults")
struct ItemTransferTests {
    private let fixture: StoreFixture
    private let store: Store
    private let (source, target): (Vault, Vault)

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.create()
        try store.addVault(named: "Home")
        source = try store.openVault("Personal", isWritable: true)
        target = try store.openVault("Home", isWritable: true)
    }

    private func content(_ attachment: CoffretCore.Attachment, of vault: Vault) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try unsafe vault.read(attachment) { buffer in unsafe bytes += buffer }
        return bytes
    }

    private func move(_ id: EntityID, from: Vault, to: Vault) throws {
        #expect(try to.take([id], from: from, .move) == [id])
        try from.leave([id], to: to)
    }

    private func files(of vault: String) throws -> Set<String> {
        let folder = store.layout.vaultPath(try store.vaultRecord(vault).vaultID)
        let all = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return Set(all.filter { $0.hasPrefix("files/") || $0.hasPrefix("attachments/") })
    }

    @Test("R83: a moved item has no history there, and its files have other keys and other names")
    func movedItem() throws {
        var draft = ItemDraft(kind: .login, title: "Bank", text: "first words")
        draft.tags = [try TagPath("money")]
        draft.fields = [
            ItemField(key: try #require(FieldKey("password")), label: "password", kind: .secret, value: "old")
        ]
        let id = try source.create(draft)
        try source.update(id) { $0.fields[0].value = "new" }
        try source.update(id) { $0.text = String(repeating: "long words. ", count: 5_000) }
        let path = fixture.folder.file("picture.png")
        let bytes = fixture.random.bytes(count: 300_000)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let attached = try source.attach(to: id, fileAt: path, fileSystem: PosixFileSystem())
        #expect(try source.history(of: id).count >= 4)
        try move(id, from: source, to: target)

        let there = try target.item(id)
        #expect(there.title == "Bank" && there.fields.map(\.value) == ["new"] && there.text.hasPrefix("long words"))
        #expect(there.givenTags.map(\.path) == ["money"] && there.origin?.vault == source.repository.keys.vaultID)
        #expect(try target.history(of: id).count == 1, "what was before stays where it was")
        let file = try there.attachment(named: "picture.png")
        #expect(try content(file, of: target) == bytes)
        let (old, new) = try (
            AttachmentReference.parse(attached.encodedReference), AttachmentReference.parse(file.encodedReference)
        )
        #expect(old.fileID != new.fileID && file.encodedReference != attached.encodedReference)
        let common = try files(of: "Personal").intersection(files(of: "Home")).filter { $0.utf8.count > 40 }
        #expect(common.isEmpty, "\(common)")

        let here = try source.item(id)
        #expect(here.isTrashed && here.moved?.vault == target.repository.keys.vaultID)
        #expect(try source.history(of: id).count >= 5, "nothing of it is lost")
        try source.restoreFromTrash(id)
        #expect(try source.item(id).moved == nil)
    }

    @Test("R42: a shared vault has nothing in common with a private one: no piece, no compression, no file and no word")
    func nothingInCommon() throws {
        let text = (1...400).map { "line \($0 * 7_919 % 1_000) of a long text" }.joined(separator: "\n")
        let path = fixture.folder.file("picture.png")
        try Data(fixture.random.bytes(count: 100_000)).write(to: URL(fileURLWithPath: path))
        func write(_ vault: Vault, _ word: String) throws {
            let id = try vault.create(ItemDraft(text: "# Plan\n\(text)"))
            _ = try vault.attach(to: id, fileAt: path, fileSystem: PosixFileSystem())
            // A delta over the text before it.
            try vault.update(id) { $0.text += "\n\(word)" }
        }
        func stored(_ vault: Vault) throws -> [SealedBlob] {
            var blobs: [SealedBlob] = []
            var walk = try vault.repository.walk()
            while let entry = try walk.next() {
                for name in try vault.repository.blobNames(of: entry) {
                    blobs.append(try vault.repository.exchange.sealedBlob(name))
                }
            }
            return blobs
        }
        // A vault beside nothing, and one beside a private vault that has the same.
        try store.addVault(named: "Alone")
        let alone = try store.openVault("Alone", isWritable: true)
        try write(alone, "xylophone")
        try write(source, "xylophone")
        try write(target, "xylophone")
        let blobs = try [alone, target, source].map(stored)
        let sizes = blobs.map { $0.map(\.bytes.count) }
        #expect(sizes[0] == sizes[1] && sizes[0].count > 4, "what lies beside changes no size: \(sizes)")
        #expect(sizes[0].max() ?? 0 < text.utf8.count, "it was compressed")
        let addresses = blobs.map { Set($0.map(\.address)) }
        #expect(addresses[0].isDisjoint(with: addresses[1]) && addresses[1].isDisjoint(with: addresses[2]))
        #expect(Set(blobs[1].map(\.bytes)).isDisjoint(with: blobs[2].map(\.bytes)))
        let common = try files(of: "Personal").intersection(files(of: "Home")).filter { $0.utf8.count > 40 }
        #expect(common.isEmpty, "\(common)")

        // Words of one vault are found in no other, and its index does not change with them.
        #expect(try target.search("xylophone").totalCount == 1)
        func places() throws -> [String: Data] {
            let folder = store.layout.vaultPath(target.repository.keys.vaultID)
            let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
            let files = names.compactMap { name in
                (try? Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))).map { (name, $0) }
            }
            return Dictionary(uniqueKeysWithValues: files)
        }
        let before = try places()
        _ = try source.create(ItemDraft(text: "# Marimba\nmarimba"))
        #expect(try source.search("marimba").totalCount == 1 && target.search("marimba").totalCount == 0)
        #expect(try before.count > 2 && places() == before, "no file of the shared vault knows of the private one")
    }

    @Test("a break between both leaves both, and the same call finishes it without writing anew")
    func brokenMove() throws {
        let id = try source.create(ItemDraft(text: "# Tomatoes\nwater them"))
        #expect(try target.take([id], from: source, .move) == [id])
        #expect(try !source.item(id).isTrashed && target.item(id).text == source.item(id).text)
        let state = try target.stateVersion
        try move(id, from: source, to: target)
        #expect(try target.stateVersion == state)
        #expect(try source.item(id).isTrashed)
    }

    @Test("an item that is changed while it moves stays, and what was changed in both is not written over")
    func changedMeanwhile() throws {
        let id = try source.create(ItemDraft(text: "# Tomatoes\nwater them"))
        _ = try target.take([id], from: source, .move)
        try source.update(id) { $0.text += "\nand feed them" }
        #expect(throws: CoreError(.itemExists, at: "Tomatoes")) { try source.leave([id], to: target) }
        #expect(try !source.item(id).isTrashed)
        // Nobody has touched the one there: it is written anew.
        try move(id, from: source, to: target)
        #expect(try target.item(id).text.hasSuffix("and feed them"))

        let other = try source.create(ItemDraft(text: "# Beans"))
        _ = try target.take([other], from: source, .move)
        try source.update(other) { $0.text += "\nhere" }
        try target.update(other) { $0.text += "\nthere" }
        #expect(throws: CoreError(.itemExists, at: "Beans")) { try target.take([other], from: source, .move) }
        #expect(try source.item(other).text.hasSuffix("here") && target.item(other).text.hasSuffix("there"))
    }

    @Test("an item comes back as it is then, files too")
    func back() throws {
        let id = try source.create(ItemDraft(text: "# Tomatoes"))
        try move(id, from: source, to: target)
        try target.update(id) { $0.text += "\nripe" }
        let path = fixture.folder.file("a.txt")
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        try target.attach(to: id, fileAt: path, fileSystem: PosixFileSystem())
        try move(id, from: target, to: source)
        let item = try source.item(id)
        #expect(!item.isTrashed && item.moved == nil && item.text.hasSuffix("ripe"))
        #expect(try content(item.attachment(named: "a.txt"), of: source) == [1, 2, 3])
        #expect(try target.item(id).isTrashed)
    }

    @Test("an item that came back is its own, once somebody changes the one that it left")
    func takenBack() throws {
        let id = try source.create(ItemDraft(text: "# Bank"))
        try move(id, from: source, to: target)
        try move(id, from: target, to: source)
        #expect(try !source.isArriving(id, from: target), "the one there lies in the trash")
        try target.restoreFromTrash(id)
        try target.update(id) { $0.text += "\nanother number" }
        #expect(try !source.isArriving(id, from: target))
        let other = try source.create(ItemDraft(text: "# Shop"))
        _ = try target.take([other], from: source, .move)
        #expect(try target.isArriving(other, from: source))
    }

    @Test("a locked note goes sealed, with its passphrase and its hint; a copy of one is refused")
    func lockedNote() throws {
        let id = try source.create(ItemDraft(text: "# Diary\nunder the stairs"))
        let path = fixture.folder.file("key.txt")
        try Data([7]).write(to: URL(fileURLWithPath: path))
        try source.attach(to: id, fileAt: path, fileSystem: PosixFileSystem())
        let made = try source.lockNotes([id], with: quickRecord("correct horse", hint: "the usual"))
        #expect(throws: CoreError.self) { try target.take([id], from: source, .copy) }
        try move(id, from: source, to: target)
        store.noteKeys.lock()
        let sealed = try target.item(id)
        #expect(sealed.isSealed && sealed.text.isEmpty)
        #expect(throws: CoreError(.noteLocked, at: made.record.id.hex)) { try target.opened(sealed) }
        #expect(try target.hint(of: made.record.id) == "the usual")
        try target.unlockRecord(target.record(for: sealed), notePassphrase("correct horse"))
        let opened = try target.opened(target.item(id))
        #expect(opened.text.hasSuffix("under the stairs"))
        #expect(try content(opened.attachment(named: "key.txt"), of: target) == [7])
    }

    @Test("a copy is an item of its own, with files of its own")
    func copy() throws {
        let id = try source.create(ItemDraft(text: "# Tomatoes"))
        let path = fixture.folder.file("a.txt")
        try Data([1]).write(to: URL(fileURLWithPath: path))
        let file = try source.attach(to: id, fileAt: path, fileSystem: PosixFileSystem())
        let copied = try #require(try target.take([id], from: source, .copy).first)
        let item = try target.item(copied)
        #expect(copied != id && item.origin == nil && item.attachments.first?.id != file.id)
        #expect(try content(item.attachment(named: "a.txt"), of: target) == [1])
        #expect(try !source.item(id).isTrashed)
    }

    @Test("what somebody has seen: secrets that stand still, those that were changed, items that are gone")
    func read() throws {
        var draft = ItemDraft(kind: .login, title: "Bank")
        let key = try #require(FieldKey("password"))
        draft.fields = [ItemField(key: key, label: "password", kind: .secret, value: "a")]
        let bank = try target.create(draft)
        draft.title = "Shop"
        let shop = try target.create(draft)
        draft.title = "Gone"
        let gone = try target.create(draft)
        try target.deletePermanently([gone])
        let end = try target.repository.ask { (machine) in machine.frontier }
        try target.update(shop) { $0.fields[0].value = "b" }
        draft.title = "Later"
        _ = try target.create(draft)
        let values = try target.valuesRead(upTo: end) { _ in false }
        #expect(values.map(\.title) == ["Bank", "Gone", "Shop"])
        #expect(values.map(\.isChangedSince) == [false, false, true] && values.map(\.isGone) == [false, true, false])
        #expect(values.allSatisfy { !$0.isKnownForSure } && values[0].item == bank)
        #expect(try target.valuesRead(upTo: end) { _ in true }.count == 3)
    }
}
