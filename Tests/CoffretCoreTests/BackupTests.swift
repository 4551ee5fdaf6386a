// Backups: everything comes back on a bare machine; nothing damaged ever does.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretStorage
import CoffretTestSupport
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

    func restore(with secret: UnlockSecret) throws {
        let backup = try OpenBackup(at: backupPath, with: secret, environment: fixture.otherMachine())
        try backup.restore(
            to: restoredPath, passphrase: StoreFixture.passphrase("on the new machine"),
            parameters: fixture.parameters(), deviceName: "desktop")
    }

    func openRestored() throws -> Store {
        try Store.open(
            at: restoredPath, with: .passphrase(StoreFixture.passphrase("on the new machine")),
            environment: fixture.otherMachine())
    }

    @Test("a backup restores every vault with its history on a machine that has nothing, as a new device")
    func roundTrip() throws {
        let store = try makeStore()
        var progress: [Int] = []
        let report = try store.backup(to: backupPath) { done, _ in progress.append(done) }
        #expect(report.vaultNames == ["Personal", "Work"])
        #expect(progress == progress.sorted() && !progress.isEmpty)
        #expect(report.byteCount == (try Data(contentsOf: URL(fileURLWithPath: backupPath)).count))
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
            #expect(try vault.present.snapshot.stateHash() == before.present.snapshot.stateHash())
            let listed = try vault.list(order: .title)
            let attachment = try #require(try vault.item(listed[0].id).attachments.first)
            let target = fixture.folder.file("out")
            try vault.extract(attachment, toFile: target)
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data(repeating: 7, count: 1_500_000))
            #expect(try vault.check(signers: restored.signers()).isClean)
            let id = listed[1].id
            #expect(try vault.history(of: id).count == 2)
            try vault.update(id) { $0.text += "\nafter the restore" }
            #expect(try vault.history(of: id).count == 3)
            vault.close()
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
        let bytes = try Data(contentsOf: URL(fileURLWithPath: backupPath))
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

    @Test("a backup cut anywhere, or with any byte changed, is refused before anything is written (R10, R14)")
    func damage() throws {
        let store = try makeStore()
        let sheet = try store.changeKeyring { keyring in try keyring.addRecoveryKey(named: "safe") }
        _ = try store.backup(to: backupPath)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: backupPath)))
        let random = fixture.random
        let damaged = fixture.folder.file("damaged")
        for round in 0..<60 {
            var copy = bytes
            switch round % 3 {
            case 0: copy.removeLast(random.int(in: 1...bytes.count))
            case 1: copy[random.int(in: 0...bytes.count - 1)] ^= 1 << UInt8(random.int(in: 0...7))
            default: copy += random.bytes(count: 1...100)
            }
            try Data(copy).write(to: URL(fileURLWithPath: damaged))
            #expect(throws: CoreError.self, "round \(round)") {
                try OpenBackup(at: damaged, with: .recoveryKey(sheet.key), environment: fixture.otherMachine())
                    .restore(
                        to: restoredPath, passphrase: StoreFixture.passphrase(), parameters: fixture.parameters(),
                        deviceName: "desktop")
            }
            #expect(!FileManager.default.fileExists(atPath: restoredPath))
            #expect(!FileManager.default.fileExists(atPath: restoredPath + ".restoring"))
        }
    }

    @Test("a place that is taken is never overwritten, by a backup or by a restored store")
    func takenPlaces() throws {
        let store = try makeStore()
        _ = try store.backup(to: backupPath)
        expect(.backupExists) { _ = try store.backup(to: backupPath) }
        let backup = try OpenBackup(
            at: backupPath, with: .passphrase(StoreFixture.passphrase()), environment: fixture.otherMachine())
        expect(.storeExists) {
            try backup.restore(
                to: fixture.storePath, passphrase: StoreFixture.passphrase(), parameters: fixture.parameters(),
                deviceName: "desktop")
        }
        #expect(try fixture.open().vaults.count == 2)
    }

    @Test("what is no backup, or of a later version, is told apart from a damaged one")
    func foreignFiles() throws {
        for (content, code) in [
            ("hello", CoreError.Code.backupUnknownFormat), ("", .backupUnknownFormat),
            ("coffret/backup/2xxxxxxxxxxxx", .backupUnknownFormat), ("coffret/backup/1", .backupDamaged),
            ("coffret/backup/1\u{7F}\u{7F}\u{7F}\u{7F}", .backupDamaged),
            ("coffret/backup/1\u{0}\u{0}\u{0}\u{4}abcd", .backupDamaged),
        ] {
            try Data(content.utf8).write(to: URL(fileURLWithPath: backupPath))
            expect(code) { try restore(with: .passphrase(StoreFixture.passphrase())) }
        }
        expect(.inputOutput) {
            _ = try OpenBackup(
                at: fixture.folder.file("nothing"), with: .passphrase(StoreFixture.passphrase()),
                environment: fixture.environment)
        }
    }
}
