// A vault as one JSON file: all items, all history, all files. Invariant: importing the file into an empty vault gives
// the same state and the same sequence of states.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

/// Constants of the format. Spec: Spec/export.md.
enum FullExport {
    static let format = "coffret-export"
    static let version: Int64 = 1
    /// Bytes of an attachment in one string: a multiple of three, so that only the last one is padded.
    static let chunkByteCount = 768 << 10
    /// Digits of the check value.
    static let checkDigitCount = 64
    /// The end of the file: the check value of all bytes before.
    static func trailer(check: String) -> [UInt8] { Array(",\"check\":\"\(check)\"}\n".utf8) }
    static let trailerByteCount = trailer(check: String(repeating: "0", count: checkDigitCount)).count

    /// Whether a file starts like a full export.
    static func hasMarker(_ prefix: [UInt8]) -> Bool {
        prefix.starts(with: "{\"format\":\"\(format)\",".utf8)
    }
}

/// The outcome of a full export or import.
package struct FullExportReport: Equatable, Sendable {
    package var items = 0
    package var commits = 0
    package var attachments = 0
    /// Files that history names but that are not in the store any more, or not as they were.
    package var missingAttachments = 0
    /// Faults of contents that were left out, by their references.
    package var faults: [[UInt8]: AttachmentFault] = [:]
    /// Items with values that await a decision: the file says what is shown, and keeps the others in its history.
    package var conflicts = 0
    package var byteCount: UInt64 = 0
    /// The portable state hash.
    package var stateHash: [UInt8] = []

    package init() {}
}

extension Vault {
    /// Writes everything into one file, mode 0600, which must not exist.
    ///
    /// - Parameter isStopped: asked before each piece that is written; of a file that was stopped nothing is left.
    /// - Throws: `.targetOccupied`, `.targetUnwritable`, `.vaultFailed`, `.stopped`.
    /// - Complexity: memory for the places of all facts and one piece of a file; two passes over the history.
    package func exportEverything(
        to path: String, files: (any FileContentStore)? = nil, time: Milliseconds,
        progress: @escaping (WorkProgress) -> Void = { _ in }, isStopped: @escaping () -> Bool = { false }
    ) throws(ImportExportError) -> FullExportReport {
        var report = FullExportReport()
        try writeNewFile(to: path) { (write) throws(ImportExportError) in
            report = try exportEverything(
                files: files, time: time, progress: progress, isStopped: isStopped, write: write)
        }
        return report
    }

    /// The same to where `write` takes the bytes, in order.
    ///
    /// - Throws: what `write` throws, `.vaultFailed`, `.stopped`.
    package func exportEverything(
        files: (any FileContentStore)? = nil, time: Milliseconds,
        progress: @escaping (WorkProgress) -> Void = { _ in }, isStopped: @escaping () -> Bool = { false },
        write: @escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) -> FullExportReport {
        let output = CheckedOutput { piece throws(ImportExportError) in
            if isStopped() { throw ImportExportError(.stopped) }
            try write(piece)
        }
        var run = try FullExportRun(vault: self, files: try fileContents(files), progress: progress)
        var report = try run.write(to: output, time: time)
        try output.finish()
        report.byteCount = output.byteCount
        return report
    }
}

/// Passes bytes on while hashing all but the trailer, which it completes.
private final class CheckedOutput {
    private let write: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    private var held: [UInt8] = []
    private var hasher = CheckHasher()
    private(set) var byteCount: UInt64 = 0

    init(_ write: @escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void) {
        self.write = write
    }

    func append(_ bytes: [UInt8]) throws(ImportExportError) {
        held += bytes
        guard held.count > 1 << 20 else { return }
        try pass(held.count - FullExport.trailerByteCount)
    }

    private func pass(_ count: Int) throws(ImportExportError) {
        hasher.update(Array(held[..<count]))
        try write(held[..<count])
        byteCount += UInt64(count)
        held.removeFirst(count)
    }

    /// Expects that the text ended with the trailer of a check value of zeros, without its line feed.
    func finish() throws(ImportExportError) {
        try pass(held.count - FullExport.trailerByteCount + 1)
        let trailer = FullExport.trailer(check: Hex.encode(hasher.value()))
        try write(trailer[...])
        byteCount += UInt64(trailer.count)
    }
}

