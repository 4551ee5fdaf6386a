// The secret of a token. Invariant: it is shown once, and kept by nobody but the program that it was made for.

package import CoffretBase
internal import CoffretCrypto

/// 256 random bits that a program offers when it opens a session.
///
/// Text: `coffret_` and 52 characters of Crockford's base32. Spec: Spec/access.md.
package struct AccessToken: ~Copyable {
    private static let prefix = "coffret_"
    private static let byteCount = 32
    private static let hashLabel = Array("coffret/token/1".utf8)

    private let secret: SecretBytes

    package static func generate(from random: any RandomSource) -> AccessToken {
        var bytes = random.bytes(count: byteCount)
        return AccessToken(secret: SecretBytes(consuming: &bytes))
    }

    private init(secret: consuming SecretBytes) { self.secret = secret }

    /// - Returns: nil for anything that is no token.
    package init?(_ text: String) {
        guard text.utf8.count <= 128, text.hasPrefix(Self.prefix),
            var bytes = try? Base32.crockford.decode(String(text.dropFirst(Self.prefix.count)))
        else { return nil }
        guard bytes.count == Self.byteCount else { return nil }
        secret = SecretBytes(consuming: &bytes)
    }

    /// For the person, once.
    package var text: String {
        // EXPOSE: to be shown to the person who asked for it.
        unsafe secret.withUnsafeBytes { unsafe Self.prefix + Base32.crockford.encode($0).lowercased() }
    }

    /// BLAKE2b-256("coffret/token/1" ‖ secret). The secret has 256 bits of its own, so that nothing slower is needed.
    var hash: [UInt8] {
        // EXPOSE: into the hash; the copy is zeroed.
        var bytes = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        defer { bytes.zero() }
        return BLAKE2b.hash(Self.hashLabel, bytes, byteCount: 32)
    }
}
