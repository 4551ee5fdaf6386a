// `coffret attach`: files of items, in and out.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import Glibc

enum AttachCommand {
    static let file = ArgumentDescription.required("FILE", .file, repeats: true, "files to attach")
    static let name = ArgumentDescription.required("NAME", "the attachment's name or id")
    static let names = ArgumentDescription.optional("NAME", repeats: true, "names or ids (all, if none is given)")
    static let output = OptionDescription.value(
        "output", short: "o", "PATH", .file, "where to write it (- for standard output)")
    static let force = OptionDescription.flag("force", "replace a file that is already there")

    static let description = CommandDescription(
        "attach", group: .everyDay, "Keep files with an item, of any size",
        subcommands: [
            CommandDescription(
                "add", "Attach files to an item", arguments: [CommonArguments.item, file],
                examples: [CommandExample("coffret attach add tomatoes photo.jpg", "encrypts the file into the vault")],
                run: add),
            CommandDescription("ls", "List what is attached to an item", arguments: [CommonArguments.item], run: list),
            CommandDescription(
                "extract", "Write attachments out again",
                discussion: [
                    "A file appears under its name only when it is complete and verified. To standard output only verified pieces go; if one fails, the command ends with an error."
                ],
                arguments: [CommonArguments.item, names], options: [output, force], run: extract),
            CommandDescription(
                "get", "Fetch attachments of a synced vault from the server",
                discussion: [
                    "What was left there (coffret sync --without-files, coffret vault files NAME asked), or what broke off. What is here already is not fetched again; every byte is verified before it counts. coffret attach extract then writes it out."
                ],
                arguments: [CommonArguments.item, names], run: get),
            CommandDescription(
                "rm", "Take an attachment from an item", arguments: [CommonArguments.item, name], run: remove),
        ])

    private static func add(_ context: CommandContext) throws {
        for path in context.arguments.values(file) { try PathCheck.readable(path) }
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        // The file of a locked note is sealed like its text, so the note is opened first.
        _ = try session.readable(session.vault.item(id))
        let progress = context.progress()
        var added: [Attachment] = []
        // A source may be slow; nobody waits for it with the writer's lock.
        var paths = context.arguments.values(file)[...]
        while !paths.isEmpty {
            let kept = try paths.prefix(keptCountMax).map { try keep($0, for: id, session.vault, progress) }
            paths = paths.dropFirst(keptCountMax)
            try session.writingOnce { vault in for file in kept { added.append(try vault.attach(file, to: id)) } }
        }
        try context.confirmDone(.array(added.map { .attachment($0) })) {
            added.map { "Attached \(TextWidth.displaySafe($0.name)), \(NumberText.bytes($0.byteCount))." }
                .joined(separator: "\n")
        }
    }

    /// How many files are stored before the vault is opened to name them: each of them keeps one open.
    private static let keptCountMax = 16