/// BLAKE2b-256 in an object, for closures.
final class CheckHasher {
    private var hasher: BLAKE2bHasher? = BLAKE2bHasher(byteCount: 32)

    func update(_ bytes: [UInt8]) { hasher?.update(bytes) }

    func value() -> [UInt8] {
        guard let finished = hasher.take() else { preconditionFailure("a hash is taken once") }
        return finished.finish()
    }
}

/// One export on its way.
private struct FullExportRun {
    private typealias Writer = JSONWriter<ImportExportError>

    private let vault: Vault
    private let files: any FileContentStore
    private let progress: (WorkProgress) -> Void
    private let present: VaultView
    private let history: ShownHistory
    /// Positions of the contents of attachments, by their references.
    private var indexOfReference: [[UInt8]: Int] = [:]
    private var references: [[UInt8]] = []
    /// Files of locked notes, which leave as they are, sealed.
    private var sealedFiles: [UniqueID] = []
    private var report = FullExportReport()
    private let records: RecordTable

    init(
        vault: Vault, files: any FileContentStore, progress: @escaping (WorkProgress) -> Void
    ) throws(ImportExportError) {
        self.vault = vault
        self.files = files
        self.progress = progress
        try wrappingVaultErrors { try vault.checkNothingIsVeiled() }
        present = try wrappingVaultErrors { try vault.present }
        records = try wrappingVaultErrors { try vault.recordTable() }
        let table = records
        history = try wrappingVaultErrors { try ShownHistory(of: vault, records: table) }
    }

    mutating func write(to output: CheckedOutput, time: Milliseconds) throws(ImportExportError) -> FullExportReport {
        try collectReferences()
        var writer = Writer { (bytes) throws(ImportExportError) in try output.append(bytes) }
        try writer.beginObject()
        try writer.name("format")
        try writer.string(FullExport.format)
        try writer.name("version")
        try writer.integer(FullExport.version)
        try writer.name("exported")
        try writer.string(CivilTime.format(time))
        try writer.name("vault")
        try writer.string(vault.name)
        try writeItems(to: &writer)
        try writeAttachments(to: &writer)
        try writeHistory(to: &writer)
        report.stateHash = try present.portableStateHash(files: files, records: records)
        try writer.name("stateHash")
        try writer.string(Hex.encode(report.stateHash))
        try writer.name("check")
        try writer.string(String(repeating: "0", count: FullExport.checkDigitCount))
        try writer.endObject()
        try writer.finish()
        return report
    }

    /// For people and other programs; an import leaves it aside.
    private mutating func writeItems(to writer: inout Writer) throws(ImportExportError) {
        try writer.name("items")
        try writer.beginArray()
        var ids: [EntityID] = []
        try wrappingVaultErrors { try present.forEachItem { ids.append($0.id) } }
        for id in ids {
            guard let item = try wrappingVaultErrors({ try present.item(id) }) else { continue }
            if !item.conflicts.isEmpty { report.conflicts += 1 }
            try ItemListWriter.value(of: item, attachments: item.attachments.map(\.name)).write(to: &writer)
            report.items += 1
        }
        try writer.endArray()
    }

    // MARK: Attachments

    private mutating func collectReferences() throws(ImportExportError) {
        try wrappingVaultErrors {
            try history.forEachStep(withPrefix: [EntityKind.attachment]) { _, changes in
                for (key, value) in changes {
                    if let value { try collectReference(key, value) }
                }
            }
        }
    }

    private mutating func collectReference(_ key: FactKey, _ value: [UInt8]) throws(ImportExportError) {
        if let file = sealedFileID(key, value) {
            guard !sealedFiles.contains(file) else { return }
            if files.containsSealed(file) { sealedFiles.append(file) } else { report.missingAttachments += 1 }
            return
        }
        guard isAttachmentContent(key), let reference = attachmentReference(in: value),
            indexOfReference[reference] == nil, files.description(of: reference) != nil
        else { return }
        // Before it is begun: half a content in the file would be no content.
        guard report.faults[reference] == nil else { return }
        if let fault = try files.fault(of: reference) {
            report.faults[reference] = fault
            report.missingAttachments += 1
        } else {
            indexOfReference[reference] = references.count
            references.append(reference)
        }
    }

