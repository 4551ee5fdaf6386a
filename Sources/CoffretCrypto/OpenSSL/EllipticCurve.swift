// The NIST curves. Their cofactor is 1 and their order prime, so a point that is on the curve and not
// at infinity needs no further check: everything here rests on checking that at import.

internal import COpenSSL
internal import Synchronization

/// A prime curve of NIST's (SEC 2: secp256r1, secp384r1, secp521r1).
package enum EllipticCurve: String, Sendable, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The size of a coordinate, of a scalar and of a shared secret: 32, 48 or 66 bytes.
    package var coordinateByteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// The size of `04 ‖ X ‖ Y`.
    package var uncompressedPointByteCount: Int { 1 + 2 * coordinateByteCount }

    var domain: CurveDomain {
        switch self {
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        }
    }
}

/// OpenSSL's description of the curve, made once.
@safe final class CurveDomain: @unchecked Sendable {
    // SAFETY: the group and the template are not changed after `init` and live as long as the process;
    // OpenSSL reads them from several threads. The generators are handed out to one thread at a time.
    let group: OpaquePointer
    /// A key that has the curve's parameters and nothing else, to be copied by imports.
    private let template: OpaquePointer
    private let curve: EllipticCurve
    private let idleGenerators = Mutex<[PointerBox]>([])

    @safe private struct PointerBox: @unchecked Sendable {
        // SAFETY: taken out of the array under the lock, by one thread.
        let pointer: OpaquePointer
    }

    static let p256 = CurveDomain(.p256, NID_X9_62_prime256v1)
    static let p384 = CurveDomain(.p384, NID_secp384r1)
    static let p521 = CurveDomain(.p521, NID_secp521r1)

    private init(_ curve: EllipticCurve, _ identifier: Int32) {
        guard let group = unsafe EC_GROUP_new_by_curve_name(identifier),
            let template = unsafe EVPKey.importing(curve, selection: coffret_EVP_PKEY_KEY_PARAMETERS, more: [])
        else { fatalError("this build of OpenSSL has no \(curve.rawValue)") }
        self.curve = curve
        unsafe self.group = unsafe group
        unsafe self.template = unsafe template
    }

    /// A new key pair. The generator's context is kept for the next one: setting it up takes as long as
    /// making a P-256 key.
    func generate() throws(CryptoError) -> EVPKey {
        let kept = idleGenerators.withLock { $0.popLast() }
        let context: OpaquePointer
        if let kept { unsafe context = unsafe kept.pointer } else { unsafe context = try unsafe makeGenerator() }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key else {
            unsafe EVP_PKEY_CTX_free(context)
            throw CryptoError(.unavailable, at: "key generation")
        }
        let box = unsafe PointerBox(pointer: context)
        let isKept = idleGenerators.withLock { idle in
            guard idle.count < 16 else { return false }
            idle.append(box)
            return true
        }
        if !isKept { unsafe EVP_PKEY_CTX_free(context) }
        return unsafe EVPKey(adopting: key)
    }

    private func makeGenerator() throws(CryptoError) -> OpaquePointer {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil),
            unsafe EVP_PKEY_keygen_init(context) == 1, unsafe EVP_PKEY_CTX_set_group_name(context, curve.rawValue) == 1
        else { throw CryptoError(.unavailable, at: "key generator") }
        return unsafe context
    }

    /// A public key from a point in a form that the caller has checked; nil if it is off the curve.
    ///
    /// Copying a template and setting the point takes a third of the time of `EVP_PKEY_fromdata`.
    func publicKey(point: RawSpan) -> EVPKey? {
        guard let key = unsafe EVP_PKEY_new() else { return nil }
        let owner = unsafe EVPKey(adopting: key)
        guard unsafe EVP_PKEY_copy_parameters(key, template) == 1 else { return nil }
        let status = unsafe point.withUnsafeBytes { bytes in
            unsafe EVP_PKEY_set1_encoded_public_key(
                key, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        if status != 1 { ERR_clear_error() }
        return status == 1 ? owner : nil
    }
}

/// Owns an OpenSSL key.
@safe final class EVPKey: @unchecked Sendable {
    // SAFETY: the key is not changed after it has been made; OpenSSL's operations on it only read.
    // Freeing overwrites the private scalar.
    let pointer: OpaquePointer

    init(adopting pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Builds a key from parameters beside the curve's name; nil if OpenSSL refuses them.
    static func importing(_ curve: EllipticCurve, selection: Int32, more: [OSSL_PARAM]) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return nil }
        var name = Array(curve.rawValue.utf8CString)
        return unsafe name.withUnsafeMutableBufferPointer { nameBuffer in
            let group = unsafe coffret_parameter_group(nameBuffer.baseAddress)
            var parameters = unsafe [group] + more + [OSSL_PARAM_construct_end()]
            var key: OpaquePointer?
            let status = unsafe EVP_PKEY_fromdata(context, &key, selection, &parameters)
            if status != 1 { ERR_clear_error() }
            return unsafe status == 1 ? key : nil
        }
    }
}
