// X25519 keys of Noise. The private half lies in locked memory.

internal import CoffretBase
package import CoffretCrypto

/// A public static key: any 32 bytes; a point of small order is refused when a secret is agreed on.
public struct NoisePublicKey: Sendable, Hashable {
    let key: AgreementPublicKey

    package init(_ key: AgreementPublicKey) { self.key = key }

    /// Takes 32 bytes.
    ///
    /// - Throws: `InteropError` `.invalidKey` for another size.
    public init(_ bytes: some Collection<UInt8>) throws(InteropError) {
        let bytes = [UInt8](bytes)
        key = try translatingErrors(AgreementPublicKey(bytes))
    }

    /// The 32 bytes.
    public var bytes: [UInt8] { key.bytes }
}

/// A private static key, in locked memory that is overwritten when the last reference goes.
public final class NoiseStaticKey: Sendable {
    let key: AgreementKey

    package init(_ key: AgreementKey) { self.key = key }

    /// Makes a fresh key.
    public static func generate() -> NoiseStaticKey {
        NoiseStaticKey(AgreementKey.generate(from: SystemRandomSource()))
    }

    /// Takes a copy of 32 bytes; the array stays the caller's to overwrite.
    ///
    /// - Throws: `InteropError` `.invalidKey` for another size.
    public init(privateKey: some Collection<UInt8>) throws(InteropError) {
        let privateKey = [UInt8](privateKey)
        guard privateKey.count == AgreementKey.byteCount else { throw InteropError(.invalidKey, at: "x25519 key size") }
        key = AgreementKey(
            unsafe SecretBytes(byteCount: AgreementKey.byteCount) { unsafe $0.copyBytes(from: privateKey) })
    }

    /// The public half.
    public var publicKey: NoisePublicKey { NoisePublicKey(key.publicKey) }

    /// The 32 private bytes. They are the caller's to protect and to overwrite.
    public func exportPrivateKey() -> [UInt8] {
        // EXPOSE: the caller asked for the private key.
        unsafe key.duplicateSecret().withUnsafeBytes { unsafe [UInt8]($0) }
    }
}
