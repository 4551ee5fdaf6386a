// Requests about locked notes. A passphrase is read from the descriptor that comes with the request, and is in no message.

package struct NoteLock: StoreOperation {
    package static let name = "note.lock"
    package static let access = OperationAccess.control
    package static let meaning =
        "Seals notes of one vault under a passphrase, in one commit; the request brings a descriptor with it, or the "
        + "session asks. Earlier versions stay readable in the history. Locked notes that were opened are closed."

    package var notes: [String] = []
    package var vault: String?
    package var isNew: Bool?
    package var hint: String?
    package var hidesTitle: Bool?
    package var effort: LockEffortMessage?
    package var isForOtherPrograms: Bool?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("notes", \.notes, "as in `item.read`"),
        .vaultOfFirst(\.vault),
        RecordField("isNew", \.isNew, "a passphrase that no other note has; without it one that locked notes have"),
        RecordField("hint", \.hint, "kept with a new passphrase; who can open the vault can read it"),
        RecordField("hidesTitle", \.hidesTitle, "seals title and tags too"),
        RecordField("effort", \.effort, "of a new passphrase: how hard guessing is made"),
        RecordField("isForOtherPrograms", \.isForOtherPrograms, "a new passphrase, with scheme 1"),
        RecordField("isTrial", \.isTrial, "changes nothing, and says whether notes would be closed; asks nobody"))

    package struct Answer: Record {
        package static let recordName = "note-locked"
        package static let refusesUnknownFields = false
        package var notes: [String] = []
        package var isClosed = false
        package var readableVersionCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("notes", \.notes, "ids, in the order of the request"),
            RecordField("isClosed", \.isClosed, "they were locked before, and open; now they are closed"),
            RecordField(
                "readableVersionCount", \.readableVersionCount, "changes of the history that still show them"))
    }
}

/// How hard guessing a passphrase is made.
package struct LockEffortMessage: Record {
    package static let recordName = "lock-effort"

    package var memoryKibibytes = 0
    package var passCount = 0

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("memoryKibibytes", \.memoryKibibytes, "memory of one guess, in KiB"),
        RecordField("passCount", \.passCount, "passes over it"))
}

package struct NoteRelock: StoreOperation {
    package static let name = "note.relock"
    package static let access = OperationAccess.control
    package static let meaning =
        "Gives locked notes of one vault another passphrase. The session asks for those that are not open, then for "
        + "the new one."

    package var notes: [String]?
    package var vault: String?
    package var isCompromised: Bool?
    package var hint: String?
    package var effort: LockEffortMessage?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("notes", \.notes, "as in `item.read`; without it all locked notes of the vault"),
        .vaultOfFirst(\.vault),
        RecordField(
            "isCompromised", \.isCompromised, "others know the old one: the new one opens nothing that it sealed"),
        RecordField("hint", \.hint, "kept with the new passphrase; who can open the vault can read it"),
        RecordField("effort", \.effort, "how hard guessing is made"))

    package struct Answer: Record {
        package static let recordName = "note-relocked"
        package static let refusesUnknownFields = false
        package var relocked: [String] = []
        package var record = ""
        package var replacedCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("relocked", \.relocked, "ids of the notes"),
            RecordField("record", \.record, "id of the new passphrase"),
            RecordField("replacedCount", \.replacedCount, "passphrases whose place it takes"))
    }
}

package struct NoteRelease: StoreOperation {
    package static let name = "note.release"
    package static let access = OperationAccess.control
    package static let meaning =
        "Takes the locks of notes of one vault off for good, in one commit. The session asks for the passphrase of "
        + "each that is not open."

    package var notes: [String] = []
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("notes", \.notes, "as in `item.read`"),
        .vaultOfFirst(\.vault))

    package typealias Answer = NoteList
}

package struct NoteUnlock: StoreOperation {
    package static let name = "note.unlock"
    package static let access = OperationAccess.control
    package static let meaning =
        "Opens a locked note, and all with the same passphrase, for this session; the request brings a descriptor "
        + "with the passphrase, or is attended, and the session asks. They stay sealed in the store."

    package var note = ""
    package var vault: String?
    package var isKept: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("note", \.note, "as in `item.read`"),
        .vaultOfItem(\.vault),
        RecordField("isKept", \.isKept, "keeps them open in the agent, for all, until the store locks"))

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

package struct PassphraseList: StoreOperation {
    package static let name = "passphrase.list"
    package static let access = OperationAccess.read
    package static let meaning =
        "Lists the passphrases of locked notes of a vault by what is known of them, newest first."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrDefault(\.vault))

    package struct Answer: Record {
        package static let recordName = "passphrase-list"
        package static let refusesUnknownFields = false
        package var passphrases: [PassphraseMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("passphrases", \.passphrases, "newest first; none says the passphrase"))
    }
}

/// A passphrase of locked notes.
package struct PassphraseMessage: Record {
    package static let recordName = "passphrase"
    package static let refusesUnknownFields = false

    package var id = ""
    package var scheme = 0
    package var created = WireMoment(0)
    package var noteCount = 0
    package var hasHint = false
    package var isOpen = false
    package var replacedBy: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "of its record, in hexadecimal digits"),
        RecordField("scheme", \.scheme, "of `locked-notes.md`"),
        RecordField("created", \.created, "when it was chosen"),
        RecordField("noteCount", \.noteCount, "notes that it opens"),
        RecordField("hasHint", \.hasHint, "whether it has a hint"),
        RecordField("isOpen", \.isOpen, "whether its notes are open now"),
        RecordField("replacedBy", \.replacedBy, "the record of the passphrase that took its place"))
}

package struct NoteInspect: StoreOperation {
    package static let name = "note.inspect"
    package static let access = OperationAccess.read
    package static let meaning =
        "Says how a locked note is sealed, and gives its sealed text and the hint of its passphrase."

    package var note = ""
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("note", \.note, "as in `item.read`"), .vaultOfItem(\.vault))

    package struct Answer: Record {
        package static let recordName = "sealed-note"
        package static let refusesUnknownFields = false
        package var id = ""
        package var scheme = 0
        package var passphrase = ""
        package var hint: String?
        package var record: String?
        package var home = ""
        package var salt = ""
        package var memoryKibibytes: Int?
        package var passCount: Int?
        package var encryptionID: String?
        package var sealed: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "of the note"), RecordField("scheme", \.scheme, "of `locked-notes.md`"),
            RecordField("passphrase", \.passphrase, "the record of the passphrase that opens it now"),
            RecordField("hint", \.hint, "of that passphrase"),
            RecordField("record", \.record, "the record under which the text is sealed"),
            RecordField("home", \.home, "of that passphrase's record, in hexadecimal digits"),
            RecordField("salt", \.salt, "in hexadecimal digits"),
            RecordField("memoryKibibytes", \.memoryKibibytes, "of Argon2id"),
            RecordField("passCount", \.passCount, "of Argon2id"),
            RecordField("encryptionID", \.encryptionID, "of the text"),
            RecordField("sealed", \.sealed, "the text, sealed, in Base64"))
    }
}
