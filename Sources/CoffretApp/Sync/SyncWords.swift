// How syncing stands, in the words of a person. Invariant: they say what is known and since when, and never that something
// arrived which nobody has confirmed.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
package import CoffretSync
package import CoffretTerminal
package import CoffretWire

extension VaultSyncState {
    /// `nothing waits to be sent; last synced 3 min ago`.
    package func words(_ time: RelativeTime) -> String {
        var parts: [String] = []
        switch unsentCount {
        // One in which nothing was written is synced, and remembers nothing.
        case nil: parts.append(lastSyncedAt == nil ? "not synced yet" : "nothing waits to be sent")
        case 0?: parts.append(version == nil ? "not fetched yet: coffret sync" : "nothing waits to be sent")
        case let count?:
            parts.append("\(NumberText.counted(count, "change")) \(count == 1 ? "waits" : "wait") to be sent")
        }
        if isHistoryPending == true { parts.append("older history has not arrived yet: coffret sync") }
        parts += waitingFiles.words
        if let words = absentFileWords { parts.append(words) }
        if isSweepDue == true { parts.append("the server still has history that you dropped") }
        if let lastSyncedAt { parts.append("last synced \(time.moment(lastSyncedAt.milliseconds))") }
        if let problem { parts.append(FailureMeaning.find(problem).plainText) }
        return parts.joined(separator: "; ")
    }

    /// `3 files (1.2 MB) are not here yet: the disk of this device has no room for …`; nil if all are here.
    private var absentFileWords: String? {
        guard absentFileCount > 0 else { return nil }
        let what =
            "\(NumberText.counted(absentFileCount, "file")) (\(NumberText.bytes(absentFileByteCount))) "
            + (absentFileCount == 1 ? "is " : "are ")
        if absentFilesWanted == .asked { return what + "at the server only, as you wish" }
        return what + "not here yet" + (fileProblem.map { ": " + FailureMeaning.find($0).plainText } ?? "")
    }
}

extension [WaitingFileMessage] {
    /// So many are named one by one.
    private static var namedCountMax: Int { 8 }

    /// - Parameter files: of one vault.
    package init(_ files: [WaitingFile], in vault: Vault) {
        let labels = (try? vault.labels(ofFiles: Set(files.map(\.fileID)))) ?? [:]
        self = files.map { file in
            var message = WaitingFileMessage()
            (message.name, message.title) = (labels[file.fileID]?.name, labels[file.fileID]?.itemTitle)
            message.byteCount = file.byteCount
            message.reason = file.reason == .noRoom ? .noRoom : .unreadable
            message.roomByteCount = file.roomByteCount
            return message
        }
    }

    /// One line for each file, with its size and the room left.
    package var words: [String] {
        var lines = prefix(Self.namedCountMax).map { file in
            if file.reason == .unreadable { return "\(file.words) cannot be read on this device" }
            let room = file.roomByteCount.map { "there is room for \(NumberText.bytes($0)) of files" }
            return "\(file.words) (\(NumberText.bytes(file.byteCount))) does not fit on the server: "
                + (room ?? "it has no space left")
        }
        if count > Self.namedCountMax {
            let isAll = count < LogMemory.waitingFileCountMax
            lines.append(
                "and \(isAll ? "" : "at least ")\(NumberText.counted(count - Self.namedCountMax, "more file"))")
        }
        return lines
    }
}

extension WaitingFileMessage {
    fileprivate var words: String {
        guard let title else { return "a file of the past" }
        let item = "\"\(TextWidth.displaySafe(title))\""
        return name.map { "\(TextWidth.displaySafe($0)) of \(item)" } ?? "a file of \(item)"
    }
}
