// An item as people know it: a title, a text, fields, tags, files. A value of its own: changing one changes
// nothing in the vault until it is written.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage

/// A note, login, card, identity, SSH key, API token or custom item, as of one moment.
package struct Item: Equatable, Sendable {
    /// The longest title, in UTF-8 bytes.
    package static let titleByteCountMax = 1_024
    /// The longest text, in UTF-8 bytes; longer ones are attachments.
    package static let textByteCountMax = FactLimits.valueByteCountMax - 16

    /// The item's identity, for good: kind and UUID.
    package let id: EntityID
    /// The kind of the item.
    package let kind: ItemKind
    /// The title if one was given; nil for a note whose text says it.
    package var givenTitle: String?
    /// A note's text, or the notes of another item; Markdown.
    package var text: String
    /// The fields: standard ones in the order of their kind, then the others by position.
    package var fields: [ItemField]
    /// The tags that were given besides those in the text, sorted.
    package var givenTags: [TagPath]
    /// When the item was made, as the clock of that device showed it.
    package var created: Milliseconds
    /// When a person last changed it.
    package var modified: Milliseconds
    /// When each of its flags was set.
    package var flagTimes: [Flag: Milliseconds] = [:]
    /// Where it stood in the folder that it was imported from, with `/` between the parts.
    package var path: String?
    /// How it is sealed under a passphrase of its own; nil if it is not.
    package internal(set) var lock: ItemLock?
    /// Since when its contents are shown only to somebody who proves to be there. Not sealed by this.
    package var hidden: Milliseconds?
    /// The vault in which it was before; nil for an item that was made here.
    package internal(set) var origin: ItemOrigin?
    /// The vault in which it is now; it lies in the trash here.
    package internal(set) var moved: ItemDestination?
    /// The contents that are out of sight; nil where nothing is.
    var veil: ItemVeil?
    /// The files that belong to it, by name.
    package internal(set) var attachments: [Attachment]
    /// Values that another device wrote at the same time. Taking one out and updating the item settles it.
    package var conflicts: [ItemConflict]
    /// Attributes whose values this version cannot read. They stay as they are.
    package internal(set) var unreadableAttributes: [String]

    package init(id: EntityID, kind: ItemKind, created: Milliseconds) {
        self.id = id
        self.kind = kind
        self.created = created
        modified = created
        text = ""
        fields = []
        givenTags = []
        attachments = []
        conflicts = []
        unreadableAttributes = []
    }

    /// The title to show: the given one, or what the text begins with.
    package var title: String {
        if let givenTitle, !givenTitle.isEmpty { return givenTitle }
        return isSealed ? Item.lockedTitle : MarkdownScan.title(of: text)
    }

    /// The title of an item that is neither locked nor redacted.
    func title(scan: MarkdownScan) -> String {
        if let givenTitle, !givenTitle.isEmpty { return givenTitle }
        return scan.title
    }

    /// All tags: the given ones and those in the text, sorted, each once without regard to case.
    package var tags: [TagPath] { allTags(scan: MarkdownScan(text)) }

    func allTags(scan: MarkdownScan) -> [TagPath] {
        if scan.tags.isEmpty && givenTags.count <= 1 { return givenTags }
        var seen: Set<String> = []
        return (givenTags + scan.tags.map(\.tag)).filter { seen.insert($0.folded).inserted }.sorted()
    }

    package var flags: FlagSet { FlagSet(flagTimes.keys) }
    package var isPinned: Bool { flagTimes[.pinned] != nil }
    package var isArchived: Bool { flagTimes[.archived] != nil }
    package var isTrashed: Bool { flagTimes[.trashed] != nil }

    /// Sets a flag now, unless it is set, or takes it off.
    package mutating func set(_ flag: Flag, _ isSet: Bool, at time: Milliseconds) {
        flagTimes[flag] = isSet ? flagTimes[flag] ?? time : nil
        if flag == .trashed, !isSet { moved = nil }
    }

    package var isHidden: Bool { hidden != nil }

    /// The field with a key, or else the only one with a label, in any case of its letters.
    ///
    /// - Throws: `CoreError.fieldNotFound` if there is none or more than one.
    package func field(named name: String) throws -> ItemField {
        if let field = fields.first(where: { $0.key.name == name }) { return field }
        let named = fields.filter { $0.label.lowercased() == name.lowercased() }
        guard named.count == 1 else { throw fieldNotFound(name) }
        return named[0]
    }

    /// With the fields that the item has.
    func fieldNotFound(_ name: String) -> CoreError {
        CoreError(
            .fieldNotFound, at: name,
            candidates: fields.map { CoreError.Candidate(id: $0.key.name, title: $0.label) })
    }
}

/// A value that lost against a concurrent one but is still there.
package struct ItemConflict: Equatable, Sendable {
    /// The attribute that both wrote: `text`, `title`, `field/password`.
    package let attribute: String
    /// The other value as text, for showing; nil if it is no text.
    package let otherText: String?
    /// The commit that wrote it.
    package let dot: Dot
}

/// A file that belongs to an item.
package struct Attachment: Equatable, Sendable {
    /// The attachment's identity: kind `A` and a UUID that begins with eight bytes of its item's.
    package let id: EntityID
    /// The item.
    package let item: EntityID
    /// The file name, without a path.
    package let name: String
    /// The media type as far as known; `application/octet-stream` otherwise.
    package let mediaType: String
    /// The size of the file.
    package let byteCount: Int
    /// Where it stood in the folder that it was imported from.
    package let path: String?
    /// When it was attached.
    package let created: Milliseconds
    /// Key and place of the content, as storage encoded it.
    package let encodedReference: [UInt8]
    /// The vault that the content was sealed in, where it is not the one it lies in; for files of locked notes that
    /// came with an import.
    package internal(set) var home: VaultID?

    func isNamed(as other: Attachment) -> Bool { id == other.id && name == other.name }

    /// A size as a device states it, within what a file can have: a wrong one stops no sum and no check for room.
    static func byteCount(stated: Int64) -> Int {
        Int(max(0, min(stated, Int64(AttachmentFormat.byteCountMax))))
    }
}

/// The values of an item that is to be made.
package struct ItemDraft: Flagged, Equatable, Sendable {
    package var kind: ItemKind
    /// Nil for a note whose text says it.
    package var title: String?
    package var text: String
    package var fields: [ItemField]
    package var tags: [TagPath]
    /// Nil for now.
    package var created: Milliseconds?
    /// Nil for when it was created.
    package var modified: Milliseconds?
    package var flags: FlagSet = []
    package var path: String?
    /// An id to use; nil for a random one.
    package var uuid: UniqueID?

    package init(
        kind: ItemKind = .note, title: String? = nil, text: String = "", fields: [ItemField] = [], tags: [TagPath] = []
    ) {
        self.kind = kind
        self.title = title
        self.text = text
        self.fields = fields
        self.tags = tags
    }
}