    private mutating func writeAttachments(to writer: inout Writer) throws(ImportExportError) {
        try writer.name("attachments")
        try writer.beginArray()
        for (index, reference) in references.enumerated() {
            guard let content = files.description(of: reference) else { continue }
            try writer.beginObject()
            try writer.name("byteCount")
            try writer.integer(content.byteCount)
            try writer.name("hash")
            try writer.string(Hex.encode(content.contentHash))
            try writer.name("chunks")
            try writer.beginArray()
            var pending: [UInt8] = []
            try files.load(reference) { (piece) throws(ImportExportError) in
                pending += piece
                while pending.count >= FullExport.chunkByteCount {
                    try writer.string(Base64.standard.encode(Array(pending.prefix(FullExport.chunkByteCount))))
                    pending.removeFirst(FullExport.chunkByteCount)
                }
            }
            if !pending.isEmpty { try writer.string(Base64.standard.encode(pending)) }
            pending.zero()
            try writer.endArray()
            try writer.endObject()
            report.attachments += 1
            report.byteCount += UInt64(content.byteCount)
            progress(
                WorkProgress(
                    stage: .attaching, doneCount: index + 1, totalCount: references.count, byteCount: report.byteCount))
        }
        for file in sealedFiles { try writeSealed(file, to: &writer) }
        try writer.endArray()
    }

    private mutating func writeSealed(_ file: UniqueID, to writer: inout Writer) throws(ImportExportError) {
        // Size and hash stand before the content: the ciphertext is read twice.
        let hasher = CheckHasher()
        var byteCount = 0
        try files.loadSealed(file) { piece in
            hasher.update(Array(piece))
            byteCount += piece.count
        }
        try writer.beginObject()
        try writer.name("byteCount")
        try writer.integer(byteCount)
        try writer.name("hash")
        try writer.string(Hex.encode(hasher.value()))
        try writer.name("sealed")
        try writer.string(file.hex)
        try writer.name("chunks")
        try writer.beginArray()
        var pending: [UInt8] = []
        try files.loadSealed(file) { (piece) throws(ImportExportError) in
            pending += piece
            while pending.count >= FullExport.chunkByteCount {
                try writer.string(Base64.standard.encode(Array(pending.prefix(FullExport.chunkByteCount))))
                pending.removeFirst(FullExport.chunkByteCount)
            }
        }
        if !pending.isEmpty { try writer.string(Base64.standard.encode(pending)) }
        try writer.endArray()
        try writer.endObject()
        report.attachments += 1
        report.byteCount += UInt64(byteCount)
    }

    // MARK: History

    private mutating func writeHistory(to writer: inout Writer) throws(ImportExportError) {
        try writer.name("history")
        try writer.beginArray()
        var doneCount = 0
        try wrappingVaultErrors {
            try history.forEachStep { step, changes in
                // One that changed nothing has nothing to bring back.
                if !changes.isEmpty {
                    try begin(step, in: &writer)
                    for (key, value) in changes { try write(key, value, to: &writer) }
                    try writer.endArray()
                    try writer.endObject()
                    report.commits += 1
                }
                doneCount += 1
                progress(
                    WorkProgress(
                        stage: .writing, doneCount: doneCount, totalCount: history.steps.count,
                        byteCount: report.byteCount))
            }
        }
        try writer.endArray()
    }

    private func begin(_ step: ShownHistory.Step, in writer: inout Writer) throws(ImportExportError) {
        try writer.beginObject()
        try writer.name("time")
        try writer.integer(step.time)
        try writer.name("instance")
        try writer.string(step.instance.hex)
        try writer.name("changes")
        try writer.beginArray()
    }

    private func write(_ key: FactKey, _ value: [UInt8]?, to writer: inout Writer) throws(ImportExportError) {
        var form = value.map { ExportValue($0, under: key) } ?? .retraction
        if isAttachmentContent(key), let value, let reference = attachmentReference(in: value),
            let index = indexOfReference[reference]
        {
            form = .attachment(index)
        } else if isNoteHint(key), let value, let hint = try? vault.openHint(value, of: key.entity.uuid) {
            form = .hint(hint)
        }
        try writer.beginArray()
        try writer.string(ExportEntity.text(key.entity))
        try writer.string(key.attribute.name)
        if !key.element.isEmpty { try writer.string(Hex.encode(key.element)) } else { try writer.null() }
        try form.write(to: &writer)
        try writer.endArray()
    }
}
