// Ciphers of other programs' files. None of them authenticates: the file's own code or hash has to be checked by the caller.

internal import CGcrypt
internal import CSodium
internal import CoffretBase

/// Cipher block chaining with vectors of 16 bytes.
package enum ForeignCBC {
    package enum Cipher: Sendable {
        case aes128, aes256, twofish256

        var keyByteCount: Int { self == .aes128 ? 16 : 32 }
    }

    /// Pads as PKCS 7 says, and encrypts with AES.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], vector: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        guard key.count == 16 || key.count == 32 else { throw CryptoError(.invalidKey, at: "cbc key size") }
        guard vector.count == 16 else { throw CryptoError(.invalidParameter, at: "cbc size") }
        let padding = 16 - plaintext.count % 16
        var padded = plaintext + [UInt8](repeating: UInt8(padding), count: padding)
        defer { padded.zero() }
        return try unsafe makeBytes(byteCount: padded.count) { (output) throws(CryptoError) in
            var context = try unsafe CipherContext.make(
                key.count == 16 ? .aes128CBC : .aes256CBC, .seal, key: key.span.bytes, nonceByteCount: nil,
                nonce: vector.span.bytes)
            context.keepPadding()
            try unsafe context.transform(padded.span.bytes, into: output)
        }
    }

    /// Decrypts and takes the padding of PKCS 7 off.
    ///
    /// - Throws: `CryptoError`: `.invalidKey`, `.invalidParameter` for sizes, `.authenticationFailed` for a padding that is
    ///   none, `.unavailable` without libgcrypt, which has Twofish.
    package static func open(
        _ ciphertext: [UInt8], _ cipher: Cipher = .aes256, key: [UInt8], vector: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        guard key.count == cipher.keyByteCount else { throw CryptoError(.invalidKey, at: "cbc key size") }
        guard vector.count == 16, !ciphertext.isEmpty, ciphertext.count.isMultiple(of: 16) else {
            throw CryptoError(.invalidParameter, at: "cbc size")
        }
        var plaintext = try unsafe makeBytes(byteCount: ciphertext.count) { (output) throws(CryptoError) in
            switch cipher {
            case .aes128, .aes256:
                var context = try unsafe CipherContext.make(
                    cipher == .aes128 ? .aes128CBC : .aes256CBC, .open, key: key.span.bytes, nonceByteCount: nil,
                    nonce: vector.span.bytes)
                context.keepPadding()
                try unsafe context.transform(ciphertext.span.bytes, into: output)
            case .twofish256:
                try gcryptResult(
                    unsafe coffret_twofish_open(
                        key, vector, ciphertext, ciphertext.count,
                        output.baseAddress?.assumingMemoryBound(to: UInt8.self)), "twofish")
            }
        }
        let padding = Int(plaintext.last ?? 0)
        guard (1...16).contains(padding), plaintext.suffix(padding).allSatisfy({ $0 == UInt8(padding) }) else {
            plaintext.zero()
            throw CryptoError(.authenticationFailed)
        }
        plaintext.removeLast(padding)
        return plaintext
    }
}

/// A stream cipher whose stream goes on from call to call; encrypting is decrypting.
package struct ForeignStream: Sendable {
    package enum Cipher: Sendable {
        /// A nonce of 8 bytes.
        case salsa20
        /// RFC 8439: a nonce of 12 bytes.
        case chaCha20
    }

    private let cipher: Cipher
    private let key: [UInt8]
    private let nonce: [UInt8]
    private var position = 0

    /// - Throws: `CryptoError`: `.invalidKey`, `.invalidParameter` for other sizes than a key of 32 and the nonce's.
    package init(_ cipher: Cipher, key: [UInt8], nonce: [UInt8]) throws(CryptoError) {
        guard key.count == 32 else { throw CryptoError(.invalidKey, at: "stream key size") }
        guard nonce.count == (cipher == .salsa20 ? 8 : 12) else {
            throw CryptoError(.invalidParameter, at: "stream nonce size")
        }
        (self.cipher, self.key, self.nonce) = (cipher, key, nonce)
    }

    /// Applies the next part of the stream.
    ///
    /// - Throws: `.tooLarge` behind 256 GiB, where ChaCha20's counter ends.
    package mutating func apply(to bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard position + bytes.count <= 1 << 38 else { throw CryptoError(.tooLarge, at: "stream") }
        let skipped = position % 64
        var work = [UInt8](repeating: 0, count: skipped) + bytes
        let block = position / 64
        switch cipher {
        case .salsa20:
            _ = unsafe crypto_stream_salsa20_xor_ic(&work, work, UInt64(work.count), nonce, UInt64(block), key)
        case .chaCha20:
            _ = unsafe crypto_stream_chacha20_ietf_xor_ic(&work, work, UInt64(work.count), nonce, UInt32(block), key)
        }
        position += bytes.count
        defer { work.zero() }
        return Array(work[skipped...])
    }
}

func gcryptResult(_ result: coffret_gcrypt_result, _ place: String) throws(CryptoError) {
    switch result {
    case COFFRET_GCRYPT_DONE: return
    case COFFRET_GCRYPT_UNAVAILABLE: throw CryptoError(.unavailable, at: "libgcrypt20")
    default: throw CryptoError(.invalidParameter, at: place)
    }
}
