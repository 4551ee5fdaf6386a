// A vault's place on the server: addresses, ciphertext, one head. Invariant: everything here is what a server may
// know, and no more.

package import CoffretBase

/// `GET /v1/usage`: [bytes used, bytes that the account may use].
package struct AccountUsage: ServerMessage {
    package let usedByteCount: UInt64
    package let byteCountMax: UInt64

    package init(usedByteCount: UInt64, byteCountMax: UInt64) {
        self.usedByteCount = usedByteCount
        self.byteCountMax = byteCountMax
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(unsigned: usedByteCount)
        encoder.encode(unsigned: byteCountMax)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        usedByteCount = try decoder.readUnsigned()
        byteCountMax = try decoder.readUnsigned()
    }
}

/// `POST /v1/zones`: [vault id(32), link 0 of the member chain].
package struct ZoneCreation: ServerMessage {
    package let vaultID: [UInt8]
    package let link: [UInt8]

    package init(vaultID: [UInt8], link: [UInt8]) {
        self.vaultID = vaultID
        self.link = link
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(bytes: vaultID)
        encoder.encode(bytes: link)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        vaultID = try decoder.readID()
        link = try decoder.readBytes(countMax: ServerLimits.linkByteCountMax)
    }
}

/// The server's claims about a zone: [head address(32) or empty, cursor, epoch, setter(16) or empty, head before or
/// empty].
///
/// Answers `GET /v1/zones/{id}/head`, and a push whose expected head is not the head (412).
package struct ZoneHead: ServerMessage {
    /// The address of the head commit's blob; nil before the first push of a head.
    package let address: [UInt8]?
    package let cursor: [UInt8]
    package let epoch: UInt32
    /// The device that set the head, by the server's word.
    package let setter: UniqueID?
    /// The last head that another device had set.
    package let headBefore: [UInt8]?

    package init(
        address: [UInt8]?, cursor: [UInt8], epoch: UInt32, setter: UniqueID? = nil, headBefore: [UInt8]? = nil
    ) {
        self.address = address
        self.cursor = cursor
        self.epoch = epoch
        self.setter = setter
        self.headBefore = headBefore
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 5)
        encoder.encode(bytes: address ?? [])
        encoder.encode(bytes: cursor)
        encoder.encode(unsigned: UInt64(epoch))
        encoder.encode(bytes: setter?.bytes ?? [])
        encoder.encode(bytes: headBefore ?? [])
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 5)
        address = try decoder.readOptionalAddress()
        cursor = try decoder.readCursor()
        epoch = try decoder.readUnsigned(as: UInt32.self)
        setter = try decoder.readOptionalDeviceID()
        headBefore = try decoder.readOptionalAddress()
    }
}

/// A sealed blob under its address: [address(32), ciphertext].
package struct ZoneObject: ServerMessage {
    package let address: [UInt8]
    package let ciphertext: [UInt8]

    package init(address: [UInt8], ciphertext: [UInt8]) {
        self.address = address
        self.ciphertext = ciphertext
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(bytes: address)
        encoder.encode(bytes: ciphertext)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        address = try decoder.readBytes(count: ServerLimits.addressByteCount)
        ciphertext = try decoder.readBytes(countMax: ServerLimits.objectByteCountMax)
    }
}

/// `POST /v1/zones/{id}/push`: [expected head or empty, new head or empty, epoch, [object…], signature(64)].
///
/// With new head = expected head the objects are stored and the head stays: a first sync sends what is large in
/// several pushes and moves the head with the last.
package struct ZonePush: ServerMessage {
    package let expectedHead: [UInt8]?
    package let newHead: [UInt8]?
    /// The vault-key epoch that the objects are sealed under; not below the zone's.
    package let epoch: UInt32
    package let objects: [ZoneObject]
    /// By the session's device; zeros until it is sent.
    package var signature = [UInt8](repeating: 0, count: ServerLimits.signatureByteCount)

    package init(expectedHead: [UInt8]?, newHead: [UInt8]?, epoch: UInt32, objects: [ZoneObject]) {
        self.expectedHead = expectedHead
        self.newHead = newHead
        self.epoch = epoch
        self.objects = objects
    }

    /// Whether objects are only put down for a later push.
    package var isStaging: Bool { newHead == expectedHead }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 5)
        encoder.encode(bytes: expectedHead ?? [])
        encoder.encode(bytes: newHead ?? [])
        encoder.encode(unsigned: UInt64(epoch))
        encoder.encodeArrayHeader(count: objects.count)
        for object in objects { object.encode(to: &encoder) }
        encoder.encode(bytes: signature)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 5)
        expectedHead = try decoder.readOptionalAddress()
        let start = decoder.byteOffset
        newHead = try decoder.readOptionalAddress()
        // A head that was there does not go away.
        guard newHead != nil || expectedHead == nil else { throw CBORError(.unexpectedItem, byteOffset: start) }
        epoch = try decoder.readUnsigned(as: UInt32.self)
        let count = try decoder.readArrayHeader(countMax: ServerLimits.pushObjectCountMax)
        var objects: [ZoneObject] = []
        objects.reserveCapacity(count)
        for _ in 0..<count { objects.append(try ZoneObject(from: &decoder)) }
        self.objects = objects
        signature = try decoder.readBytes(count: ServerLimits.signatureByteCount)
    }
}

