// Locked notes in one vault: what is sealed, who opens it, and what nobody finds afterwards.

import CoffretBase
import CoffretCrypto
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretCore

/// A passphrase from a literal.
func notePassphrase(_ text: String) throws -> NotePassphrase {
    var bytes = Array(text.utf8)
    return try NotePassphrase(SecretBytes(consuming: &bytes))
}

/// A record that is quick to derive.
func quickRecord(_ text: String, scheme: LockScheme = .argon2id, hint: String? = nil) throws -> NewRecord {
    var new = NewRecord(try notePassphrase(text))
    new.scheme = scheme
    new.effort = LockEffort(memoryKibibytes: 65_536, passCount: 3)
    new.hint = hint
    return new
}

@Suite("Locked notes")
struct LockedNoteTests {
    private static let text = "# Diary\n\nThe xylophone is under the stairs. #private\n"

    @Test("a locked note opens under its passphrase only, and stays itself")
    func lockAndOpen() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let id = try vault.create(ItemDraft(text: Self.text))
        let made = try vault.lockNotes([id], with: quickRecord("correct horse"))
        let sealed = try vault.item(id)
        #expect(sealed.isSealed && sealed.text == "" && sealed.title == "Diary")
        #expect(sealed.tags.map(\.path) == ["private"])
        #expect(try vault.opened(sealed).text == Self.text)

