// The purpose of a founding link, and the terms of a circle. The one thing to keep true: both are in the hash that is the
// chain's id, so nobody changes them afterwards.

package import CoffretBase

/// How many contacts of a circle bring an account back, and after how long.
///
/// Layout, deterministic CBOR: [threshold, count, hours].
package struct CircleTerms: Hashable, Sendable {
    package static let countMax = 16
    package static let hourRange = 24...8_760

    /// Contacts whose shares give the paper device together; 2 to `count`.
    package let threshold: Int
    /// Contacts, at most 16.
    package let count: Int
    /// From a recorded request to a release, 24 to 8,760.
    package let hours: Int

    /// nil: not within the bounds.
    package init?(threshold: Int, count: Int, hours: Int) {
        guard 2...Self.countMax ~= count, 2...count ~= threshold, Self.hourRange ~= hours else { return nil }
        (self.threshold, self.count, self.hours) = (threshold, count, hours)
    }

    package var waitingTime: Milliseconds { Milliseconds(hours) * 3_600_000 }

    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 3)
        for number in [threshold, count, hours] { encoder.encode(unsigned: UInt64(number)) }
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        try decoder.readArrayHeader(count: 3)
        let threshold = Int(try decoder.readUnsigned(as: UInt16.self))
        let count = Int(try decoder.readUnsigned(as: UInt16.self))
        let hours = Int(try decoder.readUnsigned(as: UInt16.self))
        guard let terms = CircleTerms(threshold: threshold, count: count, hours: hours) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        self = terms
    }
}

/// A purpose that a member chain has from its first link on (key 5 of link 0); an ordinary vault has none.
package enum VaultPurpose: Hashable, Sendable {
    /// People who bring an account back, with key 6. It has no vault key, no epoch and no entries.
    case circle(CircleTerms)
    /// Facts of one account about people; nobody else is ever in it.
    case account

    package var terms: CircleTerms? { if case .circle(let terms) = self { terms } else { nil } }

    var code: UInt64 {
        switch self {
        case .circle: 2
        case .account: 3
        }
    }
}
