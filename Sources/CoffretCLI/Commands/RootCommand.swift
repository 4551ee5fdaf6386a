// `coffret`: the list of all commands, and what it does when called alone.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum RootCommand {
    static let description = CommandDescription(
        "coffret", "An encrypted vault for notes and secrets",
        discussion: ["Called alone, coffret shows what you did last."],
        subcommands: [
            NewCommand.description, ShowCommand.description, EditCommand.description, RemoveCommand.description,
        ] + FlagCommands.all + [
            AttachCommand.description, MoveCommand.move, MoveCommand.copy,
            ListCommand.description, SearchCommand.description, FindCommand.description, OpenCommand.description,
            TagCommand.description,
            LinkCommand.description,
            ConflictsCommand.description,
            HistoryCommand.description, DiffCommand.description, RestoreCommand.description, ForgetCommand.description,
            LogCommand.description,
            NoteCommand.description, CopyCommand.description, OneTimeCodeCommand.description,
            GenerateCommand.description, AuditCommand.description, BrowserCommand.description,
            ReadCommand.description, RunCommand.description, InjectCommand.description,
            GitCredentialCommand.description, CredentialCommand.description, SSHAgentCommand.description,
            SSHKeyCommand.description, TokenCommand.description, SecretServiceCommand.description,
            HelperCommand.description,
            ResolveReferencesCommand.description, SSHAgentCommand.connection,
            ImportCommand.description, ExportCommand.description, ECIESCommand.description,
            ThemisCommand.description,
            InitCommand.description, UnlockCommand.description, LockCommand.description, StatusCommand.description,
            AgentFamilyCommand.description, PassphraseCommand.description,
            RecoveryCommand.description, VaultCommand.description, FsckCommand.description,
            KeyCommand.description, DoctorCommand.description,
            CompactCommand.description, BackupCommand.description,
            ServerCommand.description, SyncCommand.description, DeviceCommand.description,
            ContactCommand.description, ShareCommand.description,
            AskCommand.description, AnswerCommand.description, AskPageCommand.description,
            HelpCommand.description, CompletionsCommand.description, CompleteWordsCommand.description,
            ClipboardGuard.description,
        ],
        run: run)

    /// The items that were changed last, or how to begin.
    private static func run(_ context: CommandContext) throws {
        let path = try StoreAccess.path(context)
        guard try StoreAccess.exists(context) else {
            try context.print(.fields(["store": .string(path), "exists": .bool(false)])) {
                """
                There is no vault here yet.

                Next:  coffret init            make one
                       coffret backup restore  bring one back from a backup
                       coffret help            what else there is
                """
            }
            return
        }
        let store = try CommandStore.open(context)
        var request = ItemList()
        (request.vault, request.limit) = (try store.wantedVault, 10)
        request.givesShortIDs = context.isJSON ? nil : true
        let items = try store.perform(request).items
        try context.print(.fields(["items": .array(items.map(\.json))])) {
            guard !items.isEmpty else { return try store.emptyWords(request.vault) + "\n\n" + next(context) }
            var table = ItemTable(context: context)
            let lines = table.lines(items)
            guard context.terminal.outputIsTerminal else { return lines.joined(separator: "\n") }
            return (lines + ["", "coffret edit ITEM goes on; coffret search WORDS finds more."])
                .joined(separator: "\n")
        }
        try store.catchUp()
    }

    /// What to type in a vault that is new.
    static func next(_ context: CommandContext) -> String {
        """
        Next:  coffret new           write a note
               coffret import PATH   bring in notes
               coffret               see what you did last
        """
    }
}
