// Operations that bring a vault's contents in and out. Invariant: a path is never taken from a request: what is read and
// written is a descriptor that the client opened.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretImportExport
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
package import CoffretWire

extension OperationWork {
    /// Passes on how far an import or export has come.
    fileprivate func pass(_ progress: WorkProgress) {
        report(
            OperationProgress(
                done: progress.doneCount, total: progress.totalCount, stage: progress.stage.rawValue,
                byteCount: Int(clamping: progress.byteCount)))
    }
}

extension StoreDesk {
    /// Runs `body` with a path of a descriptor that came with the request.
    fileprivate func withPath<Result>(
        of descriptor: Int32, _ body: (String) throws -> Result
    ) throws -> Result {
        let path = "/proc/self/fd/\(descriptor)"
        do {
            return try cancellable { try body(path) }
        } catch let error as ImportExportError {
            // The client knows what it sent by the name of the file.
            let subject = error.subject?.replacing(path + "/", with: "")
                .replacing(path, with: DescriptorTransfer.name(of: descriptor) ?? "the descriptor")
            throw ImportExportError(error.code, at: error.place, subject: subject, cause: error.cause)
        }
    }

    /// Runs `body`, whose being stopped is said as that of an operation.
    fileprivate func cancellable<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as ImportExportError where error.code == .stopped {
            throw OperationError(.cancelled)
        }
    }

    /// Makes sure that a person is there before all of a vault leaves it.
    fileprivate func requirePresence(forAllOf vault: Vault) throws {
        if let veiled = try firstVeiled(in: vault) { try surroundings.requirePresence(store, veiled) }
    }

    /// - Returns: nil also where a person has shown to be there.
    fileprivate func firstVeiled(in vault: Vault) throws -> Item? {
        do {
            try vault.checkNothingIsVeiled()
            return nil
        } catch let error as CoreError where error.code == .noteHidden {
            var veiled: Item?
            try vault.present.forEachItem { if veiled == nil, $0.isVeiled { veiled = $0 } }
            return veiled
        }
    }
}

extension ImportRun: PerformedOperation {
    /// The most bytes of a key file.
    private static let keyByteCountMax = 64 << 20

    package func perform(on desk: StoreDesk) throws -> Answer {
        let keyCount = [bringsKeyFile, bringsConstants].count { $0 == true }
        let brought = try desk.takeDescriptors([.folderOrFile] + Array(repeating: .stream, count: keyCount))
        let keys = try keys(brought.numbers.dropFirst(), on: desk)
        return try desk.withPath(of: brought.numbers[0]) { path in
            var answer = Answer()
            if format == nil, Vault.isFullExport(atPath: path) {
                if isDryRun == true { throw OperationError(.requestInvalid, at: "isDryRun") }
                answer.everything = FullExportMessage(try importedEverything(fromPath: path, on: desk))
                return answer
            }
            let importer = try format.map { name in
                guard let importer = ImporterRegistry.named(name) else {
                    throw OperationError(.requestInvalid, at: "format")
                }
                return importer
            }
            do {
                answer.items = message(of: try imported(openImportSource(atPath: path), importer, keys, on: desk))
            } catch {
                throw keys.refusal ?? error
            }
            return answer
        }
    }

    private func imported(
        _ source: any ImportSource, _ importer: (any Importer)?, _ keys: SourceKeys, on desk: StoreDesk
    ) throws -> ImportReport {
        let work = desk.work
        // The files are read, and the person is asked, before anything is locked.
        let begun = try (importer ?? ImporterRegistry.detect(source)).begun(on: source, keys: keys)
        let record = try desk.record(vault)
        let report = try desk.writing(record) { vault in
            try vault.importFrom(
                source, with: begun, files: SealedFileContentStore(try vault.contents()),
                isDryRun: isDryRun ?? false, progress: work.pass, isStopped: work.isCancelled)
        }
        if isDryRun != true, !report.isNothingNew { try desk.makeIndex(of: desk.vault(record)) }
        return report
    }

