// The code that tells own, complete records on this disk from anything else. Invariant: bytes under one purpose, or of
// one file, never verify under another.

internal import CSodium
internal import CoffretBase

/// Kinds of authenticated data: the purpose goes into the hash's parameter block, so that the same bytes
/// have unrelated codes under different purposes. At most 16 ASCII bytes each (`Spec/contexts.md`).
package enum JournalPurpose: String, Sendable, CaseIterable {
    case transaction = "coffret/txn/1"
    case segmentHeader = "coffret/segment"
    case positionHint = "coffret/hint/1"
    case indexPage = "coffret/index/1"
    case fileFooter = "coffret/footer/1"
    case manifest = "coffret/manifest"
}

/// Authenticates a vault's local files under its journal key.
///
/// BLAKE2b-128 with the key, the file's random salt as its salt and the purpose as its
/// personalisation (RFC 7693 section 2.5 and libsodium's parameter block). The salt makes blocks of
/// an older file, recycled by the file system, worthless in a newer one.
package final class JournalAuthenticator: Sendable {
    package static let codeByteCount = 16
    package static let saltByteCount = 16

    private let key: JournalKey

    package init(_ key: JournalKey) {
        self.key = key
    }

    /// The code of `bytes`: 16 bytes.
    ///
    /// - Parameter salt: 16 bytes.
    package func code(
        of bytes: UnsafeRawBufferPointer, salt: [UInt8], purpose: JournalPurpose
    ) -> [UInt8] {
        precondition(salt.count == Self.saltByteCount, "a salt has 16 bytes")
        var personal = Array(purpose.rawValue.utf8)
        precondition(personal.count <= 16, "a purpose has at most 16 bytes")
        personal.append(contentsOf: repeatElement(0, count: 16 - personal.count))
        // EXPOSE: libsodium reads the key into its state on the stack and clears that.
        return unsafe key.withUnsafeBytes { keyBytes in
            unsafe [UInt8](unsafeUninitializedCapacity: Self.codeByteCount) { code, count in
                let status = unsafe crypto_generichash_blake2b_salt_personal(
                    code.baseAddress!, Self.codeByteCount,
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count),
                    keyBytes.baseAddress, keyBytes.count, salt, personal)
                precondition(status == 0, "the sizes are constants within libsodium's limits")
                count = Self.codeByteCount
            }
        }
    }

    /// Whether `code` (16 bytes) is the code of `bytes`; compares in constant time.
    package func isValid(
        _ code: UnsafeRawBufferPointer, of bytes: UnsafeRawBufferPointer, salt: [UInt8], purpose: JournalPurpose
    ) -> Bool {
        guard code.count == Self.codeByteCount, let given = code.baseAddress else { return false }
        let expected = unsafe self.code(of: bytes, salt: salt, purpose: purpose)
        return unsafe sodium_memcmp(given, expected, Self.codeByteCount) == 0
    }
}
