// Operations of keys in a TPM: agree, sign, give back sealed bytes, count.

internal import CTPM2
package import CoffretBase
package import CoffretKeys

extension TPMConnection {
    /// The x coordinate (32 bytes) of the product of the key and `peer`, computed inside the TPM.
    ///
    /// - Parameter peer: an uncompressed P-256 point, 65 bytes. The TPM refuses points off the curve.
    /// - Throws: `.wrongPIN`, `.lockedOut`, `.keyUnusable`, `.malformed`.
    package func sharedSecret(
        key: TPMKeyBlob, peer: [UInt8], authorization: borrowing SecretBytes
    ) throws(KeyStoreError) -> SecretBytes {
        guard peer.count == 65, peer[0] == 0x04 else { throw KeyStoreError(.malformed, place: "peer's point") }
        var point = TPM2B_ECC_POINT()
        unsafe peer.withUnsafeBytes { bytes in
            unsafe TPMBuffer.fill(
                &point.point.x.buffer, &point.point.x.size, from: UnsafeRawBufferPointer(rebasing: bytes[1..<33]))
            unsafe TPMBuffer.fill(
                &point.point.y.buffer, &point.point.y.size, from: UnsafeRawBufferPointer(rebasing: bytes[33..<65]))
        }
        var coordinate = try withObject(key, authorization: authorization) { object, session throws(KeyStoreError) in
            var product: UnsafeMutablePointer<TPM2B_ECC_POINT>?
            defer { unsafe Esys_Free(product) }
            try unsafe TPMFailure.check(
                Esys_ECDH_ZGen(esys, object, session, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), &point, &product))
            guard let product = unsafe product else { throw KeyStoreError(.failed, place: "tpm key agreement") }
            defer { unsafe TPMBuffer.zero(&product.pointee) }
            let x = unsafe product.pointee.point.x
            guard let bytes = TPMBuffer.bytes(of: x.buffer, size: x.size, paddedTo: 32) else {
                throw KeyStoreError(.failed, place: "tpm key agreement")
            }
            return bytes
        }
        return SecretBytes(consuming: &coordinate)
    }

    /// An ECDSA signature over a SHA-256 digest: r ‖ s, 32 bytes each.
    package func signature(
        key: TPMKeyBlob, digest: [UInt8], authorization: borrowing SecretBytes
    ) throws(KeyStoreError) -> [UInt8] {
        precondition(digest.count == 32, "the key signs SHA-256 digests")
        var input = TPM2B_DIGEST()
        unsafe digest.withUnsafeBytes { bytes in
            unsafe TPMBuffer.fill(&input.buffer, &input.size, from: bytes)
        }
        return try withObject(key, authorization: authorization) { object, session throws(KeyStoreError) in
            var scheme = TPMT_SIG_SCHEME()
            scheme.scheme = TPM2_ALG_ID(TPM2_ALG_ECDSA)
            unsafe scheme.details.ecdsa.hashAlg = TPM2_ALG_ID(TPM2_ALG_SHA256)
            var ticket = TPMT_TK_HASHCHECK()
            ticket.tag = TPM2_ST(TPM2_ST_HASHCHECK)
            ticket.hierarchy = TPMI_RH_HIERARCHY(TPM2_RH_NULL)
            var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
            defer { unsafe Esys_Free(signature) }
            try unsafe TPMFailure.check(
                Esys_Sign(
                    esys, object, session, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), &input, &scheme, &ticket,
                    &signature))
            guard let signature = unsafe signature else { throw KeyStoreError(.failed, place: "tpm signature") }
            let parts = unsafe signature.pointee.signature.ecdsa
            guard
                let r = TPMBuffer.bytes(of: parts.signatureR.buffer, size: parts.signatureR.size, paddedTo: 32),
                let s = TPMBuffer.bytes(of: parts.signatureS.buffer, size: parts.signatureS.size, paddedTo: 32)
            else { throw KeyStoreError(.failed, place: "tpm signature") }
            return r + s
        }
    }

    /// Gives back sealed bytes.
    package func unseal(_ blob: TPMKeyBlob, authorization: borrowing SecretBytes) throws(KeyStoreError) -> SecretBytes {
        var bytes = try withObject(blob, authorization: authorization) { object, session throws(KeyStoreError) in
            var data: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
            defer { unsafe Esys_Free(data) }
            try unsafe TPMFailure.check(
                Esys_Unseal(esys, object, session, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), &data))
            guard let data = unsafe data else { throw KeyStoreError(.failed, place: "tpm unseal") }
            defer { unsafe TPMBuffer.zero(&data.pointee) }
            let size = unsafe data.pointee.size
            guard let bytes = unsafe TPMBuffer.bytes(of: data.pointee.buffer, size: size, paddedTo: Int(size)) else {
                throw KeyStoreError(.failed, place: "tpm unseal")
            }
            return bytes
        }
        return SecretBytes(consuming: &bytes)
    }
}
