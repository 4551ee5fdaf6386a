// Where passphrases come from: a descriptor, a file, or the person. The one thing to keep true: a
// passphrase never stands in an argument or in an environment variable, and a file that others can
// read is refused.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretTerminal
internal import Glibc

/// Gets passphrases for one command.
struct PassphraseSource {
    let context: CommandContext

    /// The passphrase of an existing store.
    func current(_ question: String = "Passphrase: ") throws -> Passphrase {
        try Passphrase(given: typed(question))
    }

    /// The passphrase as it was given, for another process that looks at it.
    func typed(_ question: String) throws -> SecretBytes {
        if let secret = try unattended() { return secret }
        return try prompt().askSecret(question)
    }

    /// The passphrase from a descriptor or a file, if the caller named one.
    private func unattended() throws -> SecretBytes? {
        if let descriptor = context.arguments.number(GlobalOptions.passphraseDescriptor) {
            return try Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)")
        }
        if let path = context.environment.value(.passphraseFile) { return try read(file: path) }
        return nil
    }

    /// Whether the caller named a descriptor or a file.
    var isUnattended: Bool {
        context.arguments.isSet(GlobalOptions.passphraseDescriptor) || context.environment.value(.passphraseFile) != nil
    }

    /// Whether the passphrase is given for this command alone: typed, or on a descriptor, but not out of a file that
    /// serves every command.
    var isGivenNow: Bool {
        context.arguments.isSet(GlobalOptions.passphraseDescriptor) || context.environment.value(.passphraseFile) == nil
    }

    /// An existing PIN, for the agent that looks at it.
    func pin() throws -> [UInt8] {
        let typed: SecretBytes
        if let path = context.arguments.value(KeyCommand.pinFile) {
            typed = try read(file: path)
        } else {
            typed = try prompt().askSecret("PIN: ")
        }
        guard typed.byteCount > 0 else { throw CommandFailure(.badInput, .passphraseEmpty, "the PIN is empty") }
        // EXPOSE: into the message to the agent, which is zeroed once it is sent.
        return unsafe typed.withUnsafeBytes { unsafe Array($0) }
    }

    /// A PIN from a file that an option names, or as the person chooses it.
    func newPIN(_ question: String) throws -> SecretBytes {
        if let path = context.arguments.value(KeyCommand.pinFile) { return try read(file: path) }
        return try chooseNewTyped(question)
    }

    /// A new passphrase from a descriptor that an option names, for scripts; otherwise the person chooses one.
    func fresh(from option: OptionDescription, orChoosing question: String) throws -> Passphrase {
        guard let descriptor = context.arguments.number(option) else { return try chooseNew(question) }
        return try Passphrase(given: Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)"))
    }

    /// As above, as it was typed, for what other programs read.
    func freshTyped(from option: OptionDescription, orChoosing question: String) throws -> SecretBytes {
        guard let descriptor = context.arguments.number(option) else { return try chooseNewTyped(question) }
        let secret = try Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)")
        guard secret.byteCount > 0 else {
            throw CommandFailure(.badInput, .passphraseEmpty, "the passphrase is empty")
        }
        return secret
    }

    /// Asks for a new passphrase twice, and says how strong it is.
    func chooseNew(_ question: String) throws -> Passphrase { try Passphrase(given: chooseNewTyped(question)) }

    /// As above, as it was typed.
    func chooseNewTyped(_ question: String) throws -> SecretBytes {
        let prompt = try prompt(isNew: true)
        while true {
            let first = try prompt.askSecret(question)
            if first.byteCount == 0 {
                prompt.show(
                    "An empty passphrase protects nothing. Five random words are strong and easy: coffret generate --words 5\n"
                )
                continue
            }
            guard try PassphraseAdvice.accept(first, prompt) else { continue }
            let second = try prompt.askSecret("Repeat: ")
            if first.isEqual(to: second) { return first }
            prompt.show("The two differ. Once more, please.\n")
        }
    }

    // MARK: Locked notes

    /// A passphrase of locked notes: the next line of the descriptor, or what the person types.
    func noteTyped(_ question: String, isOver: (() -> Bool)? = nil) throws -> SecretBytes {
        if let descriptor = context.arguments.number(GlobalOptions.notePassphraseDescriptor) {
            return try Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)")
        }
        try? context.output.flush()
        guard let prompt = context.prompt() else {
            throw CommandFailure(
                .noteLocked, .notePassphraseUnavailable,
                "the note is locked, and there is no terminal to ask for its passphrase",
                hint: "use --note-passphrase-fd N")
        }
        return try prompt.askSecret(question, isOver: isOver)
    }

    /// A new passphrase for locked notes: the next line of a descriptor that an option names, or chosen.
    func newNote(_ question: String) throws -> SecretBytes {
        // Without an option of its own, a script gives the passphrase as for any locked note.
        let option =
            context.arguments.isSet(NoteCommand.newDescriptor)
            ? NoteCommand.newDescriptor : GlobalOptions.notePassphraseDescriptor
        if let descriptor = context.arguments.number(option) {
            return try Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)")
        }
        let prompt = try prompt()
        while true {
            let first = try prompt.askSecret(question)
            if first.byteCount == 0 {
                prompt.show("An empty passphrase protects nothing.\n")
                continue
            }
            guard try PassphraseAdvice.accept(first, prompt) else { continue }
            if try prompt.askSecret("Repeat: ").isEqual(to: first) { return first }
            prompt.show("The two differ. Once more, please.\n")
        }
    }

    /// The passphrase of data that another program made or will read: the bytes as they are, not normalised,
    /// and never from the file that holds the store's passphrase.
    func foreign(isNew: Bool) throws -> SecretBytes {
        let secret: SecretBytes
        if let descriptor = context.arguments.number(GlobalOptions.passphraseDescriptor) {
            secret = try Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)")
        } else {
            guard let prompt = context.prompt() else {
                throw CommandFailure(
                    .unavailable, .passphraseUnavailable,
                    "a key or a passphrase is needed, and there is no terminal to ask at",
                    hint: "use --key-file FILE, or --passphrase-fd N")
            }
            secret = try prompt.askSecret("Passphrase of the cell: ")
            if isNew, secret.byteCount > 0 {
                guard try prompt.askSecret("Repeat: ").isEqual(to: secret) else {
                    throw CommandFailure(.badInput, .passphraseMismatch, "the two passphrases differ")
                }
            }
        }
        guard secret.byteCount > 0 else {
            throw CommandFailure(.badInput, .passphraseEmpty, "the passphrase is empty")
        }
        return secret
    }

    /// The password of another program's export, as `ofKeyFile`.
    func ofSource(from option: OptionDescription, _ question: String) throws -> SecretBytes {
        try ofForeign(from: option, question, "the export is protected by a password")
    }

    /// The passphrase of a key file: from the descriptor that an option names, else from the person. Never from the file
    /// that holds the store's.
    func ofKeyFile(from option: OptionDescription, _ question: String) throws -> SecretBytes {
        try ofForeign(from: option, question, "the key has a passphrase")
    }

    private func ofForeign(
        from option: OptionDescription, _ question: String, _ reason: String
    ) throws -> SecretBytes {
        if let descriptor = context.arguments.number(option) {
            return try Self.readLine(from: Int32(descriptor), "descriptor \(descriptor)")
        }
        guard let prompt = context.prompt() else {
            throw CommandFailure(
                .unavailable, .passphraseUnavailable, "\(reason), and there is no terminal to ask at",
                hint: "use --\(option.name) N")
        }
        return try prompt.askSecret(question)
    }

    /// - Parameter isNew: whether the person chooses one, so that nothing is locked yet.
    private func prompt(isNew: Bool = false) throws -> TerminalPrompt {
        try? context.output.flush()
        guard let prompt = context.prompt() else {
            let scripts = "for scripts use --passphrase-fd N, or name a file of mode 0600 in COFFRET_PASSPHRASE_FILE"
            throw CommandFailure(
                isNew ? .unavailable : .locked, .passphraseUnavailable,
                isNew
                    ? "there is no terminal to ask for a passphrase at"
                    : "the store is locked, and there is no terminal to ask for the passphrase at",
                hint: isNew ? scripts : "coffret unlock at a terminal opens it for a while; \(scripts)")
        }
        return prompt
    }

    /// A recovery key, or the key of a paper device, as it stands on its sheet.
    func recoveryKey() throws -> RecoveryKey {
        if let secret = try unattended() {
            // EXPOSE: a recovery key is read as text.
            return try RecoveryKey.parse(
                keyOrSheet: unsafe secret.withUnsafeBytes { bytes in unsafe String(decoding: bytes, as: UTF8.self) })
        }
        return try SheetPrompt(context: context, prompt: prompt()).ask("Recovery key: its 14 groups, as on the sheet") {
            try RecoveryKey.parse(keyOrSheet: $0)
        }
    }

    /// The first line of a file that others cannot read.
    ///
    /// - Parameters:
    ///   - what: what it holds, for failures.
    ///   - isWhole: whether the other lines are read too.
    func read(file path: String, holding what: String = "passphrase", isWhole: Bool = false) throws -> SecretBytes {
        let shown = TextWidth.displaySafe(path)
        let file: OwnedDescriptor
        do throws(SystemFailure) {
            file = try OwnedDescriptor.open(path, O_RDONLY)
        } catch {
            throw Self.unreadable(what, shown, error)
        }
        var information = stat()
        guard unsafe fstat(file.number, &information) == 0 else {
            throw Self.unreadable(what, shown, SystemFailure.last)
        }
        // A FIFO is what process substitution and password managers offer.
        let kind = information.st_mode & S_IFMT
        let isOwn = information.st_uid == getuid() || information.st_uid == 0
        let isPrivate = kind == S_IFIFO || kind == S_IFREG && information.st_mode & 0o077 == 0
        guard isOwn, isPrivate else {
            throw CommandFailure(
                .permission, .passphraseFileUnsafe, "the \(what) file \(shown) can be read by others",
                hint: "chmod 600 \(shown)")
        }
        return try Self.readLine(from: file.number, shown, holding: what, isWhole: isWhole)
    }

    /// Reads up to the end of the line and not one byte further, so that what follows on the same
    /// descriptor, such as the text of a note, is still there.
    private static func readLine(
        from descriptor: Int32, _ name: String, holding what: String = "passphrase", isWhole: Bool = false
    ) throws -> SecretBytes {
        var line = SecretLine(byteCountMax: TerminalPrompt.secretByteCountMax)
        var byte: UInt8 = 0
        while true {
            let count = unsafe Glibc.read(descriptor, &byte, 1)
            if count < 0 {
                if errno == EINTR { continue }
                throw unreadable(what, name, SystemFailure.last)
            }
            if count == 0 || byte == 0x0A && !isWhole { break }
            guard line.append(byte) else {
                throw CommandFailure(
                    .badInput, .passphraseTooLong,
                    "a \(what) has at most \(TerminalPrompt.secretByteCountMax) bytes")
            }
        }
        return line.take()
    }

    private static func unreadable(_ what: String, _ name: String, _ failure: SystemFailure) -> CommandFailure {
        CommandFailure(
            failure.number == ENOENT ? .notFound : .permission, .fileUnreadable,
            "the \(what) cannot be read from \(name): \(failure.message)")
    }
}
