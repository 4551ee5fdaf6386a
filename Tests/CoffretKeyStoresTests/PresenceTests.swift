// User presence through the real PAM, with services in a folder of the test.

import CoffretBase
import CoffretKeyStores
import CoffretTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoffretKeys

/// Answers what a test says.
final class ScriptedConversation: PresenceConversation {
    private let password: String?
    private let shownTexts = Mutex<[String]>([])

    init(password: String?) { self.password = password }

    var shown: [String] { shownTexts.withLock(\.self) }

    func answer(_ prompt: String, isHidden: Bool) -> SecretBytes? {
        guard let password, isHidden else { return nil }
        var bytes = Array(password.utf8)
        return SecretBytes(consuming: &bytes)
    }

    func show(_ text: String) { shownTexts.withLock { $0.append(text) } }
}

@Suite("User presence", .serialized)
struct PresenceTests {
    let fixture: KeyStoreFixture
    let services: TemporaryDirectory

    init() throws {
        fixture = try KeyStoreFixture()
        services = try TemporaryDirectory("pam")
    }

    func presence(
        _ authentication: String, account: String = "pam_permit.so", password: String? = nil,
        limit: Duration = .seconds(20)
    ) throws -> PAMPresence {
        let text = "auth required \(authentication)\naccount required \(account)\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: services.file("coffret")))
        return PAMPresence(
            conversation: ScriptedConversation(password: password),
            limit: limit, directory: services.path)
    }

    func answer(_ presence: PAMPresence) async -> String? {
        await failure { try await presence.confirm(reason: "unlock the store") }
    }

    /// A module that takes one password.
    func module(accepting password: String) throws -> String {
        let path = services.file("check")
        let script = "#!/bin/sh\n[ \"$(tr -d '\\000')\" = '\(password)' ]\n"
        try Data(script.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return "pam_exec.so expose_authtok quiet \(path)"
    }

    @Test("PAM's yes is a yes, its no is a no, and an account that may not log in is nobody")
    func answers() async throws {
        #expect(await answer(try presence("pam_permit.so")) == nil)
        #expect(await answer(try presence("pam_deny.so")) == "keystore.presence.denied")
        #expect(await answer(try presence("pam_permit.so", account: "pam_deny.so")) == "keystore.presence.denied")
        #expect(await answer(try presence("pam_no_such_module.so")) != nil)
    }

    @Test("a password goes through the conversation, and a wrong one, or none, is refused")
    func password() async throws {
        let module = try module(accepting: "s3cret pass")
        #expect(await answer(try presence(module, password: "s3cret pass")) == nil)
        #expect(await answer(try presence(module, password: "other")) == "keystore.presence.denied")
        #expect(await answer(try presence(module, password: nil)) != nil)
    }

    @Test("a service that is not set up is said at once: PAM, which takes two seconds for it, is not asked")
    func notSetUp() async throws {
        let conversation = ScriptedConversation(password: nil)
        let missing = PAMPresence(user: "nobody", conversation: conversation, directory: services.path)
        #expect(await answer(missing) == "keystore.presence.not-set-up")
        #expect(conversation.shown.isEmpty, "nobody is told to show that they are there")
    }

    @Test("who waits for a person is let go when the time is up, and holds up nobody else")
    func waiting() async throws {
        // It ends when it is let, however late the limit comes on a busy machine.
        let gate = services.file("gate")
        try Data().write(to: URL(fileURLWithPath: gate))
        defer { try? FileManager.default.removeItem(atPath: gate) }
        let path = services.file("wait")
        try Data("#!/bin/sh\nwhile [ -e '\(gate)' ]; do sleep 0.05; done\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        let slow = try presence("pam_exec.so quiet \(path)", limit: .milliseconds(300))
        async let waiting = answer(slow)
        let other = try TemporaryDirectory("pam")
        try Data("auth required pam_permit.so\naccount required pam_permit.so\n".utf8).write(
            to: URL(fileURLWithPath: other.file("coffret")))
        let quick = PAMPresence(
            conversation: nil, directory: other.path)
        #expect(await answer(quick) == nil)
        #expect(await waiting == "keystore.cancelled")
    }

    @Test(
        "presence stands before the key store: without it nothing is tried, and alone it opens nothing",
        .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
    func gate() async throws {
        let tpm = try SoftwareTPM()
        let store = fixture.environment.tpmKeyStore(tpm)
        let keyring = try fixture.create()
        for (profile, pin) in [("both", "2468"), ("finger", nil)] as [(String, String?)] {
            _ = try await keyring.addSlot(
                using: store, terms: SlotTerms(profile: profile, needsPresence: true),
                secret: pin.map(KeyStoreFixture.passphrase), named: profile)
        }
        let attempts = try await store.attempts()
        let (yes, no) = (try presence("pam_permit.so"), FixedPresence(isThere: false))
        for (profile, pin) in [("both", "2468"), ("finger", nil)] as [(String, String?)] {
            #expect(
                await failure { _ = try await fixture.open(store, pin: pin, profile: profile, presence: no) }
                    == "keystore.presence.denied")
            #expect(
                await failure { _ = try await fixture.open(store, pin: pin, profile: profile) }
                    == "keys.slot.presence-required")
            _ = try await fixture.open(store, pin: pin, profile: profile, presence: yes)
        }
        // A wrong PIN is not tried before the person has shown to be there.
        #expect(
            await failure { _ = try await fixture.open(store, pin: "0000", profile: "both", presence: no) }
                == "keystore.presence.denied")
        #expect(try await store.attempts() == attempts)
        #expect(
            await failure { _ = try await fixture.open(store, pin: "0000", profile: "both", presence: yes) }
                == "keys.unlock-failed")
        // Files have no check of their own: presence alone is refused there.
        let files = fixture.environment.fileKeyStore(memoryKibibytes: 65_536)
        #expect(
            await failure {
                _ = try await keyring.addSlot(
                    using: files, terms: SlotTerms(needsPresence: true), secret: nil, named: "")
            } == "keys.slot.pin-required")
    }
}

/// A person who is there, or is not.
struct FixedPresence: UserPresence {
    let isThere: Bool
    let isSetUp = true

    func confirm(reason: String) async throws(KeyError) {
        if !isThere { throw KeyError(.keyStoreFailed, cause: KeyStoreError(.presenceDenied)) }
    }
}