/// `POST /v1/zones/{id}/delete`: [signature(64)] by the session's device.
package struct ZoneDeletion: ServerMessage {
    package let signature: [UInt8]

    package init(signature: [UInt8]) { self.signature = signature }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 1)
        encoder.encode(bytes: signature)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 1)
        signature = try decoder.readBytes(count: ServerLimits.signatureByteCount)
    }
}

/// The answer to a push (200): [cursor] after it.
package struct PushReceipt: ServerMessage {
    package let cursor: [UInt8]

    package init(cursor: [UInt8]) { self.cursor = cursor }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 1)
        encoder.encode(bytes: cursor)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 1)
        cursor = try decoder.readCursor()
    }
}

/// `POST /v1/zones/{id}/fetch`: [address…].
package struct ZoneFetch: ServerMessage {
    package let addresses: [[UInt8]]

    package init(addresses: [[UInt8]]) { self.addresses = addresses }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encode(addresses: addresses)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        addresses = try decoder.readAddresses(countMax: ServerLimits.addressCountMax)
    }
}

/// Sealed bytes by address and digest: [[address(32), BLAKE2b-256 of the ciphertext(32)]…].
///
/// `POST /v1/zones/{id}/chunks/missing` takes the chunks of an attachment and answers those that it does not
/// hold in exactly this form: another ciphertext under the same address is no proof of anything.
package struct ChunkList: ServerMessage {
    package struct Chunk: Hashable, Sendable {
        package let address: [UInt8]
        package let digest: [UInt8]

        package init(address: [UInt8], digest: [UInt8]) {
            self.address = address
            self.digest = digest
        }
    }

    package let chunks: [Chunk]

    package init(_ chunks: [Chunk]) { self.chunks = chunks }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: chunks.count)
        for chunk in chunks {
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: chunk.address)
            encoder.encode(bytes: chunk.digest)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        var chunks: [Chunk] = []
        for _ in 0..<(try decoder.readArrayHeader(countMax: ServerLimits.addressCountMax)) {
            try decoder.readArrayHeader(count: 2)
            let address = try decoder.readBytes(count: ServerLimits.addressByteCount)
            chunks.append(Chunk(address: address, digest: try decoder.readID()))
        }
        self.chunks = chunks
    }
}

/// `GET /v1/zones/{id}/acks`: [[device(16), bytes]…], one per device, as each last put them.
package struct Acknowledgements: ServerMessage {
    package struct Entry: Equatable, Sendable {
        package let deviceID: UniqueID
        package let bytes: [UInt8]

        package init(deviceID: UniqueID, bytes: [UInt8]) {
            self.deviceID = deviceID
            self.bytes = bytes
        }
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: entries.count)
        for entry in entries {
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: entry.deviceID.bytes)
            encoder.encode(bytes: entry.bytes)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        var entries: [Entry] = []
        for _ in 0..<(try decoder.readArrayHeader(countMax: ServerLimits.deviceCountMax)) {
            try decoder.readArrayHeader(count: 2)
            let deviceID = try decoder.readDeviceID()
            let bytes = try decoder.readBytes(countMax: ServerLimits.acknowledgementByteCountMax)
            entries.append(Entry(deviceID: deviceID, bytes: bytes))
        }
        self.entries = entries
    }
}