        // Unlocking the vault never unlocks a locked note.
        let other = try fixture.reopened()
        #expect(other.noteKeys.isEmpty)
        #expect(throws: CoreError(.noteLocked, at: made.record.id.hex)) { try other.opened(other.item(id)) }
        let record = try other.record(for: other.item(id))
        #expect(throws: CoreError(.notePassphraseWrong, at: record.id.hex)) {
            try other.unlockRecord(record, notePassphrase("wrong"))
        }
        try other.unlockRecord(record, notePassphrase("correct horse"))
        #expect(try other.opened(other.item(id)).text == Self.text)
        other.noteKeys.lock()
        #expect(throws: CoreError.self) { try other.opened(other.item(id)) }
    }

    @Test("an edit seals again; an edit of a sealed note is refused; taking the lock off restores the note")
    func editAndUnlock() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let id = try vault.create(ItemDraft(text: Self.text))
        let before = try vault.item(id)
        try vault.lockNotes([id], with: quickRecord("correct horse"))
        var open = try vault.opened(vault.item(id))
        open.text = "# Journal\n\nMoved. #secret\n"
        #expect(try vault.update(id) { $0 = open })
        #expect(try !vault.update(id) { $0 = try! vault.opened($0) })
        #expect(try vault.item(id).title == "Journal")
        #expect(try vault.item(id).tags.map(\.path) == ["secret"])
        #expect(throws: CoreError(.noteLocked, at: id.uuid.hex)) { try vault.update(id) { $0.text = "clear" } }
        open.text = Self.text
        try vault.update(id) { $0 = open }
        try vault.unlockNotes([id])
        var after = try vault.item(id)
        after.modified = before.modified
        #expect(after == before)
    }

    @Test("an empty note, a hidden title, fields: all come back", arguments: [LockScheme.bear, .argon2id])
    func parts(scheme: LockScheme) throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let key = try #require(FieldKey("x-0123456789abcdef"))
        let field = ItemField(key: key, label: "Door", kind: .secret, value: "4711", position: 3)
        let empty = try vault.create(ItemDraft())
        let full = try vault.create(
            ItemDraft(title: "Zanzibar", text: "quagga", fields: [field], tags: [try TagPath("hush")]))
        try vault.update(full) { $0.path = "private/zanzibar.md" }
        let before = [try vault.item(empty), try vault.item(full)]
        try vault.lockNotes([empty, full], with: quickRecord("p", scheme: scheme), hidesTitle: true)
        let sealed = try vault.item(full)
        #expect(sealed.title == Item.lockedTitle && sealed.tags.isEmpty && sealed.fields.isEmpty && sealed.path == nil)
        #expect(try vault.search("zanzibar").totalCount == 0)
        #expect(try vault.opened(vault.item(empty)).text == "")
        try vault.unlockNotes([empty, full])
        #expect(try [vault.item(empty), vault.item(full)] == before)
    }

    @Test("locked text is in no index and in no search by reading (protocol 23)")
    func search() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let id = try vault.create(ItemDraft(text: Self.text))
        #expect(try vault.search("xylophone").totalCount == 1)
        try vault.lockNotes([id], with: quickRecord("p"))
        #expect(try vault.search("xylophone").totalCount == 0)
        #expect(try vault.search("diary").totalCount == 1)
        #expect(try fixture.reopened(hasIndex: false).search("xylophone").totalCount == 0)
        var open = try vault.opened(vault.item(id))
        open.text += "marimba"
        try vault.update(id) { $0 = open }
        #expect(try vault.search("marimba").totalCount == 0)
        try vault.unlockNotes([id])
        #expect(try vault.search("marimba").totalCount == 1)
    }

    @Test("files are sealed with the note, under keys that the history does not know")
    func files() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let id = try vault.create(ItemDraft(text: Self.text))
        let content = fixture.random.bytes(count: 3_000_000)
        try Self.attach(content, "map.png", to: id, vault)
        let clear = try #require(try vault.item(id).attachments.first)
        try vault.lockNotes([id], with: quickRecord("p"))
        let sealed = try vault.item(id)
        #expect(sealed.attachments.isEmpty && sealed.hasAttachments)
        try Self.attach([1, 2, 3], "later.bin", to: id, vault)
        let open = try vault.opened(vault.item(id))
        #expect(open.attachments.map(\.name) == ["later.bin", "map.png"])
        #expect(open.attachments[1].encodedReference != clear.encodedReference)
        // The old file goes when no history names it any more; the sealed ones stay.
        let report = try vault.forget(try #require(try vault.forgettingPlan(for: [id])))
        #expect(report.removedFileCount == 1)
        #expect(try Self.content(of: open.attachments[1], vault) == content)
        #expect(try vault.check().isClean)
        try vault.removeAttachment(open.attachments[0])
        try vault.unlockNotes([id])
        #expect(try vault.item(id).attachments.map(\.name) == ["map.png"])
        #expect(try Self.content(of: vault.item(id).attachments[0], vault) == content)
    }

    static func attach(_ content: [UInt8], _ name: String, to id: EntityID, _ vault: Vault) throws {
        var rest = content[...]
        try unsafe vault.attach(to: id, name: name) { (buffer) throws(StorageError) in
            let piece = rest.prefix(buffer.count)
            unsafe buffer.copyBytes(from: piece)
            rest = rest.dropFirst(piece.count)
            return piece.count
        }
    }

    static func content(of attachment: CoffretCore.Attachment, _ vault: Vault) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try unsafe vault.read(attachment) { unsafe bytes.append(contentsOf: $0) }
        return bytes
    }

    @Test("several passphrases at once; changing one; the old one opens nothing any more")
    func passphrases() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let ids = try (0..<3).map { try vault.create(ItemDraft(text: "note \($0)")) }
        let first = try vault.lockNotes(Array(ids[..<2]), with: quickRecord("one", hint: "the first"))
        fixture.nextDay()
        let second = try vault.lockNotes([ids[2]], with: quickRecord("two"))
        #expect(try vault.hint(of: first.record.id) == "the first")
        #expect(try vault.hint(of: second.record.id) == nil)
        #expect(try vault.passwordRecords().map(\.noteCount) == [1, 2])
        fixture.nextDay()
        let third = try vault.relockNotes(try vault.lockedNotes(under: first.record.id), with: quickRecord("three"))
        #expect(third.record.previous.map(\.id) == [first.record.id])
        let reopened = try fixture.reopened()
        let record = try reopened.record(for: reopened.item(ids[0]))
        #expect(record.id == third.record.id)
        #expect(throws: CoreError.self) { try reopened.unlockRecord(record, notePassphrase("one")) }
        try reopened.unlockRecord(record, notePassphrase("three"))
        #expect(try reopened.opened(reopened.item(ids[1])).text == "note 1")
        #expect(throws: CoreError(.noteLocked, at: second.record.id.hex)) {
            try reopened.opened(reopened.item(ids[2]))
        }
        // The ladder: the new passphrase opens what the old one sealed, also in the history.
        let past = try reopened.view(at: Moment.time(fixture.clock.now - CivilTime.millisecondsPerDay))
        #expect(try reopened.opened(#require(try past.item(ids[0]))).text == "note 0")
        // A part of a record's notes under another passphrase makes no ladder.
        let fourth = try vault.relockNotes([ids[0]], with: quickRecord("four"))
        #expect(fourth.record.previous.isEmpty)
    }

    @Test("scheme 1 is read and sealed anew under scheme 2 when its passphrase is typed")
    func schemeOne() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let ids = try ["a", ""].map { try vault.create(ItemDraft(text: $0)) }
        let old = try vault.lockNotes(ids, with: quickRecord("päss", scheme: .bear, hint: "h"))
        #expect(old.record.scheme == .bear)
        vault.noteKeys.lock()
        fixture.nextDay()
        let modified = try vault.item(ids[0]).modified
        try vault.unlockRecord(old.record, notePassphrase("päss"))
        #expect(try vault.needsResealing(vault.item(ids[0])))
        #expect(
            try vault.resealSilently(
                ids[0], passphrase: notePassphrase("päss"), effort: quickRecord("x").effort) == 2)
        let record = try vault.record(for: vault.item(ids[1]))
        #expect(record.scheme == .argon2id && record.previous.map(\.id) == [old.record.id])
        #expect(try vault.hint(of: record.id) == "h")
        #expect(try vault.item(ids[0]).modified == modified)
        #expect(try vault.opened(vault.item(ids[0])).text == "a")
        #expect(try !vault.needsResealing(vault.item(ids[0])))
    }

    @Test("a scheme that is declared broken is named at the start, and sealed anew under the newest")
    func brokenScheme() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let id = try vault.create(ItemDraft(text: "a"))
        let old = try vault.lockNotes([id], with: quickRecord("p", scheme: .bear))
        #expect(try vault.recordsOfBrokenSchemes().isEmpty)
        vault.lockPolicy = LockPolicy(brokenSchemes: [.bear])
        #expect(try vault.recordsOfBrokenSchemes() == [old.record])
        try vault.resealSilently(id, passphrase: notePassphrase("p"), effort: quickRecord("x").effort)
        #expect(try vault.recordsOfBrokenSchemes().isEmpty)
    }
}
