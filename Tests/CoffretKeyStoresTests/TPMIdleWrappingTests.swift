// Keys that the TPM has while nobody uses them, against a software TPM.

import CoffretBase
import CoffretKeys
import CoffretTestSupport
import Testing

@testable import CoffretKeyStores

@Suite("Idle keys in a TPM", .enabled(if: SoftwareTPM.isAvailable, "swtpm is missing"))
struct TPMIdleWrappingTests {
    private func failure(_ body: () throws -> Void) -> KeyStoreError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeyStoreError)?.code
        }
    }

    @Test("given back as often as it is asked for, by connections of their own")
    func roundTrip() throws {
        let tpm = try SoftwareTPM()
        let wrapping = TPMIdleWrapping(transport: TPMTransport(configuration: tpm.transport))
        let secret = SecretBytes.random(byteCount: 32)
        let wrapped = try wrapping.wrap(secret)
        for _ in 0..<3 {
            let found = try wrapping.unwrap(wrapped)
            let isSame = found.isEqual(to: secret)
            #expect(isSame)
        }
        // EXPOSE: a random key of a test.
        let bytes = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        #expect(wrapped.firstRange(of: bytes.prefix(8)) == nil)
    }

    @Test("R31: an image of the memory is worth nothing after the machine was started anew, or on another")
    func restarted() throws {
        let (tpm, other) = (try SoftwareTPM(), try SoftwareTPM())
        let wrapping = TPMIdleWrapping(transport: TPMTransport(configuration: tpm.transport))
        let wrapped = try wrapping.wrap(SecretBytes.random(byteCount: 32))
        let elsewhere = TPMIdleWrapping(transport: TPMTransport(configuration: other.transport))
        #expect(failure { _ = try elsewhere.unwrap(wrapped) } == .keyUnusable)
        #expect(failure { _ = try wrapping.unwrap(Array(wrapped.dropLast())) } == .malformed)
        try tpm.restart()
        #expect(failure { _ = try wrapping.unwrap(wrapped) } == .keyUnusable)
        tpm.stop()
        #expect(failure { _ = try wrapping.unwrap(wrapped) } == .unavailable)
        #expect(failure { _ = try wrapping.wrap(SecretBytes.random(byteCount: 32)) } == .unavailable)
    }

    @Test("a machine that stops while a key is in use costs the person no try of the PIN")
    func uncounted() throws {
        let tpm = try SoftwareTPM()
        let transport = TPMTransport(configuration: tpm.transport)
        let before = try TPMConnection(transport: transport).lockout().failedCount
        let wrapping = TPMIdleWrapping(transport: transport)
        let wrapped = try wrapping.wrap(SecretBytes.random(byteCount: 32))
        _ = try wrapping.unwrap(wrapped)
        try tpm.restart()
        #expect(try TPMConnection(transport: transport).lockout().failedCount == before)
    }
}
