// Entries as bytes, and what is signed of them. The one thing to keep true: the signature covers the changes by their
// digest alone, so that it still verifies when they are gone (E10).

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretStorage

/// The bytes of a body, with the places of those pairs that a bare form lacks or has.
///
/// digest  = BLAKE2b-256("coffret/changes/1" ‖ map of the pairs 7, 8, 13)
/// message = BLAKE2b-256("coffret/entry/1" ‖ digest ‖ map of the other pairs, without 14)
/// Spec: Spec/history.md section 3.
struct EntryEncoding {
    /// A map whose keys ascend: 1 to 6, then 7 or 8, then 9 to 12, then 13, or 14 in a bare form.
    var bytes: [UInt8]
    var pairCount: Int
    /// The pair of key 7 or 8, and that of key 13; empty if there is none.
    var changes = 0..<0
    var salt = 0..<0
    /// The pair of key 14.
    var stated = 0..<0

    private static let changesPrefix = Array("coffret/changes/1".utf8)
    private static let entryPrefix = Array("coffret/entry/1".utf8)
    /// Maps of up to 14 pairs begin with one byte.
    private static let mapHeaders: [[UInt8]] = (0...14).map { [0xA0 | UInt8($0)] }

    /// Of the changes, or as a bare form states it.
    var digest: [UInt8] {
        if !stated.isEmpty { return Array(bytes[stated].suffix(32)) }
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Self.changesPrefix)
        hasher.update(Self.mapHeaders[(changes.isEmpty ? 0 : 1) + (salt.isEmpty ? 0 : 1)])
        hasher.update(bytes, changes)
        hasher.update(bytes, salt)
        return hasher.finish()
    }

    /// What the author signs: 32 bytes, the same for an entry and its bare form.
    var message: [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Self.entryPrefix)
        hasher.update(digest)
        hasher.update(Self.mapHeaders[keptPairCount])
        for range in kept { hasher.update(bytes, range) }
        return hasher.finish()
    }

    /// The body of the bare form.
    var bareBody: [UInt8] {
        var body = Self.mapHeaders[keptPairCount + 1]
        for range in kept { body += bytes[range] }
        // Key 14: 32 bytes.
        return body + [0x0E, 0x58, 0x20] + digest
    }

    private var keptPairCount: Int { pairCount - [changes, salt, stated].count { !$0.isEmpty } }

    /// Where the pairs lie that stay when the changes go.
    private var kept: [Range<Int>] {
        let end = [salt, stated].first { !$0.isEmpty }?.lowerBound ?? bytes.count
        return changes.isEmpty ? [1..<end] : [1..<changes.lowerBound, changes.upperBound..<end]
    }
}

extension BLAKE2bHasher {
    fileprivate mutating func update(_ bytes: [UInt8], _ range: Range<Int>) {
        if !range.isEmpty { unsafe update(bytes.span.extracting(range).bytes) }
    }
}

extension EntryBody {
    /// The body's bytes, of an entry of `own`.
    ///
    /// - Complexity: one array, and the sets that replaced facts of other instances need.
    func encode(own: InstanceID) -> EntryEncoding {
        let others = replacedInstances(own: own)
        let pairs = [
            before != nil, !seen.isEmpty, statement != nil, !others.isEmpty, rewrites != nil, keyLogNote != nil,
        ]
        var encoding = EntryEncoding(bytes: [], pairCount: 4 + pairs.count { $0 } + changes.pairCount)
        encoding.bytes = CBOREncoder.encode(reservingByteCount: 384) { encoder in
            encodeBeginning(pairCount: encoding.pairCount, to: &encoder)
            let start = encoder.bytes.count
            switch changes {
            case .none, .gone:
                break
            case .list(let list, _):
                encoder.encode(unsigned: 7)
                ChangeCodec(own: own, others: others).encode(list, to: &encoder)
                encoding.changes = start..<encoder.bytes.count
            case .tree(let root, _):
                encoder.encode(unsigned: 8)
                encoder.encode(name: root)
                encoding.changes = start..<encoder.bytes.count
            }
            encodeMiddle(others: others, to: &encoder)
            let end = encoder.bytes.count
            switch changes {
            case .none:
                break
            case .list(_, let salt), .tree(_, let salt):
                encoder.encode(unsigned: 13)
                encoder.encode(bytes: salt)
                encoding.salt = end..<encoder.bytes.count
            case .gone(let digest, _):
                encoder.encode(unsigned: 14)
                encoder.encode(bytes32: digest)
                encoding.stated = end..<encoder.bytes.count
            }
        }
        return encoding
    }

    /// Key 10: other instances whose facts the changes replace, or replaced.
    func replacedInstances(own: InstanceID) -> [InstanceID] {
        switch changes {
        case .none, .tree: []
        case .list(let changes, _): ChangeCodec.others(changes, own: own)
        case .gone(_, let instances): instances
        }
    }

    /// Keys 1 to 6.
    private func encodeBeginning(pairCount: Int, to encoder: inout CBOREncoder) {
        encoder.encodeMapHeader(count: pairCount)
        encoder.encode(unsigned: 1)
        encoder.encode(name: context)
        encoder.encode(unsigned: 2)
        encoder.encode(unsigned: number)
        if let before {
            encoder.encode(unsigned: 3)
            encoder.encode(name: before)
        }
        encoder.encode(unsigned: 4)
        encoder.encode(unsigned: height)
        encoder.encode(unsigned: 5)
        encoder.encode(signed: time)
        if !seen.isEmpty {
            encoder.encode(unsigned: 6)
            encoder.encode(frontier: seen)
        }
    }

    /// Keys 9 to 12.
    private func encodeMiddle(others: [InstanceID], to encoder: inout CBOREncoder) {
        if let statement {
            encoder.encode(unsigned: 9)
            encoder.encode(bytes: statement)
        }
        if !others.isEmpty {
            encoder.encode(unsigned: 10)
            encoder.encodeArrayHeader(count: others.count)
            for instance in others { encoder.encode(id: instance) }
        }
        if let rewrites {
            encoder.encode(unsigned: 11)
            encoder.encode(dot: rewrites)
        }
        if let keyLogNote {
            encoder.encode(unsigned: 12)
            encoder.encode(bytes: keyLogNote)
        }
    }
}

extension EntryChanges {
    fileprivate var pairCount: Int {
        switch self {
        case .none: 0
        case .list, .tree: 2
        case .gone: 1
        }
    }
}
