// What a link accepts. The one thing to keep true: of each log a checkpoint names the newest entry that counts, by number
// and name, so that a reader believes no number without an entry.

package import CoffretBase
package import CoffretStorage

/// A log that a link ends, since two entries have one number (K6).
package struct LogEnd: Hashable, Sendable {
    package let lastCommonNumber: EntryNumber
    /// The two entries behind it.
    package let first: BlobName
    package let second: BlobName

    package init(lastCommonNumber: EntryNumber, first: BlobName, second: BlobName) {
        self.lastCommonNumber = lastCommonNumber
        self.first = first
        self.second = second
    }
}

/// The checkpoint of a member link, as it is written.
///
/// Layout, deterministic CBOR:
///
///     {1: base (link number) / null, 2: {* instance => [number, name]}, ? 3: root (name), 4: digest (32), 5: fact count,
///      ? 6: {+ instance => [last common number, name, name]}, ? 7: [+ entity (17)], ? 8: {+ instance => bare form (name)},
///      ? 9: [+ link number]}
///
/// Lists ascend. Spec: Spec/history.md section 8.
package struct Checkpoint: Equatable, Sendable {
    package static let changedInstanceCountMax = 1_024

    /// The link of the checkpoint with a root that the author built on; nil: none.
    package let base: UInt32?
    /// What the checkpoint accepts and its base's does not, or differently; at most 1,024 instances.
    package let accepted: Frontier
    /// The tree of facts at what is accepted; nil: the checkpoint is rootless.
    package let root: BlobName?
    package let digest: Bytes32
    package let factCount: UInt64
    /// Logs that this link ends.
    package let ends: [InstanceID: LogEnd]
    /// Entities that are deleted for good.
    package let purges: [EntityID]
    /// Bare forms of tips that went with them.
    package let bareTips: [InstanceID: BlobName]
    /// Links whose root the author found to be wrong.
    package let refutes: [UInt32]

    package init(
        base: UInt32?, accepted: Frontier, root: BlobName?, digest: Bytes32, factCount: UInt64,
        ends: [InstanceID: LogEnd] = [:], purges: [EntityID] = [], bareTips: [InstanceID: BlobName] = [:],
        refutes: [UInt32] = []
    ) {
        self.base = base
        self.accepted = accepted
        self.root = root
        self.digest = digest
        self.factCount = factCount
        self.ends = ends
        self.purges = purges
        self.bareTips = bareTips
        self.refutes = refutes
    }

    package var encoded: [UInt8] { CBOREncoder.encode { encode(to: &$0) } }

    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeMap { map in
            map.put(1) { encoder in
                if let base { encoder.encode(unsigned: UInt64(base)) } else { encoder.encodeNull() }
            }
            map.put(2) { encoder in
                let sorted = accepted.sorted
                encoder.encodeMapHeader(count: sorted.count)
                for (instance, mark) in sorted {
                    encoder.encode(bytes: instance.bytes)
                    encoder.encodeArrayHeader(count: 2)
                    encoder.encode(unsigned: mark.number)
                    encoder.encode(bytes: mark.name.bytes)
                }
            }
            if let root { map.put(3) { $0.encode(bytes: root.bytes) } }
            map.put(4) { $0.encode(bytes: digest.bytes) }
            map.put(5) { $0.encode(unsigned: factCount) }
            encodeRest(&map)
        }
    }

    private func encodeRest(_ map: inout CBORMapWriter) {
        if !ends.isEmpty {
            map.put(6) { encoder in
                encoder.encodeMapHeader(count: ends.count)
                for (instance, end) in ends.sorted(by: { $0.key < $1.key }) {
                    encoder.encode(bytes: instance.bytes)
                    encoder.encodeArrayHeader(count: 3)
                    encoder.encode(unsigned: end.lastCommonNumber)
                    encoder.encode(bytes: end.first.bytes)
                    encoder.encode(bytes: end.second.bytes)
                }
            }
        }
        if !purges.isEmpty {
            map.put(7) { encoder in
                encoder.encodeArrayHeader(count: purges.count)
                for entity in purges { encoder.encode(bytes: entity.bytes) }
            }
        }
        if !bareTips.isEmpty {
            map.put(8) { encoder in
                encoder.encodeMapHeader(count: bareTips.count)
                for (instance, name) in bareTips.sorted(by: { $0.key < $1.key }) {
                    encoder.encode(bytes: instance.bytes)
                    encoder.encode(bytes: name.bytes)
                }
            }
        }
        guard !refutes.isEmpty else { return }
        map.put(9) { encoder in
            encoder.encodeArrayHeader(count: refutes.count)
            for link in refutes { encoder.encode(unsigned: UInt64(link)) }
        }
    }

    /// Reads all of `bytes`; nil if they are no checkpoint.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try Checkpoint(from: &decoder) }
        guard let read else { return nil }
        self = read
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        var map = try decoder.readMapHeader()
        try decoder.expectKey(1, in: &map)
        var base: UInt32?
        if decoder.isNextNull { try decoder.readNull() } else { base = try decoder.readUnsigned(as: UInt32.self) }
        try decoder.expectKey(2, in: &map)
        let accepted = Frontier(
            try Self.readByInstance(&decoder, countMax: Self.changedInstanceCountMax, countMin: 0) {
                (decoder) throws(CBORError) in
                try decoder.readArrayHeader(count: 2)
                return EntryMark(number: try Self.readNumber(&decoder, min: 1), name: try Self.readName(&decoder))
            })
        var key = try decoder.readUnsignedKey(in: &map)
        var root: BlobName?
        if key == 3 {
            root = try Self.readName(&decoder)
            key = try decoder.readUnsignedKey(in: &map)
        }
        guard key == 4 else { throw CBORError(.unexpectedKey, byteOffset: decoder.byteOffset) }
        let digest = try Self.readName(&decoder).value
        try decoder.expectKey(5, in: &map)
        let factCount = try decoder.readUnsigned()
        let rest = try Self.readRest(&decoder, &map)
        self.init(
            base: base, accepted: accepted, root: root, digest: digest, factCount: factCount, ends: rest.ends,
            purges: rest.purges, bareTips: rest.bareTips, refutes: rest.refutes)
    }

    private struct Rest {
        var ends: [InstanceID: LogEnd] = [:]
        var purges: [EntityID] = []
        var bareTips: [InstanceID: BlobName] = [:]
        var refutes: [UInt32] = []
    }

    private static func readRest(
        _ decoder: inout CBORDecoder, _ map: inout CBORMapPosition
    ) throws(CBORError) -> Rest {
        var rest = Rest()
        while let key = try decoder.readUnsignedKey(in: &map) {
            let start = decoder.byteOffset
            switch key {
            case 6:
                rest.ends = try readByInstance(&decoder, countMax: 65_536) { (decoder) throws(CBORError) in
                    try decoder.readArrayHeader(count: 3)
                    return LogEnd(
                        lastCommonNumber: try readNumber(&decoder, min: 0), first: try readName(&decoder),
                        second: try readName(&decoder))
                }
            case 7:
                rest.purges = try readAscending(&decoder) { (decoder) throws(CBORError) in
                    guard let entity = EntityID(bytes: try decoder.readBytes(count: EntityID.byteCount)) else {
                        preconditionFailure("an entity has 17 bytes")
                    }
                    return entity
                }
            case 8:
                rest.bareTips = try readByInstance(&decoder, countMax: 65_536) { (decoder) throws(CBORError) in
                    try readName(&decoder)
                }
            case 9:
                rest.refutes = try readAscending(&decoder) { (decoder) throws(CBORError) in
                    try decoder.readUnsigned(as: UInt32.self)
                }
            default: throw CBORError(.unexpectedKey, byteOffset: start)
            }
        }
        return rest
    }

    private static func readByInstance<Value>(
        _ decoder: inout CBORDecoder, countMax: Int, countMin: Int = 1,
        _ read: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws(CBORError) -> [InstanceID: Value] {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        guard countMin...countMax ~= map.remaining else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var values: [InstanceID: Value] = [:]
        while let bytes = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: InstanceID.byteCount) })
        {
            guard let instance = InstanceID(bytes: bytes) else { preconditionFailure("an instance has 16 bytes") }
            values[instance] = try read(&decoder)
        }
        return values
    }

    /// One value or more, ascending.
    private static func readAscending<Value: Comparable>(
        _ decoder: inout CBORDecoder, _ read: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws(CBORError) -> [Value] {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard count > 0 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var values: [Value] = []
        for _ in 0..<count {
            let value = try read(&decoder)
            if let last = values.last, last >= value { throw CBORError(.unexpectedItem, byteOffset: start) }
            values.append(value)
        }
        return values
    }

    private static func readNumber(
        _ decoder: inout CBORDecoder, min: EntryNumber
    ) throws(CBORError) -> EntryNumber {
        let start = decoder.byteOffset
        let number = try decoder.readUnsigned()
        guard min...HistoryLimits.numberMax ~= number else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return number
    }

    private static func readName(_ decoder: inout CBORDecoder) throws(CBORError) -> BlobName {
        guard let name = BlobName(bytes: try decoder.readBytes(count: 32)) else {
            preconditionFailure("a name has 32 bytes")
        }
        return name
    }
}
