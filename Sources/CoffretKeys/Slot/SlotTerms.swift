// The terms of a key store's slot, in clear. Invariant: none of them is believed for more than asking the right
// question until the keyring's MAC was verified.

package import CoffretBase

/// On which terms a slot of a key store opens.
package struct SlotTerms: Hashable, Sendable {
    /// The name of the profile that people get who named none.
    package static let defaultProfile = "default"
    package static let profileByteCountMax = 256

    /// The name that the PIN belongs to, chosen by the person.
    package let profile: String
    /// Whether the person has to show that they are there, by PAM, before the key store is asked.
    package let needsPresence: Bool

    package init(profile: String = SlotTerms.defaultProfile, needsPresence: Bool = false) {
        self.profile = profile
        self.needsPresence = needsPresence
    }
}

/// The reference of a slot that a key store opens.
///
/// Layout, deterministic CBOR: [1, profile: tstr, presence: bool, [part: bstr...]]; which parts, the key store says.
/// Spec: Spec/keystores.md §2.
package struct SlotReference: Equatable, Sendable {
    package let terms: SlotTerms
    package let parts: [[UInt8]]

    private static let version: UInt64 = 1
    private static let partCountMax = 4
    private static let partByteCountMax = 4_096

    package init(terms: SlotTerms, parts: [[UInt8]]) {
        self.terms = terms
        self.parts = parts
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: Self.version)
            encoder.encode(text: terms.profile)
            encoder.encode(bool: terms.needsPresence)
            encoder.encodeArrayHeader(count: parts.count)
            for part in parts { encoder.encode(bytes: part) }
        }
    }

    /// - Parameter partCount: how many parts the kind of key store has.
    /// - Throws: `.slotMalformed`.
    package init(decoding bytes: [UInt8], partCount: Int? = nil) throws(KeyError) {
        let malformed = KeyError(.slotMalformed, at: "reference")
        self = try withCBORDecoder(bytes, convert: { _ in malformed }) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 4)
            let start = decoder.byteOffset
            guard try decoder.readUnsigned() == Self.version else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let terms = SlotTerms(
                profile: try decoder.readText(byteCountMax: SlotTerms.profileByteCountMax),
                needsPresence: try decoder.readBool())
            let count = try decoder.readArrayHeader()
            guard count <= Self.partCountMax, partCount == nil || partCount == Int(count) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            var parts: [[UInt8]] = []
            for _ in 0..<count { parts.append(try decoder.readBytes(countMax: Self.partByteCountMax)) }
            return SlotReference(terms: terms, parts: parts)
        }
    }
}

/// The parts of a slot that need no secret.
package struct SlotSummary: Equatable, Sendable {
    package let id: UniqueID
    package let kind: SlotKind
    package let hasPIN: Bool
    /// nil for slots that no key store opens, and for a reference that cannot be read.
    package let terms: SlotTerms?

    package init(_ slot: KeySlot) {
        id = slot.id
        kind = slot.kind
        hasPIN = slot.password != nil
        terms = slot.kind.isKeyStore ? (try? SlotReference(decoding: slot.reference))?.terms : nil
    }
}
