// Operations that bring a vault's contents in and out. Invariant: a path is never taken from a request: what is read and
// written is a descriptor that the client opened.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretImportExport
package import CoffretKeys
package import CoffretStorage
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
    /// Runs `body` with a path of the one descriptor that came with the request.
    fileprivate func withBrought<Result>(_ kind: DescriptorKind, _ body: (String) throws -> Result) throws -> Result {
        let descriptor = try takeDescriptor(kind)
        let path = "/proc/self/fd/\(descriptor.number)"
        do {
            return try body(path)
        } catch let error as ImportExportError {
            if error.code == .stopped { throw OperationError(.cancelled) }
            // The client knows what it sent by another name.
            let subject = error.subject?.replacing(path + "/", with: "").replacing(path, with: "the descriptor")
            throw ImportExportError(error.code, at: error.place, subject: subject, cause: error.cause)
        }
    }

    /// Makes sure that a person is there before all of a vault leaves it.
    package func requirePresence(forAllOf vault: Vault) throws {
        do {
            try vault.checkNothingIsVeiled()
        } catch let error as CoreError where error.code == .noteHidden {
            var veiled: Item?
            try vault.present.forEachItem { if veiled == nil, $0.isVeiled { veiled = $0 } }
            if let veiled { try surroundings.requirePresence(store, veiled) }
        }
    }
}

extension ImportRun: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withBrought(.folderOrFile) { path in
            var answer = Answer()
            if format == nil, Vault.isFullExport(atPath: path) {
                if isDryRun == true { throw OperationError(.requestInvalid, at: "isDryRun") }
                answer.everything = FullExportMessage(try importedEverything(fromPath: path, on: desk).report)
                return answer
            }
            let importer = try format.map { name in
                guard let importer = ImporterRegistry.named(name) else {
                    throw OperationError(.requestInvalid, at: "format")
                }
                return importer
            }
            let report = try imported(openImportSource(atPath: path), with: importer, on: desk).report
            answer.items = message(of: report)
            return answer
        }
    }

    /// - Parameter importer: nil to tell the format from the content.
    /// - Returns: also the vault, whose index is not made yet.
    package func imported(
        _ source: any ImportSource, with importer: (any Importer)?, on desk: StoreDesk
    ) throws -> (report: ImportReport, vault: Vault) {
        let work = desk.work
        return try writing(on: desk) { vault in
            try vault.importFrom(
                source, with: importer, files: SealedFileContentStore(try vault.contents()),
                isDryRun: isDryRun ?? false, progress: work.pass, isStopped: work.isCancelled)
        }
    }

    /// Brings back a full export, with its whole history, into an empty vault. It cannot be cancelled.
    package func importedEverything(
        fromPath path: String, on desk: StoreDesk
    ) throws -> (report: FullExportReport, vault: Vault) {
        let work = desk.work
        return try writing(on: desk) { vault in
            try vault.importEverything(
                fromPath: path, files: SealedFileContentStore(try vault.contents()), progress: work.pass)
        }
    }

    private func writing<Report>(
        on desk: StoreDesk, _ body: (Vault) throws -> Report
    ) throws -> (report: Report, vault: Vault) {
        let record = try desk.record(vault)
        let report = try desk.writing(record, body)
        let vault = try desk.vault(record)
        if isDryRun != true { desk.indexIsDue(record, vault) }
        return (report, vault)
    }
}

extension ImportRun {
    /// The report as the request wants it.
    package func message(of report: ImportReport) -> ImportMessage {
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
    package init(_ report: FullExportReport) {
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
package struct ExportOutcome {
    /// Of Markdown, or of Bitwarden's JSON.
    package var items: ExportReport?
    /// Of JSON.
    package var everything: FullExportReport?
    /// Files that were left out.
    package var faulty: [FaultyAttachment] = []
}

extension ExportRun: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let isName = !name.isEmpty && name != "." && name != ".." && !name.utf8.contains { $0 == 0x2F || $0 == 0 }
        guard isName else { throw OperationError(.requestInvalid, at: "name") }
        guard onlyUnsent != true || format == .markdown else {
            throw OperationError(.requestInvalid, at: "onlyUnsent")
        }
        let record = try desk.record(vault)
        return try desk.withBrought(.folder) { folder in
            try desk.requirePresence(forAllOf: desk.vault(record))
            return Answer(try written(record, to: "\(folder)/\(name)", only: only(record, on: desk), on: desk))
        }
    }

    /// The items that are written; nil for all.
    ///
    /// - Throws: `CommandFailure` `.vaultNotSynced`, and one if it is not known what the server has.
    package func only(_ record: VaultRecord, on desk: StoreDesk) throws -> Set<EntityID>? {
        guard onlyUnsent == true else { return nil }
        guard record.kind == .synced else { throw CommandFailure.notSynced(record) }
        guard let items = try VaultSyncer.unsentItems(of: desk.vault(record)) else {
            throw CommandFailure(
                .notFound, code: StorageError.Code.historyCompacted.rawValue,
                "what the server last had is not known on this device", hint: "coffret export FOLDER writes everything")
        }
        return items
    }

    /// Writes a vault; the caller has made sure that a person is there where one has to be.
    package func written(
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
        case .textbundle:
            let report = try vault.exportTextBundles(
                to: path, files: files, progress: work.pass, isStopped: work.isCancelled)
            outcome.items = report
            outcome.faulty = try vault.attachments(with: report.faults)
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
    package init(_ outcome: ExportOutcome) {
        self.init()
        items = outcome.items.map { ExportMessage($0) }
        everything = outcome.everything.map { FullExportMessage($0) }
        faulty = outcome.faulty.map { file in
            var message = FaultyFileMessage()
            message.item = file.attachment.item.uuid.hex
            message.attachment = file.attachment.name
            message.fault = file.fault.rawValue
            return message
        }
    }
}

extension ExportMessage {
    package init(_ report: ExportReport) {
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
