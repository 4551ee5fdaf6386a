// The key under which a fact stands. The one thing to keep true: comparing encoded keys byte by byte
// is comparing (entity, attribute, element), on every device.

internal import CoffretBase

/// (entity, attribute, element) in its encoded, ordered form.
///
/// Layout: entity (17) ‖ attribute (1 to 64, printable ASCII) ‖ 00 ‖ element (0 or 16). An empty
/// element makes a register, which holds one value; 16 bytes name a member of a set. At most 98 bytes.
/// The zero ends the attribute below every character it may contain, so "ab" sorts behind "a".
///
/// Spec: Spec/fact.md section 2.
package struct FactKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let elementByteCount = 16
    package static let byteCountMax = EntityID.byteCount + Attribute.byteCountMax + 1 + elementByteCount
    package static let byteCountMin = EntityID.byteCount + 2

    /// The encoded key.
    package let bytes: [UInt8]

    /// - Parameter element: empty, or 16 bytes; anything else is our own bug.
    package init(entity: EntityID, attribute: Attribute, element: [UInt8] = []) {
        precondition(element.isEmpty || element.count == Self.elementByteCount, "an element has 16 bytes")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(EntityID.byteCount + attribute.name.utf8.count + 1 + element.count)
        bytes.append(contentsOf: entity.bytes)
        bytes.append(contentsOf: attribute.name.utf8)
        bytes.append(0)
        bytes.append(contentsOf: element)
        self.bytes = bytes
    }

    /// Checks an encoded key; nil if it is none.
    package init?(encoded bytes: [UInt8]) {
        guard Self.isValid(bytes.span) else { return nil }
        self.bytes = bytes
    }

    /// Whether the bytes are an encoded key.
    static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard byteCountMin...byteCountMax ~= bytes.count else { return false }
        var end = EntityID.byteCount
        while end < bytes.count, 0x20...0x7E ~= bytes[end] { end += 1 }
        guard end < bytes.count, bytes[end] == 0,
            1...Attribute.byteCountMax ~= end - EntityID.byteCount
        else { return false }
        let elementByteCount = bytes.count - end - 1
        return elementByteCount == 0 || elementByteCount == Self.elementByteCount
    }

    /// Takes over bytes that were checked before, or were a key's.
    init(wellFormed bytes: [UInt8]) { self.bytes = bytes }

    private var attributeEnd: Int {
        bytes[EntityID.byteCount...].firstIndex(of: 0) ?? bytes.count
    }

    package var entity: EntityID {
        guard let entity = EntityID(bytes: bytes[..<EntityID.byteCount]) else {
            preconditionFailure("a key begins with an entity")
        }
        return entity
    }

    /// The kind of the entity.
    var entityKind: UInt8 { bytes[0] }

    package var attribute: Attribute {
        let name = String(decoding: bytes[EntityID.byteCount..<attributeEnd], as: UTF8.self)
        guard let attribute = Attribute(name) else { preconditionFailure("a key names an attribute") }
        return attribute
    }

    /// The attribute's name, where it lies in the key.
    package var attributeBytes: ArraySlice<UInt8> { bytes[EntityID.byteCount..<attributeEnd] }

    /// The element, where it lies in the key.
    package var elementBytes: ArraySlice<UInt8> { bytes[(attributeEnd + 1)...] }

    /// Empty for a register, 16 bytes for a member of a set.
    package var element: [UInt8] { Array(bytes[(attributeEnd + 1)...]) }

    package var description: String {
        let element = element
        return "\(entity).\(attribute)" + (element.isEmpty ? "" : "[\(Hex.encode(element))]")
    }

    package static func < (left: FactKey, right: FactKey) -> Bool {
        left.compare(to: right) < 0
    }

    package static func == (left: FactKey, right: FactKey) -> Bool { left.bytes == right.bytes }

    /// All bytes at once: an array would hash them one by one.
    package func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
    }

    /// Negative, zero or positive, as the key sorts before, with or behind `other`.
    func compare(to other: FactKey) -> Int { bytes.span.compare(to: other.bytes.span) }

    /// Whether the key sorts before `bytes`, which may be a prefix of keys.
    func isBelow(_ bytes: [UInt8]) -> Bool { self.bytes.span.compare(to: bytes.span) < 0 }

    /// Whether both keys are of one entity.
    package func sharesEntity(with other: FactKey) -> Bool {
        bytes[..<EntityID.byteCount] == other.bytes[..<EntityID.byteCount]
    }

    func hasPrefix(_ prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
}
