// RSA signatures of PKCS #1 v1.5, for SSH. Invariant: a signature leaves only after it was verified, because one
// computed from damaged numbers can give the key away.

internal import COpenSSL
package import CoffretBase

/// The public half of an RSA key.
package final class RSAPublicKey: Sendable {
    /// The sizes of the modulus, in bits, that are accepted.
    package static let bitCounts = 2_048...8_192

    /// Big-endian, without leading zeros.
    package let modulus: [UInt8]
    package let exponent: [UInt8]
    fileprivate let key: EVPKey

    /// - Parameter modulus: big-endian without leading zeros, as `exponent`.
    /// - Throws: `CryptoError` `.invalidKey` for a size that is not accepted, and an exponent that is even or below 3.
    package init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        try Self.check(modulus, exponent)
        self.modulus = modulus
        self.exponent = exponent
        key = try RSANumbers([.modulus: modulus, .exponent: exponent]).makeKey(coffret_EVP_PKEY_PUBLIC_KEY)
    }

    fileprivate static func check(_ modulus: [UInt8], _ exponent: [UInt8]) throws(CryptoError) {
        guard let first = modulus.first, first != 0, let last = modulus.last, last & 1 == 1 else {
            throw CryptoError(.invalidKey, at: "RSA modulus")
        }
        guard bitCounts.contains(modulus.count * 8 - first.leadingZeroBitCount) else {
            throw CryptoError(.invalidKey, at: "RSA key size")
        }
        // Exponents beyond 32 bits only serve to make verification slow.
        guard let low = exponent.last, low & 1 == 1, exponent != [1], exponent.first != 0, exponent.count <= 4 else {
            throw CryptoError(.invalidKey, at: "RSA exponent")
        }
    }

    /// Whether `signature` is one of `message`.
    package func isValid(_ signature: [UInt8], of message: [UInt8], _ hash: HashAlgorithm) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let status =
            unsafe EVP_DigestVerifyInit_ex(context, nil, hash.rawValue, nil, nil, key.pointer, nil) == 1
            ? unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) : 0
        if status != 1 { ERR_clear_error() }
        return status == 1
    }
}

/// An RSA key that signs.
package final class RSAKey: Sendable {
    package let publicKey: RSAPublicKey
    private let key: EVPKey
    /// d, p, q and the inverse of q modulo p, one behind the other, for writing the key out.
    private let secrets: SecretBytes
    private let secretRanges: [Range<Int>]

    /// Makes a key of its numbers, all big-endian without leading zeros; the secret ones are read from `secrets`.
    ///
    /// - Parameters:
    ///   - secrets: holds private exponent, both primes and the inverse of the second modulo the first.
    ///   - ranges: where each of these stands, in this order.
    /// - Throws: `CryptoError` `.invalidKey` for sizes that are not accepted and numbers that do not sign.
    package init(
        modulus: [UInt8], exponent: [UInt8], secrets: borrowing SecretBytes, ranges: [Range<Int>]
    ) throws(CryptoError) {
        precondition(ranges.count == 4, "an RSA key has four secret numbers")
        publicKey = try RSAPublicKey(modulus: modulus, exponent: exponent)
        let numbers = RSANumbers([.modulus: modulus, .exponent: exponent])
        let isComplete = unsafe secrets.withUnsafeBytes { bytes in
            // EXPOSE: into numbers that are overwritten when they are freed.
            let parts = ranges.map { unsafe Array(bytes[$0]) }
            return numbers.addSecrets(parts)
        }
        guard isComplete else { throw CryptoError(.invalidKey, at: "RSA numbers") }
        key = try numbers.makeKey(coffret_EVP_PKEY_KEYPAIR)
        self.secrets = secrets.duplicate()
        secretRanges = ranges
        // Numbers that do not belong together are found here and not when somebody waits for a signature.
        _ = try signature(of: [0], .sha256)
    }

    /// A signature of `message`, as long as the modulus.
    package func signature(of message: [UInt8], _ hash: HashAlgorithm) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw CryptoError(.unavailable, at: "signature") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: publicKey.modulus.count)
        var byteCount = signature.count
        let status =
            unsafe EVP_DigestSignInit_ex(context, nil, hash.rawValue, nil, nil, key.pointer, nil) == 1
            ? unsafe EVP_DigestSign(context, &signature, &byteCount, message, message.count) : 0
        if status != 1 { ERR_clear_error() }
        guard status == 1, byteCount == signature.count, publicKey.isValid(signature, of: message, hash) else {
            throw CryptoError(.invalidKey, at: "RSA numbers")
        }
        return signature
    }

    /// Lends the secret numbers in the order of `init`.
    package func withSecretNumbers(_ body: ([UnsafeRawBufferPointer]) -> Void) {
        // EXPOSE: to write the key out into memory that the caller zeroes.
        unsafe secrets.withUnsafeBytes { bytes in
            unsafe body(secretRanges.map { unsafe UnsafeRawBufferPointer(rebasing: bytes[$0]) })
        }
    }
}

