// The request for how syncing stands.

package struct SyncRead: StoreOperation {
    package static let name = "sync.read"
    package static let access = OperationAccess.list
    package static let meaning = "Says how the synced vaults stand, as far as it is known here; it asks nobody."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id; without it all synced ones"))

    package struct Answer: Record {
        package static let recordName = "sync-state"
        package static let refusesUnknownFields = false

        package enum AgentSync: String, RecordChoice {
            case off, idle, connected, waiting
        }

        package var vaults: [VaultSyncState] = []
        package var agentSync: AgentSync?
        package var moving: SyncMovement?
        package var isListening = false
        package var problem: String?
        package var nextTry: WireMoment?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vaults", \.vaults, "by name"),
            RecordField("agentSync", \.agentSync, "what the agent's sync does; left out if no agent syncs"),
            RecordField("moving", \.moving, "what is on its way, if that takes longer than a moment"),
            RecordField("listening", \.isListening, "whether whoever answers hears of changes from the server itself"),
            RecordField("problem", \.problem, "code of `errors.md`: why the server is not reached"),
            RecordField("nextTry", \.nextTry, "when it is tried again"))
    }
}

/// People who wait for a word of a store's person.
package struct PeopleWaiting: Record {
    package static let recordName = "people-waiting"
    package static let refusesUnknownFields = false

    package var letters = 0
    package var vaults = 0
    package var help = 0
    package var requests = 0

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("letters", \.letters, "requests and answers of people who want to be contacts"),
        RecordField("vaults", \.vaults, "vaults that others share with the account"),
        RecordField("help", \.help, "people who ask for help as a recovery contact"),
        RecordField("requests", \.requests, "requests of recovery contacts for an account, that nobody has forbidden"))
}

/// How a vault stands to the server and to the other devices.
package struct VaultSyncState: Record {
    package static let recordName = "vault-sync"
    package static let refusesUnknownFields = false

    package var name = ""
    package var id = ""
    package var itemCount = 0
    package var version: String?
    package var serverVersion: String?
    package var isServerBeyond = false
    package var isHistoryPending: Bool?
    package var unsentCount: Int?
    package var unsentByteCount: Int?
    package var waitingFileCount = 0
    package var waitingFileByteCount = 0
    package var unreadableFileCount = 0
    package var absentFileCount = 0
    package var absentFileByteCount = 0
    package var absentFilesWanted = VaultEdit.Files.all
    package var fileProblem: String?
    package var waitingFiles: [WaitingFileMessage] = []
    package var isSweepDue: Bool?
    package var lastSyncedAt: WireMoment?
    package var problem: String?
    package var devices: [DeviceSyncState] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.name, "its name"), RecordField("id", \.id, "in hexadecimal digits"),
        RecordField("itemCount", \.itemCount, "items outside of the trash"),
        RecordField("version", \.version, "the state here; left out before anything was written"),
        RecordField("serverVersion", \.serverVersion, "the state that the server had last, as far as is known"),
        RecordField("serverHasOther", \.isServerBeyond, "the server has said that it has something newer"),
        RecordField(
            "isHistoryPending", \.isHistoryPending, "history of before has not come yet"),
        RecordField("pending", \.unsentCount, "changes that the server lacks; left out before the first sync"),
        RecordField("pendingByteCount", \.unsentByteCount, "their size"),
        RecordField("waitingFileCount", \.waitingFileCount, "files that cannot go to the server"),
        RecordField("waitingFileByteCount", \.waitingFileByteCount, "their size"),
        RecordField("unreadableFileCount", \.unreadableFileCount, "those of them that cannot be read here"),
        RecordField("absentFileCount", \.absentFileCount, "files that are not here"),
        RecordField("absentFileByteCount", \.absentFileByteCount, "their size"),
        RecordField("absentFilesWanted", \.absentFilesWanted, "whether they come by themselves"),
        RecordField("fileProblem", \.fileProblem, "code of `errors.md`: why they do not come at the moment"),
        RecordField("waitingFiles", \.waitingFiles, "those that cannot go, one by one"),
        RecordField("isSweepDue", \.isSweepDue, "whether the server still has history that was dropped here"),
        RecordField("lastSynced", \.lastSyncedAt, "when a sync succeeded last"),
        RecordField("problem", \.problem, "code of `errors.md`: what went wrong the last time"),
        RecordField("devices", \.devices, "the other devices that have said what they have"))
}

/// A file that cannot go to the server. What is hidden or locked is named by its item's title alone.
package struct WaitingFileMessage: Record {
    package static let recordName = "waiting-file"
    package static let refusesUnknownFields = false

    package enum Reason: String, RecordChoice {
        case noRoom = "no-room"
        case unreadable
    }

    package var name: String?
    package var title: String?
    package var byteCount = 0
    package var reason = Reason.noRoom
    package var roomByteCount: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "of the file"), RecordField("title", \.title, "of its item; none of the past"),
        RecordField("byteCount", \.byteCount, "what is missing of it at the server"),
        RecordField("reason", \.reason, "why it waits"),
        RecordField("roomByteCount", \.roomByteCount, "what the server had room for, if it said so"))
}

/// What another device has of a vault.
package struct DeviceSyncState: Record {
    package static let recordName = "device-sync"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name = ""
    package var hasEverything = false
    package var isAhead = false
    package var heardAt: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "what people call it"),
        RecordField("hasEverything", \.hasEverything, "it has all that is here"),
        RecordField("ahead", \.isAhead, "it has something that is not here"),
        RecordField("heard", \.heardAt, "when it was heard of"))
}

/// What is on its way between a vault and the server.
package struct SyncMovement: Record {
    package static let recordName = "sync-movement"
    package static let refusesUnknownFields = false

    package enum Direction: String, RecordChoice {
        case sending, receiving
    }

    package var vault = ""
    package var direction = Direction.sending
    package var done = 0
    package var total: Int?
    package var byteCount = 0
    package var totalByteCount: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.vault, "of the vault"), RecordField("direction", \.direction, "to or from the server"),
        RecordField("done", \.done, "items or files that are through"),
        RecordField("total", \.total, "how many there are, where that is known"),
        RecordField("byteCount", \.byteCount, "bytes that are through"),
        RecordField("totalByteCount", \.totalByteCount, "of files, whose size is known before"))
}
