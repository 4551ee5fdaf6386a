// Changes as entries carry them. The one thing to keep true: a list of changes has one encoding; whatever else bytes say
// is refused before it is believed.

internal import CoffretBase
internal import CoffretStorage

/// Key 7 of an entry.
///
/// changes = [+ [entity (17), + change]], ascending by key; change = [attribute, content, ? element, ? replaces].
/// content = null | bytes (1..512) | [salt (16), bytes (513..4096)] | [byte count, name].
/// replaces = [+ ref]: own numbers ascending, then [index into key 10, number] ascending.
/// Spec: Spec/history.md section 3.
struct ChangeCodec {
    /// Whose entry it is: its own facts are named by number alone.
    let own: InstanceID
    /// Key 10: other instances whose facts are replaced; ascending.
    let others: [InstanceID]

    // MARK: Writing

    /// The other instances whose facts the changes replace, ascending.
    static func others(_ changes: [Change], own: InstanceID) -> [InstanceID] {
        var found: Set<InstanceID> = []
        for change in changes {
            for dot in change.replaces where dot.instance != own { found.insert(dot.instance) }
        }
        return found.isEmpty ? [] : found.sorted()
    }

    func encode(_ changes: [Change], to encoder: inout CBOREncoder) {
        var groups = changes.isEmpty ? 0 : 1
        for index in changes.indices.dropFirst() where !changes[index - 1].key.sharesEntity(with: changes[index].key) {
            groups += 1
        }
        encoder.encodeArrayHeader(count: groups)
        var start = 0
        while start < changes.count {
            var end = start + 1
            while end < changes.count, changes[start].key.sharesEntity(with: changes[end].key) { end += 1 }
            encoder.encodeArrayHeader(count: 1 + end - start)
            encoder.encode(bytes: changes[start].key.bytes[..<EntityID.byteCount])
            for index in start..<end {
                precondition(index == 0 || changes[index - 1].key < changes[index].key, "changes ascend by key")
                encode(changes[index], to: &encoder)
            }
            start = end
        }
    }

