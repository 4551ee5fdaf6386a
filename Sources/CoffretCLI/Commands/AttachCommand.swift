// `coffret attach`: files of items, in and out.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum AttachCommand {
    static let file = ArgumentDescription.required("FILE", .file, repeats: true, "files to attach")
    static let name = ArgumentDescription.required("NAME", "the attachment's name or id")
    static let newName = ArgumentDescription.required("NEW", "its new name")
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
                "rename", "Give an attachment another name", arguments: [CommonArguments.item, name, newName],
                run: rename),
            CommandDescription(
                "rm", "Take an attachment from an item", arguments: [CommonArguments.item, name], run: remove),
        ])

    private static func add(_ context: CommandContext) throws {
        for path in context.arguments.values(file) { try PathCheck.readable(path) }
        let store = try CommandStore.open(context)
        let progress = context.progress()
        var added: [AttachmentMessage] = []
        for path in context.arguments.values(file) {
            progress.begin("Attaching", unit: "byte")
            defer { progress.end() }
            added.append(try attach(path, store) { progress.update(done: $0.done, total: $0.total ?? $0.done) })
        }
        try context.confirmDone(.array(added.map(\.json))) {
            added.map { "Attached \(TextWidth.displaySafe($0.name)), \(NumberText.bytes($0.byteCount))." }
                .joined(separator: "\n")
        }
    }

    private static func attach(
        _ path: String, _ store: CommandStore, progress: @escaping (OperationProgress) -> Void
    ) throws -> AttachmentMessage {
        let shown = TextWidth.displaySafe(path)
        do {
            let input = try OwnedDescriptor.open(path, O_RDONLY)
            var information = stat()
            guard unsafe fstat(input.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
                throw CommandFailure(.badInput, .fileUnreadable, "\(shown) is not a file")
            }
            var request = FileAdd()
            (request.item, request.vault) = (store.context.arguments.required(CommonArguments.item), store.namedVault)
            request.name = path.split(separator: "/").last.map(String.init) ?? path
            return try store.perform(request, descriptors: [input.number], progress: progress)
        } catch let error as SystemFailure {
            throw CommandFailure(
                error.number == ENOENT ? .notFound : .permission, .fileUnreadable,
                "\(shown) cannot be read: \(error.message)")
        }
    }

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = FileList()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.givesFaults = context.isJSON ? nil : true
        let files = try store.perform(request).files
        try context.print(.array(files.map(\.json))) {
            guard !files.isEmpty else {
                return context.terminal.outputIsTerminal ? "Nothing is attached." : ""
            }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(alignsRight: true), .init(role: .faint),
                .init(role: .faint), .init(role: .faint),
            ])
            // The beginnings of ids that tell the attachments of one item apart.
            let digits = CommandFailure.distinguishingDigits(files.map(\.id))
            for file in files {
                table.add([
                    String(file.id.prefix(digits)), TextWidth.displaySafe(file.name), NumberText.bytes(file.byteCount),
                    TextWidth.displaySafe(file.mediaType), context.relativeTime.day(file.created.milliseconds),
                    file.fault ?? "",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func get(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = FileFetch()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        let wanted = context.arguments.values(names)
        if !wanted.isEmpty { request.names = wanted }
        let progress = SyncProgressReporter(context)
        defer { progress.end() }
        let answer = try store.perform(request, progress: progress.take)
        progress.end()
        try context.confirmDone(answer.json) {
            guard answer.receivedCount > 0 else {
                return answer.wantedCount == 0 ? "Everything is here already." : "Nothing could be fetched."
            }
            let size = NumberText.bytes(answer.receivedByteCount)
            return "Fetched \(NumberText.counted(answer.receivedCount, "file")) (\(size))."
        }
        if let failure = answer.failure { throw failure }
    }

    private static func extract(_ context: CommandContext) throws {
        let target = context.arguments.value(output)
        if let target, target != "-" {
            try checkIsFree(target, context)
            try PathCheck.folder(of: target)
        }
        let store = try CommandStore.open(context)
        var request = FileList()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.names = context.arguments.values(names)
        let files = try store.perform(request).files
        guard !files.isEmpty else {
            throw CommandFailure(.notFound, .attachmentNotFound, "nothing is attached to this item")
        }
        guard target == nil || files.count == 1 else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "--output takes one attachment, and \(files.count) are meant", hint: "name the one")
        }
        var written: [String] = []
        for file in files {
            var read = FileRead()
            (read.item, read.vault, read.name) = (request.item, request.vault, file.id)
            if target == "-" { return try writeToOutput(read, store) }
            let path = target ?? safeFileName(file.name)
            try checkIsFree(path, context)
            try write(read, toFile: path, store)
            written.append(path)
        }
        try context.confirmDone(.strings(written)) {
            written.map { "Wrote \(TextWidth.displaySafe($0))." }.joined(separator: "\n")
        }
    }

    /// The file appears under its name only when it is complete and verified.
    private static func write(_ request: FileRead, toFile path: String, _ store: CommandStore) throws {
        try PrivateFile.replace(path) { file in _ = try store.perform(request, descriptors: [file]) }
    }

    private static func checkIsFree(_ path: String, _ context: CommandContext) throws {
        guard !context.arguments.isSet(force), unsafe access(path, F_OK) == 0 else { return }
        throw CommandFailure(
            .cannotCreate, .fileExists, "\(TextWidth.displaySafe(path)) is already there",
            hint: "--force replaces it, --output names another place")
    }

    /// Verified pieces to standard output; a reader that goes away ends it quietly.
    private static func writeToOutput(_ request: FileRead, _ store: CommandStore) throws {
        try store.context.output.flush()
        do {
            _ = try store.perform(request, descriptors: [STDOUT_FILENO])
        } catch {
            var polled = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            if unsafe poll(&polled, 1, 0) > 0, polled.revents & Int16(POLLERR) != 0 { throw BrokenPipe() }
            throw error
        }
    }

    /// The name of an attachment as a file in the working directory; never a path, never hidden by chance.
    static func safeFileName(_ name: String) -> String {
        let last = name.split(separator: "/").last.map(String.init) ?? "attachment"
        return [".", ".."].contains(last) ? "attachment" : last
    }

    private static func rename(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = FileRename()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        (request.name, request.newName) = (context.arguments.required(name), context.arguments.required(newName))
        let file = try store.perform(request)
        try context.confirmDone(file.json) { "It is called \(TextWidth.displaySafe(file.name)) now." }
    }

    private static func remove(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = FileRemove()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.name = context.arguments.required(name)
        let file = try store.perform(request)
        try context.confirmDone(.fields(["removed": file.json])) {
            "Took away \(TextWidth.displaySafe(file.name)). The history still has it."
        }
    }
}
