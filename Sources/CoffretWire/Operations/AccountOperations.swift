// Requests about the account: its server, its devices, and the vaults that lie there.

package struct ServerRead: StoreOperation {
    package static let name = "server.read"
    package static let access = OperationAccess.control
    package static let meaning =
        "Says which server the store is registered at, and asks it whether it answers. A store without one answers without `url`."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "server"
        package static let refusesUnknownFields = false
        package var url: String?
        package var name: String?
        package var account: String?
        package var accountName: String?
        package var fingerprint: String?
        package var isReachable: Bool?
        package var problem: String?
        package var message: String?
        package var shownFingerprint: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("url", \.url, "its address"), RecordField("name", \.name, "as it calls itself"),
            RecordField("account", \.account, "id in hexadecimal digits"),
            RecordField("accountName", \.accountName, "the name of the account for a device that asks to join"),
            RecordField("fingerprint", \.fingerprint, "SHA-256 of the key that is expected; none without TLS"),
            RecordField("reachable", \.isReachable, "whether it answers, and lets this device in"),
            RecordField("problem", \.problem, "code of `errors.md`: why not"),
            RecordField("message", \.message, "the same in words"),
            RecordField("shownFingerprint", \.shownFingerprint, "of the key that it shows, if that is another one"))
    }
}

package struct ServerLogRead: StoreOperation {
    package static let name = "server.log"
    package static let access = OperationAccess.control
    package static let meaning =
        "Says how the server's log of keys was read last. A store without a server, and one that never read a log, answer without `origin`."

    package var isAsked: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("isAsked", \.isAsked, "the log is read now"))

    package struct Answer: Record {
        package static let recordName = "server-log"
        package static let refusesUnknownFields = false
        package var origin: String?
        package var key: String?
        package var size: Int?
        package var root: String?
        package var checkedAt: WireMoment?
        package var evidence: String?
        package var failure: OperationFailure?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("origin", \.origin, "the log's name"),
            RecordField("key", \.key, "its public key, as C2SP's signed notes have it"),
            RecordField("size", \.size, "entries that were read"),
            RecordField("root", \.root, "hash of the tree over them, in hexadecimal digits"),
            RecordField("checkedAt", \.checkedAt, "when all was last in order"),
            RecordField("evidence", \.evidence, "a file with the signed notes that differ"),
            RecordField("failure", \.failure, "of this reading"))
    }
}

package struct DeviceFollow: StoreOperation {
    package static let name = "device.follow"
    package static let access = OperationAccess.control
    package static let meaning =
        "Asks the server what other devices of the account did, and who asks to join. Notices say what is new."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "device-news"
        package static let refusesUnknownFields = false
        package var requests: [JoinRequestMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("requests", \.requests, "of devices that ask to join; none without a server"))
    }
}

/// A device that asks to join. Anybody who knows the account's name can ask.
package struct JoinRequestMessage: Record {
    package static let recordName = "join-request"
    package static let refusesUnknownFields = false

    package var id = ""
    package var since = WireMoment(0)

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "the number that the new device shows, in hexadecimal digits"),
        RecordField("since", \.since, "when it asked"))
}

package struct DeviceRename: StoreOperation {
    package static let name = "device.rename"
    package static let access = OperationAccess.control
    package static let meaning = "Gives a device another name, which all devices see after their next sync."

    package var device = ""
    package var newName = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("device", \.device, "name, id, or the beginning of one (at least four digits)"),
        RecordField("newName", \.newName, "one line of at most 200 bytes; no other device is called so"))

    package struct Answer: Record {
        package static let recordName = "device-renamed"
        package static let refusesUnknownFields = false
        package var id = ""
        package var name = ""
        package var formerName = ""

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "as it is called now"),
            RecordField("formerName", \.formerName, "as it was called"))
    }
}

package struct VaultSyncBegin: StoreOperation {
    package static let name = "vault.sync"
    package static let access = OperationAccess.control
    package static let meaning = "Puts a vault on the server, sealed, for all devices of the account, and syncs it."

    package var vault = ""

    package init() {}
    package static let layout = RecordLayout<Self>(RecordField("vault", \.vault, "name or id"))

    package typealias Answer = VaultSyncResult
}

package struct VaultSyncEnd: StoreOperation {
    package static let name = "vault.unsync"
    package static let access = OperationAccess.control
    package static let meaning = "Ends the sync of a vault on this device. The vault stays, here and on other devices."

    package var vault = ""
    package var deletesFromServer: Bool?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField(
            "deletesFromServer", \.deletesFromServer, "the server deletes what it has of the vault, files included"),
        RecordField("isTrial", \.isTrial, "changes nothing, and says which vault it would be"))

    package struct Answer: Record {
        package static let recordName = "vault-unsynced"
        package static let refusesUnknownFields = false
        package var name = ""
        package var id = ""
        package var isDeletedFromServer = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.name, "its name"), RecordField("id", \.id, "in hexadecimal digits"),
            RecordField("isDeletedFromServer", \.isDeletedFromServer, "whether the server has deleted it"))
    }
}

package struct SettingsRead: StoreOperation {
    package static let name = "settings.read"
    package static let access = OperationAccess.list
    package static let meaning = "Says how this device's agent treats the store."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package typealias Answer = SettingsMessage
}

package struct SettingsEdit: StoreOperation {
    package static let name = "settings.edit"
    package static let access = OperationAccess.control
    package static let meaning = "Changes how this device's agent treats the store."

    package var syncs: Bool?
    package var opensWhenAsked: Bool?
    package var look: SettingsMessage.Look?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("syncs", \.syncs, "as in `settings`"),
        RecordField("opensWhenAsked", \.opensWhenAsked, "as in `settings`"),
        RecordField("look", \.look, "as in `settings`"))

    package typealias Answer = SettingsMessage
}

/// How this device's agent treats a store.
package struct SettingsMessage: Record {
    package static let recordName = "settings"
    package static let refusesUnknownFields = false

    /// How the page looks.
    package enum Look: String, RecordChoice {
        /// As the desktop wants it.
        case desktop
        case light, dark
    }

    package var syncs = true
    package var opensWhenAsked = false
    package var look: Look?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("syncs", \.syncs, "it syncs the store while it is unlocked"),
        RecordField(
            "opensWhenAsked", \.opensWhenAsked,
            "a passphrase that is typed for one command keeps the store open only if that was asked for"),
        RecordField("look", \.look, "how the page looks; as the desktop wants it where this is missing"))
}
