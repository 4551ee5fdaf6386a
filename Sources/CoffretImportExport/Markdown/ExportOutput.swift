// What exports of a vault into a folder or an archive do alike. Invariant: a fault of one content is reported, and the export goes on.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage

/// Writes the items of a vault, one after the other.
protocol ItemExport {
    var output: ExportOutput { get }
    mutating func write(_ item: Item) throws(ImportExportError)
    mutating func finish() throws(ImportExportError)
}

/// A folder or archive that is being written, and the report about it.
struct ExportOutput {
    let target: any ExportTarget
    let files: any FileContentStore
    var report = ExportReport()
    /// Files by the paths that they had in their import, and their items: a text may show a file of another item.
    var owners: [String: (file: Attachment, item: EntityID)] = [:]
    /// Logins and other items, for one list of all.
    private var otherItems: [JSONValue] = []

    init(target: any ExportTarget, files: any FileContentStore) {
        self.target = target
        self.files = files
    }

    /// Counts an item that is left out; says whether it is.
    mutating func leavesOut(_ item: Item, isTrashLeftOut: Bool) -> Bool {
        if item.isTrashed, isTrashLeftOut {
            report.trashed += 1
            return true
        }
        if item.isSealed { report.locked += 1 }
        return item.isSealed
    }

    mutating func write(
        _ bytes: [UInt8], to path: SourcePath, modified: Milliseconds?
    ) throws(ImportExportError) {
        try target.write(path, modifiedMilliseconds: modified) { (write) throws(ImportExportError) in
            try write(bytes[...])
        }
        report.byteCount += UInt64(bytes.count)
    }

    /// Writes the content of a file.
    ///
    /// - Returns: false if the content has a fault, which is in the report then.
    mutating func write(_ attachment: Attachment, to path: SourcePath) throws(ImportExportError) -> Bool {
        let files = files
        do throws(ImportExportError) {
            try target.write(path, modifiedMilliseconds: attachment.created) { (write) throws(ImportExportError) in
                try files.load(attachment.encodedReference, write)
            }
        } catch {
            guard error.code == .vaultFailed, let fault = error.cause.flatMap(AttachmentFault.init) else { throw error }
            report.faults[attachment.encodedReference] = fault
            return false
        }
        report.attachments += 1
        report.byteCount += UInt64(max(0, attachment.byteCount))
        return true
    }

    /// Keeps an item for the list of other items.
    mutating func add(other item: Item, attachments: [String]) {
        otherItems.append(ItemListWriter.value(of: item, attachments: attachments))
        report.otherItems += 1
    }

    /// Writes the list of other items, and makes everything durable.
    mutating func finish(_ names: inout ExportNames) throws(ImportExportError) {
        if !otherItems.isEmpty {
            var bytes = Array((ItemListWriter.list(otherItems).text(.pretty) + "\n").utf8)
            defer { bytes.zero() }
            let path = names.free(ItemListWriter.fileName)
            try write(bytes, to: path, modified: nil)
            report.warnings.append("\(path.printable) holds passwords and other secrets in clear")
        }
        try target.synchronize()
    }
}

extension Vault {
    /// Runs an export over the items of the present that `isWanted` admits.
    ///
    /// - Parameter isArchive: whether the target is one zip file, and no folder.
    func export(
        to target: String, files: (any FileContentStore)?, mayReplace: Bool = false, isArchive: Bool = false,
        isWanted: (EntityID) -> Bool = { _ in true }, progress: (WorkProgress) -> Void, isStopped: () -> Bool,
        _ begin: (VaultView, ExportOutput) throws(ImportExportError) -> some ItemExport
    ) throws(ImportExportError) -> ExportReport {
        let files = try fileContents(files)
        try wrappingVaultErrors { try checkNothingIsVeiled() }
        let view = try wrappingVaultErrors { try present }
        var ids: [EntityID] = []
        var owners: [String: (file: Attachment, item: EntityID)] = [:]
        try wrappingVaultErrors {
            try view.forEachItem { item in
                guard isWanted(item.id) else { return }
                ids.append(item.id)
                for file in item.attachments { if let path = file.path { owners[path] = (file, item.id) } }
            }
        }
        func run(into target: any ExportTarget) throws(ImportExportError) -> ExportReport {
            var output = ExportOutput(target: target, files: files)
            output.owners = owners
            var run = try begin(view, output)
            for (index, id) in ids.enumerated() {
                if isStopped() { throw ImportExportError(.stopped) }
                guard let item = try wrappingVaultErrors({ try view.item(id) }) else { continue }
                try run.write(item)
                progress(
                    WorkProgress(
                        stage: .writing, doneCount: index + 1, totalCount: ids.count,
                        byteCount: run.output.report.byteCount))
            }
            try run.finish()
            return run.output.report
        }
        guard isArchive else { return try run(into: ExportFolder(path: target, mayReplace: mayReplace)) }
        var report = ExportReport()
        try writeNewFile(to: target) { (write) throws(ImportExportError) in
            report = try run(into: ExportArchive(write))
        }
        return report
    }
}
