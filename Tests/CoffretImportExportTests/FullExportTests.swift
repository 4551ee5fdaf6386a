// A vault as one JSON file with everything, and back (U19).

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Full export")
struct FullExportTests {
    let folder: TemporaryFolder
    let fixture: ImportFixture

    init() throws {
        folder = try TemporaryFolder()
        fixture = try ImportFixture()
    }

    private var path: String { folder.path + "/all.json" }

    @discardableResult
    private func export() throws -> FullExportReport {
        try fixture.vault.exportEverything(to: path, files: fixture.files, time: fixture.clock.now)
    }

    private func importBack(_ other: ImportFixture) throws -> FullExportReport {
        try other.vault.importEverything(fromPath: path, files: other.files)
    }

    private func portableHash(_ fixture: ImportFixture) throws -> [UInt8] {
        try fixture.vault.present.portableStateHash(files: fixture.files)
    }

    /// A vault with a past: edits, deletions, tags, fields, files of all sizes.
    private func makeHistory() throws {
        let vault = fixture.vault
        for size in [0, 1, FullExport.chunkByteCount, FullExport.chunkByteCount + 1, 2_000_000] {
            try folder.write(Data(fixture.random.bytes(count: size)), to: "in/file \(size).bin")
        }
        try folder.write("# One\n\n#tag text\n", to: "in/one.md")
        try fixture.importPath(folder.path + "/in")
        fixture.clock.advance(by: 1_000)
        var login = ItemDraft(kind: .login, title: "Site \"é😀\"\u{1}")
        login.title = "Site \"é😀\""
        login.fields = [try #require(ItemField(standard: "password", of: .login, value: "\u{0}\u{7}pw"))]
        let id = try vault.create(login)
        fixture.clock.advance(by: 1_000)
        try vault.update(id) { $0.text = String(repeating: "long ", count: 50_000) }
        fixture.clock.advance(by: -5_000)
        try vault.set(.pinned, of: id, to: true)
        let note = try #require(try fixture.items()["in/one.md"])
        try vault.update(note.id) { $0.givenTags = [] }
        let gone = try vault.create(ItemDraft(title: "Gone", text: "was here"))
        try vault.deletePermanently([gone])
        let holder = try #require(try fixture.items()["Files of in"])
        try vault.batch { batch in try batch.removeAttachment(holder.attachments[1]) }
        try vault.batch { batch in
            let key = FactKey(entity: note.id, attribute: "future/attribute")
            batch.write([LogChange(key: key, value: [0xA1, 0x01, 0xF6])])
        }
    }

    @Test("locked notes leave sealed and open under their passphrase in another vault, files and hint included")
    func lockedNotes() throws {
        let vault = fixture.vault
        try folder.write(Data(fixture.random.bytes(count: 1_300_000)), to: "in/map.bin")
        try folder.write("# Diary\n\nxylophone ![](map.bin)\n", to: "in/diary.md")
        try fixture.importPath(folder.path + "/in")
        let id = try #require(try fixture.items()["in/diary.md"]).id
        var typed = Array("note passphrase".utf8)
        let passphrase = try NotePassphrase(SecretBytes(consuming: &typed))
        var record = NewRecord(passphrase)
        record.effort = LockEffort(memoryKibibytes: 65_536, passCount: 3)
        record.hint = "what the bear said"
        try vault.lockNotes([id], with: record)
        _ = try vault.forget(try #require(try vault.forgettingPlan(for: [id])))
        let before = try vault.opened(vault.item(id))
        let report = try export()
        #expect(report.missingAttachments == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains("xylophone") && text.contains("\"hint\":\"what the bear said\""))

        let other = try ImportFixture()
        _ = try importBack(other)
        let sealed = try other.vault.item(id)
        #expect(sealed.isSealed)
        let known = try other.vault.record(for: sealed)
        #expect(try other.vault.hint(of: known.id) == "what the bear said")
        try other.vault.unlockRecord(known, passphrase)
        let open = try other.vault.opened(sealed)
        #expect(open.text == before.text && open.attachments.map(\.name) == ["map.bin"])
        func content(_ item: Item, _ vault: Vault) throws -> [UInt8] {
            var bytes: [UInt8] = []
            try unsafe vault.read(item.attachments[0]) { unsafe bytes.append(contentsOf: $0) }
            return bytes
        }
        #expect(try content(open, other.vault) == content(before, vault))
        try other.vault.unlockNotes([id])
        #expect(try content(other.vault.item(id), other.vault) == content(before, vault))
    }

    @Test("export and import give the same state, the same sequence of states and the same times (U19)")
    func roundTrip() throws {
        try makeHistory()
        let report = try export()
        #expect(report.attachments == 5)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let other = try ImportFixture()
        let back = try importBack(other)
        #expect(back.stateHash == report.stateHash)
        #expect((back.items, back.commits, back.attachments) == (report.items, report.commits, 5))
        #expect(try portableHash(fixture) == portableHash(other))
        // Each state of the past is there, in order, with its time.
        var mine = try fixture.vault.repository.walk()
        var theirs = try other.vault.repository.walk()
        while let entry = try mine.next() {
            let copy = try #require(try theirs.next())
            #expect(copy.body.time == entry.body.time)
            let hash = try fixture.vault.view(at: entry.name).portableStateHash(files: fixture.files)
            #expect(try other.vault.view(at: copy.name).portableStateHash(files: other.files) == hash)
        }
        #expect(try theirs.next() == nil)
        // The contents of files came along, under keys of their own.
        for (title, item) in try fixture.items() {
            let copy = try #require(try other.items()[title])
            #expect(copy.attachments.map(\.name) == item.attachments.map(\.name))
            for (attachment, original) in zip(copy.attachments, item.attachments) {
                let bytes = try other.content(attachment.encodedReference)
                #expect(try bytes != nil && bytes == fixture.content(original.encodedReference))
                #expect(attachment.encodedReference != original.encodedReference)
            }
        }
        // An import of the folder is still the same import.
        #expect(try other.importPath(folder.path + "/in").isNothingNew)
    }

    @Test("without attachments and texts the hash is that of the facts")
    func plainHash() throws {
        _ = try fixture.vault.create(ItemDraft(title: "x"))
        let report = try export()
        #expect(try report.stateHash == fixture.vault.present.snapshot.stateHash())
    }

    @Test("a compacted vault goes out with the history that is left, contents that are gone left out")
    func compacted() throws {
        try makeHistory()
        fixture.clock.advance(by: 100_000)
        let id = try fixture.vault.create(ItemDraft(title: "After", text: "x"))
        try fixture.vault.update(id) { $0.text = "y" }
        #expect(try fixture.vault.compact(dropHistoryOlderThan: fixture.clock.now).removedCount > 0)
        let report = try export()
        #expect((report.attachments, report.missingAttachments) == (4, 0))
        let other = try ImportFixture()
        let back = try importBack(other)
        #expect(back.stateHash == report.stateHash)
        #expect(back.commits == report.commits)
        #expect(report.commits >= 1 && report.commits <= 3)
    }

    @Test("a file that the past names but the store has lost is left out, and said")
    func missingContent() throws {
        try makeHistory()
        var present: [UniqueID] = []
        try fixture.vault.present.forEachItem { item in
            for attachment in item.attachments {
                if let reference = try? AttachmentReference.parse(attachment.encodedReference) {
                    present.append(reference.fileID)
                }
            }
        }
        try fixture.attachments.removeAll(except: present)
        let report = try export()
        #expect((report.attachments, report.missingAttachments) == (4, 1))
        let other = try ImportFixture()
        #expect(try importBack(other).stateHash == report.stateHash)
    }

    @Test("an empty vault goes out and comes in")
    func emptyVault() throws {
        let report = try export()
        #expect((report.items, report.commits) == (0, 0))
        #expect(try importBack(ImportFixture()).commits == 0)
    }

    @Test("the file is plain JSON that others can read, secrets included")
    func plainJSON() throws {
        try makeHistory()
        try export()
        try folder.python(
            """
            import json, base64, hashlib
            data = open('all.json', 'rb').read()
            j = json.loads(data)
            assert list(j) == ['format', 'version', 'exported', 'vault', 'items', 'attachments', 'history', 'stateHash', 'check']
            end = data.rindex(b',"check":')
            assert hashlib.blake2b(data[:end], digest_size=32).hexdigest() == j['check']
            for a in j['attachments']:
                content = b''.join(base64.b64decode(c) for c in a['chunks'])
                assert len(content) == a['byteCount']
                assert hashlib.blake2b(content, digest_size=32).hexdigest() == a['hash']
            assert any(i['title'] == 'Site "é😀"' and i['fields'][0]['value'] == '\\0\\7pw' for i in j['items'])
            """)
    }

    @Test("an existing file is never replaced")
    func occupied() throws {
        try folder.write("mine", to: "all.json")
        #expect(throws: ImportExportError(.targetOccupied, subject: "all.json")) { try export() }
        #expect(try folder.files() == ["all.json": Data("mine".utf8)])
    }

    @Test("a vault with items takes no full import")
    func notEmpty() throws {
        try makeHistory()
        try export()
        #expect(throws: ImportExportError(.vaultNotEmpty)) { try importBack(fixture) }
    }

    @Test("a file that is cut anywhere is refused and nothing is written")
    func truncated() throws {
        _ = try fixture.vault.create(ItemDraft(title: "x", text: "y"))
        try export()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let other = try ImportFixture()
        for count in Array(stride(from: 0, to: whole.count, by: 7)) + [whole.count - 1] {
            try whole.prefix(count).write(to: URL(fileURLWithPath: path))
            #expect(throws: ImportExportError.self, "\(count)") { try importBack(other) }
        }
        try whole.dropLast().write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: ImportExportError.self) { try importBack(other) }
        #expect(error?.code == .formatTruncated)
        #expect(try other.commitCount() == 0)
    }

    @Test("a flipped bit anywhere is noticed before anything is written")
    func flippedBits() throws {
        _ = try fixture.vault.create(ItemDraft(title: "x", text: "y"))
        try export()
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let other = try ImportFixture()
        for offset in 0..<whole.count {
            var changed = whole
            changed[offset] ^= 1 << UInt8(offset % 8)
            try Data(changed).write(to: URL(fileURLWithPath: path))
            #expect(throws: ImportExportError.self, "byte \(offset)") { try importBack(other) }
        }
        #expect(try other.commitCount() == 0)
    }

    @Test("a file with a right check value but wrong content writes nothing (R41)")
    func hostileFiles() throws {
        let head = "{\"format\":\"coffret-export\",\"version\":1,\"exported\":\"2026-01-01\",\"vault\":\"v\","
        let tail = "\"stateHash\":\"\(String(repeating: "0", count: 64))\""
        let good = "{\"time\":1,\"instance\":\"\(String(repeating: "0", count: 32))\",\"changes\":"
        let fact = "[\"N\(String(repeating: "1", count: 32))\",\"title\",null,\"x\"]"
        for (body, code) in [
            ("\"items\":[],\"attachments\":[],\"history\":[\(good)[\(fact)]}],", ImportExportError.Code.stateMismatch),
            ("\"items\":[],\"attachments\":[],\"history\":[\(good)[]}],", .formatInvalid),
            ("\"items\":[],\"attachments\":[],\"history\":[\(good)[\(fact)]},{}],", .formatInvalid),
            ("\"items\":[],\"attachments\":[],\"history\":[\(good)[[\"N1\",\"title\",null,\"x\"]]}],", .formatInvalid),
            (
                "\"items\":[],\"attachments\":[],\"history\":[\(good)[\(fact.replacingOccurrences(of: "\"x\"", with: "{\"attachment\":0}"))]}],",
                .formatInvalid
            ),
            ("\"items\":\(String(repeating: "[", count: 100_000)),", .formatInvalid),
            (
                "\"items\":[],\"attachments\":[{\"byteCount\":3,\"hash\":\"\(String(repeating: "0", count: 64))\",\"chunks\":[\"QUJD\"]}],\"history\":[],",
                .formatInvalid
            ),
            (
                "\"items\":[],\"attachments\":[{\"byteCount\":2,\"hash\":\"\(String(repeating: "0", count: 64))\",\"chunks\":[\"QUJD\"]}],\"history\":[],",
                .formatInvalid
            ),
            ("\"items\":[],\"attachments\":[],\"attachments\":[],\"history\":[],", .formatInvalid),
        ] {
            let text = Array((head + body + tail).utf8)
            let check = Hex.encode(BLAKE2b.hash(text))
            try Data(text + FullExport.trailer(check: check)).write(to: URL(fileURLWithPath: path))
            let other = try ImportFixture()
            let error = #expect(throws: ImportExportError.self) { try importBack(other) }
            #expect(error?.code == code, "\(body.prefix(200))")
            #expect(try other.commitCount() == 0)
        }
        let newer = Array(head.replacingOccurrences(of: ":1,", with: ":2,").dropLast().utf8)
        try Data(newer + FullExport.trailer(check: Hex.encode(BLAKE2b.hash(newer)))).write(
            to: URL(fileURLWithPath: path))
        let error = #expect(throws: ImportExportError.self) { try importBack(ImportFixture()) }
        #expect(error?.code == .formatVersionUnknown)
    }

    @Test("values of facts keep their bytes, readable or not")
    func values() {
        forAll(count: 300) { random in
            let samples: [[UInt8]] = [
                random.bytes(count: 0...40), CBOREncoder.encode { $0.encode(text: random.text(countMax: 20)) },
                CBOREncoder.encode { $0.encode(signed: Int64(bitPattern: random.next())) },
                CBOREncoder.encode { $0.encode(bytes: random.bytes(count: 0...20)) }, [0x18, 0x01], [0x78, 0x00],
            ]
            for sample in samples {
                let form = ExportValue(sample)
                var text: [UInt8] = []
                var writer = JSONWriter<Never> { text += $0 }
                form.write(to: &writer)
                writer.finish()
                var reader = JSONReader(text)
                let back = try ExportValue(startingWith: reader.next(), from: &reader)
                try require(back == form && back.bytes == sample, "\(sample)")
            }
        }
    }
}
