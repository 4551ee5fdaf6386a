// Items in messages. Invariant: ids are whole, names of fields never change, and the value of a secret field is there only if it
// was asked for.

package import CoffretBase

/// An item with all its parts.
package struct ItemMessage: Record, Flagged {
    package static let recordName = "item"
    package static let refusesUnknownFields = false

    package var id = ""
    package var kind = ""
    package var title = ""
    package var text = ""
    package var tags: [String] = []
    package var fields: [FieldMessage] = []
    package var attachments: [AttachmentMessage] = []
    package var created = WireMoment(0)
    package var modified = WireMoment(0)
    package var flags: FlagSet = []
    package var isLocked = false
    package var isSealed: Bool?
    package var isHidden = false
    package var isVeiled: Bool?
    package var path: String?
    package var conflicts: [String]?
    package var conflictValues: [ConflictMessage]?
    package var unreadable: [String]?
    package var form: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"),
        RecordField("kind", \.kind, "`note`, `login` and the other kinds of `items.md`"),
        RecordField("title", \.title, "the title that was given, or what the text begins with"),
        RecordField("text", \.text, "Markdown"),
        RecordField("tags", \.tags, "all tags, those of the text too, without `#`"),
        RecordField("fields", \.fields, "in the order in which they are shown"),
        RecordField("attachments", \.attachments, "files, by name"),
        RecordField("created", \.created, "when it was made"),
        RecordField("modified", \.modified, "when a person last changed it"),
        RecordField("isLocked", \.isLocked, "sealed under a passphrase of its own"),
        RecordField("isSealed", \.isSealed, "true if it is locked and not open now: text and fields are empty"),
        RecordField("isHidden", \.isHidden, "shown only to a person who is there"),
        RecordField("isVeiled", \.isVeiled, "true if it is hidden and nobody has shown to be there"),
        RecordField("path", \.path, "where it stood in the folder that it was imported from"),
        RecordField("conflicts", \.conflicts, "attributes that another device wrote at the same time"),
        RecordField("conflictValues", \.conflictValues, "their values, if asked for"),
        RecordField("unreadable", \.unreadable, "attributes whose values nobody can read"),
        RecordField("form", \.form, "lines `Label: value`, a line `---`, then the text; if asked for")
    ).adding(RecordField.flags, after: "modified")
}

/// A field of an item.
package struct FieldMessage: Record {
    package static let recordName = "field"
    package static let refusesUnknownFields = false

    package var name = ""
    package var label = ""
    package var kind = ""
    package var isSecret = false
    package var value: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "the key under which it is stored"),
        RecordField("label", \.label, "what people see"),
        RecordField("kind", \.kind, "`text`, `secret` and the other kinds of `items.md`"),
        RecordField("isSecret", \.isSecret, "masked on screens"),
        RecordField("value", \.value, "left out for a secret that was not asked for"))
}

/// A file that belongs to an item.
package struct AttachmentMessage: Record {
    package static let recordName = "attachment"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name = ""
    package var mediaType = ""
    package var byteCount = 0
    package var created = WireMoment(0)
    package var isHere: Bool?
    package var fault: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"),
        RecordField("name", \.name, "file name without a path"),
        RecordField("mediaType", \.mediaType, "as far as known"),
        RecordField("byteCount", \.byteCount, "size of the file"),
        RecordField("created", \.created, "when it was attached"),
        RecordField("isHere", \.isHere, "whether its content is on this device, where that was looked at"),
        RecordField("fault", \.fault, "what is wrong with its content, in words, if asked for"))
}

