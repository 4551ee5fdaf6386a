// Changes as commits carry them. The one thing to keep true: every device makes the same facts of them,
// down to the names of blobs that are not written yet.

internal import CoffretBase

/// What a commit says stands under a key from then on.
package enum CommittedContent: Hashable, Sendable {
    /// The key is retracted.
    case retraction
    /// Up to 512 bytes, which will lie in the tree.
    case inline([UInt8])
    /// 513 to 4,096 bytes, with the 16 random bytes that their blob will begin with.
    case salted(salt: [UInt8], bytes: [UInt8])
    /// More than 512 bytes, in blobs that were stored with the commit or before.
    case stored(StoredValue)

    /// Content of the blob that a checkpoint stores, if the commit carries it.
    var unstoredBlob: [UInt8]? {
        guard case .salted(let salt, let bytes) = self else { return nil }
        return ValueCodec.encode(salt: salt, bytes: bytes[...])
    }
}

/// One change of one key. Merges may put several facts under one key; then several changes of the
/// commit name it, and together they are what stands there.
package struct CommitChange: Equatable, Sendable {
    package let key: FactKey
    package let content: CommittedContent
    /// Whose fact it is; nil for the commit's own dot, which all but merges use.
    package let dot: Dot?

    package init(key: FactKey, content: CommittedContent, dot: Dot? = nil) {
        self.key = key
        self.content = content
        self.dot = dot
    }

    var isRetraction: Bool {
        if case .retraction = content { true } else { false }
    }

    /// The fact that the change makes in a commit with `ownDot`.
    func fact(ownDot: Dot) -> Fact {
        let factContent: FactContent =
            switch content {
            case .retraction: .retraction
            case .inline(let bytes): .inline(bytes)
            case .stored(let value): .stored(value)
            case .salted(let salt, let bytes):
                .stored(
                    StoredValue(
                        name: BlobName.derive(
                            type: .value, content: ValueCodec.encode(salt: salt, bytes: bytes[...]).span),
                        byteCount: bytes.count))
            }
        return Fact(key: key, content: factContent, dot: dot ?? ownDot)
    }
}

/// The list of changes inside a commit (Spec/commit.md section 4).
///
/// changes = [+ entity group], ascending by key.
/// entity group = [entity (17 bytes), + change].
/// change = [attribute text, content, ? element (0 or 16 bytes), ? dot].
/// content = null | bytes (inline) | [salt, bytes] | [byte count, name].
/// The element is absent if empty and no dot follows; dot = [instance, sequence], absent for the
/// commit's own.
enum CommitChangeCodec {
    static func encode(_ changes: [CommitChange], to encoder: inout CBOREncoder) {
        var groups: [Range<Int>] = []
        for index in changes.indices {
            if let last = groups.last, changes[last.lowerBound].key.sharesEntity(with: changes[index].key) {
                groups[groups.count - 1] = last.lowerBound..<index + 1
            } else {
                groups.append(index..<index + 1)
            }
        }
        encoder.encodeArrayHeader(count: groups.count)
        for group in groups {
            encoder.encodeArrayHeader(count: 1 + group.count)
            encoder.encode(bytes: changes[group.lowerBound].key.bytes[..<EntityID.byteCount])
            for change in changes[group] { encode(change, to: &encoder) }
        }
    }

    private static func encode(_ change: CommitChange, to encoder: inout CBOREncoder) {
        let element = change.key.element
        encoder.encodeArrayHeader(count: change.dot != nil ? 4 : element.isEmpty ? 2 : 3)
        encoder.encode(text: change.key.attribute.name)
        switch change.content {
        case .retraction:
            encoder.encodeNull()
        case .inline(let bytes):
            encoder.encode(bytes: bytes)
        case .salted(let salt, let bytes):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: salt)
            encoder.encode(bytes: bytes)
        case .stored(let value):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: UInt64(value.byteCount))
            encoder.encode(bytes: value.name.bytes)
        }
        if change.dot != nil || !element.isEmpty { encoder.encode(bytes: element) }
        if let dot = change.dot {
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: dot.instance.bytes)
            encoder.encode(unsigned: dot.sequence)
        }
    }

    /// Decodes a list that holds at least one change, ascending by (key, dot).
    static func decode(from decoder: inout CBORDecoder) throws(CBORError) -> [CommitChange] {
        var changes: [CommitChange] = []
        let groupCount = try decoder.readArrayHeader()
        for _ in 0..<groupCount {
            let start = decoder.byteOffset
            let itemCount = try decoder.readArrayHeader()
            guard itemCount > 1 else { throw CBORError(.unexpectedItem, byteOffset: start) }
            let entity = try decoder.readBytes(count: EntityID.byteCount)
            if let last = changes.last, last.key.bytes.starts(with: entity) {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            for _ in 1..<itemCount {
                let change = try decodeChange(entity: entity, from: &decoder)
                if let last = changes.last, !isAscending(last, change) {
                    throw CBORError(.keysNotSorted, byteOffset: start)
                }
                changes.append(change)
            }
        }
        guard !changes.isEmpty else { throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset) }
        return changes
    }

    /// Ascending keys; facts under one key have dots of their own and none is a retraction.
    static func isAscending(_ left: CommitChange, _ right: CommitChange) -> Bool {
        let order = left.key.compare(to: right.key)
        if order != 0 { return order < 0 }
        guard let leftDot = left.dot, let rightDot = right.dot else { return false }
        return left.content != .retraction && right.content != .retraction && leftDot < rightDot
    }

    private static func decodeChange(
        entity: [UInt8], from decoder: inout CBORDecoder
    ) throws(CBORError) -> CommitChange {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard 2...4 ~= count else { throw CBORError(.unexpectedItem, byteOffset: start) }
        let attribute = try decoder.readText(byteCountMax: Attribute.byteCountMax)
        let content = try decodeContent(from: &decoder)
        let element = count > 2 ? try decoder.readBytes(countMax: FactKey.elementByteCount) : []
        guard let key = FactKey(encoded: entity + Array(attribute.utf8) + [0] + element),
            count != 3 || !element.isEmpty
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var dot: Dot?
        if count == 4 {
            try decoder.readArrayHeader(count: 2)
            let instance = try decoder.readBytes(count: UniqueID.byteCount)
            let sequence = try decoder.readUnsigned()
            guard sequence > 0, content != .retraction, let instance = UniqueID(bytes: instance) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            dot = Dot(instance: instance, sequence: sequence)
        }
        return CommitChange(key: key, content: content, dot: dot)
    }

    private static func decodeContent(from decoder: inout CBORDecoder) throws(CBORError) -> CommittedContent {
        let start = decoder.byteOffset
        if decoder.isNextNull {
            try decoder.readNull()
            return .retraction
        }
        if try decoder.peekMajorType() == .bytes {
            return .inline(try decoder.readBytes(countMax: FactLimits.inlineValueByteCountMax))
        }
        try decoder.readArrayHeader(count: 2)
        if try decoder.peekMajorType() == .bytes {
            let salt = try decoder.readBytes(count: FactLimits.saltByteCount)
            let bytes = try decoder.readBytes(countMax: FactLimits.commitValueByteCountMax)
            guard bytes.count > FactLimits.inlineValueByteCountMax else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return .salted(salt: salt, bytes: bytes)
        }
        let byteCount = try decoder.readUnsigned(as: Int.self, max: FactLimits.valueByteCountMax)
        guard byteCount > FactLimits.inlineValueByteCountMax,
            let name = BlobName(bytes: try decoder.readBytes(count: 32))
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return .stored(StoredValue(name: name, byteCount: byteCount))
    }
}
