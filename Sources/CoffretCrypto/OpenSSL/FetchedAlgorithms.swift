// OpenSSL's algorithm objects, fetched once. A fetch walks the providers and takes longer than
// sealing a kilobyte, so no operation may fetch for itself.

internal import COpenSSL

/// A cipher of OpenSSL's.
@safe struct FetchedCipher: @unchecked Sendable {
    // SAFETY: an EVP_CIPHER is immutable once fetched, is shared by all threads by design, and is
    // never freed: it lives as long as the process.
    let pointer: OpaquePointer

    private init(_ name: String) {
        guard let pointer = unsafe EVP_CIPHER_fetch(nil, name, nil) else {
            fatalError("this build of OpenSSL has no \(name)")
        }
        unsafe self.pointer = unsafe pointer
    }

    static let aes128GCM = FetchedCipher("AES-128-GCM")
    static let aes192GCM = FetchedCipher("AES-192-GCM")
    static let aes256GCM = FetchedCipher("AES-256-GCM")
    static let aes128ECB = FetchedCipher("AES-128-ECB")
    static let aes256CTR = FetchedCipher("AES-256-CTR")
    static let aes128CBC = FetchedCipher("AES-128-CBC")
    static let aes256CBC = FetchedCipher("AES-256-CBC")
    static let chaCha20Poly1305 = FetchedCipher("ChaCha20-Poly1305")
}

/// A hash function of OpenSSL's.
@safe struct FetchedDigest: @unchecked Sendable {
    // SAFETY: as for `FetchedCipher`.
    let pointer: OpaquePointer

    private init(_ name: String) {
        guard let pointer = unsafe EVP_MD_fetch(nil, name, nil) else {
            fatalError("this build of OpenSSL has no \(name)")
        }
        unsafe self.pointer = unsafe pointer
    }

    static let md5 = FetchedDigest("MD5")
    static let sha1 = FetchedDigest("SHA1")
    static let sha224 = FetchedDigest("SHA2-224")
    static let sha256 = FetchedDigest("SHA2-256")
    static let sha384 = FetchedDigest("SHA2-384")
    static let sha512 = FetchedDigest("SHA2-512")
}

/// The largest piece handed to OpenSSL in one call: its lengths are signed 32-bit numbers.
let openSSLPieceByteCountMax = 1 << 30