    private func encode(_ change: Change, to encoder: inout CBOREncoder) {
        let element = change.key.elementBytes
        let replaces = !change.replaces.isEmpty
        encoder.encodeArrayHeader(count: replaces ? 4 : element.isEmpty ? 2 : 3)
        encoder.encode(textBytes: change.key.attributeBytes)
        switch change.content {
        case .retraction:
            precondition(replaces, "a retraction says what goes")
            encoder.encodeNull()
        case .inPlace(let bytes):
            encoder.encode(bytes: bytes)
        case .salted(let salt, let bytes):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: salt)
            encoder.encode(bytes: bytes)
        case .inBlobs(let value):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: UInt64(value.byteCount))
            encoder.encode(name: value.name)
        }
        if replaces || !element.isEmpty { encoder.encode(bytes: element) }
        if replaces { encode(references: change.replaces, to: &encoder) }
    }

    private func encode(references: [Dot], to encoder: inout CBOREncoder) {
        var ordered = references
        if !zip(references, references.dropFirst()).allSatisfy({ isAscending($0, $1) }) {
            ordered.sort(by: isAscending)
            precondition(zip(ordered, ordered.dropFirst()).allSatisfy(isAscending), "a dot is replaced once")
        }
        encoder.encodeArrayHeader(count: ordered.count)
        for dot in ordered {
            if dot.instance == own {
                encoder.encode(unsigned: dot.number)
            } else {
                let index = partitionPoint(others.count) { others[$0] < dot.instance }
                precondition(index < others.count && others[index] == dot.instance, "key 10 has every other instance")
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: UInt64(index))
                encoder.encode(unsigned: dot.number)
            }
        }
    }

    /// Own numbers first, then by (instance, number); never equal ones.
    private func isAscending(_ left: Dot, _ right: Dot) -> Bool {
        if left.instance == right.instance { return left.number < right.number }
        if left.instance == own { return true }
        return right.instance != own && left.instance < right.instance
    }

    // MARK: Reading

    /// Reads 1 to 512 changes of the entry with `number`; each instance of `others` must be used.
    func decode(number: EntryNumber, from decoder: inout CBORDecoder) throws(CBORError) -> [Change] {
        let start = decoder.byteOffset
        let groupCount = try decoder.readArrayHeader()
        guard 1...HistoryLimits.changeCountMax ~= groupCount else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        var changes: [Change] = []
        changes.reserveCapacity(groupCount)
        var isUsed = [Bool](repeating: false, count: others.count)
        for _ in 0..<groupCount {
            let start = decoder.byteOffset
            let itemCount = try decoder.readArrayHeader()
            let entity = try decoder.readByteRange()
            guard itemCount > 1, entity.count == EntityID.byteCount,
                changes.count + itemCount - 1 <= HistoryLimits.changeCountMax
            else { throw CBORError(.unexpectedItem, byteOffset: start) }
            let first = changes.count
            for _ in 1..<itemCount {
                let change = try decodeChange(entity: entity, number: number, &isUsed, from: &decoder)
                if let last = changes.last, !(last.key < change.key) {
                    throw CBORError(.keysNotSorted, byteOffset: start)
                }
                changes.append(change)
            }
            guard first == 0 || !changes[first - 1].key.sharesEntity(with: changes[first].key) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
        }
        guard isUsed.allSatisfy(\.self) else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return changes
    }

    private func decodeChange(
        entity: Range<Int>, number: EntryNumber, _ isUsed: inout [Bool], from decoder: inout CBORDecoder
    ) throws(CBORError) -> Change {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard 2...4 ~= count else { throw CBORError(.unexpectedItem, byteOffset: start) }
        let attribute = try decoder.readUncheckedTextRange()
        guard attribute.count <= Attribute.byteCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        let content = try decodeContent(from: &decoder)
        let element = count > 2 ? try decoder.readByteRange() : 0..<0
        guard element.count <= FactKey.elementByteCount else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entity.count + attribute.count + 1 + element.count)
        for range in [entity, attribute] {
            unsafe decoder.withUnsafeBytes(in: range) { part in unsafe bytes.append(contentsOf: part) }
        }
        bytes.append(0)
        unsafe decoder.withUnsafeBytes(in: element) { part in unsafe bytes.append(contentsOf: part) }
        guard let key = FactKey(encoded: bytes), count != 3 || !element.isEmpty, count == 4 || content != .retraction
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var replaces: [Dot] = []
        if count == 4 { replaces = try decodeReferences(number: number, &isUsed, from: &decoder) }
        return Change(key: key, content: content, replaces: replaces)
    }

    private func decodeReferences(
        number: EntryNumber, _ isUsed: inout [Bool], from decoder: inout CBORDecoder
    ) throws(CBORError) -> [Dot] {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard 1...HistoryLimits.referenceCountMax ~= count else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        var dots: [Dot] = []
        dots.reserveCapacity(count)
        for _ in 0..<count {
            let dot: Dot
            if try decoder.peekMajorType() == .unsigned {
                dot = Dot(own, try decoder.readNumber())
                guard dot.number < number else { throw CBORError(.unexpectedItem, byteOffset: start) }
            } else {
                try decoder.readArrayHeader(count: 2)
                let index = try decoder.readUnsigned()
                guard index < UInt64(others.count) else { throw CBORError(.unexpectedItem, byteOffset: start) }
                dot = Dot(others[Int(index)], try decoder.readNumber())
                isUsed[Int(index)] = true
            }
            if let last = dots.last, !isAscending(last, dot) { throw CBORError(.keysNotSorted, byteOffset: start) }
            dots.append(dot)
        }
        return dots
    }

    private func decodeContent(from decoder: inout CBORDecoder) throws(CBORError) -> ChangeContent {
        let start = decoder.byteOffset
        if decoder.isNextNull {
            try decoder.readNull()
            return .retraction
        }
        let content: ChangeContent
        if try decoder.peekMajorType() == .bytes {
            content = .inPlace(try decoder.readBytes(countMax: FactLimits.inlineValueByteCountMax))
        } else {
            try decoder.readArrayHeader(count: 2)
            if try decoder.peekMajorType() == .bytes {
                let salt = try decoder.readBytes(count: FactLimits.saltByteCount)
                let bytes = try decoder.readBytes(countMax: FactLimits.commitValueByteCountMax)
                content = .salted(salt: salt, bytes: bytes)
            } else {
                let byteCount = try decoder.readUnsigned(as: Int.self, max: FactLimits.valueByteCountMax)
                content = .inBlobs(StoredValue(name: try decoder.readName(), byteCount: byteCount))
            }
        }
        guard content.isWellFormed else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return content
    }
}

extension ChangeContent {
    /// Whether the sizes are those of the form, and a value that lies here begins with a form of section 14.
    var isWellFormed: Bool {
        let inPlaceMax = FactLimits.inlineValueByteCountMax
        switch self {
        case .retraction:
            return true
        case .inPlace(let bytes):
            guard let form = bytes.first else { return false }
            return form <= ValueForm.greatest && bytes.count <= inPlaceMax
        case .salted(let salt, let bytes):
            guard let form = bytes.first else { return false }
            return form <= ValueForm.greatest && salt.count == FactLimits.saltByteCount
                && inPlaceMax + 1...FactLimits.commitValueByteCountMax ~= bytes.count
        case .inBlobs(let value):
            return inPlaceMax + 1...FactLimits.valueByteCountMax ~= value.byteCount
        }
    }
}
