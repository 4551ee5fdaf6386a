// Entries of Apple's keychain, found by application tag. Compiled on Apple platforms only; it has not been compiled or
// run on Linux, where this file is empty. Invariant: two entries under one tag are an error.

#if canImport(Security)
import Foundation
import LocalAuthentication
import Security

package import CoffretBase
package import CoffretKeys

/// Generic passwords and keys of this device that never leave it and are not synced.
enum AppleKeychain {
    private static let service = "io.coffret.Key"

    /// The access rules of an entry.
    ///
    /// `.biometryCurrentSet` makes an entry useless once a finger or a face is added or removed.
    static func accessControl(_ flags: SecAccessControlCreateFlags) throws(KeyStoreError) -> SecAccessControl {
        guard
            let control = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, flags, nil)
        else { throw KeyStoreError(.failed, place: "access control") }
        return control
    }

    static func add(
        _ secret: borrowing SecretBytes, tag: [UInt8], flags: SecAccessControlCreateFlags
    ) throws(KeyStoreError) {
        // EXPOSE: into the keychain's own memory.
        let data = unsafe secret.withUnsafeBytes { bytes in unsafe Data(bytes) }
        let status = SecItemAdd(
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: Hex.encode(tag),
                kSecAttrAccessControl: try accessControl(flags), kSecUseDataProtectionKeychain: true,
                kSecValueData: data,
            ] as CFDictionary, nil)
        try check(status)
    }

    /// nil when there is none. May ask the person for a finger or a face.
    static func find(tag: [UInt8], context: LAContext) throws(KeyStoreError) -> SecretBytes? {
        var found: CFTypeRef?
        let status = SecItemCopyMatching(
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: Hex.encode(tag),
                kSecUseDataProtectionKeychain: true, kSecUseAuthenticationContext: context,
                kSecMatchLimit: kSecMatchLimitAll, kSecReturnData: true,
            ] as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        try check(status)
        guard let items = found as? [Data], let first = items.first else {
            throw KeyStoreError(.failed, place: "keychain entry")
        }
        guard items.count == 1 else { throw KeyStoreError(.duplicate, place: "keychain") }
        var bytes = [UInt8](first)
        return SecretBytes(consuming: &bytes)
    }

    static func remove(tag: [UInt8]) throws(KeyStoreError) {
        let status = SecItemDelete(
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: Hex.encode(tag),
                kSecUseDataProtectionKeychain: true,
            ] as CFDictionary)
        if status != errSecItemNotFound { try check(status) }
    }

    static func check(_ status: OSStatus) throws(KeyStoreError) {
        switch status {
        case errSecSuccess: return
        case errSecDuplicateItem: throw KeyStoreError(.duplicate, place: "keychain")
        case errSecUserCanceled: throw KeyStoreError(.cancelled)
        case errSecAuthFailed: throw KeyStoreError(.presenceDenied, place: "keychain")
        case errSecInteractionNotAllowed: throw KeyStoreError(.locked, place: "keychain")
        case errSecItemNotFound: throw KeyStoreError(.keyUnusable, place: "keychain")
        default: throw KeyStoreError(.failed, place: "keychain \(status)")
        }
    }
}

extension BlockingQueue {
    /// Runs what may ask the person, with a context of its own; when the time is up the question goes away.
    func askingPerson<Value: Sendable>(
        limit: Duration, _ body: @escaping @Sendable (LAContext) throws(KeyStoreFailure) -> Value
    ) async throws(KeyError) -> Value {
        let context = LAContext()
        return try await run(limit: limit, cancel: { context.invalidate() }) { () -> Result<Value, KeyError> in
            do throws(KeyStoreFailure) {
                return .success(try body(context))
            } catch {
                return .failure(error.keyError)
            }
        }
    }
}
#endif