    /// Brings back a full export, with its whole history, into an empty vault.
    private func importedEverything(fromPath path: String, on desk: StoreDesk) throws -> FullExportReport {
        let (work, record) = (desk.work, try desk.record(vault))
        let report = try desk.writing(record) { vault in
            try vault.importEverything(
                fromPath: path, files: SealedFileContentStore(try vault.contents()), progress: work.pass,
                isStopped: work.isCancelled)
        }
        try desk.makeIndex(of: desk.vault(record))
        return report
    }

    /// The password of a protected export, in the hands of the person who is asked.
    private func keys(_ numbers: ArraySlice<Int32>, on desk: StoreDesk) throws -> SourceKeys {
        var left = numbers
        func take(_ isBrought: Bool?, _ what: String) throws -> [UInt8]? {
            guard isBrought == true, let number = left.popFirst() else { return nil }
            return try DescriptorTransfer.told {
                try DescriptorTransfer.bytes(from: number, byteCountMax: Self.keyByteCountMax, what, desk.work)
            }
        }
        let person = desk.surroundings.person
        func ask<Value: ~Copyable>(_ body: (any OperationPerson) throws -> Value) throws -> Value {
            do {
                guard let person else { throw OperationError(.unanswered) }
                return try body(person)
            } catch let error as OperationError where error.code == .unanswered {
                throw ImportExportError(.passwordNeeded)
            }
        }
        let keys = SourceKeys(keyFile: try take(bringsKeyFile, "the key file")) { question in
            let question = SessionQuestion(
                .sourcePassword, TextWidth.displaySafe(question), reason: "open the export")
            return try ask { try $0.secret(question) }
        }
        keys.constants = try take(bringsConstants, "the file of constants")
        keys.decryptOpenPGP = { ciphertext in
            let sealed = try DescriptorTransfer.memoryFile(ciphertext)
            guard let opened = try ask({ try $0.opened(sealed) }) else { return nil }
            return try DescriptorTransfer.bytes(
                from: opened.number, byteCountMax: Self.keyByteCountMax, "an opened file", desk.work)
        }
        return keys
    }
}

extension ImportRun {
    /// The report as the request wants it.
    private func message(of report: ImportReport) -> ImportMessage {
        var message = ImportMessage(report, isDryRun: isDryRun ?? false)
        guard listsItems == true else { return message }
        message.perItem = report.items.map { item in
            var line = ImportedItemMessage()
            (line.name, line.outcome, line.mapped, line.raw) = (item.name, item.outcome.rawValue, item.mapped, item.raw)
            return line
        }
        return message
    }
}

extension ImportMessage {
    fileprivate init(_ report: ImportReport, isDryRun: Bool) {
        self.init()
        self.isDryRun = isDryRun
        format = report.format
        imported = report.imported
        updated = report.updated
        unchanged = report.unchanged
        conflicts = report.conflicts
        attachments = report.attachments
        tags = report.tags
        mapped = report.mapped
        keptAsRaw = report.keptAsRaw
        dropped = report.dropped
        hidden = report.hidden
        missing = report.missing
        danglingLinks = report.danglingLinks
        byteCount = Int(clamping: report.byteCount)
        warningCount = report.warningCount
        warnings = report.warnings
        rawFields = report.rawFields.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
            .map { label, field in
                var message = RawFieldMessage()
                (message.label, message.count, message.example) = (label, field.count, field.example)
                return message
            }
    }
}

extension FullExportMessage {
    fileprivate init(_ report: FullExportReport) {
        self.init()
        items = report.items
        commits = report.commits
        attachments = report.attachments
        missingAttachments = report.missingAttachments
        conflicts = report.conflicts
        byteCount = Int(clamping: report.byteCount)
        stateHash = Hex.encode(report.stateHash)
    }
}

/// What an export has written.
private struct ExportOutcome {
    /// Of any format but JSON.
    var items: ExportReport?
    /// Of JSON.
    var everything: FullExportReport?
    /// Files that were left out.
    var faulty: [FaultyAttachment] = []
}

