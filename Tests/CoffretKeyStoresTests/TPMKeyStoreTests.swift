// A TPM as a home of slot keys: gone, restarted, cleared, locked out, and an old blob put back.

import CoffretBase
import CoffretCrypto
import CoffretInterop
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretKeyStores
@testable import CoffretKeys

@Suite("TPM key store", .serialized, .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
struct TPMKeyStoreTests {
    let fixture: KeyStoreFixture

    init() throws { fixture = try KeyStoreFixture() }

    @Test("a message in the format of the shared vectors opens inside the TPM, and an altered one does not")
    func messageOpensInside() throws {
        let tpm = try SoftwareTPM()
        let connection = try TPMConnection(transport: TPMTransport(configuration: tpm.transport))
        var pin: [UInt8] = [1, 2, 3, 4]
        let authorization = SecretBytes(consuming: &pin)
        let blob = try connection.createKey(.keyAgreement, authorization: authorization)
        let key = try TPMAgreementKey(
            connection: connection, blob: blob, publicPoint: blob.publicPoint(), authorization: authorization)
        for byteCount in [0, 1, 15, 16, 17, 255, 4_096] {
            let text = SystemRandomSource().bytes(count: byteCount)
            let message = try CurvePublicKey(x963Representation: blob.publicPoint()).encrypt(text)
            #expect(message.count == 65 + byteCount + 16)
            #expect(try key.open(message) == text)
            var altered = message
            altered[altered.count - 1] ^= 1
            #expect(throws: (any Error).self) { _ = try key.open(altered) }
        }
    }

    @Test("a TPM that is gone, was restarted or cleared is said as such and changes nothing")
    func goneRestartedAndCleared() async throws {
        let tpm = try SoftwareTPM()
        let store = fixture.environment.tpmKeyStore(tpm)
        let keyring = try fixture.create()
        _ = try await keyring.addSlot(using: store, secret: KeyStoreFixture.passphrase("2468"), named: "TPM")
        let file = try fixture.file
        tpm.stop()
        #expect(await failure { _ = try await fixture.open(store, pin: "2468") } == "keystore.unavailable")
        try tpm.start()
        #expect(try await fixture.open(store, pin: "2468").storeID == keyring.storeID)
        try tpm.clear()
        #expect(await failure { _ = try await fixture.open(store, pin: "2468") } == "keystore.key.unusable")
        #expect(try fixture.file == file)
        // The passphrase still opens the store, and can remove what is of no use any more.
        let opened = try fixture.openWithPassphrase()
        #expect(opened.storeID == keyring.storeID)
        let dead = try #require(opened.slotSummaries().first { $0.kind == .tpm })
        try await store.removeKey(of: opened.removeSlot(dead.id), storeID: opened.storeID)
        _ = try await opened.addSlot(using: store, secret: KeyStoreFixture.passphrase("1357"), named: "TPM")
        #expect(try await fixture.open(store, pin: "1357").storeID == keyring.storeID)
    }

    @Test("wrong PINs lock the TPM for the right one too; the tries left and the wait are read from it (R30)")
    func lockout() async throws {
        let tpm = try SoftwareTPM()
        let store = fixture.environment.tpmKeyStore(tpm)
        let keyring = try fixture.create()
        _ = try await keyring.addSlot(using: store, secret: KeyStoreFixture.passphrase("2468"), named: "TPM")
        let atFirst = try #require(try await store.attempts())
        #expect(atFirst.left > 1 && atFirst.waitSeconds == 0 && atFirst.recoverySeconds > 0)
        #expect(await failure { _ = try await fixture.open(store, pin: "0000") } == "keys.unlock-failed")
        let afterOne = try #require(try await store.attempts())
        #expect(afterOne.left == atFirst.left - 1)
        // A right PIN takes nothing back: the TPM's counter is its own.
        _ = try await fixture.open(store, pin: "2468")
        #expect(try await store.attempts() == afterOne)
        for _ in 0..<afterOne.left {
            #expect(await failure { _ = try await fixture.open(store, pin: "0000") } == "keys.unlock-failed")
        }
        let locked = await #expect(throws: KeyError.self) { _ = try await fixture.open(store, pin: "2468") }
        let cause = locked?.cause as? KeyStoreError
        #expect(cause?.code == .lockedOut)
        let attempts = try #require(try await store.attempts())
        #expect(attempts.left == 0 && attempts.waitSeconds > 0 && attempts.waitSeconds == cause?.waitSeconds)
        // The passphrase needs no TPM.
        #expect(try fixture.openWithPassphrase().storeID == keyring.storeID)
    }

    @Test("a slot's old blob put back, with its old PIN, opens nothing of today (R1)")
    func oldBlob() async throws {
        let tpm = try SoftwareTPM()
        let store = fixture.environment.tpmKeyStore(tpm)
        let keyring = try fixture.create()
        let first = try await keyring.addSlot(using: store, secret: KeyStoreFixture.passphrase("1111"), named: "TPM")
        let old = try KeyringFile(decoding: fixture.file)
        let oldSlot = try #require(old.slots.first { $0.kind == .tpm })
        let prepared = try await store.prepareSlot(
            storeID: keyring.storeID, anchor: keyring.anchor(), terms: SlotTerms(),
            secret: KeyStoreFixture.passphrase("2222"),
            random: fixture.environment.random)
        try keyring.add(prepared, replacing: [first], named: "TPM")
        // The old slot spliced into today's file: its message holds the storage key of then.
        let now = try KeyringFile(decoding: fixture.file)
        let spliced = KeyringFile(
            storeID: now.storeID, generation: now.generation,
            slots: now.slots.filter { $0.kind != .tpm } + [oldSlot], body: now.body, author: now.author,
            signature: now.signature, mac: now.mac)
        try fixture.put(spliced.encoded)
        #expect(await failure { _ = try await fixture.open(store, pin: "1111") } == "keys.unlock-failed")
        // The whole old file: older than this machine remembers.
        try fixture.put(old.encoded)
        #expect(await failure { _ = try await fixture.open(store, pin: "1111") } == "keys.keyring.rolled-back")
        try fixture.put(now.encoded)
        #expect(try await fixture.open(store, pin: "2222").storeID == keyring.storeID)
    }

    @Test("a call that takes too long lets the caller go, and one that is cancelled too")
    func timeLimit() async throws {
        let queue = BlockingQueue(name: "test")
        // The calls themselves end when all is over, however late their limits come on a busy machine.
        let release = DispatchSemaphore(value: 0)
        defer { for _ in 0..<2 { release.signal() } }
        let limited = await failure {
            let _: Int = try await queue.run(limit: .milliseconds(50)) {
                release.wait()
                return .success(1)
            }
        }
        #expect(limited == "keystore.cancelled")
        let cancelled = Task {
            let _: Int = try await queue.run(limit: .seconds(600)) {
                release.wait()
                return .success(1)
            }
        }
        cancelled.cancel()
        let result = await cancelled.result
        #expect(throws: KeyError.self) { try result.get() }
    }

    @Test("calls that wait for a person do not hold up others")
    func sideBySide() async throws {
        let queue = BlockingQueue(name: "test", isConcurrent: true)
        let release = DispatchSemaphore(value: 0)
        async let waiting: Int = queue.run(limit: .seconds(20)) {
            release.wait()
            return .success(1)
        }
        let quick: Int = try await queue.run(limit: .seconds(20)) {
            release.signal()
            return .success(2)
        }
        #expect(quick == 2)
        #expect(try await waiting == 1)
    }
}
