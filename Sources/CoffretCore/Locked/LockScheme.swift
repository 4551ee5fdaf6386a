// The ways in which a note can be sealed under a passphrase. Invariant: a scheme goes up and never down, and one that
// this version does not know is left as it is.

package import CoffretBase

/// A way of sealing notes; the raw value is its number in the format.
package enum LockScheme: UInt64, Sendable, CaseIterable {
    /// The article on Bear, byte for byte. Nothing stretches the passphrase; it is here to read and to hand over.
    case bear = 1
    /// Argon2id, and every piece bound to vault, note, attribute and record.
    case argon2id = 2

    /// The one that new notes are sealed under.
    package static let newest = LockScheme.argon2id
}

/// The current judgement of the schemes.
package struct LockPolicy: Sendable, Equatable {
    /// Schemes that should not protect anything any more: the program asks at its start to seal such notes anew.
    package var brokenSchemes: Set<LockScheme>

    /// The judgement of this release.
    package static let release = LockPolicy(brokenSchemes: [])

    package init(brokenSchemes: Set<LockScheme>) { self.brokenSchemes = brokenSchemes }

    /// Whether a note under this scheme is to be sealed anew as soon as its passphrase is known.
    package func isOutdated(_ scheme: LockScheme) -> Bool {
        scheme.rawValue < LockScheme.newest.rawValue || brokenSchemes.contains(scheme)
    }
}

/// A note's passphrase as it was typed, in locked memory.
///
/// Scheme 2 takes it in normalization form C, scheme 1 as it is.
package final class NotePassphrase: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: SecretBytes

    /// - Throws: `CoreError.notePassphraseInvalid` if it is empty, longer than `Limits.passphraseByteCountMax`, not
    ///   UTF-8, or holds a zero byte.
    package init(_ secret: consuming SecretBytes) throws {
        // EXPOSE: looked at, not copied, but for the check of UTF-8, which keeps nothing.
        let isValid = unsafe secret.withUnsafeBytes { bytes in
            unsafe (1...Limits.passphraseByteCountMax).contains(bytes.count) && !bytes.contains(0)
                && String(validating: bytes, as: UTF8.self) != nil
        }
        guard isValid else { throw CoreError(.notePassphraseInvalid) }
        self.secret = secret
    }

    /// Lends the bytes as typed. Each use stands under a comment `// EXPOSE:`.
    func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // EXPOSE: for the caller, who says why.
        try unsafe secret.withUnsafeBytes(body)
    }

    /// Whether two are the same, in constant time.
    package func isEqual(to other: NotePassphrase) -> Bool { secret.isEqual(to: other.secret) }

    package var description: String { "note passphrase (redacted)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
