// Files that wait to go to the server, in the words of a person. The one thing to keep true: what is hidden or locked
// is named by its note's title and nothing more.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretSync
internal import CoffretTerminal

enum WaitingFileText {
    /// So many are named one by one.
    private static let namedCountMax = 8

    /// One line for each file, with its size and the room left.
    static func words(_ files: [WaitingFile], of record: VaultRecord, _ session: StoreSession) -> [String] {
        guard !files.isEmpty, let vault = try? session.store.openVault(record.vaultID.hex, isWritable: false) else {
            return []
        }
        defer { vault.close() }
        return words(files, in: vault)
    }

    static func words(_ files: [WaitingFile], in vault: Vault) -> [String] {
        let labels = labels(files, in: vault)
        var lines = files.prefix(namedCountMax).map { file in
            if file.reason == .unreadable { return "\(name(labels[file.fileID])) cannot be read on this device" }
            let room = file.roomByteCount.map { "there is room for \(NumberText.bytes($0)) of files" }
            return "\(name(labels[file.fileID])) (\(NumberText.bytes(file.byteCount))) does not fit on the server: "
                + (room ?? "it has no space left")
        }
        if files.count > namedCountMax {
            let isAll = files.count < SyncMemory.waitingFileCountMax
            lines.append(
                "and \(isAll ? "" : "at least ")\(NumberText.counted(files.count - namedCountMax, "more file"))")
        }
        return lines
    }

    static func json(_ files: [WaitingFile], of record: VaultRecord, _ session: StoreSession) -> JSONValue {
        guard !files.isEmpty, let vault = try? session.store.openVault(record.vaultID.hex, isWritable: false) else {
            return .array([])
        }
        defer { vault.close() }
        return json(files, in: vault)
    }

    static func json(_ files: [WaitingFile], in vault: Vault) -> JSONValue {
        let labels = labels(files, in: vault)
        return .array(
            files.map { file in
                .fields([
                    "name": labels[file.fileID]?.name.map { .string($0) } ?? .null,
                    "title": labels[file.fileID].map { .string($0.itemTitle) } ?? .null,
                    "byteCount": .integer(file.byteCount),
                    "reason": .string(file.reason == .noRoom ? "no-room" : "unreadable"),
                    "roomByteCount": file.roomByteCount.map { .integer($0) } ?? .null,
                ])
            })
    }

    private static func labels(_ files: [WaitingFile], in vault: Vault) -> [UniqueID: FileLabel] {
        (try? vault.labels(ofFiles: Set(files.map(\.fileID)))) ?? [:]
    }

    private static func name(_ label: FileLabel?) -> String {
        guard let label else { return "a file of the past" }
        let title = "\"\(TextWidth.displaySafe(label.itemTitle))\""
        return label.name.map { "\(TextWidth.displaySafe($0)) of \(title)" } ?? "a file of \(title)"
    }
}
