// Backups: everything comes back on a bare machine; nothing damaged ever does.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHistory
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Foundation
import Testing

@Suite("Backup", .serialized)
struct BackupTests {
    let fixture: StoreFixture
    var backupPath: String { fixture.folder.file("backup") }
    var restoredPath: String { fixture.folder.file("restored") }

    init() throws { fixture = try StoreFixture() }

    func expect(_ code: CoreError.Code, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("\(code.rawValue) was expected")
        } catch {
            #expect((error as? CoreError)?.code == code, "\(error)")
        }
    }

    /// A store with two vaults and some history.
    func makeStore() throws -> Store {
        let store = try fixture.create()
        try store.addVault(named: "Work")
        for name in ["Personal", "Work"] {
            let vault = try store.openVault(name, isWritable: true)
            for index in 0..<5 {
                let id = try vault.create(
                    ItemDraft(text: "# \(name) \(index)\n" + String(repeating: "x", count: 9_000)))
                try vault.update(id) { $0.text += "\nmore #tag" }
            }
            let first = try #require(try vault.list(order: .title).first).id
            let file = fixture.folder.file("\(name).bin")
            try Data(repeating: 7, count: 1_500_000).write(to: URL(fileURLWithPath: file))
            try vault.attach(to: first, fileAt: file, fileSystem: PosixFileSystem())
            vault.close()
        }
        return store
    }

    /// Opens the newest backup of the folder as a machine that has nothing does, or the one that is named.
    func open(_ name: BackupName? = nil, at path: String? = nil, with secret: UnlockSecret) throws -> OpenBackup {
        let folder = try BackupFolder(at: path ?? backupPath, environment: fixture.otherMachine())
        return try OpenBackup(try #require(try name ?? folder.names().last), in: folder, with: secret)
    }

    func restore(_ name: BackupName? = nil, with secret: UnlockSecret) throws {
        let backup = try open(name, with: secret)
        try backup.restore(
            to: restoredPath, passphrase: StoreFixture.passphrase("on the new machine"),
            parameters: fixture.parameters(), deviceName: "desktop")
    }

    func openRestored() throws -> Store {
        try Store.open(
            at: restoredPath, with: .passphrase(StoreFixture.passphrase("on the new machine")),
            environment: fixture.otherMachine())
    }

    /// Of all that is the same in every store: not the places of files.
    private static func hash(_ vault: Vault) throws -> [UInt8] {
        let snapshot = try vault.present.snapshot
        return try snapshot.stateHash { (key, facts) throws(StorageError) in
            if key.attribute == AttachmentAttribute.content { return [[]] }
            var values: [[UInt8]] = []
            for fact in facts { values.append(try snapshot.value(of: fact)) }
            return values
        }
    }

    @Test("a backup restores every vault with its history on a machine that has nothing, as a new device")
    func roundTrip() throws {
        let store = try makeStore()
        var progress: [Int] = []
        let report = try store.backup(to: backupPath) { done, _ in progress.append(done) }
        #expect(report.vaultNames == ["Personal", "Work"])
        #expect(progress == progress.sorted() && !progress.isEmpty)
        #expect(report.writtenByteCount == (try writtenFiles().reduce(0) { $0 + $1.bytes.count }))
        try restore(with: .passphrase(StoreFixture.passphrase()))
        let restored = try openRestored()
        #expect(restored.keyring.instanceStatus == .current)
        #expect(try restored.keyring.deviceID() != store.keyring.deviceID())
        #expect(try restored.keyring.instanceID() != store.keyring.instanceID())
        #expect(restored.keyring.storeID != store.keyring.storeID)
        for name in ["Personal", "Work"] {
            let before = try store.openVault(name, isWritable: false)
            let vault = try restored.openVault(name, isWritable: true)
            #expect(try vault.list() == before.list())
            #expect(try Self.hash(vault) == Self.hash(before))
            let listed = try vault.list(order: .title)
            let attachment = try #require(try vault.item(listed[0].id).attachments.first)
            let target = fixture.folder.file("out")
            try vault.extract(attachment, toFile: target)
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data(repeating: 7, count: 1_500_000))
            #expect(try vault.check().isClean)
            let id = listed[1].id
            #expect(try vault.history(of: id).count == 2)
            try vault.update(id) { $0.text += "\nafter the restore" }
            #expect(try vault.history(of: id).count == 3)
            vault.close()
        }
    }

    @Test(
        "keys 10: nothing that a device of the account of before signs counts in a restored store, whatever keys it has"
    )
    func formerDevices() throws {
        let store = try makeStore()
        _ = try store.backup(to: backupPath) { _, _ in }
        try restore(with: .passphrase(StoreFixture.passphrase()))
        let restored = try openRestored()
        let (old, new) = (
            try store.openVault("Work", isWritable: false), try restored.openVault("Work", isWritable: false)
        )
        let (oldID, newID) = (try store.vaultRecord("Work").vaultID, try restored.vaultRecord("Work").vaultID)
        #expect(oldID != newID)
        // What it pushes does not even open.
        var walk = try old.repository.walk()
        let entry = try #require(try walk.next())
        let blob = try old.repository.exchange.sealedBlob(entry.name)
        #expect(try new.repository.exchange.openSealed(blob) { (name, _, _) in name } == nil)
        // With the keys of today it is a stranger: its account has no place in the member chain.
        let author = try store.author(for: oldID)
        let members = try new.repository.ask { (machine) in machine.members }
        let link = try #require(Bytes32(members.chain.links[0].hash.bytes))
        let context = EntryContext(
            vaultID: newID, accountID: author.accountID, deviceID: author.deviceID,
            nonce: .generate(from: fixture.random), firstLink: 0, deviceHead: author.deviceHead,
            memberHead: ChainPosition(number: 0, hash: link), epoch: 1)
        let body = EntryBody(
            context: context.name, number: 1, before: nil, height: 50, time: 1, seen: Frontier())
        let content = body.sign(in: context, with: try #require(author.signingKey)).content
        let read = try UnverifiedEntry.decode(content, name: entry.name) { _ in context }
        #expect(throws: HistoryError.self) {
            let signed = try EntryVerifier(vaultID: newID, authority: members).verifySignature(of: read)
            try members.check(VerifiedEntry(signed), behind: nil)
        }
    }

    @Test("a recovery key opens a backup, and stays valid in the restored store")
    func recoveryKey() throws {
        let store = try makeStore()
        let sheet = try store.changeKeyring { keyring in try keyring.addRecoveryKey(named: "safe") }
        _ = try store.backup(to: backupPath)
        try restore(with: .recoveryKey(sheet.key))
        let restored = try Store.open(
            at: restoredPath, with: .recoveryKey(sheet.key), environment: fixture.otherMachine())
        #expect(try restored.vaults.count == 2)
    }

    @Test("no private key of the device and nothing readable is in a backup")
    func content() throws {
        let store = try makeStore()
        let vault = try store.openVault("Work", isWritable: true)
        _ = try vault.create(ItemDraft(text: "canary-in-the-vault"))
        vault.close()
        _ = try store.backup(to: backupPath)
        let bytes = try writtenFiles().reduce(Data()) { $0 + $1.bytes }
        for text in ["canary", "Personal", "journal", "laptop"] {
            #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text)")
        }
        let manifest = try Data(
            contentsOf: URL(
                fileURLWithPath: store.layout.vaultPath(try store.vaultRecord("Work").vaultID) + "/manifest"))
        #expect(bytes.range(of: manifest) == nil, "files are sealed once more")
    }

    @Test("a wrong passphrase opens no backup")
    func wrongPassphrase() throws {
        _ = try makeStore().backup(to: backupPath)
        expect(.keys) { try restore(with: .passphrase(StoreFixture.passphrase("wrong"))) }
        #expect(!FileManager.default.fileExists(atPath: restoredPath))
    }

    /// The files of all backups and volumes.
    func writtenFiles() throws -> [(path: String, bytes: Data)] {
        try ["backups", "volumes"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: backupPath + "/" + folder).sorted().map { name in
                let path = "\(backupPath)/\(folder)/\(name)"
                return (path, try Data(contentsOf: URL(fileURLWithPath: path)))
            }
        }
    }

    @Test(
        "a backup of which any file is cut, missing or changed in any byte is refused before anything is written (R10, R14)"
    )
    func damage() throws {
        let store = try makeStore()
        let sheet = try store.changeKeyring { keyring in try keyring.addRecoveryKey(named: "safe") }
        _ = try store.backup(to: backupPath)
        let files = try writtenFiles()
        #expect(files.count >= 2)
        let random = fixture.random
        for round in 0..<60 {
            let (path, bytes) = files[round % files.count]
            let isVolume = path.contains("/volumes/")
            var copy = [UInt8](bytes)
            // The padding behind the last piece of a volume is nobody's.
            let meant = isVolume ? copy.count - (copy.reversed().firstIndex { $0 != 0 } ?? 0) : copy.count
            switch round / files.count % 3 {
            case 0: copy = Array(copy.prefix(random.int(in: 0...meant - 1)))
            case 1: copy[random.int(in: (isVolume ? 16 : 0)...meant - 1)] ^= 1 << UInt8(random.int(in: 0...7))
            default:
                if isVolume { copy = [] } else { copy += random.bytes(count: 1...100) }
            }
            if copy.isEmpty {
                try FileManager.default.removeItem(atPath: path)
            } else {
                try Data(copy).write(to: URL(fileURLWithPath: path))
            }
            #expect(throws: (any Error).self, "round \(round) of \(path)") {
                try open(with: .recoveryKey(sheet.key)).restore(
                    to: restoredPath, passphrase: StoreFixture.passphrase(), parameters: fixture.parameters(),
                    deviceName: "desktop")
            }
            #expect(!FileManager.default.fileExists(atPath: restoredPath))
            #expect(!FileManager.default.fileExists(atPath: restoredPath + ".restoring"))
            try bytes.write(to: URL(fileURLWithPath: path))
        }
        try restore(with: .recoveryKey(sheet.key))
    }

    @Test("a second backup of an unchanged store writes next to nothing, and each one restores its own state")
    func increments() throws {
        let store = try makeStore()
        let first = try store.backup(to: backupPath)
        let second = try store.backup(to: backupPath)
        #expect(first.writtenByteCount > 3_000_000)
        #expect(second.writtenByteCount < 8_192, "a list and a header: \(second.writtenByteCount)")
        #expect(second.byteCount == first.byteCount)
        let vault = try store.openVault("Work", isWritable: true)
        let id = try vault.create(ItemDraft(text: "# After the second\n"))
        vault.close()
        let third = try store.backup(to: backupPath)
        #expect(third.writtenByteCount < 256 << 10, "the end of a journal: \(third.writtenByteCount)")
        #expect(first.name < second.name && second.name < third.name)
        for (name, isThere) in [(first.name, false), (second.name, false), (third.name, true)] {
            try restore(name, with: .passphrase(StoreFixture.passphrase()))
            let vault = try openRestored().openVault("Work", isWritable: false)
            #expect(try (vault.present.item(id) != nil) == isThere, "\(name.text)")
            #expect(try vault.check().isClean)
            try FileManager.default.removeItem(atPath: restoredPath)
        }
    }

    @Test("a passphrase that was changed opens no later backup, not even beside an earlier one")
    func changedPassphrase() throws {
        let store = try makeStore()
        let first = try store.backup(to: backupPath)
        let (fresh, parameters) = (try StoreFixture.passphrase("another one"), fixture.parameters())
        try store.changeKeyring { keyring in
            try keyring.changePassphrase(fresh, parameters: parameters)
        }
        let second = try store.backup(to: backupPath)
        #expect(second.writtenByteCount > 3_000_000, "nothing is shared with what the old passphrase opens")
        expect(.keys) { _ = try open(second.name, with: .passphrase(StoreFixture.passphrase())) }
        _ = try open(first.name, with: .passphrase(StoreFixture.passphrase()))
        let folder = try BackupFolder(at: backupPath, environment: fixture.environment)
        let check = try store.verifyBackups(in: folder)
        #expect(check.unreadable == [first.name] && check.damaged.isEmpty && check.backupCount == 2)
    }

    @Test("verifying reads what is new, finds what decayed, and the next backup writes that anew")
    func verification() throws {
        let store = try makeStore()
        _ = try store.backup(to: backupPath)
        let folder = try BackupFolder(at: backupPath, environment: fixture.environment)
        let first = try store.verifyBackups(in: folder)
        #expect(first.damaged.isEmpty && first.readVolumeCount == first.volumeCount && first.readByteCount > 3_000_000)
        #expect(try store.verifyBackups(in: folder).readByteCount == 0)
        let vault = try store.openVault("Work", isWritable: true)
        _ = try vault.create(ItemDraft(text: "# New\n"))
        vault.close()
        let second = try store.backup(to: backupPath)
        let third = try store.verifyBackups(in: folder)
        #expect(third.readVolumeCount == 1 && third.readByteCount < 256 << 10)
        #expect(try store.verifyBackups(in: folder, readsAll: true).readByteCount > 3_000_000)

        let path = try #require(try writtenFiles().max { $0.bytes.count < $1.bytes.count }).path
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[1_000_000] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let damaged = try store.verifyBackups(in: folder, readsAll: true)
        #expect(damaged.damaged.count == 2 && damaged.damaged.keys.contains(second.name))
        let healed = try store.backup(to: backupPath)
        #expect(healed.writtenByteCount > 1_000_000)
        #expect(try store.verifyBackups(in: folder).damaged[healed.name] == nil)
        let file = try #require(FileHandle(forWritingAtPath: backupPath + "/backups/" + healed.name.text))
        try file.truncate(atOffset: file.seekToEnd() - 1)
        #expect(try store.verifyBackups(in: folder).damaged[healed.name] != nil, "it was whole when it was verified")
        let last = try store.backup(to: backupPath)
        #expect(try store.verifyBackups(in: folder).damaged[last.name] == nil)
        try restore(last.name, with: .passphrase(StoreFixture.passphrase()))
    }

    @Test("pruning keeps the newest and what it needs, and others' young volumes")
    func pruning() throws {
        let store = try makeStore()
        let first = try store.backup(to: backupPath)
        for name in ["Personal", "Work"] {
            let vault = try store.openVault(name, isWritable: true)
            try vault.deletePermanently(try vault.list().map(\.id))
            _ = try vault.compact(dropHistoryOlderThan: .max)
            vault.close()
        }
        // This one needs next to nothing of the first volume; the one after it needs nothing.
        let second = try store.backup(to: backupPath)
        let last = try store.backup(to: backupPath)
        let folder = try BackupFolder(at: backupPath, environment: fixture.environment)
        let volumes = { try FileManager.default.contentsOfDirectory(atPath: self.backupPath + "/volumes").count }
        let before = try volumes()
        #expect(try folder.prune(before: .max, isTrial: true).removed == [first.name, second.name])
        #expect(try folder.names().count == 3)
        #expect(try folder.prune(before: .max).removed == [first.name, second.name])
        #expect(try volumes() == before, "volumes younger than a day stay")
        for name in try FileManager.default.contentsOfDirectory(atPath: backupPath + "/volumes") {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: backupPath + "/volumes/" + name
            )
        }
        let report = try folder.prune(before: .max)
        #expect(report.removed.isEmpty && report.kept == [last.name] && report.byteCount > 0)
        #expect(try volumes() < before)
        try restore(with: .passphrase(StoreFixture.passphrase()))
    }

    @Test("a place that is taken is never overwritten, by a backup or by a restored store")
    func takenPlaces() throws {
        let store = try makeStore()
        let foreign = fixture.folder.file("foreign")
        try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
        try Data("a letter".utf8).write(to: URL(fileURLWithPath: foreign + "/letter"))
        expect(.backupUnknownFormat) { _ = try store.backup(to: foreign) }
        expect(.inputOutput) { _ = try store.backup(to: foreign + "/letter") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: foreign) == ["letter"])
        _ = try store.backup(to: backupPath)
        let backup = try open(with: .passphrase(StoreFixture.passphrase()))
        expect(.storeExists) {
            try backup.restore(
                to: fixture.storePath, passphrase: StoreFixture.passphrase(), parameters: fixture.parameters(),
                deviceName: "desktop")
        }
        #expect(try fixture.open().vaults.count == 2)
    }

    @Test("what is no backup, or of a later version, is told apart from a damaged one")
    func foreignFiles() throws {
        let store = try fixture.create()
        let name = try store.backup(to: backupPath).name
        for (content, code) in [
            ("hello", CoreError.Code.backupUnknownFormat), ("", .backupUnknownFormat), ("coffret/back", .backupDamaged),
            ("coffret/backup/3xxxxxxxxxxxx", .backupUnknownFormat), ("coffret/backup/2", .backupDamaged),
            ("coffret/backup/2\u{7F}\u{7F}\u{7F}\u{7F}", .backupDamaged),
            ("coffret/backup/2\u{0}\u{0}\u{0}\u{4}abcd", .backupDamaged),
        ] {
            try Data(content.utf8).write(to: URL(fileURLWithPath: "\(backupPath)/backups/\(name.text)"))
            expect(code) { try restore(with: .passphrase(StoreFixture.passphrase())) }
        }
        expect(.inputOutput) {
            _ = try BackupFolder(at: fixture.folder.file("nothing"), environment: fixture.environment)
        }
        #expect(
            ["", "20261123T121500Z", "20261323T121500Z-0f3a9c41", "20261123T121500Z-0F3A9C41"].allSatisfy {
                BackupName($0) == nil
            })
        #expect(BackupName("20261123T121500Z-0f3a9c41")?.time == 1_795_436_100_000)
    }
}
