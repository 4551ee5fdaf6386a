// `coffret note`: notes with a passphrase of their own, and notes that are merely hidden.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

enum NoteCommand {
    static let notes = ArgumentDescription.required("NOTE", repeats: true, "ids or titles of notes")
    static let someNotes = ArgumentDescription.optional("NOTE", repeats: true, "ids or titles of notes")
    static let aNote = ArgumentDescription.required("NOTE", "an id or the title of a note")
    static let fresh = OptionDescription.flag("new", "use a passphrase that no other note has")
    static let hint = OptionDescription.value(
        "hint", "TEXT", "keep a hint with a new passphrase; who can open the vault can read it")
    static let hideTitle = OptionDescription.flag("hide-title", "seal title and tags too")
    static let purge = OptionDescription.flag(
        "purge-history", "remove the earlier, readable versions from the history")
    static let scheme = OptionDescription.value(
        "scheme", "N", .choice(["1", "2"]), "2 (the default), or 1 for data that other programs are to read")
    static let newDescriptor = OptionDescription.value(
        "new-note-passphrase-fd", "N", .number(0...1_048_575), "read a new passphrase from an open file descriptor")
    static let all = OptionDescription.flag("all", "all locked notes")
    static let forGood = OptionDescription.flag(
        "for-good", "take the lock off: the notes are stored like all others from then on")
    static let compromised = OptionDescription.flag(
        "compromised", "the old passphrase is known to others: the new one opens nothing that the old one sealed")

    static let description = CommandDescription(
        "note", group: .secrets, "Lock notes with a passphrase of their own, or hide them",
        discussion: [
            "A locked note is encrypted once more: opening the vault does not open it. A hidden note is not encrypted: coffret merely asks whether you are there before it shows it."
        ],
        subcommands: [
            CommandDescription(
                "lock", "Encrypt notes under a passphrase of their own",
                discussion: [
                    "Text, fields and attachments are sealed; title and tags stay visible unless you say --hide-title. Locked text is in no search. The history keeps earlier versions, readable as they were, unless you say --purge-history.",
                    "Asks for the passphrase that your locked notes have; --new begins another one. A locked note that coffret note unlock opened is closed again.",
                ],
                arguments: [notes],
                options: [
                    fresh, hint, hideTitle, purge, newDescriptor, StoreAccess.effort, scheme, CommonArguments.yes,
                ],
                examples: [
                    CommandExample("coffret note lock diary", "asks for the passphrase"),
                    CommandExample(
                        "coffret note lock diary --purge-history", "also removes what the history could still show"),
                ],
                run: NoteLocking.lock),
            CommandDescription(
                "unlock", "Open locked notes until the store locks, or take their locks off",
                discussion: [
                    "Asks for the passphrase once. Until the agent locks the store, notes with that passphrase are shown and edited without asking; they stay encrypted, and nothing of them is searched. Unlocking the store never opens them.",
                    "Without the agent, and to read a note once, coffret show is enough: it asks each time.",
                ],
                arguments: [notes], options: [forGood],
                examples: [
                    CommandExample("coffret note unlock diary", "asks once; coffret note lock diary closes it"),
                    CommandExample("coffret note unlock diary --for-good", "takes the lock off"),
                ],
                run: NoteLocking.unlock),
            CommandDescription(
                "relock", "Give locked notes another passphrase",
                discussion: [
                    "With all notes of a passphrase the new one takes the place of the old one, and also opens what another device still locks with it. After --compromised it does not."
                ],
                arguments: [someNotes],
                options: [all, compromised, hint, newDescriptor, StoreAccess.effort],
                examples: [CommandExample("coffret note relock --all", "changes the passphrase of all locked notes")],
                run: NoteLocking.relock),
            CommandDescription(
                "passphrases", "List the passphrases that notes are locked with", run: NoteInspection.passphrases),
            CommandDescription(
                "hint", "Show the hint of a note's passphrase", arguments: [aNote], run: NoteInspection.hint),
            CommandDescription(
                "sealed", "Print a locked note as it is stored, for other programs",
                discussion: ["Base64 of the sealed text, byte for byte; --json adds the ids that belong to it."],
                arguments: [aNote], run: NoteInspection.sealed),
            CommandDescription(
                "hide", "Show notes only when you are there; this does not encrypt them",
                arguments: [notes], run: { try NoteInspection.setHidden($0, true) }),
            CommandDescription(
                "unhide", "Show notes like all others", arguments: [notes],
                run: { try NoteInspection.setHidden($0, false) }
            ),
        ])
}
