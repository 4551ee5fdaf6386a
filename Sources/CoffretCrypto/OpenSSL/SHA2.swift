// MD5, SHA-1 and SHA-2. A context must never be used after its digest has been taken.

internal import COpenSSL

/// A hash function of OpenSSL's.
///
/// SHA-1 is here for formats that others fixed (key derivation in Apple's ECIES, TOTP); nothing of
/// Coffret's own uses it. MD5 names files in Evernote's exports, and protects nothing.
package enum HashAlgorithm: String, Sendable, CaseIterable {
    case md5 = "MD5"
    case sha1 = "SHA-1"
    case sha224 = "SHA-224"
    case sha256 = "SHA-256"
    case sha384 = "SHA-384"
    case sha512 = "SHA-512"

    /// The size of a digest.
    package var digestByteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// The size of the blocks that the function works on, which HMAC pads its key to.
    package var blockByteCount: Int {
        switch self {
        case .md5, .sha1, .sha224, .sha256: 64
        case .sha384, .sha512: 128
        }
    }

    var fetched: FetchedDigest {
        switch self {
        case .md5: .md5
        case .sha1: .sha1
        case .sha224: .sha224
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }

    /// The digest of `bytes`.
    package func hash(_ bytes: RawSpan) -> [UInt8] {
        var context = HashContext(self)
        context.update(bytes)
        return context.finalize()
    }
}

/// A hash in the making: feed it any number of pieces, then take the digest.
///
/// Source: FIPS 180-4. Vectors: Tests/Vectors/crypto/sha.json.
@safe package struct HashContext: ~Copyable {
    // SAFETY: owned by this value alone; freed, and its state overwritten, by `deinit`.
    private let pointer: OpaquePointer
    /// Which function this computes.
    package let algorithm: HashAlgorithm

    /// Starts a hash.
    package init(_ algorithm: HashAlgorithm) {
        guard let pointer = unsafe EVP_MD_CTX_new() else { fatalError("out of memory for a hash context") }
        unsafe self.pointer = unsafe pointer
        self.algorithm = algorithm
        restart()
    }

    deinit {
        // Starting anew overwrites the chaining value, which can be a key that was derived.
        _ = unsafe EVP_DigestInit_ex2(pointer, algorithm.fetched.pointer, nil)
        unsafe EVP_MD_CTX_free(pointer)
    }

    /// Forgets what has been fed and starts anew.
    package mutating func restart() {
        guard unsafe EVP_DigestInit_ex2(pointer, algorithm.fetched.pointer, nil) == 1 else {
            fatalError("OpenSSL cannot start \(algorithm.rawValue)")
        }
    }

    /// Feeds the next piece.
    package mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            guard unsafe EVP_DigestUpdate(pointer, base, buffer.count) == 1 else {
                fatalError("OpenSSL cannot continue \(algorithm.rawValue)")
            }
        }
    }

    /// Writes the digest to `output`, which must hold exactly `digestByteCount` bytes; `restart` comes next.
    package mutating func finalize(into output: UnsafeMutableRawBufferPointer) {
        precondition(output.count == algorithm.digestByteCount, "a digest needs exactly its own size")
        let base = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard unsafe EVP_DigestFinal_ex(pointer, base, nil) == 1 else {
            fatalError("OpenSSL cannot finish \(algorithm.rawValue)")
        }
    }

    /// The digest.
    package mutating func finalize() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: algorithm.digestByteCount)
        unsafe digest.withUnsafeMutableBytes { unsafe finalize(into: $0) }
        return digest
    }
}
