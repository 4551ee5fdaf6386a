// The kinds of objects that Coffret makes in a TPM, as the templates of TPM 2.0 Part 2. Invariant: whatever a PIN
// protects counts towards the TPM's lockout (noDA clear); only the parent does not.

internal import CTPM2

/// The rights of an object in the TPM.
enum TPMObjectKind {
    /// The storage root: an elliptic curve key under which Coffret's objects are made. Deterministic.
    case storageRoot
    /// A P-256 key for key agreement.
    case keyAgreement
    /// A P-256 key for ECDSA with SHA-256.
    case signing
    /// At most 128 bytes that the TPM gives back for the PIN.
    case sealedData
    /// The same without a PIN: the TPM gives it back to every program that may use it, locked out or not.
    case openData
}

extension TPMObjectKind {
    private var attributes: TPMA_OBJECT {
        let bound = TPMA_OBJECT(TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH)
        let inside = TPMA_OBJECT(TPMA_OBJECT_SENSITIVEDATAORIGIN)
        return switch self {
        case .storageRoot:
            bound | inside | TPMA_OBJECT(TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT | TPMA_OBJECT_NODA)
        case .keyAgreement: bound | inside | TPMA_OBJECT(TPMA_OBJECT_DECRYPT)
        case .signing: bound | inside | TPMA_OBJECT(TPMA_OBJECT_SIGN_ENCRYPT)
        case .sealedData: bound
        // Nobody guesses here. Counted, a machine that stops suddenly would cost the person a try of the PIN; and wrong
        // PINs would keep the count of attempts away, and with it the passphrase.
        case .openData: bound | TPMA_OBJECT(TPMA_OBJECT_NODA)
        }
    }

    /// The template for `Esys_Create` and `Esys_CreatePrimary`.
    var template: TPM2B_PUBLIC {
        var template = TPM2B_PUBLIC()
        template.publicArea.nameAlg = TPM2_ALG_ID(TPM2_ALG_SHA256)
        template.publicArea.objectAttributes = attributes
        guard self != .sealedData, self != .openData else {
            template.publicArea.type = TPM2_ALG_ID(TPM2_ALG_KEYEDHASH)
            unsafe template.publicArea.parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_ID(TPM2_ALG_NULL)
            return template
        }
        template.publicArea.type = TPM2_ALG_ID(TPM2_ALG_ECC)
        var parameters = TPMS_ECC_PARMS()
        parameters.curveID = TPM2_ECC_CURVE(TPM2_ECC_NIST_P256)
        parameters.kdf.scheme = TPM2_ALG_ID(TPM2_ALG_NULL)
        parameters.scheme.scheme = TPM2_ALG_ID(TPM2_ALG_NULL)
        parameters.symmetric.algorithm = TPM2_ALG_ID(TPM2_ALG_NULL)
        switch self {
        case .storageRoot: parameters.symmetric = TPMSymmetric.aes128CFBObject
        case .signing:
            parameters.scheme.scheme = TPM2_ALG_ID(TPM2_ALG_ECDSA)
            unsafe parameters.scheme.details.ecdsa.hashAlg = TPM2_ALG_ID(TPM2_ALG_SHA256)
        case .keyAgreement, .sealedData, .openData: break
        }
        unsafe template.publicArea.parameters.eccDetail = parameters
        return template
    }
}

enum TPMSymmetric {
    /// How children of the storage root are wrapped.
    static var aes128CFBObject: TPMT_SYM_DEF_OBJECT {
        var definition = TPMT_SYM_DEF_OBJECT()
        definition.algorithm = TPM2_ALG_ID(TPM2_ALG_AES)
        unsafe definition.keyBits.aes = 128
        unsafe definition.mode.aes = TPM2_ALG_ID(TPM2_ALG_CFB)
        return definition
    }

    /// How parameters travel between this program and the TPM, so that a tap on the bus reads nothing.
    static var aes128CFBSession: TPMT_SYM_DEF {
        var definition = TPMT_SYM_DEF()
        definition.algorithm = TPM2_ALG_ID(TPM2_ALG_AES)
        unsafe definition.keyBits.aes = 128
        unsafe definition.mode.aes = TPM2_ALG_ID(TPM2_ALG_CFB)
        return definition
    }
}
