// The overview of syncing in the words of a person. The one thing to keep true: each row makes sense alone, since
// without a terminal only the rows that changed are said.

internal import CoffretApp
internal import CoffretBase
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

/// One row: about whom, of what, and how it is.
struct SyncOverviewRow: Equatable {
    /// A vault in quotes, or nothing for what is about all of them.
    let subject: String
    let label: String
    let words: String

    /// `"Personal"  To send: 2 changes, 1.4 kB`.
    var line: String { (subject.isEmpty ? "" : subject + "  ") + "\(label): \(words)" }
}

extension SyncOverview {
    func rows(nowMilliseconds now: Milliseconds) -> [SyncOverviewRow] {
        guard !vaults.isEmpty else {
            return [
                SyncOverviewRow(
                    subject: "", label: "Vaults", words: "none is synced yet: coffret vault sync NAME begins with one")
            ]
        }
        let time = RelativeTime(nowMilliseconds: now)
        var rows: [SyncOverviewRow] = []
        for vault in vaults {
            let subject = "\"\(TextWidth.displaySafe(vault.name))\""
            func add(_ label: String, _ words: String) {
                rows.append(SyncOverviewRow(subject: subject, label: label, words: words))
            }
            add("This device", vault.here)
            add("Server", vault.server(time))
            for device in vault.devices { add(TextWidth.displaySafe(device.name), device.words(time)) }
            add("To send", vault.toSend)
            add("To receive", vault.toReceive)
        }
        rows.append(SyncOverviewRow(subject: "", label: "Syncing", words: syncing(now)))
        return rows
    }

    /// Who syncs, and how that goes.
    private func syncing(_ now: Milliseconds) -> String {
        if let agent, agent != .off {
            return SyncStatus.words(agent, nowMilliseconds: now) { id in vaults.first { $0.id == id }?.name } ?? ""
        }
        let who = agent == .off ? "switched off in the agent: coffret agent settings --sync on" : "by coffret sync only"
        switch line {
        case nil: return who
        case .connected?: return who + "; the server is listened to"
        case .waiting(let problem, let until)?:
            return
                "\(who); \(FailureMeaning.find(problem).plainText), asked again \(SyncStatus.moment(until, now))"
        }
    }
}

extension VaultSyncState {
    fileprivate var here: String {
        let state = version.map { "state \($0.prefix(8))" } ?? "nothing was written yet"
        return "\(state), \(NumberText.counted(itemCount, "item"))"
    }

    fileprivate func server(_ time: RelativeTime) -> String {
        var parts: [String] = []
        switch serverVersion {
        case nil: parts.append(lastSyncedAt == nil ? "not synced yet" : "nothing there yet")
        // What the device that let this one in has told.
        case let other? where version == nil: parts.append("state \(other.prefix(8)), not fetched yet")
        case version?: parts.append(isServerBeyond ? "has a newer state" : "the same state")
        case let other?:
            parts.append(
                isServerBeyond
                    ? "has a newer state, and not what waits here" : "state \(other.prefix(8)), an earlier one")
        }
        if let lastSyncedAt { parts.append("last synced \(time.moment(lastSyncedAt.milliseconds))") }
        if let problem { parts.append(FailureMeaning.find(problem).plainText) }
        return parts.joined(separator: "; ")
    }

    fileprivate var toSend: String {
        var parts: [String] = []
        switch unsentCount {
        case nil: if version != nil { parts.append("everything") }
        case 0?: break
        case let count?:
            let size = unsentByteCount.map { ", \(NumberText.bytes($0))" } ?? ""
            parts.append(NumberText.counted(count, "change") + size)
        }
        if waitingFileCount > 0 {
            let why =
                switch unreadableFileCount {
                case 0: "for which the server has no room"
                case waitingFileCount: "not readable on this device"
                default: "some not readable on this device, the others without room on the server"
                }
            parts.append(
                "\(NumberText.counted(waitingFileCount, "file")), \(NumberText.bytes(waitingFileByteCount)), \(why)")
        }
        return parts.isEmpty ? "nothing" : parts.joined(separator: "; ")
    }

    fileprivate var toReceive: String {
        var parts: [String] = []
        if isServerBeyond || version == nil && serverVersion != nil { parts.append("changes that the server has") }
        if isHistoryPending == true {
            parts.append("older history has not arrived yet")
        }
        if absentFileCount > 0 {
            parts.append(
                "\(NumberText.counted(absentFileCount, "file")), \(NumberText.bytes(absentFileByteCount))"
                    + (absentFilesWanted == .asked ? ", when you ask for them" : ""))
        }
        if devices.contains(where: \.isAhead) { parts.append("changes that the server has not delivered") }
        return parts.isEmpty ? "nothing that is known of here" : parts.joined(separator: "; ")
    }
}

extension DeviceSyncState {
    fileprivate func words(_ time: RelativeTime) -> String {
        let what =
            isAhead
            ? "has changes that are not here" : hasEverything ? "has all that is here" : "does not have all of it yet"
        return what + (heardAt.map { ", heard of \(time.moment($0.milliseconds))" } ?? "")
    }
}
