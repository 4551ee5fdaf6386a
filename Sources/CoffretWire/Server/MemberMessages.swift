// Links of vaults that several people have, with what goes along. Invariant: links and letters travel as the bytes that were
// signed, and their receiver verifies them.

package import CoffretBase

/// `POST /v1/zones/{zone}/members`: [link, history / empty, [letter…], expected head of the zone or empty / null], all taken
/// or none. Answers: 200 the link's place, 409 the chain's newest link, 412 the zone's state.
package struct MemberPost: ServerMessage, CBORRecord {
    package let link: [UInt8]
    /// The history object that a link which opens an epoch commits to; else empty.
    package let history: [UInt8]
    /// To members, with the key of the epoch that holds after the link.
    package let letters: [[UInt8]]
    /// The zone's head that the link was made on, empty for none; nil: any.
    package let expectedHead: [UInt8]?

    package init(link: [UInt8], history: [UInt8] = [], letters: [[UInt8]] = [], expectedHead: [UInt8]? = nil) {
        self.link = link
        self.history = history
        self.letters = letters
        self.expectedHead = expectedHead
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("link", \.link, .link), CBORField("history", \.history, .history),
        CBORField("", \.letters, .letters),
        CBORField("expected head", \.expectedHead, CBORForm<[UInt8]>.headBytes.orNull))
}

/// `GET /v1/zones/{zone}/keys`: [epoch, history / empty, letter / empty, [account…]].
package struct ZoneKeys: ServerMessage, CBORRecord {
    /// The newest epoch of the member chain.
    package let epoch: UInt32
    /// The newest history object; empty while there is none.
    package let history: [UInt8]
    /// To who asks, of the newest epoch; empty while there is none, or after it was deleted.
    package let letter: [UInt8]
    /// Other accounts of the vault to which no letter of the newest epoch was ever put here since it was opened.
    package let lacking: [[UInt8]]

    package init(epoch: UInt32, history: [UInt8], letter: [UInt8], lacking: [[UInt8]]) {
        self.epoch = epoch
        self.history = history
        self.letter = letter
        self.lacking = lacking
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("epoch", \.epoch, CBORForm<UInt64>.unsigned.narrowed(to: UInt32.self)),
        CBORField("history", \.history, .history), CBORField("letter", \.letter, .letter),
        CBORField("", \.lacking, CBORForm<[UInt8]>.account.list(countMax: ServerLimits.memberCountMax, name: "account"))
    )
}

/// `POST /v1/zones/{zone}/letters`: [letter…], of the newest epoch, to members that lack one; others are passed over.
package struct LetterPost: ServerMessage {
    package let letters: [[UInt8]]

    package init(_ letters: [[UInt8]]) { self.letters = letters }

    package static let form = CBORForm<[[UInt8]]>.letters
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(letters, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { letters = try Self.form.decode(&decoder) }
}

/// `GET /v1/memberships`: [[zone, founder, role, state, adding account, number, epoch]…].
package struct Memberships: ServerMessage {
    package struct Entry: Equatable, Sendable, CBORRecord {
        package let zone: [UInt8]
        package let founder: [UInt8]
        /// 1 owner, 2 writer, 3 viewer, 4 contact.
        package let role: UInt8
        /// 1 added, 2 member.
        package let state: UInt8
        /// Who added the account; the founder for itself.
        package let adder: [UInt8]
        /// The number of the chain's newest link.
        package let number: UInt64
        /// 0: a circle.
        package let epoch: UInt32

        package init(
            zone: [UInt8], founder: [UInt8], role: UInt8, state: UInt8, adder: [UInt8], number: UInt64, epoch: UInt32
        ) {
            self.zone = zone
            self.founder = founder
            self.role = role
            self.state = state
            self.adder = adder
            self.number = number
            self.epoch = epoch
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("zone", \.zone, .zone), CBORField("founder", \.founder, .account),
            CBORField("role", \.role, CBORForm<UInt64>.unsigned.narrowed(to: UInt8.self)),
            CBORField("state", \.state, CBORForm<UInt64>.unsigned.narrowed(to: UInt8.self)),
            CBORField("adding account", \.adder, .account), CBORField("newest link", \.number, .unsigned),
            CBORField("epoch", \.epoch, CBORForm<UInt64>.unsigned.narrowed(to: UInt32.self)))
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package static let form = CBORForm<Entry>.record.list(countMax: ServerLimits.membershipCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(entries, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { entries = try Self.form.decode(&decoder) }
}

extension CBORForm<[UInt8]> {
    static var letter: Self { .bytes(countMax: ServerLimits.letterByteCountMax).named("letter") }
    static var history: Self { .bytes(countMax: ServerLimits.historyByteCountMax).named("history") }
}

extension CBORForm<[[UInt8]]> {
    static var letters: Self { CBORForm<[UInt8]>.letter.list(countMax: ServerLimits.memberCountMax) }
}
