// Items and vaults, for programs of others. Invariant: each of these shows the fields of one record of the wire and keeps none of
// its own, so that the page of operations says what they mean.

internal import CoffretBase
internal import CoffretWire

/// A vault of the store.
public struct Vault: Hashable, Sendable {
    /// In hexadecimal digits.
    public let id: String
    /// What people call it.
    public let name: String
    /// Whether it lies at a server too.
    public let isSynced: Bool
    /// Whether it is meant where none is named.
    public let isDefault: Bool

    init(message: VaultMessage) {
        (id, name, isSynced, isDefault) = (message.id, message.name, message.isSynced, message.isDefault)
    }
}

/// A part of a list.
public struct ItemPage: Sendable {
    /// The items of this part.
    public let items: [ItemSummary]
    /// How long the whole list is.
    public let totalCount: Int
}

/// An item in a list.
public struct ItemSummary: Sendable {
    private let message: SummaryMessage

    init(message: SummaryMessage) { self.message = message }

    /// 32 hexadecimal digits.
    public var id: String { message.id }
    /// `note`, `login` and the other kinds of `Spec/items.md`.
    public var kind: String { message.kind }
    /// The title that was given, or what the text begins with.
    public var title: String { message.title }
    /// All tags, without `#`.
    public var tags: [String] { message.tags }
    /// When it was made, in milliseconds since 1970.
    public var createdMilliseconds: Int64 { message.created.milliseconds }
    /// When a person last changed it, in milliseconds since 1970.
    public var modifiedMilliseconds: Int64 { message.modified.milliseconds }
    /// Whether it comes first in lists.
    public var isPinned: Bool { message.isPinned }
    /// Whether it is left out of lists.
    public var isArchived: Bool { message.isArchived }
    /// Whether it lies in the trash.
    public var isTrashed: Bool { message.isTrashed }
    /// Whether it has a passphrase of its own.
    public var isLocked: Bool { message.isLocked }
    /// Whether files belong to it.
    public var hasAttachments: Bool { message.hasAttachments }
    /// The name of its vault, in a list over several vaults.
    public var vault: String? { message.vault }
    /// A piece of the text around what was searched for, on one line.
    public var snippet: String? { message.snippet }
}

/// An item with its contents.
public struct Item: Sendable {
    private let message: ItemMessage

    init(message: ItemMessage) { self.message = message }

    /// 32 hexadecimal digits.
    public var id: String { message.id }
    /// `note`, `login` and the other kinds of `Spec/items.md`.
    public var kind: String { message.kind }
    /// The title that was given, or what the text begins with.
    public var title: String { message.title }
    /// Markdown.
    public var text: String { message.text }
    /// All tags, those of the text too, without `#`.
    public var tags: [String] { message.tags }
    /// In the order in which they are shown.
    public var fields: [ItemField] { message.fields.map { ItemField(message: $0) } }
    /// Names of its files.
    public var attachmentNames: [String] { message.attachments.map(\.name) }
    /// When it was made, in milliseconds since 1970.
    public var createdMilliseconds: Int64 { message.created.milliseconds }
    /// When a person last changed it, in milliseconds since 1970.
    public var modifiedMilliseconds: Int64 { message.modified.milliseconds }
    /// Whether it comes first in lists.
    public var isPinned: Bool { message.isPinned }
    /// Whether it is left out of lists.
    public var isArchived: Bool { message.isArchived }
    /// Whether it lies in the trash.
    public var isTrashed: Bool { message.isTrashed }

    /// The value of a field by its name or label; nil if there is none, or if it is a secret that was not asked for.
    public func value(_ field: String) -> String? {
        message.fields.first { $0.name == field || $0.label == field }?.value
    }
}

/// A field of an item.
public struct ItemField: Hashable, Sendable {
    /// The key under which it is stored.
    public let name: String
    /// What people see.
    public let label: String
    /// `text`, `secret` and the other kinds of `Spec/items.md`.
    public let kind: String
    /// Whether it is masked on screens.
    public let isSecret: Bool
    /// Nil for a secret that was not asked for.
    public let value: String?

    init(message: FieldMessage) {
        (name, label, kind) = (message.name, message.label, message.kind)
        (isSecret, value) = (message.isSecret, message.value)
    }
}

/// How far long work has come.
public struct Progress: Hashable, Sendable {
    /// What is done now, in a word.
    public let stage: String?
    /// Parts of this stage that are done.
    public let doneCount: Int
    /// Parts in all, where that is known.
    public let totalCount: Int?

    init(message: OperationProgress) {
        (stage, doneCount, totalCount) = (message.stage, message.done, message.total)
    }
}

/// An item to be made.
public struct ItemDraft: Sendable {
    var request = ItemCreate()

    /// A note.
    ///
    /// - Parameter text: Markdown; its first line is the title.
    public init(note text: String, tags: [String] = []) {
        request.text = text
        request.tags = tags
    }

    /// An item of another kind.
    ///
    /// - Parameter kind: `login` and the other kinds of `Spec/items.md`.
    public init(kind: String, title: String, text: String = "", tags: [String] = []) {
        (request.kind, request.title, request.text, request.tags) = (kind, title, text, tags)
    }

    /// Adds a field.
    ///
    /// - Parameter isSecret: for a field of one's own: whether it is masked.
    public mutating func set(_ field: String, to value: String, isSecret: Bool? = nil) {
        request.fields = (request.fields ?? []) + [FieldDraft(name: field, value: value, isSecret: isSecret)]
    }
}

/// A change of an item.
public struct ItemEdit: Sendable {
    var request = CoffretWire.ItemEdit()

    /// Changes nothing yet.
    public init() {}

    /// The new title; an empty one lets the text's beginning be the title. Nil leaves it as it is.
    public var title: String? {
        get { request.title }
        set { request.title = newValue }
    }

    /// The new text as a whole. Nil leaves it as it is.
    public var text: String? {
        get { request.text }
        set { request.text = newValue }
    }

    /// Sets a field; an empty value removes it.
    public mutating func set(_ field: String, to value: String, isSecret: Bool? = nil) {
        request.setFields = (request.setFields ?? []) + [FieldDraft(name: field, value: value, isSecret: isSecret)]
    }
}
