// Locked notes on two devices: what stands beside the sealed bodies decides, and no edit is lost (protocol 19).

import CoffretBase
import CoffretCrypto
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import CoffretVaultSupport
import Testing

@testable import CoffretCore

/// Two copies of one vault, each with a device of its own.
private final class TwoDevices {
    let folder: TemporaryDirectory
    let random: SeededGenerator
    let clock = ManualClock()
    let vaults: [Vault]
    private let account: TestAccount

    init() throws {
        let folder = try TemporaryDirectory("two-devices")
        let (random, clock) = (SeededGenerator.fromEnvironment(), clock)
        let account = try TestAccount(deviceCount: 2, random: random, clock: clock)
        self.folder = folder
        self.random = random
        self.account = account
        vaults = try (0..<2).map { device in
            let (directory, keys) = (folder.file("vault-\(device)"), account.makeKeys())
            return Vault(
                name: "\(device)",
                repository: try account.create(at: directory, keys: keys, device: device, isText: ItemTexts.isText),
                clock: clock, random: random,
                attachments: AttachmentStore(directory: directory, keys: keys, environment: account.environment))
        }
    }

    /// One copy takes what the other has.
    func send(from: Int, to: Int) throws {
        try account.send(from: vaults[from].repository, to: vaults[to].repository)
    }

    /// Both copies come to one state.
    func exchange() throws {
        try send(from: 0, to: 1)
        try send(from: 1, to: 0)
        #expect(try vaults[0].presentMark() == vaults[1].presentMark())
    }

    func edit(_ index: Int, _ id: EntityID, _ text: String) throws {
        clock.advance(by: 1_000)
        var open = try vaults[index].opened(vaults[index].item(id))
        open.text = text
        #expect(try vaults[index].update(id) { $0 = open })
    }
}

@Suite("Locked notes on two devices")
struct LockedMergeTests {
    private func lockedOnBoth(_ devices: TwoDevices, _ text: String = "as it was") throws -> EntityID {
        let id = try devices.vaults[0].create(ItemDraft(text: text))
        let record = try devices.vaults[0].lockNotes([id], with: quickRecord("old"))
        try devices.send(from: 0, to: 1)
        devices.vaults[1].noteKeys.add(record.key)
        devices.clock.advance(by: 1_000)
        return id
    }

    @Test("one edits, the other changes the passphrase: the edit is there, under the new passphrase")
    func editAgainstPassphrase() throws {
        for editor in 0...1 {
            let devices = try TwoDevices()
            let id = try lockedOnBoth(devices)
            let other = 1 - editor
            try devices.edit(editor, id, "edited once")
            try devices.edit(editor, id, "edited twice")
            let new = try devices.vaults[other].relockNotes([id], with: quickRecord("new"))
            try devices.exchange()
            for vault in devices.vaults {
                vault.noteKeys.lock()
                let record = try vault.record(for: vault.item(id))
                #expect(record.id == new.record.id)
                #expect(throws: CoreError.self) { try vault.unlockRecord(record, notePassphrase("old")) }
                try vault.unlockRecord(record, notePassphrase("new"))
                let open = try vault.opened(vault.item(id))
                #expect(open.text == "edited twice" && open.conflicts.isEmpty)
            }
            // Resealed silently, by both: the devices agree without a conflict.
            for vault in devices.vaults {
                #expect(try vault.needsResealing(vault.item(id)))
                #expect(try vault.resealSilently(id) == 1)
                #expect(try vault.item(id).lock?.records == [new.record.id])
            }
            try devices.exchange()
            for vault in devices.vaults {
                let open = try vault.opened(vault.item(id))
                #expect(open.text == "edited twice" && open.conflicts.isEmpty)
            }
        }
    }

    @Test("after a compromise the edit needs the old passphrase once more, and nothing is lost before")
    func compromised() throws {
        let devices = try TwoDevices()
        let id = try lockedOnBoth(devices)
        let old = try devices.vaults[1].record(for: devices.vaults[1].item(id))
        try devices.edit(1, id, "edited")
        let new = try devices.vaults[0].relockNotes([id], with: quickRecord("new"), isCompromised: true)
        #expect(new.record.previous == [PasswordRecord.Previous(id: old.id, sealedKey: nil)])
        try devices.exchange()
        let vault = devices.vaults[0]
        vault.noteKeys.lock()
        try vault.unlockRecord(new.record, notePassphrase("new"))
        #expect(throws: CoreError(.noteLocked, at: old.id.hex)) { try vault.opened(vault.item(id)) }
        try vault.unlockRecord(old, notePassphrase("old"))
        #expect(try vault.opened(vault.item(id)).text == "edited")
        #expect(try vault.resealSilently(id) == 1)
        vault.noteKeys.lock(old.id)
        #expect(try vault.opened(vault.item(id)).text == "edited")
    }

