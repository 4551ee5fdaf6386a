// The yardstick: the same work with OpenSSL called directly. Nothing here may be slower than a careful C program would
// be, or the ratios would flatter us.

internal import COpenSSL

/// AES-GCM or ChaCha20-Poly1305 with a context that is kept, on buffers that are kept.
@safe final class BareAEAD {
    private let context: OpaquePointer
    private let cipher: OpaquePointer
    private let key = [UInt8](repeating: 1, count: 32)
    private var nonce = [UInt8](repeating: 2, count: 12)
    private var tag = [UInt8](repeating: 0, count: 16)
    private let input: [UInt8]
    private var output: [UInt8]

    init(_ name: String, byteCount: Int) {
        unsafe cipher = unsafe EVP_CIPHER_fetch(nil, name, nil)!
        unsafe context = unsafe EVP_CIPHER_CTX_new()!
        input = [UInt8](repeating: 3, count: byteCount)
        output = [UInt8](repeating: 0, count: byteCount + 16)
        unsafe check(EVP_EncryptInit_ex2(context, cipher, key, nonce, nil))
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
        unsafe EVP_CIPHER_free(cipher)
    }

    /// One message; with a key of its own, as a Secure Cell has it, or only with a nonce of its own.
    func seal(withNewKey isNewKey: Bool) {
        nonce[0] &+= 1
        if isNewKey {
            unsafe check(EVP_EncryptInit_ex2(context, cipher, key, nonce, nil))
        } else {
            unsafe check(EVP_EncryptInit_ex2(context, nil, nil, nonce, nil))
        }
        var written: Int32 = 0
        unsafe check(EVP_EncryptUpdate(context, &output, &written, input, Int32(input.count)))
        unsafe check(EVP_EncryptFinal_ex(context, &tag, &written))
        unsafe check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag))
    }
}

/// Key generation, import of the peer's point, and key agreement.
@safe final class BareCurve {
    private let generator: OpaquePointer
    private let importer: OpaquePointer
    private var name: [CChar]
    private let own: OpaquePointer
    private var peerPoint: [UInt8]
    private var secret = [UInt8](repeating: 0, count: 66)

    init(_ curve: String) {
        unsafe generator = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil)!
        unsafe importer = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil)!
        name = Array(curve.utf8CString)
        unsafe check(EVP_PKEY_keygen_init(generator))
        unsafe check(EVP_PKEY_CTX_set_group_name(generator, curve))
        unsafe own = unsafe Self.generate(generator)
        let peer = unsafe Self.generate(generator)
        var point = [UInt8](repeating: 0, count: 200)
        var byteCount = 0
        unsafe check(EVP_PKEY_get_octet_string_param(peer, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &byteCount))
        peerPoint = Array(point[..<byteCount])
        unsafe EVP_PKEY_free(peer)
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(generator)
        unsafe EVP_PKEY_CTX_free(importer)
        unsafe EVP_PKEY_free(own)
    }

    private static func generate(_ context: OpaquePointer) -> OpaquePointer {
        var key: OpaquePointer?
        unsafe check(EVP_PKEY_generate(context, &key))
        return unsafe key!
    }

    private func importPeer() -> OpaquePointer {
        var key: OpaquePointer?
        unsafe name.withUnsafeMutableBufferPointer { name in
            unsafe peerPoint.withUnsafeMutableBytes { point in
                var parameters = unsafe [
                    coffret_parameter_group(name.baseAddress),
                    coffret_parameter_public(point.baseAddress, point.count), OSSL_PARAM_construct_end(),
                ]
                unsafe check(EVP_PKEY_fromdata_init(importer))
                unsafe check(EVP_PKEY_fromdata(importer, &key, coffret_EVP_PKEY_PUBLIC_KEY, &parameters))
            }
        }
        return unsafe key!
    }

    private func agree(_ own: OpaquePointer, _ peer: OpaquePointer, isPeerChecked: Bool) {
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, own, nil)!
        var byteCount = secret.count
        unsafe check(EVP_PKEY_derive_init(context))
        unsafe check(EVP_PKEY_derive_set_peer_ex(context, peer, isPeerChecked ? 1 : 0))
        unsafe check(EVP_PKEY_derive(context, &secret, &byteCount))
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// The calls of sealing. `EVP_PKEY_derive_set_peer` checks the point once more unless it is asked not to.
    func sealing(isPeerChecked: Bool) {
        let ephemeral = unsafe Self.generate(generator)
        let peer = unsafe importPeer()
        unsafe agree(ephemeral, peer, isPeerChecked: isPeerChecked)
        unsafe EVP_PKEY_free(peer)
        unsafe EVP_PKEY_free(ephemeral)
    }

    /// The calls of opening.
    func opening(isPeerChecked: Bool) {
        let peer = unsafe importPeer()
        unsafe agree(own, peer, isPeerChecked: isPeerChecked)
        unsafe EVP_PKEY_free(peer)
    }
}

private func check(_ status: Int32) {
    precondition(status == 1, "OpenSSL refused")
}
