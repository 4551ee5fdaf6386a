// A state in 32 bytes. The one thing to keep true: equal states have equal digests, in whatever order the facts came and
// went; it finds mistakes, not attackers (S9).

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage

/// A sum of terms modulo 2^256; each current fact gives one. Written big-endian.
package struct StateDigest: Hashable, Sendable, CustomStringConvertible {
    /// Most significant first.
    private var words: (UInt64, UInt64, UInt64, UInt64)

    /// Of the empty state.
    package init() { words = (0, 0, 0, 0) }

    package init(_ bytes: Bytes32) { words = (bytes.word0, bytes.word1, bytes.word2, bytes.word3) }

    package var bytes32: Bytes32 { Bytes32(words.0, words.1, words.2, words.3) }
    package var description: String { bytes32.hex }

    package mutating func add(_ term: StateDigest) {
        var carry = false
        func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
            let (first, overflowed) = left.addingReportingOverflow(right)
            let (second, carried) = first.addingReportingOverflow(carry ? 1 : 0)
            carry = overflowed || carried
            return second
        }
        words.3 = sum(words.3, term.words.3)
        words.2 = sum(words.2, term.words.2)
        words.1 = sum(words.1, term.words.1)
        words.0 = sum(words.0, term.words.0)
    }

    package mutating func subtract(_ term: StateDigest) {
        // −x = ¬x + 1
        var negative = StateDigest()
        negative.words = (~term.words.0, ~term.words.1, ~term.words.2, ~term.words.3)
        negative.add(StateDigest(Bytes32(0, 0, 0, 1)))
        add(negative)
    }

    package static func == (left: StateDigest, right: StateDigest) -> Bool { left.words == right.words }
    package func hash(into hasher: inout Hasher) { hasher.combine(words.3) }
}

/// Makes the terms of one vault's digests.
///
/// term = BLAKE2b-256(key = KDF(split key, "state/digest", vault id), lp(key) ‖ instance ‖ number (8) ‖ height (8) ‖
/// lp(stored value in place, or its name)). Spec: Spec/history.md section 4.
package struct DigestTerms {
    private let key: AuthenticationKey
    /// What is hashed; kept, so that a term costs no memory.
    private var message: [UInt8] = []

    package init(splitKey: SplitKey, vaultID: VaultID) {
        key = KDF.derive(from: splitKey, .stateDigest, vaultID.bytes)
    }

    /// The term of a fact that stands.
    ///
    /// - Parameter fact: of a state; a retraction is our own bug.
    /// - Complexity: one BLAKE2b over some 700 bytes at most; no memory.
    package mutating func term(of fact: Fact) -> StateDigest {
        message.removeAll(keepingCapacity: true)
        message.appendLengthPrefixed(fact.key.bytes)
        message.append(id: fact.dot.instance)
        message.appendBigEndian(fact.dot.number)
        message.appendBigEndian(fact.height)
        switch fact.content {
        case .inline(let bytes): message.appendLengthPrefixed(bytes)
        case .stored(let value):
            message.appendBigEndian(UInt32(32))
            unsafe withBytes(of: value.name.value) { bytes in unsafe message.append(contentsOf: bytes) }
        case .retraction: preconditionFailure("a retraction stands in no state")
        }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { output in
            unsafe message.span.withUnsafeBytes { message in
                // EXPOSE: read by the hash, which keeps no copy.
                unsafe key.withUnsafeBytes { key in unsafe BLAKE2b.hash(message, key: key, into: output) }
            }
            return unsafe StateDigest(Bytes32(UnsafeRawBufferPointer(output)))
        }
    }
}