/// An item in a list.
package struct SummaryMessage: Record, Flagged {
    package static let recordName = "summary"
    package static let refusesUnknownFields = false

    package var id = ""
    package var kind = ""
    package var title = ""
    package var tags: [String] = []
    package var created = WireMoment(0)
    package var modified = WireMoment(0)
    package var flags: FlagSet = []
    package var hasAttachments = false
    package var isLocked = false
    package var hasConflicts = false
    package var snippet: String?
    package var titleMatches: [Int]?
    package var snippetMatches: [Int]?
    package var vault: String?
    package var owner: String?
    package var people: [String]?
    package var shortID: String?
    package var excerpt: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"),
        RecordField("kind", \.kind, "as in `item`"),
        RecordField("title", \.title, "as in `item`"),
        RecordField("tags", \.tags, "all tags, without `#`"),
        RecordField("created", \.created, "when it was made"),
        RecordField("modified", \.modified, "when a person last changed it"),
        RecordField("hasAttachments", \.hasAttachments, "whether files belong to it"),
        RecordField("isLocked", \.isLocked, "under a passphrase of its own"),
        RecordField("hasConflicts", \.hasConflicts, "with values that await a decision"),
        RecordField("snippet", \.snippet, "text around what was found, on one line; the best 200 hits have it"),
        RecordField(
            "titleMatches", \.titleMatches, "pairs of offsets (begin, end) into the title's UTF-8, if asked for"),
        RecordField("snippetMatches", \.snippetMatches, "the same for the snippet"),
        RecordField("vault", \.vault, "name of its vault, in a list over several"),
        RecordField(
            "owner", \.owner,
            "the most senior owner of its vault, if that is another person: as this person calls him, else the beginning of his id"
        ),
        RecordField("people", \.people, "the others who have its vault, named alike, if there are any"),
        .shortID(\.shortID),
        RecordField(
            "excerpt", \.excerpt,
            "what the text begins with after the title, on one line; of an item with fields its user name or first open value; if asked for"
        )
    ).adding(RecordField.flags, after: "modified")
}

/// A version of an item.
package struct VersionMessage: Record {
    package static let recordName = "version"
    package static let refusesUnknownFields = false

    package var version = ""
    package var time = WireMoment(0)
    package var instance = ""
    package var summary = ""
    package var isCreation = false
    package var isDeletion = false
    package var addedLineCount = 0
    package var removedLineCount = 0
    package var addedTags: [String] = []
    package var removedTags: [String] = []
    package var changedFields: [String] = []
    package var addedAttachments: [String] = []
    package var removedAttachments: [String] = []
    package var device: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("version", \.version, "the commit in hexadecimal digits, for `version` of other operations"),
        RecordField("time", \.time, "by the clock of the device that made it"),
        RecordField("instance", \.instance, "the copy of the store that made it"),
        RecordField("summary", \.summary, "the change in a few words"),
        RecordField("isCreation", \.isCreation, "the first one"),
        RecordField("isDeletion", \.isDeletion, "the item was removed"),
        RecordField("addedLineCount", \.addedLineCount, "lines of text that it brought"),
        RecordField("removedLineCount", \.removedLineCount, "lines of text that it took"),
        RecordField("addedTags", \.addedTags, "without `#`"),
        RecordField("removedTags", \.removedTags, "without `#`"),
        RecordField("changedFields", \.changedFields, "names of fields"),
        RecordField("addedAttachments", \.addedAttachments, "names of files"),
        RecordField("removedAttachments", \.removedAttachments, "names of files"),
        RecordField("device", \.device, "the device that made it, by its name or its person's; if asked for"))
}

/// A word that no item has, and what was looked for instead.
package struct CorrectionMessage: Record {
    package static let recordName = "correction"
    package static let refusesUnknownFields = false

    package var word = ""
    package var nearest: [String] = []

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("word", \.word, "as it was asked for"),
        RecordField("nearest", \.nearest, "the nearest words there are"))
}

/// A vault of the store.
package struct VaultMessage: Record {
    package static let recordName = "vault"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name = ""
    package var isSynced = false
    package var isDefault = false
    package var files: VaultEdit.Files?
    package var formerName: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "what people call it"),
        RecordField("synced", \.isSynced, "whether it lies at a server too"),
        RecordField("default", \.isDefault, "whether it is meant where none is named"),
        RecordField("files", \.files, "of a synced one: whether its files come here by themselves"),
        RecordField("formerName", \.formerName, "of one that was renamed just now"))
}

/// A tag in use.
package struct TagMessage: Record {
    package static let recordName = "tag"
    package static let refusesUnknownFields = false

    package var tag = ""
    package var count = 0

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("tag", \.tag, "path without `#`"),
        RecordField("count", \.count, "items outside of the trash that have it"))
}

/// A field to be set.
package struct FieldDraft: Record {
    package static let recordName = "field-draft"

    package var name = ""
    package var value = ""
    package var isSecret: Bool?

    package init() {}

    package init(name: String, value: String, isSecret: Bool? = nil) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }

    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "name or label; one that is not there is added"),
        RecordField("value", \.value, "an empty one removes the field"),
        RecordField("isSecret", \.isSecret, "for a field of one's own: whether it is masked"))
}
