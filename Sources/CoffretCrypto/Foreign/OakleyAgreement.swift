// Diffie-Hellman in the second Oakley group, by OpenSSL. Invariant: another's public number is checked before it is used. A group
// of 1,024 bits keeps nothing from an attacker of today with means; nothing but the bus of one person is wrapped under it.

internal import COpenSSL
internal import CoffretBase

/// A key pair in the group of 1,024 bits of RFC 2409, section 6.2.
package final class OakleyAgreement {
    /// The size of public numbers and of the shared one, leading zeros kept.
    package static let byteCount = 128

    private static let prime: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34, 0xC4, 0xC6,
        0x62, 0x8B, 0x80, 0xDC, 0x1C, 0xD1, 0x29, 0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74, 0x02, 0x0B, 0xBE, 0xA6,
        0x3B, 0x13, 0x9B, 0x22, 0x51, 0x4A, 0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD, 0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A,
        0x43, 0x1B, 0x30, 0x2B, 0x0A, 0x6D, 0xF2, 0x5F, 0x14, 0x37, 0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45,
        0xE4, 0x85, 0xB5, 0x76, 0x62, 0x5E, 0x7E, 0xC6, 0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF,
        0x5C, 0xB6, 0xF4, 0x06, 0xB7, 0xED, 0xEE, 0x38, 0x6B, 0xFB, 0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11,
        0x7C, 0x4B, 0x1F, 0xE6, 0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF,
    ]

    private let key: EVPKey
    /// Big-endian.
    package let publicNumber: [UInt8]

    /// Makes a key pair.
    package init() throws(CryptoError) {
        let parameters = try Self.importing(nil)
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, parameters.pointer, nil) else {
            throw CryptoError(.unavailable, at: "oakley key")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe EVP_PKEY_generate(context, &made) == 1,
            let made = unsafe made
        else { throw CryptoError(.unavailable, at: "oakley key") }
        key = unsafe EVPKey(adopting: made)
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(made, OSSL_PKEY_PARAM_PUB_KEY, &number) == 1 else {
            throw CryptoError(.unavailable, at: "oakley key")
        }
        defer { unsafe BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        guard unsafe BN_bn2binpad(number, &bytes, Int32(Self.byteCount)) == Self.byteCount else {
            throw CryptoError(.unavailable, at: "oakley key")
        }
        publicNumber = bytes
    }

    /// A key of the group with a public number, or the group alone.
    private static func importing(_ publicNumber: [UInt8]?) throws(CryptoError) -> EVPKey {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "DH", nil) else {
            throw CryptoError(.unavailable, at: "oakley group")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        // OpenSSL takes numbers in the order of the machine.
        var (prime, generator) = (Array(prime.reversed()), [UInt8(2)])
        var number = publicNumber.map { Array($0.reversed()) } ?? []
        let made: OpaquePointer? = unsafe prime.withUnsafeMutableBufferPointer { prime in
            unsafe generator.withUnsafeMutableBufferPointer { generator in
                unsafe number.withUnsafeMutableBufferPointer { number in
                    var parameters = unsafe [
                        coffret_dh_parameter(0, prime.baseAddress, prime.count),
                        coffret_dh_parameter(1, generator.baseAddress, generator.count),
                    ]
                    if number.count > 0 {
                        unsafe parameters.append(coffret_dh_parameter(2, number.baseAddress, number.count))
                    }
                    unsafe parameters.append(OSSL_PARAM_construct_end())
                    let selection =
                        publicNumber == nil ? coffret_EVP_PKEY_KEY_PARAMETERS : coffret_EVP_PKEY_PUBLIC_KEY
                    var key: OpaquePointer?
                    guard unsafe EVP_PKEY_fromdata_init(context) == 1,
                        unsafe EVP_PKEY_fromdata(context, &key, selection, &parameters) == 1
                    else { return nil }
                    return unsafe key
                }
            }
        }
        guard let made = unsafe made else {
            ERR_clear_error()
            throw CryptoError(.invalidKey, at: "oakley number")
        }
        return unsafe EVPKey(adopting: made)
    }

    /// The shared number, big-endian, `byteCount` bytes.
    ///
    /// - Throws: `CryptoError` `.invalidKey` for a number that is none of the group's, or of which everybody knows the powers.
    package func sharedNumber(with other: [UInt8]) throws(CryptoError) -> [UInt8] {
        let significant = Array(other.drop { $0 == 0 })
        guard !significant.isEmpty, significant.count <= Self.byteCount else {
            throw CryptoError(.invalidKey, at: "oakley number")
        }
        let peer = try Self.importing(significant)
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else {
            throw CryptoError(.unavailable, at: "oakley agreement")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var shared = [UInt8](repeating: 0, count: Self.byteCount)
        var byteCount = shared.count
        guard unsafe EVP_PKEY_derive_init(context) == 1,
            unsafe EVP_PKEY_derive_set_peer_ex(context, peer.pointer, 1) == 1,
            unsafe EVP_PKEY_derive(context, &shared, &byteCount) == 1, byteCount <= Self.byteCount
        else {
            ERR_clear_error()
            throw CryptoError(.invalidKey, at: "oakley number")
        }
        defer { shared.zero() }
        return [UInt8](repeating: 0, count: Self.byteCount - byteCount) + shared[..<byteCount]
    }

    /// A key by HKDF-SHA-256 of the shared number, with neither salt nor info.
    package func key(with other: [UInt8], byteCount: Int) throws(CryptoError) -> [UInt8] {
        var shared = try sharedNumber(with: other)
        defer { shared.zero() }
        return try unsafe makeBytes(byteCount: byteCount) { (output) throws(CryptoError) in
            let nothing: [UInt8] = []
            try unsafe HKDF.derive(
                .sha256, inputKeyMaterial: shared.span.bytes, salt: nothing.span.bytes, info: nothing.span.bytes,
                into: output)
        }
    }
}
