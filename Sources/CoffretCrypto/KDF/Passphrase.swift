// Passphrases. Invariant: the same passphrase typed on two machines gives the same bytes, however each composes its
// accents.

internal import CoffretBase
@_spi(_Unicode) internal import Swift

/// A passphrase in Unicode Normalization Form C, as UTF-8 in locked memory.
///
/// Spec: Spec/suite.md. Source: Unicode Standard Annex 15.
package final class Passphrase: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: SecretBytes

    /// Takes what was typed: normalised, otherwise as it is. Zeroes `typed`.
    ///
    /// - Throws: `.invalidPassphrase` if it is empty, not UTF-8, longer than
    ///   `Limits.passphraseByteCountMax`, or holds a zero byte.
    package convenience init(typed: inout [UInt8]) throws(CryptoError) {
        defer { typed.zero() }
        try self.init(normalizing: typed[...])
    }

    /// Takes the content of a file or descriptor: one line end, LF or CRLF, is dropped from its end.
    /// Zeroes `content`.
    ///
    /// - Throws: as `init(typed:)`.
    package convenience init(fileContent content: inout [UInt8]) throws(CryptoError) {
        defer { content.zero() }
        var end = content.count
        if end > 0, content[end - 1] == 0x0A {
            end -= 1
            if end > 0, content[end - 1] == 0x0D { end -= 1 }
        }
        try self.init(normalizing: content[..<end])
    }

    private init(normalizing bytes: ArraySlice<UInt8>) throws(CryptoError) {
        guard !bytes.isEmpty, bytes.count <= Limits.passphraseByteCountMax, !bytes.contains(0) else {
            throw CryptoError(.invalidPassphrase)
        }
        var normalized = [UInt8]()
        normalized.reserveCapacity(bytes.count * 3)
        defer { normalized.zero() }
        if bytes.allSatisfy({ $0 < 0x80 }) {
            // ASCII is in form C already, and never passes through a String, whose memory is not zeroed.
            normalized.append(contentsOf: bytes)
        } else {
            guard let text = String(validating: bytes, as: UTF8.self) else { throw CryptoError(.invalidPassphrase) }
            for scalar in text._nfc { normalized.append(contentsOf: UTF8.encode(scalar)!) }
        }
        guard normalized.count <= Limits.passphraseByteCountMax else { throw CryptoError(.invalidPassphrase) }
        secret = SecretBytes(consuming: &normalized)
    }

    package var byteCount: Int { secret.byteCount }

    /// Lends the normalised UTF-8. Each use stands under a comment `// EXPOSE:`.
    package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // EXPOSE: for the caller, who says why.
        try unsafe secret.withUnsafeBytes(body)
    }

    /// Whether two passphrases are the same, in constant time; for "type it again".
    package func isEqual(to other: Passphrase) -> Bool { secret.isEqual(to: other.secret) }

    package var description: String { "passphrase (redacted)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
