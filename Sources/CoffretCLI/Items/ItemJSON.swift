// Items as JSON. The one thing to keep true: ids are whole, names of fields never change, and a secret
// is there only if it was asked for.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

extension JSONValue {
    /// An item with all its parts.
    static func item(_ item: Item, revealsSecrets: Bool) -> JSONValue {
        .fields([
            "id": .string(item.id.uuid.hex), "kind": .string(item.kind.name), "title": .string(item.title),
            "text": .string(item.text), "tags": .strings(item.tags.map(\.path)),
            "fields": .array(item.fields.map { field($0, revealsSecrets: revealsSecrets) }),
            "attachments": .array(item.attachments.map { attachment($0) }), "created": .moment(item.created),
            "modified": .moment(item.modified), "isPinned": .bool(item.isPinned),
            "isArchived": .bool(item.isArchived), "isTrashed": .bool(item.isTrashed),
            "isLocked": .bool(item.isLocked), "isSealed": item.isSealed ? .bool(true) : nil,
            "isHidden": .bool(item.isHidden), "isVeiled": item.isVeiled ? .bool(true) : nil,
            "path": item.path.map { .string($0) },
            "conflicts": item.conflicts.isEmpty ? nil : .strings(item.conflicts.map(\.attribute)),
        ])
    }

    private static func field(_ field: ItemField, revealsSecrets: Bool) -> JSONValue {
        let isHidden = field.kind.isSecret && !revealsSecrets
        return .fields([
            "name": .string(field.key.name), "label": .string(field.label), "kind": .string(field.kind.rawValue),
            "isSecret": .bool(field.kind.isSecret), "value": isHidden ? nil : .string(field.value),
        ])
    }

    static func attachment(_ attachment: Attachment, isHere: Bool? = nil) -> JSONValue {
        .fields([
            "id": .string(attachment.id.uuid.hex), "name": .string(attachment.name),
            "mediaType": .string(attachment.mediaType), "byteCount": .integer(attachment.byteCount),
            "created": .moment(attachment.created), "isHere": isHere.map { .bool($0) },
        ])
    }

    /// An item in a list.
    static func summary(_ item: ItemSummary, snippet: String? = nil, vault: String? = nil) -> JSONValue {
        .fields([
            "id": .string(item.id.uuid.hex), "kind": .string(item.kind.name), "title": .string(item.title),
            "tags": .strings(item.tags), "created": .moment(item.created),
            "modified": .moment(item.modified), "isPinned": .bool(item.isPinned),
            "isArchived": .bool(item.isArchived), "isTrashed": .bool(item.isTrashed),
            "hasAttachments": .bool(item.hasAttachments), "snippet": snippet.map { .string($0) },
            "vault": vault.map { .string($0) },
        ])
    }
}