    @Test("two edits are a conflict; settling it keeps what the person chose, on both devices")
    func twoEdits() throws {
        let devices = try TwoDevices()
        let id = try lockedOnBoth(devices, "# Note\n")
        try devices.edit(0, id, "# Note\nmine")
        try devices.edit(1, id, "# Note\nyours")
        try devices.exchange()
        var seen: [Set<String>] = []
        for vault in devices.vaults {
            let open = try vault.opened(vault.item(id))
            #expect(open.conflicts.count == 1)
            #expect(try !vault.needsResealing(vault.item(id)))
            seen.append([open.text, open.conflicts[0].otherText ?? ""])
        }
        #expect(seen == [["# Note\nmine", "# Note\nyours"], ["# Note\nmine", "# Note\nyours"]])
        // Taking the lock off, or another passphrase, would decide by the way: refused.
        #expect(throws: CoreError.self) { try devices.vaults[0].unlockNotes([id]) }
        #expect(throws: CoreError.self) { try devices.vaults[0].relockNotes([id], with: quickRecord("new")) }
        var open = try devices.vaults[0].opened(devices.vaults[0].item(id))
        open.conflicts = []
        open.text = "# Note\nmine and yours"
        try devices.vaults[0].update(id) { $0 = open }
        try devices.exchange()
        for vault in devices.vaults {
            let open = try vault.opened(vault.item(id))
            #expect(open.text == "# Note\nmine and yours" && open.conflicts.isEmpty)
        }
    }

    @Test("the same edit on both devices, and two passphrases at once, are no conflict")
    func noConflicts() throws {
        let devices = try TwoDevices()
        let id = try lockedOnBoth(devices)
        try devices.edit(0, id, "the same")
        try devices.edit(1, id, "the same")
        try devices.exchange()
        #expect(try devices.vaults[0].opened(devices.vaults[0].item(id)).conflicts.isEmpty)
        let first = try devices.vaults[0].relockNotes([id], with: quickRecord("first"))
        devices.clock.advance(by: 1_000)
        let second = try devices.vaults[1].relockNotes([id], with: quickRecord("second"))
        try devices.exchange()
        for vault in devices.vaults {
            let record = try vault.record(for: vault.item(id))
            #expect(record.id == second.record.id && record.id != first.record.id)
            vault.noteKeys.lock()
            try vault.unlockRecord(record, notePassphrase("second"))
            #expect(try vault.opened(vault.item(id)).text == "the same")
        }
    }

    @Test("text written in clear by a device that did not know of the lock is sealed with the rest")
    func clearRival() throws {
        let devices = try TwoDevices()
        let id = try devices.vaults[0].create(ItemDraft(text: "as it was"))
        try devices.send(from: 0, to: 1)
        devices.clock.advance(by: 1_000)
        try devices.vaults[1].update(id) { $0.text = "as it was, and more" }
        let record = try devices.vaults[0].lockNotes([id], with: quickRecord("p"))
        try devices.exchange()
        let vault = devices.vaults[1]
        #expect(try vault.item(id).isSealed && vault.item(id).text == "")
        vault.noteKeys.add(record.key)
        #expect(try vault.resealSilently(id) == 1)
        let text = try vault.opened(vault.item(id)).text
        #expect(text.hasPrefix("as it was\n") && text.hasSuffix("as it was, and more"))
        #expect(try vault.item(id).lock?.clearText == nil)
        try devices.exchange()
        #expect(try devices.vaults[0].opened(devices.vaults[0].item(id)).text == text)
    }

    @Test("a record that somebody exchanged for one of a weaker scheme is refused by who reads it (R12)")
    func foreignRecords() throws {
        let devices = try TwoDevices()
        let id = try lockedOnBoth(devices)
        let (honest, other) = (devices.vaults[0], devices.vaults[1])
        let record = try honest.record(for: honest.item(id))
        let weak = try PasswordRecord.make(
            scheme: .bear, passphrase: notePassphrase("old"), home: record.identity.home, time: record.created,
            random: devices.random
        ).record
        let key = FactKey(entity: PasswordRecord.entity(record.id), attribute: RecordAttribute.record)
        try other.batch { $0.write([LogChange(key: key, value: weak.encode())]) }
        try devices.exchange()
        honest.noteKeys.lock()
        #expect(throws: CoreError(.recordChanged, at: record.id.hex)) { try honest.record(for: honest.item(id)) }
        #expect(throws: CoreError(.recordChanged, at: record.id.hex)) { try honest.opened(honest.item(id)) }
    }

    // MARK: The rule alone

    @Test("the outcome does not depend on the order of the versions, whatever they are")
    func ruleIsSymmetric() {
        forAll(count: 300) { random in
            func id() -> UniqueID { UniqueID.generate(from: random) }
            let records = (0..<2).map { _ in id() }
            var versions = [
                SealedValue(
                    record: records[0], encryptionID: id(), tag: random.bytes(count: 16), ancestors: [], resealCount: 0,
                    body: random.bytes(count: 4))
            ]
            for _ in 0..<random.int(in: 1...4) {
                let source = versions[random.int(in: 0...(versions.count - 1))]
                let isReseal = random.bool()
                let lineage = LockedMerge.lineage(of: source, replacing: [source], isReseal: isReseal)
                versions.append(
                    SealedValue(
                        record: records[random.int(in: 0...1)], encryptionID: source.encryptionID,
                        tag: random.bytes(count: 16), ancestors: lineage.ancestors, resealCount: lineage.resealCount,
                        body: random.bytes(count: 4)))
            }
            let table = RecordTable([])
            let outcome = LockedMerge.resolve(versions, preferred: versions.count - 1, records: table)
            let reversed = LockedMerge.resolve(Array(versions.reversed()), preferred: 0, records: table)
            try require(versions[outcome.shown] == versions.reversed()[reversed.shown], "the order decides")
            try require(
                outcome.conflicting.count == reversed.conflicting.count, "the number of conflicts depends on the order")
        }
    }
}
