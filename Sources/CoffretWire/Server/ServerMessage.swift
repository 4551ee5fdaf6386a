// The common rules of all messages between a device and the server. Invariant: bytes that decode encode to themselves,
// and every count and length is bounded before memory is allocated for it.

package import CoffretBase

/// A body of a request or a response: one item of deterministic CBOR.
package protocol ServerMessage: Equatable, Sendable {
    func encode(to encoder: inout CBOREncoder)
    init(from decoder: inout CBORDecoder) throws(CBORError)
}

extension ServerMessage {
    package func encoded() -> [UInt8] { CBOREncoder.encode { encode(to: &$0) } }

    /// Reads a message that is all of `bytes`.
    ///
    /// - Throws: `.malformed`.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        self = try withCBORDecoder(bytes, convert: { WireError($0) }) { (decoder) throws(CBORError) in
            try Self(from: &decoder)
        }
    }
}

/// Bounds of version 1 of the server's interface.
///
/// Spec: Spec/server.md.
package enum ServerLimits {
    package static let idByteCount = 32
    package static let addressByteCount = 32
    package static let nonceByteCount = 32
    package static let tokenByteCount = 32
    package static let signatureByteCount = 64
    package static let serverNameByteCountMax = 255
    package static let invitationByteCountMax = 64
    package static let cursorByteCountMax = 64
    /// One link of a chain, encoded.
    package static let linkByteCountMax = 160 << 10
    /// Links of one chain; twice as many where a link ends a device's power.
    package static let chainLinkCountMax = 4_096
    package static let linkCountMaxPerRequest = 1_000
    /// One sealed blob: a blob's content, its header and its padding.
    package static let objectByteCountMax = Limits.blobByteCountMax + (64 << 10)
    /// One sealed chunk of an attachment.
    package static let chunkByteCountMax = Limits.attachmentChunkByteCount + (64 << 10)
    /// Shorter ones than any sealed blob is.
    package static let objectByteCountMin = 64
    /// Variants of one address that are kept and served.
    package static let variantCountMax = 64
    /// A part of a chunk, but the last.
    package static let partByteCountMin = 64 << 10
    /// The body of one push.
    package static let pushByteCountMax = 16 << 20
    package static let pushObjectCountMax = 16_384
    /// Addresses that one request may name.
    package static let addressCountMax = 16_384
    /// Addresses of each kind that one garbage collection may name.
    package static let sweepAddressCountMax = 4_096
    package static let acknowledgementByteCountMax = 4 << 10
    package static let deviceCountMax = 4_096
    package static let mailboxEntryByteCountMax = 64 << 10
    package static let mailboxEntryCountMax = 1_024
    /// So many, the newest, wait for one device.
    package static let mailboxEntryCountMaxPerDevice = 256
    /// One frame of a stream: an object and what goes with it.
    package static let frameByteCountMax = objectByteCountMax + 1_024
    package static let eventByteCountMax = 1_024
    /// One message through the relay.
    package static let relayMessageByteCountMax = 64 << 10
    package static let errorTextByteCountMax = 1_024
    /// The first bytes of an account's id, which a new device names it by.
    package static let accountNameByteCount = 8
    /// New devices that may wait for one account with its knowledge; more wait without.
    package static let pairingRequestCountMax = 4
}

extension CBORDecoder {
    /// Reads the header of an array of at most `countMax` items.
    mutating func readArrayHeader(countMax: Int) throws(CBORError) -> Int {
        let start = byteOffset
        let count = try readArrayHeader()
        guard count <= countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return count
    }

    mutating func readID() throws(CBORError) -> [UInt8] { try readBytes(count: ServerLimits.idByteCount) }

    mutating func readDeviceID() throws(CBORError) -> UniqueID {
        let start = byteOffset
        guard let id = UniqueID(bytes: try readBytes(countMax: UniqueID.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return id
    }

    /// Reads an id, or nil from an empty string: nobody.
    mutating func readOptionalDeviceID() throws(CBORError) -> UniqueID? {
        let start = byteOffset
        let bytes = try readBytes(countMax: UniqueID.byteCount)
        let id = UniqueID(bytes: bytes)
        guard bytes.isEmpty || id != nil else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return id
    }

    /// Reads an address, or nil from an empty string: a zone without a head.
    mutating func readOptionalAddress() throws(CBORError) -> [UInt8]? {
        let start = byteOffset
        let bytes = try readBytes(countMax: ServerLimits.addressByteCount)
        guard bytes.isEmpty || bytes.count == ServerLimits.addressByteCount else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return bytes.isEmpty ? nil : bytes
    }

    mutating func readCursor() throws(CBORError) -> [UInt8] {
        try readBytes(countMax: ServerLimits.cursorByteCountMax)
    }
}
