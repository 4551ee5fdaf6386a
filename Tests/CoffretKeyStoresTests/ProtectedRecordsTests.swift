// Small records behind a TPM's counter and in the desktop's keyring: what is put back, taken away or cut short.

import CoffretBase
import CoffretKeyStores
import CoffretTestSupport
import Dispatch
import Foundation
import Testing

@testable import CoffretKeys

/// A home of records to be tested.
struct RecordsCase: Sendable, CustomTestStringConvertible {
    let name: String
    let isAvailable: Bool
    let make: @Sendable (KeyStoreFixture) throws -> (records: any ProtectedRecords, keepAlive: [any Sendable])

    var testDescription: String { name }

    static let available = [
        RecordsCase(name: "TPM", isAvailable: SoftwareTPM.isAvailable) { fixture in
            let tpm = try SoftwareTPM()
            return (fixture.tpmRecords(tpm.transport), [tpm])
        },
        RecordsCase(name: "keyring", isAvailable: HeadlessKeyring.isAvailable) { fixture in
            let keyring = try HeadlessKeyring(password: "login")
            return (fixture.secretServiceRecords(), [keyring])
        },
    ].filter(\.isAvailable)
}

extension KeyStoreFixture {
    var recordsFolder: String { directory.file("state/records") }

    func tpmRecords(_ transport: String) -> TPMRecords {
        TPMRecords(
            transport: TPMTransport(configuration: transport), folder: recordsFolder, fileSystem: PosixFileSystem(),
            random: environment.random)
    }

    func secretServiceRecords() -> SecretServiceRecords {
        SecretServiceRecords(
            folder: recordsFolder, machineSecret: environment.machineSecret, fileSystem: PosixFileSystem(),
            random: environment.random)
    }
}

extension DesktopTests {
    @Suite("Protected records", .serialized)
    struct ProtectedRecordsTests {
        let fixture: KeyStoreFixture

        init() throws { fixture = try KeyStoreFixture() }

        @Test("records are kept by name, over many writers", arguments: RecordsCase.available)
        func kept(recordsCase: RecordsCase) throws {
            let (records, keepAlive) = try recordsCase.make(fixture)
            #expect(records.read("a.attempts") == .missing)
            try records.write("a.attempts", [1])
            try records.write("b.attempts", [])
            for number in UInt8(2)...5 { try records.write("a.attempts", [number]) }
            #expect(records.read("a.attempts") == .present([5]))
            #expect(records.read("b.attempts") == .present([]))
            #expect(records.read("c.attempts") == .missing)
            #expect(throws: (any Error).self) { try records.write("a", [UInt8](repeating: 0, count: 5_000)) }
            #expect(records.read("a.attempts") == .present([5]))
            withExtendedLifetime(keepAlive) {}
        }

        @Test(
            "a keyring older than what is remembered is refused, even if the state folder is gone (R1)",
            arguments: RecordsCase.available)
        func generations(recordsCase: RecordsCase) throws {
            let (records, keepAlive) = try recordsCase.make(fixture)
            var environment = fixture.environment
            environment.memory = GenerationMemory(records: records)
            let keyring = try Keyring.create(
                passphrase: KeyStoreFixture.passphrase("one"), parameters: KeyStoreFixture.parameters(),
                deviceName: "laptop", environment: environment)
            let (sheet, _) = try keyring.addRecoveryKey(named: "sheet")
            let old = try fixture.file
            _ = try keyring.addVault(named: "Personal")
            let now = try fixture.file
            try fixture.put(old)
            try FileManager.default.removeItem(
                atPath: Marker.path(storeID: keyring.storeID, stateDirectory: environment.stateDirectory))
            #expect(throws: KeyError(.keyringRolledBack)) {
                _ = try Keyring.open(with: .recoveryKey(sheet), environment: environment)
            }
            let accepted = try Keyring.open(with: .recoveryKey(sheet), acceptsRollback: true, environment: environment)
            #expect(accepted.instanceStatus == .rolledBack && accepted.generation == keyring.generation)
            try fixture.put(now)
            #expect(
                try Keyring.open(with: .recoveryKey(sheet), environment: environment).generation == keyring.generation)
            withExtendedLifetime(keepAlive) {}
        }

        @Test(
            "R30: tries are counted in both homes of one folder, and the generation is asked for meanwhile",
            .timeLimit(.minutes(2)), arguments: RecordsCase.available)
        func nested(recordsCase: RecordsCase) throws {
            let (records, keepAlive) = try recordsCase.make(fixture)
            let files = FileRecords(
                folder: fixture.recordsFolder, fileSystem: PosixFileSystem(), random: fixture.environment.random)
            var made = fixture.environment
            made.memory = GenerationMemory(records: records)
            made.attempts = AttemptCounting(
                homes: [records, files], bootID: [1], now: { BootInstant(nanoseconds: 1) })
            let environment = made
            let storeID = try Keyring.create(
                passphrase: KeyStoreFixture.passphrase("one"), parameters: KeyStoreFixture.parameters(),
                deviceName: "laptop", environment: environment
            ).storeID
            // Locks that wait for themselves would stop this thread for ever, and with it the tests.
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                for words in ["two", "one"] {
                    _ = try? Keyring.open(
                        with: .passphrase(KeyStoreFixture.passphrase(words)), environment: environment)
                    let count = words == "two" ? 1 : 0
                    for home in [records, files] as [any ProtectedRecords] {
                        guard case .present(let bytes) = home.read("\(storeID.hex).attempts") else { return }
                        #expect(AttemptRecord(decoding: bytes)?.failedCount == UInt32(count))
                    }
                }
                isDone.signal()
            }
            #expect(isDone.wait(timeout: .now() + 60) == .success)
            #expect(GenerationMemory(records: records).generation(of: storeID) == 1)
            withExtendedLifetime(keepAlive) {}
        }

        @Test(
            "a keyring that nobody unlocked is no home, and its records are not believed to be missing",
            .enabled(if: HeadlessKeyring.isAvailable, "gnome-keyring is not installed"))
        func lockedKeyring() throws {
            let keyring = try HeadlessKeyring(password: nil)
            let records = fixture.secretServiceRecords()
            #expect(!records.isAvailable())
            #expect(throws: (any Error).self) { try records.write("a", [1]) }
            withExtendedLifetime(keyring) {}
        }
    }
}

