// Key derivations of other programs' files. The caller sets the ceilings before calling: a file names its own costs.

internal import CGcrypt
internal import CSodium
internal import CoffretBase

/// Keys of 32 bytes from passwords, as other programs stretch them.
package enum ForeignStretching {
    package enum Argon2: Int32, Sendable {
        case d = 0
        case id = 2
    }

    /// Argon2, version 0x13.
    ///
    /// - Throws: `CryptoError`: `.invalidParameter` for what libgcrypt does not take, `.unavailable` without it.
    /// - Complexity: `passCount` passes over `memoryKibibytes`, in one thread.
    package static func argon2(
        _ variant: Argon2, password: [UInt8], salt: [UInt8], memoryKibibytes: UInt64, passCount: UInt64,
        laneCount: UInt64
    ) throws(CryptoError) -> [UInt8] {
        try unsafe makeBytes(byteCount: 32) { (output) throws(CryptoError) in
            try gcryptResult(
                unsafe coffret_argon2(
                    variant.rawValue, UInt(passCount), UInt(memoryKibibytes), UInt(laneCount), password, password.count,
                    salt, salt.count, output.baseAddress?.assumingMemoryBound(to: UInt8.self), 32), "argon2")
        }
    }

    /// KeePass's AES-KDF: each half of `secret` encrypted so many times under `seed`, then SHA-256.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - seed: 32 bytes.
    /// - Complexity: two blocks of AES for each round; a second for about fifty million.
    package static func aes(secret: [UInt8], seed: [UInt8], roundCount: UInt64) throws(CryptoError) -> [UInt8] {
        guard secret.count == 32, seed.count == 32 else { throw CryptoError(.invalidKey, at: "aes kdf") }
        var result: [UInt8] = []
        for half in [secret[..<16], secret[16...]] {
            result += try chained(Array(half), seed: seed, roundCount: roundCount)
        }
        defer { result.zero() }
        return HashAlgorithm.sha256.hash(result)
    }

    /// Chaining over zeros encrypts the vector again and again.
    private static func chained(
        _ block: [UInt8], seed: [UInt8], roundCount: UInt64
    ) throws(CryptoError) -> [UInt8] {
        guard roundCount > 0 else { return block }
        var context = try unsafe CipherContext.make(
            .aes256CBC, .seal, key: seed.span.bytes, nonceByteCount: nil, nonce: block.span.bytes)
        context.keepPadding()
        let pieceRoundCount: UInt64 = 4_096
        let zeros = [UInt8](repeating: 0, count: Int(min(pieceRoundCount, roundCount)) * 16)
        var output: [UInt8] = []
        var rest = roundCount
        var last: [UInt8] = []
        while rest > 0 {
            let byteCount = Int(min(pieceRoundCount, rest)) * 16
            output = try unsafe makeBytes(byteCount: byteCount) { (buffer) throws(CryptoError) in
                try unsafe context.transform(zeros.span.bytes.extracting(0..<byteCount), into: buffer)
            }
            last = Array(output[(byteCount - 16)..<byteCount])
            rest -= UInt64(byteCount / 16)
        }
        output.zero()
        return last
    }

    /// scrypt (RFC 7914).
    ///
    /// - Throws: `.invalidParameter` for costs that libsodium does not take, or too little memory.
    package static func scrypt(
        password: [UInt8], salt: [UInt8], cost: UInt64, blockSize: UInt32, lanes: UInt32
    ) throws(CryptoError) -> [UInt8] {
        try unsafe makeBytes(byteCount: 32) { (output) throws(CryptoError) in
            let status = unsafe crypto_pwhash_scryptsalsa208sha256_ll(
                password, password.count, salt, salt.count, cost, blockSize, lanes,
                output.baseAddress!.assumingMemoryBound(to: UInt8.self), 32)
            guard status == 0 else { throw CryptoError(.invalidParameter, at: "scrypt") }
        }
    }
}

extension CipherContext {
    /// As `transform`, of a span.
    mutating func transform(_ input: RawSpan, into output: UnsafeMutableRawBufferPointer) throws(CryptoError) {
        var failure: CryptoError?
        unsafe input.withUnsafeBytes { bytes in
            do throws(CryptoError) { try unsafe transform(bytes, into: output) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
