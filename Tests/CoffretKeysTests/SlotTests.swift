// Recovery keys, machine slots and backups.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretKeys

@Suite("Slots and sheets")
struct SlotTests {
    let fixture = KeyringFixture()

    @Test("recovery keys: any number, listed by name, each opens, a removed one does not")
    func recoveryKeys() throws {
        let keyring = try fixture.create()
        let (one, first) = try keyring.addRecoveryKey(named: "safe")
        let (two, _) = try keyring.addRecoveryKey(named: "bank")
        #expect(try keyring.slotDetails().map(\.name) == ["", "safe", "bank"])
        _ = try fixture.open(one)
        _ = try fixture.open(RecoveryKey.parse(two.text()))
        try keyring.removeSlot(first)
        #expect(code { _ = try fixture.open(one) } == .unlockFailed)
        _ = try fixture.open(two)
        #expect(code { try keyring.removeSlot(first) } == .slotNotFound)
    }

    @Test("the last way in that works anywhere is not removed")
    func lastSlot() throws {
        let keyring = try fixture.create()
        let passphraseSlot = try #require(try keyring.slotDetails().first?.slotID)
        #expect(code { try keyring.removeSlot(passphraseSlot) } == .slotIsLast)
        #expect(try keyring.slotDetails().count == 1, "a refused change changes nothing")
        _ = try keyring.addRecoveryKey(named: "safe")
        try keyring.removeSlot(passphraseSlot)
        #expect(code { _ = try fixture.open() } == .slotNotFound)
    }

    @Test("property: the text of a recovery key reads back, in any dress; every wrong character is noticed")
    func recoveryText() {
        forAll(count: 20) { generator in
            let key = RecoveryKey.generate(from: generator)
            let groups = key.textGroups()
            try require(groups.count == 14 && groups.allSatisfy { $0.utf8.count == 4 })
            let text = key.text()
            try require(try RecoveryKey.parse(text.lowercased()).text() == text)
            try require(try RecoveryKey.parse(groups.joined(separator: " ") + "\n").text() == text)
            let lookAlikes = text.replacing("0", with: "O").replacing("1", with: "l")
            try require(try RecoveryKey.parse(lookAlikes).text() == text)
            var characters = Array(groups.joined())
            let index = generator.int(in: 0...characters.count - 1)
            let wrong = generator.element(
                of: Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ").filter { $0 != characters[index] })
            characters[index] = wrong
            try require(code { _ = try RecoveryKey.parse(String(characters)) } == .recoveryKeyMistyped)
        }
        #expect(throws: KeyError(.recoveryKeyMalformed)) { try RecoveryKey.parse("ABCD") }
        let bad = String(repeating: "0000", count: 13) + "000U"
        #expect(throws: KeyError(.recoveryKeyMalformed, at: "group 14")) { try RecoveryKey.parse(bad) }
    }

    @Test("a recovery key's text is what the specification writes down")
    func recoveryVector() throws {
        // Computed independently with Python from Spec/keys.md §5: seed 00 01 ... 1f.
        let text = "2001-081G-8186-0W40-J2GB-1G6G-W3RG-2491-650N-2RBH-G68T-3CE1-T7GZ-88C1"
        #expect(try RecoveryKey.parse(text).text() == text)
    }

    @Test("a sheet is checked by typing groups of it back")
    func challenge() {
        let key = RecoveryKey.generate(from: fixture.generator)
        let challenge = RecoveryChallenge.generate(from: fixture.generator)
        #expect(challenge.groupNumbers.count == 2 && challenge.groupNumbers[0] < challenge.groupNumbers[1])
        let right = challenge.groupNumbers.map { key.textGroups()[$0 - 1] }
        #expect(challenge.isAnswered(by: right, for: key))
        #expect(challenge.isAnswered(by: right.map { $0.lowercased() + " " }, for: key))
        #expect(!challenge.isAnswered(by: [right[1], right[0]], for: key) || right[0] == right[1])
        #expect(!challenge.isAnswered(by: [right[0]], for: key))
        #expect(!challenge.isAnswered(by: ["", ""], for: key))
    }

    @Test("a sheet shows the account and the store in 16 characters each")
    func fingerprints() throws {
        let (account, store) = try fixture.create().fingerprints()
        for text in [account.description, store.description] {
            #expect(text.split(separator: "-").map(\.count) == [4, 4, 4, 4])
        }
        #expect(account != store)
    }

    /// R30: a PIN alone, or the machine's secret alone, opens nothing.
    @Test("R30: a machine slot opens with its PIN on its machine only")
    func machineSlot() async throws {
        let keyring = try fixture.create()
        let keyStore = fixture.environment.fileKeyStore(memoryKibibytes: 65_536)
        _ = try await keyring.addSlot(using: keyStore, secret: KeyringFixture.passphrase("1234"), named: "PIN")
        func open(_ pin: String, _ environment: KeyringEnvironment) throws -> UnlockedKeyring {
            try Keyring.open(with: .machinePIN(KeyringFixture.passphrase(pin)), environment: environment)
        }
        _ = try open("1234", fixture.environment)
        #expect(code { _ = try open("1235", fixture.environment) } == .unlockFailed)
        let elsewhere = KeyringFixture(disk: fixture.disk, stateDirectory: "/other-machine").environment
        #expect(code { _ = try open("1234", elsewhere) } == .machineSecretMissing)
        let secret = try fixture.disk.readFile("/state/machine.secret", byteCountMax: 32)
        var wrong = secret
        wrong[0] ^= 1
        try fixture.disk.replaceFile("/state/machine.secret", with: wrong)
        #expect(code { _ = try open("1234", fixture.environment) } == .unlockFailed)
        try fixture.disk.replaceFile("/state/machine.secret", with: secret, mode: 0o644)
        #expect(code { _ = try open("1234", fixture.environment) } == .machineSecretInvalid)
        try fixture.disk.replaceFile("/state/machine.secret", with: secret)
        _ = try open("1234", fixture.environment)
    }

    @Test("a slot made through the seam opens through the seam, and survives later changes")
    func keyStoreSeam() async throws {
        let keyring = try fixture.create()
        let keyStore: any KeyStore = fixture.environment.fileKeyStore(memoryKibibytes: 65_536)
        let pin = KeyringFixture.passphrase("pin")
        let id = try await keyring.addSlot(using: keyStore, secret: pin, named: "PIN")
        _ = try keyring.addVault(named: "A")
        let opened = try await Keyring.open(using: keyStore, secret: pin, environment: fixture.environment)
        #expect(try opened.vaults().map(\.name) == ["A"])
        try opened.removeSlot(id)
        await #expect(throws: KeyError(.slotNotFound)) {
            _ = try await Keyring.open(using: keyStore, secret: pin, environment: fixture.environment)
        }
    }

