// Values for scripts, what comes in and goes out, and the store as a whole.

internal import CoffretBase
internal import CoffretWire

extension CoffretSession {
    // MARK: Secrets

    /// The values behind references, in their order: all of them, or an error.
    ///
    /// - Parameter references: `coffret://VAULT/ITEM/FIELD` (`Spec/references.md`), at most 10,000.
    /// - Returns: bytes, in this process's memory from then on.
    public func values(of references: [String]) throws(CoffretError) -> [[UInt8]] {
        var request = ReferenceRead()
        request.references = references
        var values: [[UInt8]] = []
        for value in try ask(request).values {
            if let text = value.value {
                values.append(Array(text.utf8))
            } else if let bytes = try? value.base64.map({ try Base64.standard.decode($0) }) {
                values.append(bytes)
            } else {
                throw CoffretError(code: "operation.request.invalid", message: "the answer has no value")
            }
        }
        return values
    }

    /// Makes a password; nothing is stored.
    ///
    /// - Parameters:
    ///   - length: characters; nil for what `coffret generate` takes.
    ///   - excludesSymbols: letters and digits only.
    /// - Returns: the password, and how many bits nobody can guess.
    public func generatePassword(
        length: Int? = nil, excludesSymbols: Bool = false
    ) throws(CoffretError) -> (secret: String, entropyBits: Int) {
        var request = SecretGenerate()
        (request.length, request.excludesSymbols) = (length, excludesSymbols)
        let answer = try ask(request)
        return (answer.secret, answer.entropyBits)
    }

    // MARK: In and out

    /// Brings items of other programs into a vault, as one change. A second run changes nothing.
    ///
    /// - Parameters:
    ///   - descriptor: a folder or file, open for reading. It stays open.
    ///   - format: as `coffret import --format` names it; nil to tell it from the content.
    ///   - isDryRun: whether only the report is made.
    ///   - progress: is told how far the work is; false cancels it, and the vault stays as it was.
    public func importItems(
        reading descriptor: Int32, vault: String? = nil, format: String? = nil, isDryRun: Bool = false,
        progress: ((Progress) -> Bool)? = nil
    ) throws(CoffretError) -> ImportReport {
        var request = ImportRun()
        (request.vault, request.format, request.isDryRun) = (vault, format, isDryRun)
        let answer = try ask(request, bringing: descriptor, progress: progress)
        return ImportReport(answer.items, everything: answer.everything)
    }

    /// Writes a vault in plain text into a folder.
    ///
    /// - Parameters:
    ///   - name: of what is made in the folder: a folder for Markdown, a file for JSON.
    ///   - descriptor: the folder, open. It stays open.
    ///   - format: `markdown`, or `json` with the whole history.
    /// - Returns: how many items were written.
    @discardableResult
    public func export(
        as name: String, into descriptor: Int32, vault: String? = nil, format: ExportFormat = .markdown,
        progress: ((Progress) -> Bool)? = nil
    ) throws(CoffretError) -> Int {
        var request = ExportRun()
        (request.vault, request.name) = (vault, name)
        request.format = format == .json ? .json : .markdown
        let answer = try ask(request, bringing: descriptor, progress: progress)
        return answer.everything?.items ?? answer.items.map { $0.notes + $0.identical + $0.otherItems } ?? 0
    }

    /// A format of an export.
    public enum ExportFormat: Sendable {
        /// A folder of notes with their files.
        case markdown
        /// One file with everything.
        case json
    }

    // MARK: The store

    /// Locks the store: this session ends, and so do all others.
    public func lock() throws(CoffretError) { _ = try ask(StoreLock()) }
}

/// What an import did, or would do.
public struct ImportReport: Hashable, Sendable {
    /// Items that were made.
    public let importedCount: Int
    /// Items that an earlier import had made, and that changed since at their source.
    public let updatedCount: Int
    /// Items that are as an earlier import made them.
    public let unchangedCount: Int
    /// Values that became fields of their names, since nothing of Coffret means them.
    public let keptAsRawCount: Int
    /// Words for a person, about what is to be looked at.
    public let warnings: [String]

    init(_ items: ImportMessage?, everything: FullExportMessage?) {
        importedCount = items?.imported ?? everything?.items ?? 0
        updatedCount = items?.updated ?? 0
        unchangedCount = items?.unchanged ?? 0
        keptAsRawCount = items?.keptAsRaw ?? 0
        warnings = items?.warnings ?? []
    }
}
