// What a device says in a commit of one vault about the others. The one thing to keep true: it opens in the vault and
// under the instance that it was sealed for, and nowhere else.

package import CoffretBase
package import CoffretCrypto

/// A head that a device has seen at the place of a synced vault, verified, or has put there.
package struct SeenHead: Equatable, Sendable {
    package let vaultID: VaultID
    package let head: BlobName
    /// The number of the head's commit.
    package let dot: Dot
    /// The number of the newest link of the account's chain that the device knew then. What it saw before a revocation may
    /// count no more.
    package let chainPosition: UInt64

    package init(vaultID: VaultID, head: BlobName, dot: Dot, chainPosition: UInt64) {
        self.vaultID = vaultID
        self.head = head
        self.dot = dot
        self.chainPosition = chainPosition
    }
}

/// Key 11 of a commit: ENV(heads key, "heads/seal", vault id ‖ instance id, length (4) ‖ content ‖ zeros), the whole filled
/// to a multiple of 512 bytes; content = CBOR [1, [+ [vault id, head, [instance, sequence], chain position]]], ascending by
/// vault id. Spec: Spec/commit.md section 10.
package enum HeadStatement {
    /// So many heads are stated in one commit.
    package static let headCountMax = 8
    /// The length shows how many there are in steps of this only.
    static let stepByteCount = 512
    /// Of key 11 of any commit, whoever wrote it.
    package static let byteCountMax = 2_048
    private static let lengthByteCount = 4

    /// - Parameters:
    ///   - heads: at least one and at most `headCountMax`, of different vaults, in any order.
    ///   - vaultID: of the vault that the commit lies in.
    ///   - instance: of the commit.
    package static func seal(
        _ heads: [SeenHead], key: HeadsKey, vaultID: VaultID, instance: UniqueID, random: any RandomSource
    ) -> [UInt8] {
        precondition((1...headCountMax).contains(heads.count), "a statement has one to eight heads")
        let content = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 1)
            encoder.encodeArrayHeader(count: heads.count)
            for head in heads.sorted(by: { $0.vaultID.bytes.lexicographicallyPrecedes($1.vaultID.bytes) }) {
                encoder.encode(seen: head)
            }
        }
        return seal(content: content, key: key, vaultID: vaultID, instance: instance, random: random)
    }

    /// Seals what a statement says, whatever its layout, filled to a multiple of 512 bytes.
    package static func seal(
        content: [UInt8], key: HeadsKey, vaultID: VaultID, instance: UniqueID, random: any RandomSource
    ) -> [UInt8] {
        var message = UInt32(content.count).bigEndianBytes + content
        let remainder = message.count % stepByteCount
        if remainder > 0 { message += [UInt8](repeating: 0, count: stepByteCount - remainder) }
        return Envelope.seal(
            message, key: key, context: .headsSeal, associatedData: vaultID.bytes + instance.bytes, fill: .none,
            random: random)
    }

    /// - Returns: nil for bytes that are not a statement of this vault and instance under this key: what a member of another
    ///   account wrote, say. It means nothing, and nothing follows from it.
    package static func open(
        _ bytes: [UInt8], key: HeadsKey, vaultID: VaultID, instance: UniqueID
    ) -> [SeenHead]? {
        guard let content = openContent(bytes, key: key, vaultID: vaultID, instance: instance) else { return nil }
        return try? withCBORDecoder(content) { (decoder) throws(CBORError) in try read(&decoder) }
    }

    /// What `seal(content:)` sealed; nil for bytes that are no statement of this vault and instance under this key.
    package static func openContent(
        _ bytes: [UInt8], key: HeadsKey, vaultID: VaultID, instance: UniqueID
    ) -> [UInt8]? {
        let opened = try? unsafe Envelope.open(
            bytes, key: key, context: .headsSeal, associatedData: vaultID.bytes + instance.bytes, fill: .none
        ) { message in unsafe [UInt8](message) }
        guard let message = opened, !message.isEmpty, message.count % stepByteCount == 0,
            let stated = UInt32(bigEndianBytes: Array(message.prefix(lengthByteCount))),
            case let end = lengthByteCount + Int(stated), end <= message.count, message.count - end < stepByteCount,
            message[end...].allSatisfy({ $0 == 0 })
        else { return nil }
        return Array(message[lengthByteCount..<end])
    }

    private static func read(_ decoder: inout CBORDecoder) throws(CBORError) -> [SeenHead] {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        try decoder.readArrayHeader(count: 2)
        guard try decoder.readUnsigned() == 1 else { throw malformed }
        let count = try decoder.readArrayHeader()
        guard (1...headCountMax).contains(count) else { throw malformed }
        var heads: [SeenHead] = []
        for _ in 0..<count {
            let head = try decoder.readSeen()
            if let last = heads.last, !last.vaultID.bytes.lexicographicallyPrecedes(head.vaultID.bytes) {
                throw malformed
            }
            heads.append(head)
        }
        return heads
    }
}

/// Has something to say in commits of one vault, for the person's own devices.
package protocol CommitStatementSource: AnyObject {
    /// The sealed statement for a commit that is about to be written; nil if there is nothing new to say, or it cannot be
    /// found out: a commit never fails for it.
    func next() -> [UInt8]?
    /// The commit with what `next` gave last is durable.
    func written()
}

/// A statement in a commit from elsewhere that counts.
package struct CommitStatement: Equatable, Sendable {
    package let deviceID: [UInt8]
    package let instance: UniqueID
    /// Sealed: key 11 of the commit.
    package let bytes: [UInt8]
}

extension CBOREncoder {
    /// [vault id, head, [instance, sequence], chain position].
    package mutating func encode(seen: SeenHead) {
        encodeArrayHeader(count: 4)
        encode(bytes: seen.vaultID.bytes)
        encode(bytes: seen.head.bytes)
        encodeArrayHeader(count: 2)
        encode(bytes: seen.dot.instance.bytes)
        encode(unsigned: seen.dot.sequence)
        encode(unsigned: seen.chainPosition)
    }
}

extension CBORDecoder {
    package mutating func readSeen() throws(CBORError) -> SeenHead {
        let malformed = CBORError(.unexpectedItem, byteOffset: byteOffset)
        try readArrayHeader(count: 4)
        guard let vaultID = VaultID(try readBytes(count: VaultID.byteCount)) else { throw malformed }
        let head = try readName()
        try readArrayHeader(count: 2)
        guard let instance = UniqueID(bytes: try readBytes(count: UniqueID.byteCount)) else { throw malformed }
        let sequence = try readUnsigned()
        guard sequence > 0 else { throw malformed }
        return SeenHead(
            vaultID: vaultID, head: head, dot: Dot(instance: instance, sequence: sequence),
            chainPosition: try readUnsigned())
    }
}