/// The numbers of a key on their way to OpenSSL, which takes them little-endian; overwritten afterwards.
private final class RSANumbers {
    enum Name: Int32 {
        case modulus, exponent, privateExponent, prime1, prime2, exponent1, exponent2, coefficient
    }

    private var values: [Name: [UInt8]] = [:]

    init(_ numbers: [Name: [UInt8]]) {
        for (name, bytes) in numbers { values[name] = bytes.reversed() }
    }

    deinit {
        for name in values.keys { values[name]?.zero() }
    }

    /// Adds private exponent, primes and coefficient, and what follows from them: d mod (p − 1), d mod (q − 1).
    func addSecrets(_ parts: [[UInt8]]) -> Bool {
        var parts = parts
        defer { for index in parts.indices { parts[index].zero() } }
        guard parts.allSatisfy({ (1...1_024).contains($0.count) }) else { return false }
        for (name, part) in zip([Name.privateExponent, .prime1, .prime2, .coefficient], parts) {
            values[name] = part.reversed()
        }
        for (name, prime) in [(Name.exponent1, parts[1]), (.exponent2, parts[2])] {
            guard let reduced = Self.reduced(parts[0], moduloOneLessThan: prime) else { return false }
            values[name] = reduced
        }
        return true
    }

    /// A number modulo (another − 1), little-endian.
    private static func reduced(_ number: [UInt8], moduloOneLessThan prime: [UInt8]) -> [UInt8]? {
        guard let context = unsafe BN_CTX_secure_new() else { return nil }
        defer { unsafe BN_CTX_free(context) }
        guard let value = unsafe BN_bin2bn(number, Int32(number.count), nil) else { return nil }
        defer { unsafe BN_clear_free(value) }
        guard let modulus = unsafe BN_bin2bn(prime, Int32(prime.count), nil) else { return nil }
        defer { unsafe BN_clear_free(modulus) }
        guard let result = unsafe BN_secure_new() else { return nil }
        defer { unsafe BN_clear_free(result) }
        unsafe BN_set_flags(value, BN_FLG_CONSTTIME)
        unsafe BN_set_flags(modulus, BN_FLG_CONSTTIME)
        // One less than 0 or 1 is no modulus.
        guard unsafe BN_sub_word(modulus, 1) == 1, unsafe BN_is_zero(modulus) == 0,
            unsafe BN_is_negative(modulus) == 0, unsafe BN_div(nil, result, value, modulus, context) == 1
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: prime.count)
        guard unsafe BN_bn2lebinpad(result, &bytes, Int32(bytes.count)) == bytes.count else { return nil }
        return bytes
    }

    /// - Throws: `CryptoError.invalidKey` if OpenSSL refuses the numbers.
    func makeKey(_ selection: Int32) throws(CryptoError) -> EVPKey {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else {
            throw CryptoError(.unavailable, at: "RSA")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { throw CryptoError(.unavailable, at: "RSA") }
        // All numbers in one piece of memory, so that they stay where the parameters say.
        let entries = values.map { (name: $0.key, bytes: $0.value) }
        let total = entries.reduce(0) { $0 + $1.bytes.count }
        var key: OpaquePointer?
        let status: Int32 = unsafe withSecretScratch(byteCount: total) { memory in
            var parameters: [OSSL_PARAM] = unsafe []
            var offset = 0
            for entry in entries {
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[offset..<(offset + entry.bytes.count)])
                unsafe part.copyBytes(from: entry.bytes)
                unsafe parameters.append(
                    coffret_rsa_parameter(
                        entry.name.rawValue, part.baseAddress!.assumingMemoryBound(to: UInt8.self), entry.bytes.count))
                offset += entry.bytes.count
            }
            unsafe parameters.append(OSSL_PARAM_construct_end())
            return unsafe EVP_PKEY_fromdata(context, &key, selection, &parameters)
        }
        if status != 1 { ERR_clear_error() }
        guard status == 1, let key = unsafe key else { throw CryptoError(.invalidKey, at: "RSA numbers") }
        return unsafe EVPKey(adopting: key)
    }
}
