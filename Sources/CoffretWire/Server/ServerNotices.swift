// Messages that reach a device without a request, mail among them, and refusals. Invariant: an event says that there
// is something to fetch, and is never believed instead of it.

package import CoffretBase

/// A message for a mailbox: [recipient device(16) or empty, bytes].
///
/// `POST /v1/mailboxes/{account}`. With a device named, only that device sees it.
package struct MailboxPost: ServerMessage, CBORRecord {
    package let deviceID: UniqueID?
    package let bytes: [UInt8]

    package init(deviceID: UniqueID?, bytes: [UInt8]) {
        self.deviceID = deviceID
        self.bytes = bytes
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("recipient device", \.deviceID, .idOrEmpty), CBORField("bytes", \.bytes, .mail))
}

/// `GET /v1/mailboxes/{account}`: [[id(16), recipient device(16) or empty, bytes]…], oldest first. An entry stays until it is
/// deleted by its id; when more wait than one answer holds, they come after that.
package struct MailboxEntries: ServerMessage {
    package struct Entry: Equatable, Sendable, CBORRecord {
        package let id: UniqueID
        package let deviceID: UniqueID?
        package let bytes: [UInt8]

        package init(id: UniqueID, deviceID: UniqueID?, bytes: [UInt8]) {
            self.id = id
            self.deviceID = deviceID
            self.bytes = bytes
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("id", \.id, .id), CBORField("recipient device", \.deviceID, .idOrEmpty),
            CBORField("bytes", \.bytes, .mail))
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package static let form = CBORForm<Entry>.record.list(countMax: ServerLimits.mailboxEntryCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(entries, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { entries = try Self.form.decode(&decoder) }
}

/// `GET /v1/pairings`, and `GET /v1/asks` in the same form: [[relay id(16), age]…], oldest first. New devices, by their own word, that
/// wait on the relay; or clients that ask this device for a value.
package struct PairingRequests: ServerMessage {
    package struct Request: Equatable, Sendable, CBORRecord {
        /// 16 bytes, made by the server.
        package let relayID: UniqueID
        /// Milliseconds for which it has waited.
        package let age: UInt64

        package init(relayID: UniqueID, age: UInt64) {
            self.relayID = relayID
            self.age = age
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("relay id", \.relayID, .id), CBORField("age in milliseconds", \.age, .unsigned))
    }

    package let requests: [Request]

    package init(_ requests: [Request]) { self.requests = requests }

    package static let form = CBORForm<Request>.record.list(countMax: ServerLimits.pairingRequestCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(requests, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { requests = try Self.form.decode(&decoder) }
}

/// One message of `GET /v1/events`: [1, zone id(32), head(32) or empty, cursor], [2, account(32)],
/// [3, chain kind, id(32), sequence number], [4, account(32)], [5, zone id(32)], [6] or [7, account(32)].
package enum ServerEvent: ServerMessage {
    case zone(id: [UInt8], head: [UInt8]?, cursor: [UInt8])
    case mailbox(accountID: [UInt8])
    /// The kind as in links: 1 device chain, 2 identity chain, 3 member chain.
    case chain(kind: UInt8, id: [UInt8], sequenceNumber: UInt64)
    /// Somebody waits on the relay and says that he is a new device.
    case pairing(accountID: [UInt8])
    /// The account's own membership in a vault: it was added, has another role, accepted, or is no member any more.
    case membership(zone: [UInt8])
    /// A letter from somebody waits or was deleted, or one with a vault's key came.
    case letter
    /// Somebody waits on the relay and asks this device for a value.
    case ask(accountID: [UInt8])

    private static let zoneLayout = CBORLayout(
        version: 1, { (id: $0, head: $1, cursor: $2) }, CBORField("zone", \.id, .zone),
        CBORField("head", \.head, .addressOrEmpty), CBORField("cursor", \.cursor, .cursor))
    private static let chainLayout = CBORLayout(
        version: 3, { (kind: $0, id: $1, sequenceNumber: $2) },
        CBORField("chain kind", \.kind, CBORForm<UInt64>.unsigned.narrowed(to: UInt8.self)),
        CBORField("id", \.id, .hash), CBORField("sequence number", \.sequenceNumber, .unsigned))
    private static func accountLayout(_ kind: UInt64) -> CBORLayout<[UInt8], [UInt8]> {
        CBORLayout(version: kind, { $0 }, CBORField("account", \.self, .account))
    }

    private static let membershipLayout = CBORLayout(version: 5, { $0 }, CBORField("zone", \.self, .zone))
    private static let letterKind: UInt64 = 6

    package static var notation: String {
        [
            zoneLayout.notation, accountLayout(2).notation, chainLayout.notation, accountLayout(4).notation,
            membershipLayout.notation, "[\(letterKind)]", accountLayout(7).notation,
        ]
        .joined(separator: " / ")
    }

    package func encode(to encoder: inout CBOREncoder) {
        switch self {
        case .zone(let id, let head, let cursor): Self.zoneLayout.encode((id, head, cursor), to: &encoder)
        case .mailbox(let accountID): Self.accountLayout(2).encode(accountID, to: &encoder)
        case .chain(let kind, let id, let number): Self.chainLayout.encode((kind, id, number), to: &encoder)
        case .pairing(let accountID): Self.accountLayout(4).encode(accountID, to: &encoder)
        case .membership(let zone): Self.membershipLayout.encode(zone, to: &encoder)
        case .letter:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: Self.letterKind)
        case .ask(let accountID): Self.accountLayout(7).encode(accountID, to: &encoder)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        switch try decoder.peekKind() {
        case 1:
            let zone = try Self.zoneLayout.decode(from: &decoder)
            self = .zone(id: zone.id, head: zone.head, cursor: zone.cursor)
        case 2: self = .mailbox(accountID: try Self.accountLayout(2).decode(from: &decoder))
        case 3:
            let chain = try Self.chainLayout.decode(from: &decoder)
            self = .chain(kind: chain.kind, id: chain.id, sequenceNumber: chain.sequenceNumber)
        case 4: self = .pairing(accountID: try Self.accountLayout(4).decode(from: &decoder))
        case 5: self = .membership(zone: try Self.membershipLayout.decode(from: &decoder))
        case Self.letterKind:
            try decoder.readArrayHeader(count: 1)
            _ = try decoder.readUnsigned()
            self = .letter
        case 7: self = .ask(accountID: try Self.accountLayout(7).decode(from: &decoder))
        default: throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        }
    }
}

/// Why a request was refused: {0: code, 1: message}. Programs go by the code; the message is for people.
package struct ServerRefusal: ServerMessage {
    package let code: String
    package let message: String

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    package static let notation = "{0: code: tstr, 1: message: tstr}"

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeMapHeader(count: 2)
        encoder.encode(unsigned: 0)
        encoder.encode(text: code)
        encoder.encode(unsigned: 1)
        encoder.encode(text: message)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(0, in: &map)
        code = try decoder.readText(byteCountMax: ServerLimits.errorTextByteCountMax)
        try decoder.expectKey(1, in: &map)
        message = try decoder.readText(byteCountMax: ServerLimits.errorTextByteCountMax)
        guard map.remaining == 0 else { throw CBORError(.unexpectedKey, byteOffset: start) }
    }
}