@Suite("Records behind a TPM", .serialized, .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
struct TPMRecordsTests {
    let fixture: KeyStoreFixture
    let tpm: SoftwareTPM
    var file: URL { URL(fileURLWithPath: fixture.recordsFolder + "/tpm.records") }

    init() throws {
        fixture = try KeyStoreFixture()
        tpm = try SoftwareTPM()
    }

    @Test("an old file put back, an altered one and one taken away are told apart from none (R30)")
    func putBack() throws {
        let records = fixture.tpmRecords(tpm.transport)
        try records.write("attempts", [1])
        let old = try Data(contentsOf: file)
        try records.write("attempts", [2])
        let new = try Data(contentsOf: file)
        try old.write(to: file)
        #expect(records.read("attempts") == .altered)
        for offset in stride(from: 0, to: new.count, by: 23) {
            var altered = new
            altered[offset] ^= 1
            try altered.write(to: file)
            #expect(records.read("attempts") == .altered, "byte \(offset)")
        }
        try FileManager.default.removeItem(at: file)
        #expect(records.read("attempts") == .altered)
        // A restart of the TPM changes nothing; the newest file is taken again.
        try new.write(to: file)
        try tpm.restart()
        #expect(records.read("attempts") == .present([2]))
        // Writing goes on after a loss, and what was there before stays lost.
        try FileManager.default.removeItem(at: file)
        try records.write("other", [3])
        #expect(records.read("other") == .present([3]))
        try new.write(to: file)
        #expect(records.read("attempts") == .altered)
    }

    @Test("another store's folder has another counter, and another TPM takes nothing over")
    func apart() throws {
        let records = fixture.tpmRecords(tpm.transport)
        try records.write("attempts", [1])
        let other = try KeyStoreFixture()
        #expect(other.tpmRecords(tpm.transport).read("attempts") == .missing)
        try tpm.clear()
        #expect(records.read("attempts") == .altered)
        try records.write("attempts", [9])
        #expect(records.read("attempts") == .present([9]))
    }

    @Test("the line cut at each command of a write: the old record or the new one stands, never a lost one")
    func cut() throws {
        try fixture.tpmRecords(tpm.transport).write("attempts", [1])
        try TPMConnection(transport: TPMTransport(configuration: tpm.transport)).shutDown()
        let (memory, old) = (try tpm.permanentMemory(), try Data(contentsOf: file))
        for manner in CuttingProxy.Manner.allCases {
            for cutCount in 0... {
                try tpm.restart(with: memory)
                try old.write(to: file)
                let proxy = try CuttingProxy(to: tpm, after: cutCount, manner)
                let result = Result { try fixture.tpmRecords(proxy.transport).write("attempts", [2]) }
                proxy.stop()
                guard proxy.didCut else {
                    #expect(throws: Never.self) { try result.get() }
                    break
                }
                // What was loaded when the line broke fills a TPM without a resource manager.
                try tpm.restart()
                let after = fixture.tpmRecords(tpm.transport)
                // On a busy machine the TPM that was started anew may not answer at once.
                try Waiting.until("the TPM answers") { after.isAvailable() }
                let found = after.read("attempts")
                #expect(found == .present([1]) || found == .present([2]), "\(manner), command \(cutCount): \(found)")
                if case .success = result { #expect(found == .present([2])) }
                try after.write("attempts", [3])
                #expect(after.read("attempts") == .present([3]), "\(manner), command \(cutCount)")
            }
        }
    }

    @Test("a TPM that is gone is not taken for one without records")
    func gone() throws {
        let records = fixture.tpmRecords(tpm.transport)
        #expect(records.isAvailable())
        try records.write("attempts", [1])
        tpm.stop()
        #expect(!records.isAvailable())
        #expect(records.read("attempts") == .altered)
        #expect(throws: (any Error).self) { try records.write("attempts", [2]) }
    }
}
