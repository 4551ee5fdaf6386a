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

    /// The kind of that name; nil for another text.
    package init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }

    /// The kind of an entity; nil for entities that are no items.
    package init?(_ entity: EntityID) {
        self.init(rawValue: entity.kind)
    }

    /// The name that scripts use.
    package var name: String { type.name }
    /// The word for one of them in a sentence, and for several.
    package var noun: String { type.noun }
    package var pluralNoun: String { type.pluralNoun ?? type.noun + "s" }
    /// The fields that items of this kind usually have, in the order in which they are shown.
    package var standardFields: [StandardField] { type.fields }

    /// "note, login … or custom".
    package static let namesText: String = {
        let names = allCases.map(\.name)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }()
}

/// A type of items, as data.
private struct ItemType {
    let name: String
    let noun: String
    var pluralNoun: String?
    var fields: [StandardField] = []
}

extension ItemKind {
    /// All that the program knows of a type stands here; Spec/items.md lists the letters.
    private var type: ItemType {
        switch self {
        case .note: ItemType(name: "note", noun: "note")
        case .login:
            ItemType(
                name: "login", noun: "login",
                fields: [
                    StandardField("username", "Username", .text), StandardField("password", "Password", .secret),
                    StandardField("url", "Website", .url), StandardField("totp", "One-time code", .oneTimeCode),
                ])
        case .card:
            ItemType(
                name: "card", noun: "card",
                fields: [
                    StandardField("cardholder", "Cardholder", .text), StandardField("number", "Number", .secret),
                    StandardField("brand", "Brand", .text), StandardField("expiry", "Expires", .text),
                    StandardField("code", "Security code", .secret), StandardField("pin", "PIN", .secret),
                ])
        case .identity:
            ItemType(
                name: "identity", noun: "identity", pluralNoun: "identities",
                fields: [
                    StandardField("first-name", "First name", .text), StandardField("last-name", "Last name", .text),
                    StandardField("email", "Email", .email), StandardField("phone", "Phone", .phone),
                    StandardField("birthday", "Birthday", .date), StandardField("company", "Company", .text),
                    StandardField("street", "Street", .text), StandardField("postcode", "Postcode", .text),
                    StandardField("city", "City", .text), StandardField("country", "Country", .text),
                ])
        case .sshKey:
            ItemType(
                name: "ssh-key", noun: "SSH key",
                fields: [
                    StandardField("private-key", "Private key", .secret),
                    StandardField("public-key", "Public key", .text),
                    StandardField("fingerprint", "Fingerprint", .text),
                    StandardField("passphrase", "Passphrase", .secret),
                ])
        case .apiToken:
            ItemType(
                name: "api-token", noun: "API token",
                fields: [
                    StandardField("token", "Token", .secret), StandardField("username", "Username", .text),
                    StandardField("url", "Website", .url), StandardField("expires", "Expires", .date),
                ])
        case .custom: ItemType(name: "custom", noun: "custom item")
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
    /// Somebody whom the account knows; in its account vault alone, as the next three are.
    package static let contact: UInt8 = 0x4B  // K
    /// The code of an invitation.
    package static let contactCode: UInt8 = 0x4A  // J
    /// What a former member of a vault has seen.
    package static let seen: UInt8 = 0x51  // Q
    /// A circle of recovery contacts.
    package static let circle: UInt8 = 0x52  // R
    /// Settings of the vault; one entity, of zeros.
    package static let vaultSettings: UInt8 = 0x56  // V
}
