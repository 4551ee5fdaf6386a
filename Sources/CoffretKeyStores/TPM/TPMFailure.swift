// The TPM's response codes in the words of `KeyStoreError`. Codes that tpm2-tss builds by addition are not
// visible to Swift; they stand here with their value from TPM 2.0 Part 2, section 6.6.

internal import CTPM2
internal import CoffretKeys

enum TPMFailure {
    /// Format-one codes without the bits that say which handle, session or parameter is meant.
    private static let authFail: TSS2_RC = 0x08E
    private static let badAuth: TSS2_RC = 0x0A2
    private static let integrity: TSS2_RC = 0x09F
    private static let handle: TSS2_RC = 0x08B
    private static let size: TSS2_RC = 0x095
    /// A warning code, compared whole.
    private static let lockout: TSS2_RC = 0x921
    private static let retry: TSS2_RC = 0x922

    static func check(_ code: TSS2_RC) throws(KeyStoreError) {
        guard code != TSS2_RC_SUCCESS else { return }
        throw error(for: code)
    }

    static func error(for code: TSS2_RC) -> KeyStoreError {
        let response = code & 0xFFFF
        if response == lockout { return KeyStoreError(.lockedOut) }
        if response == retry { return KeyStoreError(.unavailable, place: "tpm is busy") }
        // Layers above the TPM itself report that it cannot be reached.
        if code & 0xFF_0000 != 0, code & 0xFF_0000 != 0x0B_0000 {
            return KeyStoreError(.unavailable, place: number(code))
        }
        if response & 0x80 != 0 {
            switch response & 0xBF {
            case authFail, badAuth: return KeyStoreError(.wrongPIN)
            default: break
            }
        }
        return KeyStoreError(.failed, place: number(code))
    }

    /// The error of a failed load: the object was wrapped by another TPM's storage root.
    static func whileLoading(_ code: TSS2_RC) -> KeyStoreError {
        let response = code & 0xFFFF
        guard code & 0xFF_0000 == 0, response & 0x80 != 0 else { return error(for: code) }
        return switch response & 0xBF {
        case integrity, handle, size: KeyStoreError(.keyUnusable)
        default: error(for: code)
        }
    }

    private static func number(_ code: TSS2_RC) -> String {
        "tpm 0x" + String(code, radix: 16)
    }
}
