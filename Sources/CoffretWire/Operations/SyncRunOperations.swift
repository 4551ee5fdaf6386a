// Requests to sync now, and to wait until something changes.

package struct SyncRun: StoreOperation {
    package static let name = "sync.run"
    package static let access = OperationAccess.control
    package static let meaning =
        "Syncs the synced vaults with the server now. A failure in one vault stops none of the others. It says how far it is, and can be "
        + "cancelled between two vaults."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id; without it all synced ones"))

    package struct Answer: Record {
        package static let recordName = "sync-result"
        package static let refusesUnknownFields = false
        package var vaults: [VaultSyncResult] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("vaults", \.vaults, "in the order of the sync"))
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
    package var sentFileCount = 0
    package var conflictedItemCount = 0
    package var removedCount = 0
    package var version: String?
    package var problem: String?
    package var message: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "of the vault"),
        RecordField("isNew", \.isNew, "it came to this device with this sync"),
        RecordField("receivedCount", \.receivedCount, "changes that came"),
        RecordField("sentCount", \.sentCount, "changes that went"),
        RecordField("sentFileCount", \.sentFileCount, "files that went"),
        RecordField("conflictedItemCount", \.conflictedItemCount, "items that await a decision by this sync"),
        RecordField("removedCount", \.removedCount, "earlier changes that were dropped, as another device did"),
        RecordField("version", \.version, "the state now, here and at the server"),
        RecordField("problem", \.problem, "code of `errors.md`, if it went wrong"),
        RecordField("message", \.message, "what went wrong, in words"))
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
