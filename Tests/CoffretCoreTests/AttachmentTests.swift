// Files of items: in, out, away, back, and what compaction leaves of them.

import CoffretBase
import CoffretCore
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@Suite("Attachments of items")
struct AttachmentTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }

    init() throws { fixture = try VaultFixture() }

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = fixture.folder.file(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    func content(_ attachment: CoffretCore.Attachment, of vault: Vault) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try unsafe vault.read(attachment) { buffer in unsafe bytes += buffer }
        return bytes
    }

    @discardableResult
    func attach(_ name: String, _ bytes: [UInt8], to id: EntityID) throws -> CoffretCore.Attachment {
        try vault.attach(to: id, fileAt: file(name, bytes), fileSystem: PosixFileSystem())
    }

    @Test("a file comes out as it went in, and is found by its name")
    func roundTrip() throws {
        let id = try vault.create(ItemDraft(text: "# Camera"))
        let bytes = fixture.random.bytes(count: 2_500_000)
        try attach("manual.pdf", bytes, to: id)
        try attach("empty.bin", [], to: id)
        let reopened = try fixture.reopened()
        let item = try reopened.item(id)
        #expect(item.attachments.map(\.name) == ["empty.bin", "manual.pdf"])
        #expect(item.attachments.map(\.byteCount) == [0, 2_500_000])
        #expect(item.attachments.map(\.mediaType) == ["application/octet-stream", "application/pdf"])
        #expect(try content(item.attachment(named: "MANUAL.pdf"), of: reopened) == bytes)
        #expect(try content(item.attachment(named: "empty.bin"), of: reopened) == [])
        let target = fixture.folder.file("out.pdf")
        try reopened.extract(item.attachment(named: "manual.pdf"), toFile: target)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data(bytes))
        #expect(try reopened.search("manual").hits.map(\.item.id) == [id])
        #expect(try reopened.list().first?.hasAttachments == true)
    }

    @Test("a size that no file has, as a wrong device may state it, is read as one that a file can have")
    func wrongSizes() throws {
        let id = try vault.create(ItemDraft(text: "x"))
        for (stated, read) in [(Int64.min, 0), (-1, 0), (Int64.max, 1 << 50), (7, 7)] {
            let attachment = try attach("a.txt", [1], to: id)
            let key = FactKey(entity: attachment.id, attribute: AttachmentAttribute.byteCount)
            let value = CBOREncoder.encode { $0.encode(signed: stated) }
            try vault.repository.commit([LogChange(key: key, value: value)], time: 1)
            let found = try vault.item(id).attachments.first { $0.id == attachment.id }
            #expect(found?.byteCount == read, "\(stated)")
        }
    }

    @Test("a name that two files share is an error, a part of the id tells them apart")
    func ambiguousNames() throws {
        let id = try vault.create(ItemDraft(text: "x"))
        let first = try attach("a.txt", [1], to: id)
        try attach("a.txt", [2], to: id)
        let item = try vault.item(id)
        #expect(throws: CoreError.self) { try item.attachment(named: "a.txt") }
        #expect(try item.attachment(named: first.id.uuid.hex).id == first.id)
        #expect(throws: CoreError(.attachmentNotFound, at: "b")) { try item.attachment(named: "b") }
    }

    @Test("names that are paths are refused before anything is stored")
    func badNames() throws {
        let id = try vault.create(ItemDraft(text: "x"))
        let path = try file("plain", [1])
        for name in ["", ".", "..", "a/b", "../x", "a\nb", String(repeating: "n", count: 1_025)] {
            #expect(throws: CoreError(.fieldInvalid, at: "file name")) {
                try vault.attach(to: id, fileAt: path, name: name, fileSystem: PosixFileSystem())
            }
        }
        #expect(try vault.contents().storedFiles().isEmpty)
    }

    @Test("a removed file is in the history and comes back with the version that had it")
    func history() throws {
        let id = try vault.create(ItemDraft(text: "x"))
        let attachment = try attach("a.txt", [1, 2, 3], to: id)
        try vault.removeAttachment(attachment)
        #expect(try vault.item(id).attachments.isEmpty)
        #expect(try vault.search("has:attachment").totalCount == 0)
        let versions = try vault.history(of: id)
        #expect(versions.map(\.change.summary) == ["file −a.txt", "file +a.txt", "created, text +1"])
        try vault.restore(id, to: versions[1].commit)
        #expect(try content(vault.item(id).attachment(named: "a.txt"), of: vault) == [1, 2, 3])
    }

    @Test("compaction keeps files that a kept state names and removes the others")
    func compaction() throws {
        let id = try vault.create(ItemDraft(text: "x"))
        let old = try attach("old.txt", [1], to: id)
        try attach("kept.txt", [2], to: id)
        try vault.removeAttachment(old)
        #expect(try vault.compact().removedFileCount == 0, "the history still names both")
        fixture.clock.advance(by: 10 * CivilTime.millisecondsPerDay)
        try vault.update(id) { $0.text = "y" }
        let report = try vault.compact(dropHistoryOlderThan: fixture.clock.now)
        #expect(report.removedFileCount == 1)
        let item = try vault.item(id)
        #expect(try content(item.attachment(named: "kept.txt"), of: vault) == [2])
        let check = try vault.check()
        #expect(check.isClean && check.attachmentCount == 1)
        #expect(try vault.history(of: id).count >= 1)
    }

    @Test("a check names the item whose file is damaged or gone")
    func damage() throws {
        let id = try vault.create(ItemDraft(text: "x"))
        try attach("a.txt", [1, 2, 3], to: id)
        #expect(try vault.check().isClean)
        let folder = fixture.folder.file("vault/files")
        let walk = try #require(FileManager.default.enumerator(atPath: folder))
        for case let name as String in walk where name.count > 60 {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        let problems = try vault.check().attachmentProblems
        #expect(problems.count == 1)
        #expect(problems.first?.place == "a.txt of \(id.uuid.hex): the file is missing")
    }
}
