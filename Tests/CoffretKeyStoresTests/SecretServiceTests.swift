// The desktop's keyring, real and headless: kept, found, removed, locked, absent, duplicated.

import CoffretBase
import CoffretKeyStores
import CoffretKeys
import CoffretTestSupport
import Foundation
import Testing

extension DesktopTests {
    @Suite("Secret Service", .serialized, .enabled(if: HeadlessKeyring.isAvailable, "gnome-keyring is not installed"))
    struct SecretServiceTests {
        static func secret(_ bytes: [UInt8]) -> SecretBytes {
            var bytes = bytes
            return SecretBytes(consuming: &bytes)
        }

        static func find(_ tag: String) throws -> [UInt8]? {
            guard let found = try SecretServiceConnection.find(tag: tag, cancellation: SecretServiceCancellation())
            else {
                return nil
            }
            return unsafe found.withUnsafeBytes { unsafe [UInt8]($0) }
        }

        static func add(_ bytes: [UInt8], tag: String) throws {
            try SecretServiceConnection.add(
                secret(bytes), tag: tag, label: "8c1f", cancellation: SecretServiceCancellation())
        }

        @Test("a secret of any bytes is kept and found by its tag alone")
        func keepAndFind() throws {
            let keyring = try HeadlessKeyring(password: "login")
            let bytes = (UInt8(0)...255).map { $0 }
            try Self.add(bytes, tag: "one")
            try Self.add([1, 2, 3], tag: "two")
            #expect(try Self.find("one") == bytes)
            #expect(try Self.find("two") == [1, 2, 3])
            #expect(try Self.find("three") == nil)
            withExtendedLifetime(keyring) {}
        }

        @Test("a tag that is taken is refused, and removing frees it")
        func duplicate() throws {
            let keyring = try HeadlessKeyring(password: "login")
            try Self.add([1], tag: "one")
            let error = #expect(throws: KeyStoreError.self) { try Self.add([2], tag: "one") }
            #expect(error?.code == .duplicate)
            #expect(try Self.find("one") == [1])
            #expect(try SecretServiceConnection.remove(tag: "one", cancellation: SecretServiceCancellation()))
            #expect(try Self.find("one") == nil)
            #expect(try !SecretServiceConnection.remove(tag: "one", cancellation: SecretServiceCancellation()))
            withExtendedLifetime(keyring) {}
        }

        @Test("a keyring that nobody unlocks is given up when its time runs out, and nothing is stored")
        func locked() throws {
            let keyring = try HeadlessKeyring(password: nil)
            let cancellation = SecretServiceCancellation()
            DispatchQueue.global().asyncAfter(deadline: .now() + 1) { cancellation.cancel() }
            let error = #expect(throws: KeyStoreError.self) {
                try SecretServiceConnection.add(Self.secret([1]), tag: "one", label: "x", cancellation: cancellation)
            }
            #expect([.locked, .cancelled, .unavailable].contains(error?.code), "\(String(describing: error))")
            withExtendedLifetime(keyring) {}
        }

        @Test("a call that was cancelled beforehand does nothing")
        func cancelled() throws {
            let keyring = try HeadlessKeyring(password: "login")
            let cancellation = SecretServiceCancellation()
            cancellation.cancel()
            let error = #expect(throws: KeyStoreError.self) {
                try SecretServiceConnection.add(Self.secret([1]), tag: "one", label: "x", cancellation: cancellation)
            }
            #expect(error?.code == .cancelled)
            #expect(try Self.find("one") == nil)
            withExtendedLifetime(keyring) {}
        }
    }
}
