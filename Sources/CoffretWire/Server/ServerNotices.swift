// Messages that reach a device without a request, mail among them, and refusals. Invariant: an event says that there
// is something to fetch, and is never believed instead of it.

package import CoffretBase

/// A message for a mailbox: [recipient device(16) or empty, bytes].
///
/// `POST /v1/mailboxes/{account}`. With a device named, only that device sees it.
package struct MailboxPost: ServerMessage {
    package let deviceID: UniqueID?
    package let bytes: [UInt8]

    package init(deviceID: UniqueID?, bytes: [UInt8]) {
        self.deviceID = deviceID
        self.bytes = bytes
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(bytes: deviceID?.bytes ?? [])
        encoder.encode(bytes: bytes)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        deviceID = try decoder.readOptionalDeviceID()
        bytes = try decoder.readBytes(countMax: ServerLimits.mailboxEntryByteCountMax)
    }
}

/// `GET /v1/mailboxes/{account}`: [[id(16), recipient device(16) or empty, bytes]…], oldest first. An entry stays until it is
/// deleted by its id; when more wait than one answer holds, they come after that.
package struct MailboxEntries: ServerMessage {
    package struct Entry: Equatable, Sendable {
        package let id: UniqueID
        package let deviceID: UniqueID?
        package let bytes: [UInt8]

        package init(id: UniqueID, deviceID: UniqueID?, bytes: [UInt8]) {
            self.id = id
            self.deviceID = deviceID
            self.bytes = bytes
        }
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: entries.count)
        for entry in entries {
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(bytes: entry.id.bytes)
            encoder.encode(bytes: entry.deviceID?.bytes ?? [])
            encoder.encode(bytes: entry.bytes)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        var entries: [Entry] = []
        for _ in 0..<(try decoder.readArrayHeader(countMax: ServerLimits.mailboxEntryCountMax)) {
            try decoder.readArrayHeader(count: 3)
            let id = try decoder.readDeviceID()
            let deviceID = try decoder.readOptionalDeviceID()
            let bytes = try decoder.readBytes(countMax: ServerLimits.mailboxEntryByteCountMax)
            entries.append(Entry(id: id, deviceID: deviceID, bytes: bytes))
        }
        self.entries = entries
    }
}

/// `GET /v1/pairings`: [[relay id(16), age]…], oldest first. New devices, by their own word, that wait on the relay.
package struct PairingRequests: ServerMessage {
    package struct Request: Equatable, Sendable {
        /// 16 bytes, made by the server.
        package let relayID: UniqueID
        /// Milliseconds for which it has waited.
        package let age: UInt64

        package init(relayID: UniqueID, age: UInt64) {
            self.relayID = relayID
            self.age = age
        }
    }

    package let requests: [Request]

    package init(_ requests: [Request]) { self.requests = requests }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: requests.count)
        for request in requests {
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: request.relayID.bytes)
            encoder.encode(unsigned: request.age)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        var requests: [Request] = []
        for _ in 0..<(try decoder.readArrayHeader(countMax: ServerLimits.pairingRequestCountMax)) {
            try decoder.readArrayHeader(count: 2)
            let relayID = try decoder.readDeviceID()
            requests.append(Request(relayID: relayID, age: try decoder.readUnsigned()))
        }
        self.requests = requests
    }
}

/// One message of `GET /v1/events`: [1, zone id(32), head(32) or empty, cursor], [2, account(32)],
/// [3, chain kind, id(32), sequence number] or [4, account(32)].
package enum ServerEvent: ServerMessage {
    case zone(id: [UInt8], head: [UInt8]?, cursor: [UInt8])
    case mailbox(accountID: [UInt8])
    /// The kind as in links: 1 device chain, 3 member chain.
    case chain(kind: UInt8, id: [UInt8], sequenceNumber: UInt64)
    /// Somebody waits on the relay and says that he is a new device.
    case pairing(accountID: [UInt8])

    package func encode(to encoder: inout CBOREncoder) {
        switch self {
        case .zone(let id, let head, let cursor):
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: id)
            encoder.encode(bytes: head ?? [])
            encoder.encode(bytes: cursor)
        case .mailbox(let accountID):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: accountID)
        case .chain(let kind, let id, let sequenceNumber):
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 3)
            encoder.encode(unsigned: UInt64(kind))
            encoder.encode(bytes: id)
            encoder.encode(unsigned: sequenceNumber)
        case .pairing(let accountID):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 4)
            encoder.encode(bytes: accountID)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard count > 0 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        switch (try decoder.readUnsigned(), count) {
        case (1, 4):
            let id = try decoder.readID()
            let head = try decoder.readOptionalAddress()
            self = .zone(id: id, head: head, cursor: try decoder.readCursor())
        case (2, 2): self = .mailbox(accountID: try decoder.readID())
        case (3, 4):
            let kind = try decoder.readUnsigned(as: UInt8.self)
            let id = try decoder.readID()
            self = .chain(kind: kind, id: id, sequenceNumber: try decoder.readUnsigned())
        case (4, 2): self = .pairing(accountID: try decoder.readID())
        default: throw CBORError(.unexpectedItem, byteOffset: start)
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
