// The name of an account before a device belongs to it. Invariant: it only selects the devices that are notified and
// wanted; nothing is trusted because of it.

package import CoffretBase
package import CoffretTrust
internal import CoffretWire

/// The first eight bytes of an account's id, as a person types them: four groups of four hexadecimal digits.
package struct AccountName: Equatable, Sendable {
    package let bytes: [UInt8]

    package init(_ accountID: ChainID) { bytes = Array(accountID.bytes.prefix(ServerLimits.accountNameByteCount)) }

    /// Reads digits, with or without spaces and hyphens; nil if it is something else.
    ///
    /// A whole account id is taken, too.
    package init?(_ text: String) {
        guard let read = try? Hex.decode(text.filter { $0 != " " && $0 != "-" }),
            read.count == ServerLimits.accountNameByteCount || read.count == ServerLimits.idByteCount
        else { return nil }
        bytes = Array(read.prefix(ServerLimits.accountNameByteCount))
    }

    /// `3f2a-91c0-77de-0b12`: one word, to be typed and pasted.
    package var text: String { DigitGroups.text(Hex.encode(bytes), separator: "-") }
}

/// Hexadecimal digits in groups of four, for people who compare them.
package enum DigitGroups {
    package static func text(_ digits: String, separator: String = " ") -> String {
        var groups: [Substring] = []
        var rest = digits[...]
        while !rest.isEmpty {
            groups.append(rest.prefix(4))
            rest = rest.dropFirst(4)
        }
        return groups.joined(separator: separator)
    }
}

/// Somebody who waits on the relay and says that he is a new device. Nothing of it is verified.
package struct PairingRequest: Equatable, Sendable {
    /// Digits of a number that are shown where it is shortened, and the fewest that a person may type.
    package static let shownDigitCount = 8

    package let relayID: UniqueID
    package let since: Milliseconds

    package init(relayID: UniqueID, since: Milliseconds) {
        self.relayID = relayID
        self.since = since
    }

    /// The digits that the person compares with the new device's screen: the number's first eight.
    package var digits: String { DigitGroups.text(String(relayID.hex.prefix(Self.shownDigitCount))) }
}
