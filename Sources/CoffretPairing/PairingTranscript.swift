// Commitments, proofs and codes of both devices. Invariant: each side's contribution is fixed before it can see the
// other's, so that nobody in between can look for a collision.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust

/// Six digits that a person carries from one screen to the other.
package struct ShortCode: Equatable, Sendable, CustomStringConvertible {
    package static let digitCount = 6

    let number: UInt64

    /// From eight bytes: the big-endian number modulo a million.
    init(_ bytes: ArraySlice<UInt8>) {
        number = bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } % 1_000_000
    }

    private var digits: String {
        let text = String(number)
        return String(repeating: "0", count: Self.digitCount - text.utf8.count) + text
    }

    /// As it is shown: "012 345".
    package var description: String { digits.prefix(3) + " " + digits.suffix(3) }

    /// Whether `typed` are these digits; spaces and hyphens do not matter.
    func isEqual(to typed: String) -> Bool {
        ConstantTime.isEqual(Array(digits.utf8), typed.utf8.filter { ![0x20, 0x2D, 0x0A, 0x0D].contains($0) })
    }
}

/// The values of protocol decision 1.
///
/// lp(x) is a four-byte length and x; h the handshake's hash; B_N, B_T as they were sent.
/// Spec: Spec/pairing.md. Vectors: pairing/.
enum PairingTranscript {
    static let nonceByteCount = 32

    /// c = BLAKE2b-256("coffret/pair/commit/1" ‖ lp(h) ‖ lp(B_N) ‖ r_N)
    static func commitment(handshakeHash: [UInt8], requester: [UInt8], nonce: [UInt8]) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Array("coffret/pair/commit/1".utf8))
        hasher.updateLengthPrefixed(handshakeHash)
        hasher.updateLengthPrefixed(requester)
        hasher.update(nonce)
        return hasher.finish()
    }

    /// The message that the new device signs: "coffret/pair/pop/1" ‖ lp(h) ‖ lp(B_N) ‖ lp(B_T) ‖ r_T ‖ r_N
    static func possession(
        handshakeHash: [UInt8], requester: [UInt8], approver: [UInt8], approverNonce: [UInt8], requesterNonce: [UInt8]
    ) -> [UInt8] {
        var bytes = Array("coffret/pair/pop/1".utf8)
        bytes.appendLengthPrefixed(handshakeHash)
        bytes.appendLengthPrefixed(requester)
        bytes.appendLengthPrefixed(approver)
        return bytes + approverNonce + requesterNonce
    }

    /// S = BLAKE2b-512("coffret/pair/sas/1" ‖ lp(h) ‖ c ‖ lp(B_N) ‖ lp(B_T) ‖ r_T ‖ r_N); the first code is
    /// shown on the new device, the second on the trusted one.
    static func codes(
        handshakeHash: [UInt8], commitment: [UInt8], requester: [UInt8], approver: [UInt8], approverNonce: [UInt8],
        requesterNonce: [UInt8]
    ) -> (first: ShortCode, second: ShortCode) {
        var hasher = BLAKE2bHasher(byteCount: 64)
        hasher.update(Array("coffret/pair/sas/1".utf8))
        hasher.updateLengthPrefixed(handshakeHash)
        hasher.update(commitment)
        hasher.updateLengthPrefixed(requester)
        hasher.updateLengthPrefixed(approver)
        hasher.update(approverNonce)
        hasher.update(requesterNonce)
        let hash = hasher.finish()
        return (ShortCode(hash[0..<8]), ShortCode(hash[8..<16]))
    }

    enum Scanned: String {
        case approver = "coffret/pair/qr/T"
        case requester = "coffret/pair/qr/N"
    }

    /// BLAKE2b-256(key = the scanned secret, label ‖ h)
    static func scannedProof(_ side: Scanned, secret: [UInt8], handshakeHash: [UInt8]) -> [UInt8] {
        unsafe secret.withUnsafeBytes { key in
            var hasher = unsafe BLAKE2bHasher(byteCount: 32, keyBytes: key)
            hasher.update(Array(side.rawValue.utf8))
            hasher.update(handshakeHash)
            return hasher.finish()
        }
    }
}
