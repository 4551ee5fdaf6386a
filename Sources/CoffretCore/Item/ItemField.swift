// Fields of items. Invariant: a field whose kind this version does not know is treated as a secret, so that a newer
// program's secrets are never printed or indexed by an older one.

package import CoffretBase

/// The kind of a field's value: decides how it is shown, whether it is masked and whether it is searchable.
package struct FieldKind: RawRepresentable, Hashable, Sendable {
    /// The name in the format and for scripts.
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let text = FieldKind(rawValue: "text")
    package static let secret = FieldKind(rawValue: "secret")
    package static let url = FieldKind(rawValue: "url")
    package static let email = FieldKind(rawValue: "email")
    package static let phone = FieldKind(rawValue: "phone")
    /// A calendar date as `2026-05-03`, or whatever the person wrote.
    package static let date = FieldKind(rawValue: "date")
    /// An `otpauth` address or a bare base32 secret.
    package static let oneTimeCode = FieldKind(rawValue: "totp")
    /// A passkey, as JSON of the program that made it.
    package static let passkey = FieldKind(rawValue: "passkey")

    /// The kinds that this version knows.
    package static let known: [FieldKind] = [.text, .secret, .url, .email, .phone, .date, .oneTimeCode, .passkey]

    /// Whether values are masked on screens and kept out of the search index.
    package var isSecret: Bool {
        self == .secret || self == .oneTimeCode || self == .passkey || !Self.known.contains(self)
    }
}

/// The name under which a field is stored: that of a standard field, or one made at random.
package struct FieldKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The longest name, in bytes: an attribute's 64 less the prefix `field/`.
    package static let byteCountMax = 58

    /// Lower-case letters, digits and hyphens.
    package let name: String

    /// Reads a key; nil if it is empty, too long or has other characters.
    package init?(_ name: String) {
        let isValid = name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        guard isValid, !name.isEmpty, name.utf8.count <= Self.byteCountMax else { return nil }
        self.name = name
    }

    init(standard name: String) { self.name = name }

    /// A key for a field that people add: `x-` and sixteen random hex digits.
    package static func generate(from random: any RandomSource) -> FieldKey {
        FieldKey(standard: "x-" + Hex.encode(random.bytes(count: 8)))
    }

    package var description: String { name }

    package static func < (left: FieldKey, right: FieldKey) -> Bool { left.name < right.name }
}

/// One field of an item.
package struct ItemField: Equatable, Sendable {
    /// The longest label, in UTF-8 bytes.
    package static let labelByteCountMax = 256
    /// The longest value, in UTF-8 bytes.
    package static let valueByteCountMax = 1 << 20

    /// Under what it is stored; stays the same when label or value change.
    package var key: FieldKey
    /// The name for people.
    package var label: String
    /// The kind of its value.
    package var kind: FieldKind
    /// The value.
    package var value: String
    /// Where it stands among the fields that are not standard ones.
    package var position: UInt32

    package init(key: FieldKey, label: String, kind: FieldKind, value: String, position: UInt32 = 0) {
        self.key = key
        self.label = label
        self.kind = kind
        self.value = value
        self.position = position
    }

    /// A value for a field that the kind of item usually has; nil if it has none of that name.
    package init?(standard name: String, of kind: ItemKind, value: String) {
        guard let standard = kind.standardFields.first(where: { $0.key.name == name }) else { return nil }
        self.init(key: standard.key, label: standard.label, kind: standard.kind, value: value)
    }

    /// Whether the field is one that its item's kind usually has, under its usual label.
    func isStandard(in kind: ItemKind) -> Bool {
        kind.standardFields.contains { $0.key == key && $0.label == label } && position == 0
    }

    /// Checks what the format demands.
    ///
    /// - Throws: `CoreError.fieldInvalid` for an empty or too long label, a kind that is no short ASCII name, and a
    ///   value that is too long.
    func validate() throws {
        let isNamed = !label.isEmpty && label.utf8.count <= Self.labelByteCountMax
        guard isNamed, !label.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CoreError(.fieldInvalid, at: "label of \(key)")
        }
        guard FieldKey(kind.rawValue) != nil else { throw CoreError(.fieldInvalid, at: "kind of \(key)") }
        guard value.utf8.count <= Self.valueByteCountMax else { throw CoreError(.fieldInvalid, at: "value of \(key)") }
    }
}
