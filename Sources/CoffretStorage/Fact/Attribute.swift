// What a fact says about its entity. The one thing to keep true: no attribute contains a zero byte,
// which ends it inside a key.

/// The name of an attribute: 1 to 64 bytes of printable ASCII (0x20 to 0x7E).
package struct Attribute: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let byteCountMax = 64

    package let name: String

    /// Checks a name that comes from outside; nil if it is empty, too long or not printable ASCII.
    package init?(_ name: String) {
        guard Self.isValid(name.utf8) else { return nil }
        self.name = name
    }

    static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        1...byteCountMax ~= bytes.count && bytes.allSatisfy { 0x20...0x7E ~= $0 }
    }

    package var description: String { name }

    package static func < (left: Attribute, right: Attribute) -> Bool {
        left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }
}

extension Attribute: ExpressibleByStringLiteral {
    /// An attribute that the program itself names; a wrong literal is our own bug.
    package init(stringLiteral name: StaticString) {
        guard let attribute = Attribute("\(name)") else { preconditionFailure("not an attribute's name") }
        self = attribute
    }
}
