// A full export into an empty vault. Invariant: the file was checked from beginning to end before the first entry is
// written, and its whole history becomes visible in one step.

internal import CPlatform
internal import CoffretBase
package import CoffretCore
internal import CoffretLogs
internal import CoffretStorage
internal import Glibc

extension Vault {
    /// Whether what lies at `path` is a full export of a vault, by its first bytes.
    package static func isFullExport(atPath path: String) -> Bool {
        guard let descriptor = try? openSourceDescriptor(atPath: path) else { return false }
        let file = FullExportFile(path: path, file: OwnedDescriptor(descriptor), byteCount: 0)
        return (try? file.read(at: 0, count: 64)).map(FullExport.hasMarker) ?? false
    }

    /// Brings a full export back: the same facts, the same sequence of states with their times, signed anew by
    /// this device; attachments sealed anew.
    ///
    /// The file is read three times: its check value, its grammar and contents, then for writing. All commits are
    /// written aside, compared with the state hash that the file states, and then made visible with one sync.
    /// - Throws: `.stopped`, `.vaultNotEmpty`, `.formatTruncated`, `.checkMismatch`, `.formatInvalid`, `.formatVersionUnknown`,
    ///   `.vaultFailed`, `.stateMismatch` if the file states another hash than results. The vault is then as it
    ///   was; files that were sealed already stay, named by nothing, until it is compacted.
    package func importEverything(
        fromPath path: String, files: (any FileContentStore)? = nil, limits: ImportLimits = ImportLimits(),
        progress: @escaping (WorkProgress) -> Void = { _ in }, isStopped: @escaping () -> Bool = { false }
    ) throws(ImportExportError) -> FullExportReport {
        let files = try fileContents(files)
        guard try wrappingVaultErrors({ try present.snapshot.factCount }) == 0 else {
            throw ImportExportError(.vaultNotEmpty)
        }
        let descriptor = unsafe coffret_open(path, O_RDONLY | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            throw ImportExportError(
                errno == ENOENT ? .sourceMissing : .sourceUnreadable, at: "errno \(errno)",
                subject: printableText(path.utf8))
        }
        let open = OwnedDescriptor(descriptor)
        let status = try open.status(subject: path)
        guard status.kind == .file else {
            throw ImportExportError(.sourceUnreadable, at: "not a file", subject: printableText(path.utf8))
        }
        let file = FullExportFile(path: path, file: open, byteCount: status.byteCount)
        guard FullExport.hasMarker(try file.read(at: 0, count: 64)) else {
            throw ImportExportError(.sourceUnrecognised, subject: printableText(path.utf8))
        }
        try file.verifyCheck()
        var trial = FullImportTrial()
        _ = try file.parse(into: &trial, limits: limits)
        let staged = try wrappingVaultErrors { try beginStaging() }
        defer { staged.cancel() }
        let aside = staged.vault
        var run = FullImportRun(
            vault: aside, files: files, commitCount: trial.commitCount, progress: progress, isStopped: isStopped)
        let stated = try file.parse(into: &run, limits: limits)
        run.report.byteCount = file.byteCount
        try wrappingVaultErrors { try aside.present.forEachItem { _ in run.report.items += 1 } }
        run.report.stateHash = try wrappingVaultErrors { try aside.present }.portableStateHash(files: files)
        guard run.report.stateHash == stated else { throw ImportExportError(.stateMismatch) }
        try wrappingVaultErrors { try staged.commit() }
        return run.report
    }
}

/// Reads everything and writes nothing.
struct FullImportTrial: FullExportHandler {
    private(set) var commitCount = 0
    private(set) var changeCount = 0

    mutating func attachment(
        byteCount: Int, hash: [UInt8], sealedFile: UniqueID?,
        content: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        try content { _ in }
    }

    mutating func beginCommit(time: Milliseconds) {}
    mutating func change(_ key: FactKey, _ value: ExportValue) { changeCount += 1 }
    mutating func endCommit() { commitCount += 1 }
}

/// Writes the vault.
private struct FullImportRun: FullExportHandler {
    let vault: Vault
    let files: any FileContentStore
    let commitCount: Int
    let progress: (WorkProgress) -> Void
    let isStopped: () -> Bool
    var report = FullExportReport()
    private var references: [[UInt8]] = []
    private var bulk: LogBatch?
    private var time: Milliseconds = 0

    init(
        vault: Vault, files: any FileContentStore, commitCount: Int, progress: @escaping (WorkProgress) -> Void,
        isStopped: @escaping () -> Bool
    ) {
        self.vault = vault
        self.files = files
        self.commitCount = commitCount
        self.progress = progress
        self.isStopped = isStopped
    }

    mutating func attachment(
        byteCount: Int, hash: [UInt8], sealedFile: UniqueID?,
        content: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        if let sealedFile {
            try files.storeSealed(sealedFile, content)
            references.append([])
        } else {
            references.append(try files.store(content).encodedReference)
        }
        report.attachments += 1
    }

    mutating func beginCommit(time: Milliseconds) throws(ImportExportError) {
        if isStopped() { throw ImportExportError(.stopped) }
        self.time = time
        bulk = try wrappingVaultErrors { try vault.repository.beginBatch() }
    }

    mutating func change(_ key: FactKey, _ value: ExportValue) throws(ImportExportError) {
        var bytes = value.bytes(under: key)
        if case .attachment(let index) = value {
            guard !references[index].isEmpty else { throw ImportExportError(.formatInvalid, at: "sealed attachment") }
            bytes = attachmentContentValue(references[index])
        }
        if case .hint(let text) = value {
            bytes = try wrappingVaultErrors { try vault.hintChange(text, of: key.entity.uuid).value }
        }
        do {
            try bulk?.add(LogChange(key: key, value: bytes))
        } catch {
            bulk?.cancel()
            throw ImportExportError(.vaultFailed, cause: error)
        }
    }

    mutating func endCommit() throws(ImportExportError) {
        do {
            try bulk?.commit(time: time)
        } catch {
            bulk?.cancel()
            throw ImportExportError(.vaultFailed, cause: error)
        }
        bulk = nil
        report.commits += 1
        progress(WorkProgress(stage: .saving, doneCount: report.commits, totalCount: commitCount, byteCount: 0))
    }
}
