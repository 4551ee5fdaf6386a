// Requests about locked notes. A passphrase is read from the descriptor that comes with the request, and is in no message.

package struct NoteLock: StoreOperation {
    package static let name = "note.lock"
    package static let access = OperationAccess.control
    package static let meaning =
        "Seals notes of one vault under a passphrase, in one commit; the request brings a descriptor with it. "
        + "Earlier versions stay readable in the history."

    package var notes: [String] = []
    package var vault: String?
    package var isNew: Bool?
    package var hint: String?
    package var hidesTitle: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("notes", \.notes, "as in `item.read`"),
        .vaultOfFirst(\.vault),
        RecordField("isNew", \.isNew, "a passphrase that no other note has; without it one that locked notes have"),
        RecordField("hint", \.hint, "kept with a new passphrase; who can open the vault can read it"),
        RecordField("hidesTitle", \.hidesTitle, "seals title and tags too"))

    package typealias Answer = NoteList
}

package struct NoteUnlock: StoreOperation {
    package static let name = "note.unlock"
    package static let access = OperationAccess.control
    package static let meaning =
        "Opens a locked note, and all with the same passphrase, for this session; the request brings a descriptor "
        + "with the passphrase. They stay sealed in the store."

    package var note = ""
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("note", \.note, "as in `item.read`"),
        .vaultOfItem(\.vault))

    package typealias Answer = ItemMessage
}

package struct NoteClose: StoreOperation {
    package static let name = "note.close"
    package static let access = OperationAccess.control
    package static let meaning = "Closes notes that were opened, for this session and in the agent."

    package var notes: [String] = []
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("notes", \.notes, "as in `item.read`"),
        .vaultOfFirst(\.vault))

    package typealias Answer = NoteList
}

/// Notes that were changed.
package struct NoteList: Record {
    package static let recordName = "note-list"
    package static let refusesUnknownFields = false

    package var notes: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(RecordField("notes", \.notes, "ids, in the order of the request"))
}
