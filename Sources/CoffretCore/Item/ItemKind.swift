// The kinds of entities in a vault and the fields that each kind of item is born with. Letters and names are
// part of the format (Spec/items.md) and are never given a second meaning.

package import CoffretStorage

/// The kind of an item. The raw value is the first byte of its entity id.
package enum ItemKind: UInt8, Sendable, CaseIterable {
    case note = 0x4E  // N
    case login = 0x4C  // L
    case card = 0x43  // C
    case identity = 0x49  // I
    case sshKey = 0x53  // S
    case apiToken = 0x54  // T
    case custom = 0x58  // X

    /// The name that people and scripts use.
    package var name: String {
        switch self {
        case .note: "note"
        case .login: "login"
        case .card: "card"
        case .identity: "identity"
        case .sshKey: "ssh-key"
        case .apiToken: "api-token"
        case .custom: "custom"
        }
    }

    /// The kind of that name; nil for another text.
    package init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }

    /// The kind of an entity; nil for entities that are no items.
    package init?(_ entity: EntityID) {
        self.init(rawValue: entity.kind)
    }

    /// The fields that items of this kind usually have, in the order in which they are shown.
    package var standardFields: [StandardField] {
        switch self {
        case .note, .custom: []
        case .login:
            [
                StandardField("username", "Username", .text), StandardField("password", "Password", .secret),
                StandardField("url", "Website", .url), StandardField("totp", "One-time code", .oneTimeCode),
            ]
        case .card:
            [
                StandardField("cardholder", "Cardholder", .text), StandardField("number", "Number", .secret),
                StandardField("brand", "Brand", .text), StandardField("expiry", "Expires", .text),
                StandardField("code", "Security code", .secret), StandardField("pin", "PIN", .secret),
            ]
        case .identity:
            [
                StandardField("first-name", "First name", .text), StandardField("last-name", "Last name", .text),
                StandardField("email", "Email", .email), StandardField("phone", "Phone", .phone),
                StandardField("birthday", "Birthday", .date), StandardField("company", "Company", .text),
                StandardField("street", "Street", .text), StandardField("postcode", "Postcode", .text),
                StandardField("city", "City", .text), StandardField("country", "Country", .text),
            ]
        case .sshKey:
            [
                StandardField("private-key", "Private key", .secret), StandardField("public-key", "Public key", .text),
                StandardField("fingerprint", "Fingerprint", .text), StandardField("passphrase", "Passphrase", .secret),
            ]
        case .apiToken:
            [
                StandardField("token", "Token", .secret), StandardField("username", "Username", .text),
                StandardField("url", "Website", .url), StandardField("expires", "Expires", .date),
            ]
        }
    }
}

/// A field that a kind of item usually has.
package struct StandardField: Equatable, Sendable {
    /// The key under which it is stored.
    package let key: FieldKey
    /// The name for people.
    package let label: String
    /// The kind of its value.
    package let kind: FieldKind

    init(_ key: String, _ label: String, _ kind: FieldKind) {
        self.key = FieldKey(standard: key)
        self.label = label
        self.kind = kind
    }
}

/// Entities of a vault that are no items.
package enum EntityKind {
    /// A file that belongs to an item.
    package static let attachment: UInt8 = 0x41  // A
    /// Properties of a tag beyond its path; reserved.
    package static let tag: UInt8 = 0x47  // G
    /// Where an import found an item and what it read there.
    package static let importRecord: UInt8 = 0x4D  // M
    /// The record of a note passphrase.
    package static let passwordRecord: UInt8 = 0x50  // P
    /// Settings of the vault; reserved.
    package static let vaultSettings: UInt8 = 0x56  // V
}
