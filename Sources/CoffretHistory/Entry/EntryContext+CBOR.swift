// Contexts as bytes. The one thing to keep true: a context has one encoding, so that equal contexts are one blob.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretStorage
internal import CoffretTrust

extension EntryContext {
    /// The content of the blob of type 9: a map of keys 1 to 10, and 11 where there is an identity chain.
    package func encode() -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: 256) { encoder in
            encoder.encodeMapHeader(count: identityHead == nil ? 10 : 11)
            encoder.encode(unsigned: 1)
            encoder.encode(unsigned: Self.formatVersion)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: vaultID.bytes)
            encoder.encode(unsigned: 3)
            encoder.encode(bytes: accountID.bytes)
            encoder.encode(unsigned: 4)
            encoder.encode(id: deviceID)
            encoder.encode(unsigned: 5)
            encoder.encode(id: nonce)
            encoder.encode(unsigned: 6)
            encoder.encode(unsigned: UInt64(firstLink))
            encoder.encode(unsigned: 7)
            encoder.encode(position: deviceHead)
            encoder.encode(unsigned: 8)
            encoder.encode(position: memberHead)
            encoder.encode(unsigned: 9)
            encoder.encode(unsigned: UInt64(epoch))
            encoder.encode(unsigned: 10)
            encoder.encode(unsigned: formatFloor)
            if let identityHead {
                encoder.encode(unsigned: 11)
                encoder.encode(position: identityHead)
            }
        }
    }

    /// The name of the context's blob.
    package var name: BlobName { BlobName.derive(type: .entryContext, content: encode().span) }

    /// Reads the content of a blob of type 9.
    ///
    /// - Throws: `.entryUnsupportedFormat` at the name, if a newer program wrote it or its floor is above this one;
    ///   `.entryMalformed` for anything else that `encode` would not have written.
    package static func decode(_ content: [UInt8], name: BlobName) throws(HistoryError) -> EntryContext {
        do throws(CBORError) {
            let context = try withCBORDecoder(content) { (decoder) throws(CBORError) in
                try EntryContext(from: &decoder)
            }
            if context.formatFloor <= formatVersion { return context }
        } catch {
            guard isNewer(content) else {
                throw HistoryError(.entryMalformed, place: name.description, cause: error)
            }
        }
        throw HistoryError(.entryUnsupportedFormat, place: name.description)
    }

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(1, in: &map)
        let format = try decoder.readUnsigned()
        try decoder.expectKey(2, in: &map)
        let vaultID = VaultID(try decoder.readBytes(count: VaultID.byteCount))
        try decoder.expectKey(3, in: &map)
        let accountID = ChainID(try decoder.readBytes(count: ChainID.byteCount))
        try decoder.expectKey(4, in: &map)
        let deviceID = try decoder.readID()
        try decoder.expectKey(5, in: &map)
        let nonce = try decoder.readID()
        try decoder.expectKey(6, in: &map)
        let firstLink = try decoder.readUnsigned(as: UInt32.self)
        try decoder.expectKey(7, in: &map)
        let deviceHead = try decoder.readPosition()
        try decoder.expectKey(8, in: &map)
        let memberHead = try decoder.readPosition()
        try decoder.expectKey(9, in: &map)
        let epoch = try decoder.readUnsigned(as: UInt32.self)
        try decoder.expectKey(10, in: &map)
        let formatFloor = try decoder.readUnsigned()
        var identityHead: ChainPosition?
        if map.remaining > 0 {
            try decoder.expectKey(11, in: &map)
            identityHead = try decoder.readPosition()
        }
        guard format == Self.formatVersion, epoch > 0, map.remaining == 0, let vaultID, let accountID else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        self.init(
            vaultID: vaultID, accountID: accountID, deviceID: deviceID, nonce: nonce, firstLink: firstLink,
            deviceHead: deviceHead, memberHead: memberHead, epoch: epoch, formatFloor: formatFloor,
            identityHead: identityHead)
    }

    /// Whether a newer program wrote this: by the format, which is the first pair for good, or by an unknown key.
    private static func isNewer(_ content: [UInt8]) -> Bool {
        if NewerFormat.isLikely(content[...], known: 1...11) { return true }
        let format: UInt64? = try? withCBORDecoder(content) { (decoder) throws(CBORError) in
            var map = try decoder.readMapHeader()
            try decoder.expectKey(1, in: &map)
            let format = try decoder.readUnsigned()
            while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
            return format
        }
        return format.map { $0 > formatVersion } ?? false
    }
}