extension String {
    /// Whether it names something in a folder, and no other place.
    var isFileName: Bool { !isEmpty && self != "." && self != ".." && !utf8.contains { $0 == 0x2F || $0 == 0 } }
}

extension ExportRun: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard onlyUnsent != true || format == .markdown else {
            throw OperationError(.requestInvalid, at: "onlyUnsent")
        }
        let needsPassword = format == .kdbx && isTrial != true
        guard (bringsPassword ?? false) == needsPassword else {
            throw OperationError(.requestInvalid, at: "bringsPassword")
        }
        let record = try desk.record(vault)
        if isTrial == true {
            var answer = Answer()
            answer.trial = try trial(record, on: desk)
            return answer
        }
        let unreadable = try desk.vault(record).unreadable
        unreadable.forget()
        var answer = try outcome(record, needsPassword: needsPassword, on: desk)
        answer.unreadable = try desk.vault(record).unreadableValues().map { id, title, attributes in
            var message = UnreadableValueMessage()
            (message.item, message.title, message.attributes) = (id.uuid.hex, title, attributes)
            return message
        }
        return answer
    }

    private func outcome(_ record: VaultRecord, needsPassword: Bool, on desk: StoreDesk) throws -> Answer {
        if bringsStream == true { return try Answer(streamed(record, on: desk)) }
        guard let name, name.isFileName else { throw OperationError(.requestInvalid, at: "name") }
        let brought = try desk.takeDescriptors(needsPassword ? [.folder, .stream] : [.folder])
        return try desk.withPath(of: brought.numbers[0]) { folder in
            try desk.requirePresence(forAllOf: desk.vault(record))
            let path = "\(folder)/\(name)"
            if needsPassword {
                let password = try DescriptorTransfer.told {
                    try DescriptorTransfer.secret(from: brought.numbers[1], desk.work)
                }
                guard password.byteCount > 0 else { throw OperationError(.requestInvalid, at: "password") }
                return Answer(try database(record, to: path, password, on: desk))
            }
            return Answer(try written(record, to: path, only: only(record, on: desk), on: desk))
        }
    }

    private func trial(_ record: VaultRecord, on desk: StoreDesk) throws -> ExportTrialMessage {
        let (vault, only) = (try desk.vault(record), try only(record, on: desk))
        let items = try vault.list(.everything).filter { only?.contains($0.id) ?? true }
        var message = ExportTrialMessage()
        (message.vault, message.name) = (record.vaultID.hex, vault.name)
        message.isSynced = record.kind == .synced
        (message.itemCount, message.secretCount) = (items.count, items.count { $0.kind != .note })
        message.hasHidden = try desk.firstVeiled(in: vault) != nil
        return message
    }

    /// The items that are written; nil for all.
    ///
    /// - Throws: `CommandFailure` `.vaultNotSynced`, and one if it is not known what the server has.
    private func only(_ record: VaultRecord, on desk: StoreDesk) throws -> Set<EntityID>? {
        guard onlyUnsent == true else { return nil }
        guard record.kind == .synced else { throw CommandFailure.notSynced(record.name) }
        guard let items = try VaultSyncer.unsentItems(of: desk.vault(record)) else {
            throw CommandFailure(
                .notFound, code: StorageError.Code.historyCompacted.rawValue,
                "what the server last had is not known on this device", hint: "coffret export FOLDER writes everything")
        }
        return items
    }

    /// Writes everything into the stream that the request brings.
    private func streamed(_ record: VaultRecord, on desk: StoreDesk) throws -> ExportOutcome {
        guard format == .json, name == nil else { throw OperationError(.requestInvalid, at: "bringsStream") }
        let brought = try desk.takeDescriptors([.stream])
        let (vault, work) = (try desk.vault(record), desk.work)
        try desk.requirePresence(forAllOf: vault)
        // The reader may begin now: a pipe holds little.
        work.report(OperationProgress(done: 0, total: 0, stage: WorkProgress.Stage.writing.rawValue))
        let report = try desk.cancellable {
            try vault.exportEverything(
                files: SealedFileContentStore(try vault.contents()), time: desk.surroundings.clock.now,
                progress: work.pass, isStopped: work.isCancelled
            ) { (piece) throws(ImportExportError) in
                do {
                    try unsafe piece.withUnsafeBytes {
                        try unsafe DescriptorTransfer.write($0, to: brought.numbers[0], work)
                    }
                } catch {
                    throw ImportExportError(
                        work.isCancelled() ? .stopped : .targetUnwritable, at: "the pipe", cause: error)
                }
            }
        }
        return ExportOutcome(everything: report, faulty: try vault.attachments(with: report.faults))
    }

    /// Writes a vault as a KeePass database.
    private func database(
        _ record: VaultRecord, to path: String, _ password: borrowing SecretBytes, on desk: StoreDesk
    ) throws -> ExportOutcome {
        let (vault, work) = (try desk.vault(record), desk.work)
        let report = try vault.exportKDBX(
            to: path, password: password, files: SealedFileContentStore(try vault.contents()),
            random: desk.surroundings.random, progress: work.pass, isStopped: work.isCancelled)
        return ExportOutcome(items: report, faulty: try vault.attachments(with: report.faults))
    }

    /// Writes a vault in clear; the caller has made sure that a person is there where one has to be.
    private func written(
        _ record: VaultRecord, to path: String, only: Set<EntityID>?, on desk: StoreDesk
    ) throws -> ExportOutcome {
        let (vault, work) = (try desk.vault(record), desk.work)
        let files = SealedFileContentStore(try vault.contents())
        var outcome = ExportOutcome()
        switch format {
        case .json:
            let report = try vault.exportEverything(
                to: path, files: files, time: desk.surroundings.clock.now, progress: work.pass,
                isStopped: work.isCancelled)
            outcome.everything = report
            outcome.faulty = try vault.attachments(with: report.faults)
        case .textbundle, .textpack:
            let report = try vault.exportTextBundles(
                to: path, isPack: format == .textpack, files: files, progress: work.pass, isStopped: work.isCancelled)
            outcome.items = report
            outcome.faulty = try vault.attachments(with: report.faults)
        case .html:
            let report = try vault.exportHTML(to: path, files: files, progress: work.pass, isStopped: work.isCancelled)
            outcome.items = report
            outcome.faulty = try vault.attachments(with: report.faults)
        case .csv: outcome.items = try vault.exportTable(to: path, progress: work.pass, isStopped: work.isCancelled)
        case .kdbx: throw OperationError(.requestInvalid, at: "bringsPassword")
        case .bitwarden:
            outcome.items = try vault.exportBitwarden(to: path, progress: work.pass, isStopped: work.isCancelled)
        case .markdown:
            var options = MarkdownExportOptions()
            options.only = only
            let report = try vault.exportMarkdown(
                to: path, files: files, options: options, progress: work.pass, isStopped: work.isCancelled)
            outcome.items = report
            outcome.faulty = try vault.attachments(with: report.faults)
        }
        return outcome
    }
}

extension ExportRun.Answer {
    fileprivate init(_ outcome: ExportOutcome) {
        self.init()
        items = outcome.items.map { ExportMessage($0) }
        everything = outcome.everything.map { FullExportMessage($0) }
        faulty = outcome.faulty.map { FaultyFileMessage($0) }
    }
}

extension FaultyFileMessage {
    package init(_ file: FaultyAttachment) {
        self.init()
        (item, title) = (file.attachment.item.uuid.hex, file.itemTitle)
        (attachment, fault) = (file.attachment.name, file.fault.rawValue)
    }
}

extension ExportMessage {
    fileprivate init(_ report: ExportReport) {
        self.init()
        notes = report.notes
        identical = report.identical
        otherItems = report.otherItems
        attachments = report.attachments
        locked = report.locked
        trashed = report.trashed
        byteCount = Int(clamping: report.byteCount)
        warnings = report.warnings
    }
}
