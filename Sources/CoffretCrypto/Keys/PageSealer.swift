// The cipher of a sealed database (`Spec/search.md`). Invariant: a page opens only under the key, the context, the
// database and the page number that it was sealed with.

internal import CSodium
package import CoffretBase

/// Kinds of data that are authenticated beside the pages: the purpose goes into the hash's parameter block, so that
/// the same bytes have unrelated codes under different purposes (`Spec/contexts.md`).
package enum SealedDatabasePurpose: String, Sendable, CaseIterable {
    case header = "coffret/dbhead/1"
    case record = "coffret/dblog/1"
}

/// Seals and opens the pages of one database, and authenticates what lies beside them.
///
/// Layout of a sealed page: ciphertext (4056) ‖ nonce (24) ‖ tag (16) = 4096 bytes, XChaCha20-Poly1305
/// with a random nonce; associated data = context ‖ database id (16) ‖ page number (4).
/// Both keys come from the database's key by BLAKE2b-256 with the database id as salt, so that a
/// database made anew shares no key with the one before.
/// Source: draft-irtf-cfrg-xchacha; RFC 7693. Cost: about 2 µs a page, no allocation.
@safe package final class PageSealer {
    package static let pageByteCount = 4_096
    package static let nonceByteCount = 24
    package static let tagByteCount = 16
    /// Bytes at the end of each page that SQLite does not use.
    package static let reservedByteCount = nonceByteCount + tagByteCount
    package static let contentByteCount = pageByteCount - reservedByteCount
    package static let databaseIDByteCount = 16
    package static let codeByteCount = 32

    /// Page key (32) ‖ authentication key (32).
    private let keys: SecretBytes
    private let databaseID: [UInt8]
    /// Context ‖ database id ‖ page number of the page at hand.
    private var associatedData: [UInt8]
    private let random: any RandomSource

    /// - Parameter key: 32 bytes.
    /// - Parameter context: what the database belongs to, such as a vault's id; of any size.
    /// - Parameter databaseID: 16 random bytes, new whenever the database is made anew.
    package init(key: borrowing SecretBytes, context: [UInt8], databaseID: [UInt8], random: any RandomSource) {
        precondition(key.byteCount == 32, "a database key has 32 bytes")
        precondition(databaseID.count == Self.databaseIDByteCount, "a database id has 16 bytes")
        // EXPOSE: libsodium reads the key into its state on the stack and clears that.
        keys = unsafe key.withUnsafeBytes { keyBytes in
            unsafe SecretBytes(byteCount: 64) { target in
                for (index, label) in ["coffret/dbpage/1", "coffret/dbauth/1"].enumerated() {
                    let status = unsafe crypto_generichash_blake2b_salt_personal(
                        target.baseAddress!.assumingMemoryBound(to: UInt8.self) + 32 * index, 32, context,
                        UInt64(context.count), keyBytes.baseAddress, 32, databaseID, Self.padded(label))
                    precondition(status == 0, "the sizes are constants within libsodium's limits")
                }
            }
        }
        self.databaseID = databaseID
        self.random = random
        associatedData = context + databaseID + [0, 0, 0, 0]
    }

    /// Seals the first 4056 bytes of `page` as page `number` under a fresh nonce.
    ///
    /// - Parameter page: at least 4056 bytes.
    /// - Parameter target: room for 4096 bytes; may be `page` itself.
    package func seal(_ page: UnsafeRawPointer, number: UInt32, into target: UnsafeMutableRawPointer) {
        setPageNumber(number)
        let bytes = unsafe target.assumingMemoryBound(to: UInt8.self)
        let nonce = unsafe bytes + Self.contentByteCount
        unsafe random.fill(UnsafeMutableRawBufferPointer(start: nonce, count: Self.nonceByteCount))
        // EXPOSE: read by the cipher, which keeps no copy.
        unsafe keys.withUnsafeBytes { key in
            unsafe associatedData.withUnsafeBytes { associatedData in
                unsafe XChaCha20Poly1305.seal(
                    UnsafeRawBufferPointer(start: page, count: Self.contentByteCount),
                    key: UnsafeRawBufferPointer(rebasing: key[..<XChaCha20Poly1305.keyByteCount]),
                    nonce: UnsafeRawBufferPointer(start: nonce, count: Self.nonceByteCount),
                    associatedData: associatedData,
                    ciphertext: UnsafeMutableRawBufferPointer(start: bytes, count: Self.contentByteCount),
                    tag: UnsafeMutableRawBufferPointer(start: nonce + Self.nonceByteCount, count: Self.tagByteCount))
            }
        }
    }

    /// Opens a sealed page: 4056 bytes of content; the 40 reserved bytes of `target` become zero.
    ///
    /// - Parameter sealed: 4096 bytes.
    /// - Parameter target: room for 4096 bytes; may be `sealed` itself.
    /// - Returns: false if the page was altered, belongs elsewhere or the key is another; `target` then
    ///   holds nothing of use.
    package func open(_ sealed: UnsafeRawPointer, number: UInt32, into target: UnsafeMutableRawPointer) -> Bool {
        setPageNumber(number)
        let bytes = unsafe sealed.assumingMemoryBound(to: UInt8.self)
        let nonce = unsafe bytes + Self.contentByteCount
        // EXPOSE: read by the cipher, which keeps no copy.
        let isOpened = unsafe keys.withUnsafeBytes { key in
            unsafe associatedData.withUnsafeBytes { associatedData in
                do throws(CryptoError) {
                    try unsafe XChaCha20Poly1305.open(
                        UnsafeRawBufferPointer(start: bytes, count: Self.contentByteCount),
                        tag: UnsafeRawBufferPointer(start: nonce + Self.nonceByteCount, count: Self.tagByteCount),
                        key: UnsafeRawBufferPointer(rebasing: key[..<XChaCha20Poly1305.keyByteCount]),
                        nonce: UnsafeRawBufferPointer(start: nonce, count: Self.nonceByteCount),
                        associatedData: associatedData,
                        message: UnsafeMutableRawBufferPointer(start: target, count: Self.contentByteCount))
                    return true
                } catch {
                    return false
                }
            }
        }
        guard isOpened else { return false }
        unsafe (target + Self.contentByteCount).initializeMemory(
            as: UInt8.self, repeating: 0, count: Self.reservedByteCount)
        return true
    }

    /// The code of `bytes` for a purpose: 32 bytes of BLAKE2b.
    package func code(of bytes: UnsafeRawBufferPointer, purpose: SealedDatabasePurpose) -> [UInt8] {
        // EXPOSE: libsodium reads the key into its state on the stack and clears that.
        unsafe keys.withUnsafeBytes { key in
            unsafe [UInt8](unsafeUninitializedCapacity: Self.codeByteCount) { code, count in
                let status = unsafe crypto_generichash_blake2b_salt_personal(
                    code.baseAddress!, Self.codeByteCount, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    UInt64(bytes.count), key.baseAddress! + 32, 32, databaseID, Self.padded(purpose.rawValue))
                precondition(status == 0, "the sizes are constants within libsodium's limits")
                count = Self.codeByteCount
            }
        }
    }

    /// Whether `code` (32 bytes) is the code of `bytes`; compares in constant time.
    package func isValid(
        _ code: UnsafeRawPointer, of bytes: UnsafeRawBufferPointer, purpose: SealedDatabasePurpose
    ) -> Bool {
        unsafe sodium_memcmp(code, self.code(of: bytes, purpose: purpose), Self.codeByteCount) == 0
    }

    private func setPageNumber(_ number: UInt32) {
        let end = associatedData.count
        associatedData[end - 4] = UInt8(truncatingIfNeeded: number >> 24)
        associatedData[end - 3] = UInt8(truncatingIfNeeded: number >> 16)
        associatedData[end - 2] = UInt8(truncatingIfNeeded: number >> 8)
        associatedData[end - 1] = UInt8(truncatingIfNeeded: number)
    }

    private static func padded(_ label: String) -> [UInt8] {
        var bytes = Array(label.utf8)
        precondition(bytes.count <= 16, "a label has at most 16 bytes")
        bytes.append(contentsOf: repeatElement(0, count: 16 - bytes.count))
        return bytes
    }
}
