// Stores: made, opened, refused; vaults by name; keyrings put back.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Foundation
import Testing

@Suite("Store")
struct StoreTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    func expect(_ code: CoreError.Code, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("\(code.rawValue) was expected")
        } catch {
            #expect((error as? CoreError)?.code == code, "\(error)")
        }
    }

    @Test("a store is made with one vault, and what is written is there when it is opened again")
    func createAndOpen() throws {
        let store = try fixture.create()
        #expect(try store.vaults.map(\.name) == ["Personal"])
        let id: EntityID
        do {
            let vault = try store.openVault(isWritable: true)
            id = try vault.create(ItemDraft(text: "# Hello\nworld"))
            vault.close()
        }
        let opened = try fixture.open()
        let vault = try opened.openVault("personal", isWritable: false)
        #expect(try vault.list().map(\.title) == ["Hello"])
        #expect(try vault.item(id).text == "# Hello\nworld")
        #expect(try vault.history(of: id).count == 1)
        expect(.vaultReadOnly) { _ = try vault.create(ItemDraft(text: "no")) }
        let device = try #require(try vault.log().first)
        #expect(try opened.deviceName(device.device) == "laptop")
    }

    @Test("nothing but the owner may read the store's folders and files")
    func permissions() throws {
        _ = try fixture.create()
        let walk = try #require(FileManager.default.enumerator(atPath: fixture.storePath))
        for case let name as String in walk {
            let attributes = try FileManager.default.attributesOfItem(atPath: fixture.storePath + "/" + name)
            let mode = try #require(attributes[.posixPermissions] as? NSNumber).intValue
            #expect(mode & 0o077 == 0, "\(name)")
        }
    }

    @Test("a second store in the same place, a missing one and a wrong passphrase are refused")
    func refusals() throws {
        expect(.storeNotFound) { _ = try fixture.open() }
        _ = try fixture.create()
        expect(.storeExists) { _ = try fixture.create() }
        #expect(try fixture.open().vaults.count == 1, "the first store is untouched")
        expect(.keys) { _ = try fixture.open("wrong") }
    }

    @Test("vaults are added, renamed and found by name or id, never by guess")
    func vaults() throws {
        let store = try fixture.create()
        let work = try store.addVault(named: "Work")
        expect(.vaultNameInvalid) { try store.addVault(named: "WORK") }
        for name in ["", " x", "a/b", "a\nb", String(repeating: "n", count: 129)] {
            expect(.vaultNameInvalid) { try store.addVault(named: name) }
        }
        #expect(try store.vaultRecord("work").vaultID == work)
        #expect(try store.vaultRecord(String(work.hex.prefix(10))).vaultID == work)
        expect(.vaultAmbiguous) { _ = try store.vaultRecord(nil) }
        expect(.vaultNotFound) { _ = try store.vaultRecord("none") }
        try store.renameVault("work", to: "Office")
        #expect(try fixture.open().vaults.map(\.name) == ["Office", "Personal"])
        let vault = try store.openVault("Office", isWritable: true)
        _ = try vault.create(ItemDraft(text: "for work"))
        vault.close()
        #expect(try store.openVault("Personal", isWritable: false).list().isEmpty)
    }

    @Test("of two devices that are called the same, as an older program lets them be, each is told by its id")
    func labels() throws {
        let store = try fixture.create()
        let own = try store.keyring.deviceID()
        #expect(try store.deviceLabel(own.bytes) == "laptop")
        let other = NewDevice.generate(from: fixture.random)
        let chain = try store.keyring.deviceChain()
        let number = UInt64(chain.links.count)
        let link = try store.keyring.signLink(
            .add(
                id: other.deviceID, kind: .ordinary, keys: other.publicKeys,
                countersignature: DeviceOperation.countersign(
                    id: other.deviceID, keys: other.publicKeys, chainID: chain.accountID, sequenceNumber: number,
                    with: other.signingKey)),
            details: LinkDetails(name: "laptop", time: 9), subject: other.deviceID)
        try store.keyring.adopt(chain.following([link]))
        for id in [own, other.deviceID] {
            #expect(try store.deviceLabel(id.bytes) == "laptop (\(id.hex.prefix(8)))")
        }
    }

    @Test("a change of the keyring is recorded at once in eight vaults, and in others by their next writer")
    func recordedGenerations() throws {
        let store = try fixture.create()
        let names = (0..<10).map { "vault \($0)" }
        for name in names { _ = try store.addVault(named: name) }
        func recorded(_ name: String, isWritable: Bool = false) throws -> UInt64 {
            let vault = try store.openVault(name, isWritable: isWritable)
            defer { vault.close() }
            return vault.repository.recordedKeyringGeneration
        }
        let passphrase = try StoreFixture.passphrase("a new one")
        try store.changeKeyring { keyring in
            try keyring.changePassphrase(passphrase, parameters: fixture.parameters())
        }
        let newest = store.keyring.generation
        #expect(try store.allVaults.count { record in try recorded(record.name) == newest } == 8)
        let last = try #require(store.allVaults.last).name
        #expect(try recorded(last) < newest)
        #expect(try recorded(last, isWritable: true) == newest)
        #expect(try recorded(last) == newest)
    }

    @Test("an old keyring put back is refused, even when the machine's own memory is gone")
    func keyringRollback() throws {
        let store = try fixture.create()
        let old = try Data(contentsOf: URL(fileURLWithPath: store.layout.keyringPath))
        let passphrase = try StoreFixture.passphrase("a new one")
        try store.changeKeyring { keyring in
            try keyring.changePassphrase(passphrase, parameters: fixture.parameters())
        }
        #expect(try fixture.open("a new one").vaults.count == 1)
        expect(.keys) { _ = try fixture.open() }
        try old.write(to: URL(fileURLWithPath: store.layout.keyringPath))
        expect(.storeRolledBack) { _ = try fixture.open() }
        let elsewhere = try fixture.open(environment: fixture.otherMachine())
        expect(.storeRolledBack) { _ = try elsewhere.openVault(isWritable: false) }
        expect(.storeRolledBack) { _ = try elsewhere.openVault(isWritable: true) }
    }

    @Test(
        "what another process changed since the keyring was read is no rollback, neither of the keyring nor of a vault")
    func changedMeanwhile() throws {
        let store = try fixture.create()
        let (reader, writer) = (try fixture.open(), try fixture.open())
        try store.addVault(named: "Work")
        try reader.openVault(isWritable: false).close()
        try writer.openVault("Personal", isWritable: true).close()
        #expect(try reader.vaults.count == 2 && reader.keyring.generation == store.keyring.generation)
        // Between the file and the memory beside it, again and again.
        let disk = MeanwhileFileSystem(fixture.folder.file("state"))
        disk.hooks = (0..<4).map { number in { try store.addVault(named: "Vault \(number)") } }
        let late = try fixture.open(
            environment: StoreEnvironment(
                stateDirectory: fixture.folder.file("state"), fileSystem: disk, random: fixture.random,
                clock: fixture.clock))
        #expect(try disk.hooks.isEmpty && late.vaults.count == 6 && late.keyring.instanceStatus == .current)
        try late.openVault("Work", isWritable: true).close()
    }

    @Test("keys 4: a copied store is read, and written to once a person has made it an instance of its own (R97)")
    func copiedStore() throws {
        let store = try fixture.create()
        let instance = try store.keyring.instanceID()
        try store.openVault(isWritable: true).close()
        let copy = try fixture.open(environment: fixture.otherMachine())
        #expect(copy.keyring.instanceStatus == .markerMissing)
        try copy.openVault(isWritable: false).close()
        do {
            _ = try copy.openVault(isWritable: true)
            Issue.record("a copy was written to")
        } catch let error as CoreError {
            #expect((error.cause as? KeyError)?.code == .markerMissing)
        }
        #expect(try copy.keyring.instanceID() == instance)
        try copy.renewInstance(isAccepted: true)
        let vault = try copy.openVault(isWritable: true)
        _ = try vault.create(ItemDraft(text: "from the copy"))
        #expect(try copy.keyring.instanceID() != instance)
        #expect(copy.keyring.instanceStatus == .current)
    }

    @Test("a store that was copied half says so and changes nothing")
    func halfCopied() throws {
        let store = try fixture.create()
        try FileManager.default.removeItem(atPath: store.layout.vaultsPath)
        let opened = try fixture.open()
        expect(.storeIncomplete) { _ = try opened.openVault(isWritable: false) }
        expect(.storeIncomplete) { _ = try opened.openVault(isWritable: true) }
    }
}
