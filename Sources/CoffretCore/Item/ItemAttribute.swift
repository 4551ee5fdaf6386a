// The attributes of items and attachments. The names are part of the format: Spec/items.md.

internal import CoffretBase
package import CoffretStorage

/// Attributes of items.
package enum ItemAttribute {
    package static let title: Attribute = "title"
    package static let text: Attribute = "text"
    package static let tag: Attribute = "tag"
    package static let created: Attribute = "created"
    package static let modified: Attribute = "modified"
    package static let path: Attribute = "path"
    package static let hidden: Attribute = "hidden"
    /// Where it came from, and where it went.
    package static let origin: Attribute = "origin"
    package static let moved: Attribute = "moved"
    /// The beginning of the attribute of each field.
    package static let fieldPrefix = "field/"

    /// The attribute of a flag: its name.
    static func flag(_ flag: Flag) -> Attribute {
        guard let attribute = Attribute(flag.rawValue) else {
            preconditionFailure("a flag's name is shorter than an attribute")
        }
        return attribute
    }

    /// The attribute of a field.
    static func field(_ key: FieldKey) -> Attribute {
        guard let attribute = Attribute(fieldPrefix + key.name) else {
            preconditionFailure("a field's key is shorter than an attribute")
        }
        return attribute
    }
}

/// Attributes of password records.
package enum RecordAttribute {
    package static let record: Attribute = "record"
    package static let hint: Attribute = "hint"
    package static let constants: Attribute = "constants"
}

/// Attributes of attachments.
package enum AttachmentAttribute {
    package static let item: Attribute = "item"
    package static let name: Attribute = "name"
    package static let mediaType: Attribute = "type"
    package static let byteCount: Attribute = "size"
    package static let content: Attribute = "content"
    package static let created: Attribute = "created"
    package static let path: Attribute = "path"
    /// Names the file of a locked note's attachment on the disk; the rest is sealed in `sealed`.
    package static let fileID: Attribute = "file"
    package static let sealed: Attribute = "locked/file"
}
