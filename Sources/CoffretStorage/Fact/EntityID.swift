// Who a fact is about. The one thing to keep true: storage orders entities by their bytes and
// understands nothing else of them.

package import CoffretBase

/// An entity: one byte for its kind, then a UUID.
///
/// Layout: kind (1, an ASCII letter by convention of the layer above) ‖ UUID (16) = 17 bytes.
package struct EntityID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let byteCount = 17

    package let kind: UInt8
    package let uuid: UniqueID

    package init(kind: UInt8, uuid: UniqueID) {
        self.kind = kind
        self.uuid = uuid
    }

    /// Reads 17 bytes; nil for another number.
    package init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.byteCount, let kind = bytes.first, let uuid = UniqueID(bytes: bytes.dropFirst())
        else { return nil }
        self.init(kind: kind, uuid: uuid)
    }

    /// Reads 17 bytes; nil for another number.
    package init?(bytes: [UInt8]) { self.init(bytes: bytes[...]) }

    package var bytes: [UInt8] { [kind] + uuid.bytes }

    package var description: String {
        let isLetter = 0x21...0x7E ~= kind
        return (isLetter ? String(UnicodeScalar(kind)) : Hex.encode([kind])) + "/" + uuid.description
    }

    package static func < (left: EntityID, right: EntityID) -> Bool {
        left.kind != right.kind ? left.kind < right.kind : left.uuid < right.uuid
    }
}
