// Items as the plain list that `ItemListImporter` reads. Invariant: what is written here reads back as the same item.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage

/// Makes JSON of items.
enum ItemListWriter {
    /// The name of the list beside exported notes.
    static let fileName = "coffret-items.json"

    /// A whole list.
    static func list(_ items: [JSONValue]) -> JSONValue {
        .object([
            JSONValue.Member("format", .string(ItemListImporter.format)),
            JSONValue.Member("version", .integer(ItemListImporter.version)),
            JSONValue.Member("items", .array(items)),
        ])
    }

    /// One item, with its secrets in clear.
    ///
    /// - Parameter attachments: where its files lie, relative to the list.
    static func value(of item: Item, attachments: [String]) -> JSONValue {
        var members = [
            JSONValue.Member("id", .string(item.id.uuid.hex)), JSONValue.Member("kind", .string(item.kind.name)),
            JSONValue.Member("title", .string(item.title)),
        ]
        func add(_ name: String, _ value: JSONValue, if condition: Bool = true) {
            if condition { members.append(JSONValue.Member(name, value)) }
        }
        add("tags", .array(item.givenTags.map { .string($0.path) }), if: !item.givenTags.isEmpty)
        add("created", .string(CivilTime.format(item.created)))
        add("modified", .string(CivilTime.format(item.modified)))
        for flag in Flag.allCases { add(flag.rawValue, .bool(true), if: item.flags[flag]) }
        // Sealed contents are in the history, as they are.
        add("locked", .bool(true), if: item.isSealed)
        add("notes", .string(item.text), if: !item.text.isEmpty)
        add("fields", .array(item.fields.map { field(of: $0, in: item.kind) }), if: !item.fields.isEmpty)
        add("attachments", .array(attachments.map { .string($0) }), if: !attachments.isEmpty)
        return .object(members)
    }

    static func field(of field: ItemField, in kind: ItemKind) -> JSONValue {
        // A standard field goes by its stable name and needs no kind.
        if ItemField(standard: field.key.name, of: kind, value: field.value)?.kind == field.kind {
            return .object([
                JSONValue.Member("name", .string(field.key.name)), JSONValue.Member("value", .string(field.value)),
            ])
        }
        return .object([
            JSONValue.Member("name", .string(field.label)), JSONValue.Member("kind", .string(field.kind.rawValue)),
            JSONValue.Member("value", .string(field.value)),
        ])
    }
}