    private static func keep(
        _ path: String, for id: EntityID, _ vault: Vault, _ progress: ProgressReporter
    ) throws -> KeptFile {
        let shown = TextWidth.displaySafe(path)
        let input: OwnedDescriptor
        do throws(SystemFailure) {
            input = try OwnedDescriptor.open(path, O_RDONLY)
        } catch {
            throw CommandFailure(
                error.number == ENOENT ? .notFound : .permission, .fileUnreadable,
                "\(shown) cannot be read: \(error.message)")
        }
        var information = stat()
        guard unsafe fstat(input.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.badInput, .fileUnreadable, "\(shown) is not a file")
        }
        let (descriptor, total) = (input.number, Int(information.st_size))
        var done = 0
        progress.begin("Attaching", unit: "byte")
        defer { progress.end() }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return try unsafe vault.keepFile(for: id, name: name) { (buffer) throws(StorageError) in
            var count = 0
            repeat {
                count = unsafe Glibc.read(descriptor, buffer.baseAddress!, buffer.count)
            } while count < 0 && errno == EINTR
            guard count >= 0 else { throw StorageError(.fileFailed, place: path, cause: SystemFailure.last) }
            done += count
            progress.update(done: done, total: max(total, done))
            return count
        }
    }

    private static func list(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let item = try session.readable(
            session.vault.item(try session.vault.resolve(context.arguments.required(CommonArguments.item))))
        let isSynced = try session.store.store.vaultRecord(session.store.wantedVault).kind == .synced
        var faults: [EntityID: AttachmentFault] = [:]
        for file in item.attachments { faults[file.id] = try session.vault.fault(of: file, reads: false) }
        try context.print(.array(item.attachments.map { .attachment($0, isHere: faults[$0.id] != .missing) })) {
            guard !item.attachments.isEmpty else {
                return context.terminal.outputIsTerminal ? "Nothing is attached." : ""
            }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(alignsRight: true), .init(role: .faint),
                .init(role: .faint), .init(role: .faint),
            ])
            let ids = shortIDs(item.attachments)
            for file in item.attachments {
                table.add([
                    ids[file.id] ?? "", TextWidth.displaySafe(file.name),
                    NumberText.bytes(file.byteCount),
                    TextWidth.displaySafe(file.mediaType), context.relativeTime.day(file.created),
                    faults[file.id].map { isSynced && $0 == .missing ? "at the server" : $0.words } ?? "",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func get(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let record = try session.store.store.vaultRecord(session.store.wantedVault)
        guard record.kind == .synced else { throw SyncCommand.notSynced(record) }
        let files = try meant(context, session)
        let absent = try files.filter { try !session.vault.hasFile(of: $0) }
        var tally = FileTally()
        if !absent.isEmpty {
            let account = try ServerAccess.account(session.store)
            defer { account.connection.logOut() }
            tally = try SyncedFiles.fetch(absent, in: session.vault, record, account, session.store)
        }
        let members = [JSONValue.Member("files", .array(files.map { .attachment($0) }))]
        try context.confirmDone(.object(members + SyncedFiles.json(tally))) {
            guard tally.movedCount > 0 else {
                return absent.isEmpty ? "Everything is here already." : "Nothing could be fetched."
            }
            let size = NumberText.bytes(tally.movedByteCount)
            return "Fetched \(NumberText.counted(tally.movedCount, "file")) (\(size))."
        }
        if let problem = tally.problems.first { throw problem }
    }

    /// The attachments that the command line means: the named ones, or all of the item.
    private static func meant(_ context: CommandContext, _ session: VaultSession) throws -> [Attachment] {
        let item = try session.readable(
            session.vault.item(try session.vault.resolve(context.arguments.required(CommonArguments.item))))
        let wanted = context.arguments.values(names)
        let files = wanted.isEmpty ? item.attachments : try wanted.map(item.attachment(named:))
        guard !files.isEmpty else {
            throw CommandFailure(.notFound, .attachmentNotFound, "nothing is attached to this item")
        }
        return files
    }

    private static func extract(_ context: CommandContext) throws {
        let target = context.arguments.value(output)
        if let target, target != "-" {
            try checkIsFree(target, context)
            try PathCheck.folder(of: target)
        }
        let session = try VaultSession.open(context)
        let files = try meant(context, session)
        guard target == nil || files.count == 1 else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "--output takes one attachment, and \(files.count) are meant", hint: "name the one")
        }
        var written: [String] = []
        for file in files {
            if target == "-" {
                try context.output.flush()
                try writeToOutput(file, session.vault)
                return
            }
            let path = target ?? safeFileName(file.name)
            try checkIsFree(path, context)
            try session.vault.extract(file, toFile: path)
            written.append(path)
        }
        try context.confirmDone(.strings(written)) {
            written.map { "Wrote \(TextWidth.displaySafe($0))." }.joined(separator: "\n")
        }
    }

    private static func checkIsFree(_ path: String, _ context: CommandContext) throws {
        guard !context.arguments.isSet(force), unsafe access(path, F_OK) == 0 else { return }
        throw CommandFailure(
            .cannotCreate, .fileExists, "\(TextWidth.displaySafe(path)) is already there",
            hint: "--force replaces it, --output names another place")
    }

    /// Verified pieces to standard output; a reader that goes away ends it quietly.
    private static func writeToOutput(_ file: Attachment, _ vault: Vault) throws {
        var failure: SystemFailure?
        do {
            try unsafe vault.read(file) { (bytes) throws(StorageError) in
                do throws(SystemFailure) {
                    try unsafe DescriptorIO.write(bytes, to: STDOUT_FILENO)
                } catch {
                    failure = error
                    // Ends the reading; the reason is told below.
                    throw StorageError(.fileFailed, cause: error)
                }
            }
        } catch {
            if failure?.number == EPIPE { throw BrokenPipe() }
            throw error
        }
    }

    /// The beginnings of ids that tell the attachments of one item apart.
    private static func shortIDs(_ files: [Attachment]) -> [EntityID: String] {
        let digits = CommandFailure.distinguishingDigits(files.map(\.id.uuid.hex))
        return Dictionary(uniqueKeysWithValues: files.map { ($0.id, String($0.id.uuid.hex.prefix(digits))) })
    }

    /// The name of an attachment as a file in the working directory; never a path, never hidden by chance.
    static func safeFileName(_ name: String) -> String {
        let last = name.split(separator: "/").last.map(String.init) ?? "attachment"
        return [".", ".."].contains(last) ? "attachment" : last
    }

    private static func remove(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let item = try session.readable(
            session.vault.item(try session.vault.resolve(context.arguments.required(CommonArguments.item))))
        let file = try item.attachment(named: context.arguments.required(name))
        try session.writing { vault in try vault.removeAttachment(file) }
        try context.confirmDone(.fields(["removed": .attachment(file)])) {
            "Took away \(TextWidth.displaySafe(file.name)). The history still has it."
        }
    }
}
