// A vault's place on the server: addresses, ciphertext, one head. Invariant: everything here is what a server may
// know, and no more.

package import CoffretBase

/// `GET /v1/usage`: [bytes used, bytes that the account may use].
package struct AccountUsage: ServerMessage, CBORRecord {
    package let usedByteCount: UInt64
    package let byteCountMax: UInt64

    package init(usedByteCount: UInt64, byteCountMax: UInt64) {
        self.usedByteCount = usedByteCount
        self.byteCountMax = byteCountMax
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("used", \.usedByteCount, .unsigned), CBORField("limit", \.byteCountMax, .unsigned))
}

/// A sealed blob under its address: [address(32), ciphertext].
package struct ZoneObject: ServerMessage, CBORRecord {
    package let address: [UInt8]
    package let ciphertext: [UInt8]

    package init(address: [UInt8], ciphertext: [UInt8]) {
        self.address = address
        self.ciphertext = ciphertext
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("address", \.address, .address),
        CBORField("ciphertext", \.ciphertext, .ciphertext))
}

/// `POST /v1/zones/{id}/push`: [expected head or empty, new head or empty, epoch, [object…], signature(64)].
///
/// With new head = expected head the objects are stored and the head stays: a first sync sends what is large in
/// several pushes and moves the head with the last.
package struct ZonePush: ServerMessage, CBORRecord {
    package let expectedHead: [UInt8]?
    package let newHead: [UInt8]?
    /// The vault-key epoch that the objects are sealed under; not below the zone's.
    package let epoch: UInt32
    package let objects: [ZoneObject]
    /// By the session's device; zeros until it is sent.
    package var signature: [UInt8]

    package init(
        expectedHead: [UInt8]?, newHead: [UInt8]?, epoch: UInt32, objects: [ZoneObject],
        signature: [UInt8] = [UInt8](repeating: 0, count: ServerLimits.signatureByteCount)
    ) {
        self.expectedHead = expectedHead
        self.newHead = newHead
        self.epoch = epoch
        self.objects = objects
        self.signature = signature
    }

    /// Whether objects are only put down for a later push.
    package var isStaging: Bool { newHead == expectedHead }

    /// A head that was there does not go away.
    package static let layout = CBORLayout(
        Self.init, CBORField("expected head", \.expectedHead, .addressOrEmpty),
        CBORField("new head", \.newHead, .addressOrEmpty), CBORField("epoch", \.epoch, .unsigned32),
        CBORField("", \.objects, CBORForm<ZoneObject>.record.list(countMax: ServerLimits.pushObjectCountMax)),
        CBORField("signature", \.signature, .signature), where: { $0.newHead != nil || $0.expectedHead == nil })
}

/// `POST /v1/zones/{id}/delete`: [signature(64)] by the session's device.
package struct ZoneDeletion: ServerMessage, CBORRecord {
    package let signature: [UInt8]

    package init(signature: [UInt8]) { self.signature = signature }

    package static let layout = CBORLayout(Self.init, CBORField("signature", \.signature, .signature))
}

/// The answer to a push (200): [cursor] after it.
package struct PushReceipt: ServerMessage, CBORRecord {
    package let cursor: [UInt8]

    package init(cursor: [UInt8]) { self.cursor = cursor }

    package static let layout = CBORLayout(Self.init, CBORField("cursor", \.cursor, .cursor))
}

/// `POST /v1/zones/{id}/fetch`: [address…].
package struct ZoneFetch: ServerMessage {
    package let addresses: [[UInt8]]

    package init(addresses: [[UInt8]]) { self.addresses = addresses }

    package static let form = CBORForm<[[UInt8]]>.addresses(countMax: ServerLimits.addressCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(addresses, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { addresses = try Self.form.decode(&decoder) }
}

/// Sealed bytes by address and digest: [[address(32), BLAKE2b-256 of the ciphertext(32)]…].
///
/// `POST /v1/zones/{id}/chunks/missing` takes the chunks of an attachment and answers those that it does not
/// hold in exactly this form: another ciphertext under the same address is no proof of anything.
package struct ChunkList: ServerMessage {
    package struct Chunk: Hashable, Sendable, CBORRecord {
        package let address: [UInt8]
        package let digest: [UInt8]

        package init(address: [UInt8], digest: [UInt8]) {
            self.address = address
            self.digest = digest
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("address", \.address, .address), CBORField("digest", \.digest, .hash))
    }

    package let chunks: [Chunk]

    package init(_ chunks: [Chunk]) { self.chunks = chunks }

    package static let form = CBORForm<Chunk>.record.list(countMax: ServerLimits.addressCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(chunks, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { chunks = try Self.form.decode(&decoder) }
}

/// `GET /v1/zones/{id}/acks`: [[account(32), device(16), bytes]…], one per device of the vault's people, as each last put
/// them.
package struct Acknowledgements: ServerMessage {
    package struct Entry: Equatable, Sendable, CBORRecord {
        package let accountID: [UInt8]
        package let deviceID: UniqueID
        package let bytes: [UInt8]

        package init(accountID: [UInt8], deviceID: UniqueID, bytes: [UInt8]) {
            self.accountID = accountID
            self.deviceID = deviceID
            self.bytes = bytes
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("account", \.accountID, .account), CBORField("device", \.deviceID, .id),
            CBORField("", \.bytes, .bytes(countMax: ServerLimits.acknowledgementByteCountMax)))
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package static let form = CBORForm<Entry>.record.list(countMax: ServerLimits.deviceCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(entries, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { entries = try Self.form.decode(&decoder) }
}
