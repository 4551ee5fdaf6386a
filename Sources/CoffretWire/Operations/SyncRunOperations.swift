// Requests to sync now, and to wait until something changes.

package struct SyncRun: StoreOperation {
    package static let name = "sync.run"
    package static let access = OperationAccess.control
    package static let meaning =
        "Syncs the synced vaults with the server now, files among them. A failure in one vault stops none of the others; a server that "
        + "cannot be reached fails the operation. It says how far it is, and can be cancelled; the next one goes on."

    package var vault: String?
    package var isServerRestored: Bool?
    package var leavesFiles: Bool?
    package var patienceSeconds: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id; without it all synced ones"),
        RecordField(
            "isServerRestored", \.isServerRestored,
            "the server was put back to an older state on purpose: it is sent what it lost"),
        RecordField("leavesFiles", \.leavesFiles, "files that are not here stay at the server"),
        RecordField(
            "patienceSeconds", \.patienceSeconds,
            "how long to try again while the server does not answer; once without it"))

    package struct Answer: Record {
        package static let recordName = "sync-result"
        package static let refusesUnknownFields = false
        package var vaults: [VaultSyncResult] = []

        package init() {}
        /// Of the server's log of keys.
        package var log: OperationFailure?
        package static let layout = RecordLayout<Self>(
            RecordField("vaults", \.vaults, "in the order of the sync"),
            RecordField("log", \.log, "of the server's log of keys, where it is not in order"))
    }
}

/// What came of the sync of a vault.
package struct VaultSyncResult: Record {
    package static let recordName = "vault-sync-result"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name = ""
    package var isNew = false
    package var receivedCount = 0
    package var sentCount = 0
    package var conflictCount = 0
    package var sentFileCount = 0
    package var sentFileByteCount = 0
    package var receivedFileCount = 0
    package var receivedFileByteCount = 0
    package var waitingFiles: [WaitingFileMessage] = []
    package var fileProblems: [String] = []
    package var sweptByteCount = 0
    package var isSweepDue = false
    package var isStale = false
    package var version: String?
    package var notices: [SessionNotice] = []
    package var problem: String?
    package var failure: OperationFailure?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.name, "its name"), RecordField("id", \.id, "in hexadecimal digits"),
        RecordField("isNew", \.isNew, "it came to this device with this sync"),
        RecordField("received", \.receivedCount, "changes that came"),
        RecordField("sent", \.sentCount, "changes that went"),
        RecordField("conflicts", \.conflictCount, "items that await a decision by this sync"),
        RecordField("sentFiles", \.sentFileCount, "files that went"),
        RecordField("sentFileByteCount", \.sentFileByteCount, "their size"),
        RecordField("receivedFiles", \.receivedFileCount, "files that came"),
        RecordField("receivedFileByteCount", \.receivedFileByteCount, "their size"),
        RecordField("waitingFiles", \.waitingFiles, "files that cannot go to the server"),
        RecordField("fileProblems", \.fileProblems, "codes of `errors.md`: why files did not come, one for each"),
        RecordField("sweptByteCount", \.sweptByteCount, "what the server gave back of dropped history"),
        RecordField("isSweepDue", \.isSweepDue, "the server still has history that was dropped"),
        RecordField("stale", \.isStale, "nothing was heard of the other devices for 14 days"),
        RecordField("version", \.version, "the state now, here and at the server"),
        RecordField("notices", \.notices, "what a person should look at although the sync is done"),
        RecordField("problem", \.problem, "code of `errors.md`, if the vault was not synced"),
        RecordField("failure", \.failure, "the same, or why files are not whole, in words"))
}

package struct ChangeWait: StoreOperation {
    package static let name = "change.wait"
    package static let access = OperationAccess.list
    package static let meaning =
        "Waits until a vault, the keyring or the state of sync changes, or until the time is over. Other requests wait meanwhile."

    /// The longest wait.
    package static let secondsMax = 25

    package var after: String?
    package var seconds: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("after", \.after, "the `position` of an earlier answer; without it the answer comes at once"),
        RecordField("seconds", \.seconds, "how long to wait at most, up to 25; 25 without it"))

    package struct Answer: Record {
        package static let recordName = "changes"
        package static let refusesUnknownFields = false
        package var position = ""
        package var vaults: [String] = []
        package var isSyncChanged = false
        package var isKeyringChanged = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("position", \.position, "for `after` of the next request"),
            RecordField("vaults", \.vaults, "ids of vaults in which something was written, or that came or went"),
            RecordField("isSyncChanged", \.isSyncChanged, "`sync.read` may answer otherwise now"),
            RecordField("isKeyringChanged", \.isKeyringChanged, "vaults, devices or ways in may be others now"))
    }
}
