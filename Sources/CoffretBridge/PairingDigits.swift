// The six digits of a pairing, on the side of the session. Invariant: the extension is bound to its value before it learns ours, so
// that a program in between is left with one guess.

package import CoffretBase
internal import CoffretCrypto

/// The words of both sides, and the digits that follow from them.
///
/// Spec: Spec/bridge.md section 3. lp(x) = four-byte big-endian length ‖ x.
package struct PairingDigits: Sendable {
    private static let valueByteCount = 32

    private let hash: [UInt8]
    private let commitment: [UInt8]
    private let name: [UInt8]
    /// The value of this side, which goes to the extension.
    package let challenge: [UInt8]

    /// - Parameters:
    ///   - hash: of the handshake.
    ///   - name: of the browser, as it was sent.
    /// - Throws: `.pairingMismatch` for a commitment of another size.
    package init(
        hash: [UInt8], commitment: [UInt8], name: String, random: any RandomSource
    ) throws(BridgeError) {
        guard commitment.count == Self.valueByteCount else { throw BridgeError(.pairingMismatch) }
        self.hash = hash
        self.commitment = commitment
        self.name = Array(name.utf8)
        challenge = random.bytes(count: Self.valueByteCount)
    }

    /// The digits that the extension shows, if the value that it reveals is the one that it was bound to.
    ///
    /// - Throws: `.pairingMismatch`.
    package func digits(revealed: [UInt8]) throws(BridgeError) -> String {
        let promise = Array("coffret/bridge/commit/1".utf8) + Self.prefixed(hash) + Self.prefixed(name) + revealed
        let bound = unsafe HashAlgorithm.sha256.hash(promise.span.bytes)
        guard revealed.count == Self.valueByteCount, ConstantTime.isEqual(bound, commitment) else {
            throw BridgeError(.pairingMismatch)
        }
        let input =
            Array("coffret/bridge/digits/1".utf8) + Self.prefixed(hash) + commitment + Self.prefixed(name) + challenge
            + revealed
        let output = unsafe HashAlgorithm.sha512.hash(input.span.bytes)
        let number = output.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    private static func prefixed(_ bytes: [UInt8]) -> [UInt8] { UInt32(bytes.count).bigEndianBytes + bytes }
}

extension PairingDigits {
    /// With a challenge that is known, for vectors.
    init(hash: [UInt8], commitment: [UInt8], name: String, challenge: [UInt8]) {
        self.hash = hash
        self.commitment = commitment
        self.name = Array(name.utf8)
        self.challenge = challenge
    }
}