    @Test("a slot of an algorithm that nobody can seal to stops the change, not the program")
    func unknownAlgorithm() throws {
        let keyring = try fixture.create()
        let before = fixture.file
        keyring.slots.append(
            KeySlot(
                id: .generate(from: fixture.generator), kind: .tpm, algorithm: SlotAlgorithm(rawValue: 99),
                publicKey: [1], anchor: [],
                password: nil, reference: [], sealedStorageKey: []))
        #expect(code { _ = try keyring.addVault(named: "A") } == .slotUnsupported)
        #expect(fixture.file == before)
    }

    @Test("R13: more slots to try than a person would wait for are refused, when written and when read")
    func manySlots() throws {
        let keyring = try fixture.create()
        let slot = keyring.slots[0]
        keyring.slots += (0..<PassphraseSlot.countMax).map { _ in
            KeySlot(
                id: .generate(from: fixture.generator), kind: slot.kind, algorithm: slot.algorithm,
                publicKey: slot.publicKey, anchor: slot.anchor, password: slot.password, reference: slot.reference,
                sealedStorageKey: [])
        }
        #expect(code { _ = try keyring.addVault(named: "A") } == .passwordPolicy)
        let file = try KeyringFile(decoding: fixture.file)
        try fixture.put(file.replacing(slots: keyring.slots).encoded)
        #expect(code { _ = try fixture.open() } == .passwordPolicy)
    }

