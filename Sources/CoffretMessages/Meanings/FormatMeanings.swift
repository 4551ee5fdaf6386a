// Words for errors about searching and about foreign data. Invariant: a text says what happened to the person's thing,
// and a hint is a command that works.

internal import CoffretTerminal

extension FailureMeaning {
    package static let formats: [String: FailureMeaning] = [
        // Search.
        "search.query": FailureMeaning(
            .usage, "that is not something to search for", hint: "coffret help find shows what can be asked"),
        "search.query.empty": FailureMeaning(
            .usage, "there is nothing to search for", hint: "coffret ls lists everything"),
        "search.query.unknown-type": FailureMeaning(
            .usage, "there is no such type of items", hint: "coffret help find lists the types"),
        "search.query.unbalanced": FailureMeaning(.usage, "a bracket or quote has no other half"),
        "search.index.busy": FailureMeaning(
            .busy, "another coffret is at work on the search index", hint: "try again in a moment"),
        "search.index.full": FailureMeaning(
            .diskFull, "there is no space for the search index", hint: "free some space"),
        "search.index.read-only": FailureMeaning(.permission, "the search index cannot be written here"),
        "search": FailureMeaning(
            .inputOutput, "the search index cannot be used",
            hint: "delete the search folder of the vault; it is made anew"),
        "sqlite": FailureMeaning(
            .inputOutput, "the search index cannot be used",
            hint: "delete the search folder of the vault; it is made anew"),

        // Import and export.
        "import.source.missing": FailureMeaning(.notFound, "there is nothing at that path", showsPlace: true),
        "import.source.unreadable": FailureMeaning(.permission, "that cannot be read", showsPlace: true),
        "import.source.changed": FailureMeaning(
            .importRejected, "a file changed while it was read; nothing was imported", showsPlace: true,
            hint: "do it again"),
        "import.source.unrecognised": FailureMeaning(
            .importRejected, "that is in no format that coffret knows", showsPlace: true,
            hint: "coffret help import lists the formats"),
        "import.source.unsupported": FailureMeaning(
            .importRejected, "coffret cannot read that format yet; nothing was imported", showsPlace: true,
            hint: "export a table (CSV) or Markdown there; coffret help import lists the formats"),
        "import.source.password-needed": FailureMeaning(
            .importRejected, "that export is protected by a password, and there is no terminal to ask for it at",
            hint: "coffret import FILE --source-password-fd N"),
        "import.source.password-wrong": FailureMeaning(
            .notAuthentic,
            "the password or key file does not open that export, or the file was altered; nothing was imported",
            showsPlace: true),
        "import.limit.key-derivation": FailureMeaning(
            .importRejected, "opening that export would take more memory or time than allowed; nothing was imported",
            showsPlace: true, hint: "save it again with usual settings in the program that it is from"),
        "import.limit": FailureMeaning(
            .importRejected, "that is larger than coffret takes in one import; nothing was imported", showsPlace: true),
        "import.limit.compression-ratio": FailureMeaning(
            .importRejected, "the archive unpacks to far more than it is; nothing was imported", showsPlace: true),
        "import.limit.note-size": FailureMeaning(
            .importRejected, "a note is too large; nothing was imported", showsPlace: true),
        "import.limit.line-length": FailureMeaning(
            .importRejected, "a line is too long for a note; nothing was imported", showsPlace: true),
        "import.archive.unsafe-path": FailureMeaning(
            .importRejected, "the archive tries to reach outside itself; nothing was imported", showsPlace: true),
        "import.archive.repeated-path": FailureMeaning(
            .importRejected, "the archive holds a file twice; nothing was imported", showsPlace: true),
        "import.library-missing": FailureMeaning(
            .unavailable, "a library that reads this format is not installed; apt install has it", showsPlace: true),
        "import.archive.encrypted": FailureMeaning(
            .importRejected, "the archive needs a password", hint: "unpack it and import the folder"),
        "import.archive": FailureMeaning(
            .importRejected, "the archive is damaged; nothing was imported", showsPlace: true),
        "import.format.version-unknown": FailureMeaning(
            .unsupportedFormat, "a newer coffret wrote this file; nothing was imported", showsPlace: true),
        "import.format": FailureMeaning(
            .importRejected, "the file is not what it should be; nothing was imported", showsPlace: true),
        "import.stopped": FailureMeaning(.cancelled, "stopped: nothing was imported"),
        "import.vault.not-empty": FailureMeaning(
            .importRejected, "everything with its history can only go into an empty vault",
            hint: "coffret vault new NAME, then coffret import FILE --vault NAME"),
        "import": FailureMeaning(.importRejected, "nothing was imported", showsPlace: true),
        "export.target.occupied": FailureMeaning(
            .cannotCreate, "there is already something at that path", showsPlace: true,
            hint: "choose a new folder or file"),
        "export.target": FailureMeaning(.cannotCreate, "that cannot be written", showsPlace: true),
        "export": FailureMeaning(.internalError, "that cannot be exported"),

        // Data of other programs.
        "interop.authentication-failed": FailureMeaning(
            .notAuthentic, "that does not open: it was altered, or belongs to another key, context or algorithm",
            hint: "nothing was written; ask the sender which key, context and algorithm it was made with"),
        "interop.invalid-key": FailureMeaning(.badInput, "that is not a key of the kind needed here", showsPlace: true),
        "interop.invalid-text": FailureMeaning(
            .badInput, "the text is not in the encoding it should be in", showsPlace: true),
        "interop.limit-exceeded": FailureMeaning(
            .badInput, "that is more than coffret takes; nothing was computed", showsPlace: true),
        "interop.unsupported": FailureMeaning(.badInput, "the key cannot do that", showsPlace: true),
        "interop.unavailable": FailureMeaning(.unavailable, "the cryptographic library refused to work"),
        "interop.key-unavailable": FailureMeaning(.unavailable, "the home of the key did not answer"),
        "interop": FailureMeaning(.badInput, "the format does not allow that", showsPlace: true),
    ]
}
