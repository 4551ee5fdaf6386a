// Backups and restores when the disk fails or the power goes: the target is whole or not there, the store is unharmed.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite("Store under failures", .serialized)
struct StoreFaultTests {
    let random = SeededGenerator.fromEnvironment()
    let clock = ManualClock()

    func environment(_ disk: SimulatedFileSystem) -> StoreEnvironment {
        StoreEnvironment(stateDirectory: "state", fileSystem: disk, random: random, clock: clock)
    }

    func parameters() -> PasswordParameters {
        PasswordParameters.generate(from: random, memoryKibibytes: 65_536, passCount: 3)
    }

    func open(_ path: String, _ disk: SimulatedFileSystem) throws -> Store {
        try Store.open(at: path, with: .passphrase(StoreFixture.passphrase()), environment: environment(disk))
    }

    /// A disk with a store of one vault and one note, all synced.
    func makeDisk() throws -> (disk: SimulatedFileSystem, id: EntityID) {
        let disk = SimulatedFileSystem()
        let store = try Store.create(
            at: "store", passphrase: StoreFixture.passphrase(), parameters: parameters(), deviceName: "laptop",
            environment: environment(disk))
        let vault = try store.openVault(isWritable: true)
        let id = try vault.create(ItemDraft(text: "# Kept\n" + String(repeating: "text ", count: 2_000)))
        vault.close()
        return (disk, id)
    }

    /// Up to `count` of the numbers 1...total, the first and the last among them.
    func samples(_ total: Int, _ count: Int) -> [Int] {
        let step = max(1, total / count)
        return Array(stride(from: 1, through: total, by: step)) + [total]
    }

    @Test("a backup that meets a failure leaves no file behind and the store as it was")
    func failingBackup() throws {
        let (disk, id) = try makeDisk()
        let trial = disk.syncedCopy()
        let store = try open("store", trial)
        let before = trial.operationCount
        _ = try store.backup(to: "backup")
        let total = trial.operationCount - before
        for number in samples(total, 8) {
            let disk = disk.syncedCopy()
            let store = try open("store", disk)
            disk.setPlan(
                FailurePlan(at: disk.operationCount + number, .fail(number % 2 == 0 ? .noSpace : .inputOutput)))
            let report = try? store.backup(to: "backup")
            disk.setPlan(nil)
            let names = (try? BackupFolder(at: "backup", environment: environment(disk)).names()) ?? []
            #expect(names == (report.map { [$0.name] } ?? []), "operation \(number)")
            // What the failure left is in nobody's way.
            _ = try open("store", disk).backup(to: "backup")
            #expect(try BackupFolder(at: "backup", environment: environment(disk)).names().count == names.count + 1)
            let vault = try open("store", disk).openVault(isWritable: false)
            #expect(try vault.item(id).title == "Kept")
        }
    }

    @Test("a power cut while a vault is added leaves a store that names no vault without its files")
    func interruptedVault() throws {
        let (disk, id) = try makeDisk()
        let trial = disk.syncedCopy()
        let store = try open("store", trial)
        let before = trial.operationCount
        try store.addVault(named: "Garden")
        let total = trial.operationCount - before
        var namedCount = 0
        let numbers = samples(total, 24)
        for number in numbers {
            let disk = disk.syncedCopy()
            let store = try open("store", disk)
            disk.setPlan(FailurePlan(at: disk.operationCount + number, .powerCut))
            // The next opening makes up for the last steps, which may fail without a word.
            _ = try? store.addVault(named: "Garden")
            let after = try open("store", disk.restarted(keeping: random))
            let isNamed = try after.vaults.contains { $0.name == "Garden" }
            if isNamed { namedCount += 1 } else { try after.addVault(named: "Garden") }
            let garden = try after.openVault("Garden", isWritable: true)
            let note = try garden.create(ItemDraft(text: "# Beans"))
            #expect(try garden.item(note).title == "Beans")
            garden.close()
            #expect(try after.openVault("Personal", isWritable: false).item(id).title == "Kept")
        }
        #expect(0 < namedCount && namedCount < numbers.count)
    }

    @Test("a power cut during a restore leaves either no store or a whole one")
    func interruptedRestore() throws {
        let (disk, id) = try makeDisk()
        _ = try open("store", disk).backup(to: "backup")
        func restore(on disk: SimulatedFileSystem) throws {
            let folder = try BackupFolder(at: "backup", environment: environment(disk))
            let backup = try OpenBackup(
                try #require(folder.names().last), in: folder, with: .passphrase(StoreFixture.passphrase()))
            try backup.restore(
                to: "restored", passphrase: StoreFixture.passphrase(), parameters: parameters(), deviceName: "desktop")
        }
        let trial = disk.syncedCopy()
        let before = trial.operationCount
        try restore(on: trial)
        let total = trial.operationCount - before
        var restoredCount = 0
        for number in samples(total, 5) {
            let disk = disk.syncedCopy()
            disk.setPlan(FailurePlan(at: disk.operationCount + number, .powerCut))
            #expect(throws: (any Error).self) { try restore(on: disk) }
            let after = disk.restarted(keeping: random)
            if try after.exists("restored") {
                let vault = try open("restored", after).openVault(isWritable: true)
                #expect(try vault.item(id).title == "Kept", "operation \(number)")
                #expect(try vault.check().repository.blobs.problems.isEmpty)
                vault.close()
                restoredCount += 1
            } else {
                // A second attempt finds nothing in its way.
                try restore(on: after)
                #expect(try open("restored", after).openVault(isWritable: false).item(id).title == "Kept")
            }
        }
        #expect(restoredCount < total)
    }
}