    @Test("R14 fuzz: typed recovery keys, markers and opened bodies never crash their readers")
    func fuzzReaders() throws {
        let key = RecoveryKey.generate(from: fixture.generator)
        fuzz([Array(key.text().utf8)]) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let read = try? RecoveryKey.parse(text) { #expect(read.text() == key.text()) }
        }
        let keyring = try fixture.create()
        _ = try keyring.addVault(named: "A")
        let body = unsafe try keyring.body().withEncoded { unsafe [UInt8]($0) }
        fuzz([body], rounds: 300) { bytes in
            let result = unsafe bytes.withUnsafeBytes { unsafe KeyringBody.decode($0) }
            if case .success(let read) = result {
                #expect(unsafe read.withEncoded { unsafe [UInt8]($0) } == bytes)
            }
        }
        let path = Marker.path(storeID: keyring.storeID, stateDirectory: "/state")
        let marker = try fixture.disk.readFile(path, byteCountMax: 4_096)
        let markerKey = try keyring.body().markerKey
        fuzz([marker], rounds: 500) { bytes in
            try? fixture.disk.replaceFile(path, with: bytes)
            let finding = try? Marker.read(
                storeID: keyring.storeID, key: markerKey, stateDirectory: "/state", fileSystem: fixture.disk)
            if case .present = finding { #expect(bytes == marker) }
        }
    }

    @Test("a backup's header opens with the passphrase or a sheet, and holds no device's keys")
    func backups() async throws {
        let keyring = try fixture.create()
        let id = try keyring.addVault(named: "A")
        let (sheet, _) = try keyring.addRecoveryKey(named: "safe")
        let keyStore = fixture.environment.fileKeyStore(memoryKibibytes: 65_536)
        _ = try await keyring.addSlot(using: keyStore, secret: KeyringFixture.passphrase("1"), named: "")
        let backup = try keyring.makeBackupKeys()
        let restored = try BackupHeader.open(backup.header, with: .passphrase(KeyringFixture.passphrase("one")))
        #expect(restored.key.isEqual(to: backup.key) && restored.body.device == nil)
        #expect(try KeyringFile(decoding: backup.header).slots.map(\.kind) == [.passphrase, .recovery])
        #expect(
            code { _ = try BackupHeader.open(backup.header, with: .machinePIN(KeyringFixture.passphrase("1"))) }
                == .slotNotFound)
        #expect(
            code { _ = try BackupHeader.open(backup.header, with: .passphrase(KeyringFixture.passphrase("two"))) }
                == .unlockFailed)
        // A backup's header is no keyring, though it looks like one.
        try fixture.put(backup.header)
        #expect(code { _ = try fixture.open(sheet) } == .unlockFailed)
        // On a bare machine it becomes a new device of a new account; the sheet stays valid.
        let bare = KeyringFixture()
        let made = try Keyring.create(
            restoring: try BackupHeader.open(backup.header, with: .recoveryKey(sheet)),
            passphrase: KeyringFixture.passphrase("new"), parameters: bare.parameters(), deviceName: "Phone",
            environment: bare.environment)
        #expect(made.storeID != keyring.storeID)
        #expect(try made.accountID() != keyring.accountID() && made.deviceID() != keyring.deviceID())
        #expect(try made.instanceID() != keyring.instanceID())
        let opened = try bare.open(sheet)
        #expect(try opened.vaults().isEmpty, "they are founded anew")
        let kept = try BackupHeader.open(backup.header, with: .recoveryKey(sheet))
        #expect(
            try kept.vaultKeys(for: id).current.blobKey.isEqual(to: keyring.vaultKeys(for: id).current.blobKey))
        #expect(try opened.knownSigners().contains(try #require(try keyring.knownSigners().first)))
        // A backup of the restored store still knows the first account.
        let second = try opened.makeBackupKeys()
        let again = try BackupHeader.open(second.header, with: .passphrase(KeyringFixture.passphrase("new")))
        #expect(again.body.formerChains.map(\.accountID) == [try keyring.accountID()])
    }

    @Test("R14: every byte of a backup's header flipped in turn gives a named error")
    func flippedBackup() throws {
        let keyring = try fixture.create()
        let (sheet, _) = try keyring.addRecoveryKey(named: "safe")
        let header = try keyring.makeBackupKeys().header
        for offset in header.indices {
            var changed = header
            changed[offset] ^= 1 << UInt8(fixture.generator.int(in: 0...7))
            #expect(code { _ = try BackupHeader.open(changed, with: .recoveryKey(sheet)) } != nil, "offset \(offset)")
        }
        for count in stride(from: 0, to: header.count, by: 11) {
            let cut = Array(header[..<count])
            #expect(code { _ = try BackupHeader.open(cut, with: .recoveryKey(sheet)) } == .backupMalformed)
        }
    }
}
