// What a device says in an entry of one vault about the others. The one thing to keep true: it opens in the vault and for
// the instance that it was sealed for, and nowhere else (E9).

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage

/// A frontier of another vault that a device has seen at its place on the server, or has put there.
package struct WitnessedHead: Hashable, Sendable {
    package let vaultID: VaultID
    /// The name of the frontier's blob.
    package let frontier: BlobName
    /// The newest entry of the greatest height that the author had applied there.
    package let newest: Dot
    package let newestName: BlobName
    /// The newest member link of that vault that the author had taken.
    package let memberLink: UInt64

    package init(vaultID: VaultID, frontier: BlobName, newest: Dot, newestName: BlobName, memberLink: UInt64) {
        self.vaultID = vaultID
        self.frontier = frontier
        self.newest = newest
        self.newestName = newestName
        self.memberLink = memberLink
    }
}

/// Key 9 of an entry, for the person's own devices: ENV(heads key, "heads/seal", vault id ‖ instance id, length (4) ‖ content ‖
/// zeros), the whole filled to a multiple of 512 bytes.
///
/// Content: CBOR [2, [1*8 [vault id, frontier (name), [instance, number, name], member link number]]], ascending by vault
/// id. Spec: Spec/history.md section 3.
package enum EntryStatement {
    package static let countMax = 8
    private static let version: UInt64 = 2
    /// The length shows how many there are in steps of this only.
    private static let stepByteCount = 512
    private static let lengthByteCount = 4

    /// - Parameters:
    ///   - heads: one to eight, of different vaults, in any order.
    ///   - vaultID: of the vault that the entry lies in.
    ///   - instance: of the entry.
    package static func seal(
        _ heads: [WitnessedHead], key: HeadsKey, vaultID: VaultID, instance: InstanceID, random: any RandomSource
    ) -> [UInt8] {
        let content = encode(heads)
        var message = UInt32(content.count).bigEndianBytes + content
        let remainder = message.count % stepByteCount
        if remainder > 0 { message += [UInt8](repeating: 0, count: stepByteCount - remainder) }
        return Envelope.seal(
            message, key: key, context: .headsSeal, associatedData: vaultID.bytes + instance.bytes, fill: .none,
            random: random)
    }

    /// - Returns: nil for bytes that are no statement of this vault and instance under this key, such as what a member of
    ///   another account wrote. It means nothing, and nothing follows from it.
    package static func open(
        _ bytes: [UInt8], key: HeadsKey, vaultID: VaultID, instance: InstanceID
    ) -> [WitnessedHead]? {
        let opened = try? unsafe Envelope.open(
            bytes, key: key, context: .headsSeal, associatedData: vaultID.bytes + instance.bytes, fill: .none
        ) { message in unsafe [UInt8](message) }
        guard let message = opened, !message.isEmpty, message.count % stepByteCount == 0,
            let stated = UInt32(bigEndianBytes: Array(message.prefix(lengthByteCount))),
            case let end = lengthByteCount + Int(stated), end <= message.count, message.count - end < stepByteCount,
            message[end...].allSatisfy({ $0 == 0 })
        else { return nil }
        return decode(Array(message[lengthByteCount..<end]))
    }

    package static func encode(_ heads: [WitnessedHead]) -> [UInt8] {
        precondition((1...countMax).contains(heads.count), "a statement has one to eight heads")
        return CBOREncoder.encode(reservingByteCount: 16 + 140 * heads.count) { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: version)
            encoder.encodeArrayHeader(count: heads.count)
            for head in heads.sorted(by: { $0.vaultID.bytes.lexicographicallyPrecedes($1.vaultID.bytes) }) {
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(bytes: head.vaultID.bytes)
                encoder.encode(name: head.frontier)
                encoder.encodeArrayHeader(count: 3)
                encoder.encode(id: head.newest.instance)
                encoder.encode(unsigned: head.newest.number)
                encoder.encode(name: head.newestName)
                encoder.encode(unsigned: head.memberLink)
            }
        }
    }

    package static func decode(_ content: [UInt8]) -> [WitnessedHead]? {
        try? withCBORDecoder(content) { (decoder) throws(CBORError) in
            let malformed = CBORError(.unexpectedItem, byteOffset: 0)
            try decoder.readArrayHeader(count: 2)
            guard try decoder.readUnsigned() == version else { throw malformed }
            let count = try decoder.readArrayHeader()
            guard (1...countMax).contains(count) else { throw malformed }
            var heads: [WitnessedHead] = []
            for _ in 0..<count {
                try decoder.readArrayHeader(count: 4)
                guard let vaultID = VaultID(try decoder.readBytes(count: VaultID.byteCount)) else { throw malformed }
                let frontier = try decoder.readName()
                try decoder.readArrayHeader(count: 3)
                let newest = Dot(try decoder.readID(), try decoder.readNumber())
                let newestName = try decoder.readName()
                let head = WitnessedHead(
                    vaultID: vaultID, frontier: frontier, newest: newest, newestName: newestName,
                    memberLink: try decoder.readUnsigned(as: UInt64.self, max: HistoryLimits.numberMax))
                if let last = heads.last, !last.vaultID.bytes.lexicographicallyPrecedes(head.vaultID.bytes) {
                    throw malformed
                }
                heads.append(head)
            }
            return heads
        }
    }
}
