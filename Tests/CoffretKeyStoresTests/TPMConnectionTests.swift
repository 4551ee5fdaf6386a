// Keys inside a (software) TPM: made, used, kept over restarts, refused elsewhere, locked out.

import CoffretBase
import CoffretKeyStores
import CoffretKeys
import CoffretTestSupport
import Foundation
import Testing

@Suite("TPM", .serialized, .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
struct TPMConnectionTests {
    static func secret(_ text: String) -> SecretBytes {
        var bytes = [UInt8](text.utf8)
        return SecretBytes(consuming: &bytes)
    }

    static func connect(_ tpm: SoftwareTPM) throws -> TPMConnection {
        try TPMConnection(transport: TPMTransport(configuration: tpm.transport))
    }

    static func bytes(_ secret: borrowing SecretBytes) -> [UInt8] {
        unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    @Test("a key agreement inside the TPM equals the one outside")
    func keyAgreement() throws {
        let tpm = try SoftwareTPM()
        let connection = try Self.connect(tpm)
        let first = try connection.createKey(.keyAgreement, authorization: Self.secret("1234"))
        let second = try connection.createKey(.keyAgreement, authorization: Self.secret("5678"))
        let one = try connection.sharedSecret(
            key: first, peer: second.publicPoint(), authorization: Self.secret("1234"))
        let other = try connection.sharedSecret(
            key: second, peer: first.publicPoint(), authorization: Self.secret("5678"))
        let areEqual = one.isEqual(to: other)
        #expect(areEqual)
        #expect(one.byteCount == 32)
    }

    @Test("sealed bytes and keys survive a restart, clean or not")
    func restart() throws {
        let tpm = try SoftwareTPM()
        let text = "thirty-two bytes of a secret...."
        var connection: TPMConnection? = try Self.connect(tpm)
        guard let sealed = try connection?.seal(Self.secret(text), authorization: Self.secret("1234")) else { return }
        try connection?.shutDown()
        connection = nil
        try tpm.restart()
        let reopened = try Self.connect(tpm)
        let opened = try reopened.unseal(sealed, authorization: Self.secret("1234"))
        #expect(Self.bytes(opened) == Array(text.utf8))
    }

    @Test("a wrong PIN is counted, and too many lock every key of the TPM, even for the right PIN (R30)")
    func lockout() throws {
        let tpm = try SoftwareTPM()
        let connection = try Self.connect(tpm)
        let key = try connection.createKey(.keyAgreement, authorization: Self.secret("1234"))
        let point = try key.publicPoint()
        #expect(try !connection.lockout().isLockedOut)
        let attempts = try connection.lockout().attemptsLeft
        for _ in 0..<attempts {
            #expect(throws: KeyStoreError(.wrongPIN)) {
                try Self.agree(connection, key, point, "0000")
            }
        }
        let state = try connection.lockout()
        #expect(state.isLockedOut && state.attemptsLeft == 0)
        let error = #expect(throws: KeyStoreError.self) { try Self.agree(connection, key, point, "1234") }
        #expect(error?.code == .lockedOut)
        #expect(error?.waitSeconds == state.intervalSeconds)
    }

    static func agree(_ connection: TPMConnection, _ key: TPMKeyBlob, _ point: [UInt8], _ pin: String) throws {
        let shared = try connection.sharedSecret(key: key, peer: point, authorization: secret(pin))
        #expect(shared.byteCount == 32)
    }

    @Test("a key of another TPM, or of this one before it was cleared, is unusable")
    func foreignKey() throws {
        let tpm = try SoftwareTPM()
        let key = try Self.connect(tpm).createKey(.keyAgreement, authorization: Self.secret("1234"))
        try tpm.clear()
        let fresh = try Self.connect(tpm)
        #expect(throws: KeyStoreError(.keyUnusable)) {
            try Self.agree(fresh, key, key.publicPoint(), "1234")
        }
    }

    @Test("keys 14: a key is used under the storage root that it was made under, by its name")
    func otherRoot() throws {
        let tpm = try SoftwareTPM()
        let connection = try Self.connect(tpm)
        let sealed = try connection.seal(Self.secret("what it keeps"), authorization: Self.secret("1234"))
        #expect(try connection.unseal(sealed, authorization: Self.secret("1234")).byteCount == 13)
        // As if somebody on the bus had put another root in its place; a wrong PIN would be counted.
        var bytes = sealed.bytes
        bytes[20] ^= 1
        #expect(throws: KeyStoreError(.keyUnusable)) {
            _ = try connection.unseal(TPMKeyBlob(bytes: bytes), authorization: Self.secret("wrong"))
        }
        #expect(try connection.lockout().failedCount == 0)
    }

    @Test("keys 6: of tpm2-tss's modules those that lead to a TPM are taken, by their bare names")
    func otherModules() throws {
        for configuration in [
            "cmd:true", "/lib/libtss2-tcti-swtpm.so.0", "libtss2-tcti-swtpm.so.0", "pcap:x", "", "swtpm/",
        ] {
            #expect(throws: KeyStoreError(.unavailable, place: "transport")) {
                try TPMConnection(transport: TPMTransport(configuration: configuration))
            }
        }
    }

    @Test("no TPM behind the transport is said as such")
    func noTPM() {
        #expect(throws: KeyStoreError(.unavailable, place: "tpm")) {
            _ = try TPMConnection(transport: TPMTransport(configuration: "swtpm:path=/nonexistent/socket"))
        }
    }

    @Test("every flipped byte of a key blob is refused (R14)")
    func flippedBlob() throws {
        let tpm = try SoftwareTPM()
        let connection = try Self.connect(tpm)
        let key = try connection.createKey(.keyAgreement, authorization: Self.secret(""))
        let point = try key.publicPoint()
        for index in key.bytes.indices {
            var bytes = key.bytes
            bytes[index] ^= 0x40
            #expect(throws: KeyStoreError.self, "byte \(index)") {
                try Self.agree(connection, TPMKeyBlob(bytes: bytes), point, "")
            }
        }
    }

    @Test("the counter only goes up, over restarts and over an old key file put back")
    func counter() throws {
        let tpm = try SoftwareTPM()
        var connection: TPMConnection? = try Self.connect(tpm)
        let password = Array("counter password".utf8)
        #expect(try connection?.counterValue(at: 0x0180_1234, authorization: password) == nil)
        let first = try #require(connection).incrementCounter(at: 0x0180_1234, authorization: password)
        let second = try #require(connection).incrementCounter(at: 0x0180_1234, authorization: password)
        #expect(second == first + 1)
        try connection?.shutDown()
        connection = nil
        try tpm.restart()
        connection = try Self.connect(tpm)
        #expect(try connection?.counterValue(at: 0x0180_1234, authorization: password) == second)
        #expect(throws: KeyStoreError(.wrongPIN)) {
            try connection?.counterValue(at: 0x0180_1234, authorization: Array("wrong".utf8))
        }
    }
}
