// What many commits state alike. The one thing to keep true: a commit names its context by hash, so
// its signature covers every field here.

package import CoffretBase

/// The seldom-changing part of a commit, in a blob of its own that is written when it changes.
///
/// Content: a deterministic CBOR map, keys below; unknown keys are refused.
/// Spec: Spec/commit.md section 2.
package struct CommitContext: Equatable, Sendable {
    static let deviceIDByteCounts = 16...32
    /// The version of the formats of tree, commit and fact that this program writes and reads.
    package static let formatVersion: UInt64 = 1

    /// Key 1.
    package var format = CommitContext.formatVersion
    /// Key 2: 32 bytes. A commit of one vault does not verify in another (protocol 9).
    package var vaultID: [UInt8]
    /// Key 3: the key epoch under which the author wrote.
    package var epoch: UInt32
    /// Key 4: counts changes of the split key.
    package var treeGeneration: UInt32
    /// Key 5: 32 bytes.
    package var accountID: [UInt8]
    /// Key 6: 16 to 32 bytes.
    package var deviceID: [UInt8]
    /// Key 7: 16 bytes.
    package var instanceID: UniqueID
    /// Keys 8, 9 (may be absent) and 10: 32 bytes each.
    package var deviceChainHead: [UInt8]
    package var identityChainHead: [UInt8]?
    package var memberChainHead: [UInt8]
    /// Key 11: devices that only know older formats must not write.
    package var formatFloor: UInt64

    package init(
        vaultID: [UInt8], epoch: UInt32, treeGeneration: UInt32, author: CommitAuthor, formatFloor: UInt64
    ) {
        self.vaultID = vaultID
        self.epoch = epoch
        self.treeGeneration = treeGeneration
        accountID = author.accountID
        deviceID = author.deviceID
        instanceID = author.instanceID
        deviceChainHead = author.deviceChainHead
        identityChainHead = author.identityChainHead
        memberChainHead = author.memberChainHead
        self.formatFloor = formatFloor
    }

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        var map = try decoder.readMapHeader()
        try decoder.expectKey(1, in: &map)
        format = try decoder.readUnsigned()
        try decoder.expectKey(2, in: &map)
        vaultID = try decoder.readBytes(count: 32)
        try decoder.expectKey(3, in: &map)
        epoch = try decoder.readUnsigned(as: UInt32.self)
        try decoder.expectKey(4, in: &map)
        treeGeneration = try decoder.readUnsigned(as: UInt32.self)
        try decoder.expectKey(5, in: &map)
        accountID = try decoder.readBytes(count: 32)
        try decoder.expectKey(6, in: &map)
        let start = decoder.byteOffset
        deviceID = try decoder.readBytes(countMax: Self.deviceIDByteCounts.upperBound)
        try decoder.expectKey(7, in: &map)
        guard Self.deviceIDByteCounts ~= deviceID.count,
            let instanceID = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        self.instanceID = instanceID
        try decoder.expectKey(8, in: &map)
        deviceChainHead = try decoder.readBytes(count: 32)
        // Keys 9 to 11: eleven pairs, or ten without the identity chain.
        if map.remaining == 3 {
            try decoder.expectKey(9, in: &map)
            identityChainHead = try decoder.readBytes(count: 32)
        }
        try decoder.expectKey(10, in: &map)
        memberChainHead = try decoder.readBytes(count: 32)
        try decoder.expectKey(11, in: &map)
        formatFloor = try decoder.readUnsigned()
        guard map.remaining == 0 else { throw CBORError(.unexpectedKey, byteOffset: decoder.byteOffset) }
    }

    package func encode() -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: 256) { encoder in
            encoder.encodeMapHeader(count: identityChainHead == nil ? 10 : 11)
            encoder.encode(unsigned: 1)
            encoder.encode(unsigned: format)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: vaultID)
            encoder.encode(unsigned: 3)
            encoder.encode(unsigned: UInt64(epoch))
            encoder.encode(unsigned: 4)
            encoder.encode(unsigned: UInt64(treeGeneration))
            encoder.encode(unsigned: 5)
            encoder.encode(bytes: accountID)
            encoder.encode(unsigned: 6)
            encoder.encode(bytes: deviceID)
            encoder.encode(unsigned: 7)
            encoder.encode(bytes: instanceID.bytes)
            encoder.encode(unsigned: 8)
            encoder.encode(bytes: deviceChainHead)
            if let identityChainHead {
                encoder.encode(unsigned: 9)
                encoder.encode(bytes: identityChainHead)
            }
            encoder.encode(unsigned: 10)
            encoder.encode(bytes: memberChainHead)
            encoder.encode(unsigned: 11)
            encoder.encode(unsigned: formatFloor)
        }
    }

    /// - Throws: `.commitMalformed` at `place`; `.commitUnsupportedFormat` if the version is not ours,
    ///   whatever else a newer format may hold.
    package static func decode(_ bytes: [UInt8], place: String) throws(StorageError) -> CommitContext {
        do throws(CBORError) {
            if try peekFormat(bytes) == formatVersion {
                let context = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in
                    try CommitContext(from: &decoder)
                }
                if context.formatFloor <= formatVersion { return context }
            }
        } catch {
            throw StorageError(.commitMalformed, place: place, cause: error)
        }
        throw StorageError(.commitUnsupportedFormat, place: place)
    }

    private static func peekFormat(_ bytes: [UInt8]) throws(CBORError) -> UInt64 {
        var format: UInt64 = 0
        _ = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            var map = try decoder.readMapHeader()
            try decoder.expectKey(1, in: &map)
            format = try decoder.readUnsigned()
            while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
        }
        return format
    }
}
