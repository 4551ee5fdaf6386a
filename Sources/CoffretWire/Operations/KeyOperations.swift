// Requests on the ways into a store, and on its backup. Secrets are answers to questions, and in no message.

internal import CoffretBase

/// A way into the store.
package struct KeyMessage: Record {
    package static let recordName = "key"
    package static let refusesUnknownFields = false

    package enum Kind: String, RecordChoice {
        case passphrase, recovery, file, tpm, keyring, other
    }

    package var id = ""
    package var kind = Kind.other
    package var profile: String?
    package var hasPIN = false
    package var needsPresence = false
    package var triesLeft: Int?
    package var waitSeconds: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("kind", \.kind, "where it lies, or what it is"),
        RecordField("profile", \.profile, "of one that a key store holds: whose it is"),
        RecordField("pin", \.hasPIN, "whether it opens with a PIN"),
        RecordField("presence", \.needsPresence, "whether it asks that somebody is there"),
        RecordField("triesLeft", \.triesLeft, "of a PIN in a TPM: wrong ones that it still takes"),
        RecordField("waitSeconds", \.waitSeconds, "of the same: until the next try"))
}

package struct KeyList: StoreOperation {
    package static let name = "key.list"
    package static let access = OperationAccess.control
    package static let meaning = "Lists the ways into the store."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "key-list"
        package static let refusesUnknownFields = false
        package var keys: [KeyMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("keys", \.keys, "in the order of the keyring"))
    }
}

package struct KeyAdd: StoreOperation {
    package static let name = "key.add"
    package static let access = OperationAccess.control
    package static let meaning =
        "Makes a way into the store on this computer. It asks for the store's passphrase, then for the new PIN."

    package enum Place: String, RecordChoice {
        case tpm, keyring, file
    }

    package var profile: String?
    package var place: Place?
    package var withoutPIN: Bool?
    package var needsPresence: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("profile", \.profile, "whose it is"),
        RecordField("place", \.place, "where the key lies; without it the best that answers"),
        RecordField("withoutPIN", \.withoutPIN, "opens without a PIN; in a TPM or a keyring only"),
        RecordField("needsPresence", \.needsPresence, "asks that somebody is there before it opens"))

    package typealias Answer = KeyChange
}

package struct KeyEdit: StoreOperation {
    package static let name = "key.edit"
    package static let access = OperationAccess.control
    package static let meaning = "Changes a PIN. It asks for the store's passphrase, then for the new PIN."

    package var profile: String?

    package init() {}
    package static let layout = RecordLayout<Self>(RecordField("profile", \.profile, "whose PIN it is"))

    package typealias Answer = KeyChange
}

package struct KeyRemove: StoreOperation {
    package static let name = "key.remove"
    package static let access = OperationAccess.control
    package static let meaning =
        "Takes a way into the store on this computer away. It asks for the store's passphrase."

    package var key = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("key", \.key, "id, or the profile of one key alone"))

    package typealias Answer = KeyChange
}

/// The outcome for the ways into a store.
package struct KeyChange: Record {
    package static let recordName = "key-change"
    package static let refusesUnknownFields = false

    package var key = KeyMessage()
    package var locksStore = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("key", \.key, "the one that was added, changed or taken away"),
        RecordField("locksStore", \.locksStore, "whether the agent locks the store, since something opens it no more"))
}

package struct RecoveryList: StoreOperation {
    package static let name = "recovery.list"
    package static let access = OperationAccess.control
    package static let meaning =
        "Lists the recovery keys, and the sheets of other devices that wait until a person lets them open this store."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "recovery-list"
        package static let refusesUnknownFields = false
        package var keys: [RecoveryKeyMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("keys", \.keys, "oldest first, those that wait at the end"))
    }
}

/// A key on paper.
package struct RecoveryKeyMessage: Record {
    package static let recordName = "recovery-key"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name = ""
    package var created: WireMoment?
    package var isConfirmed: Bool?
    package var isAccepted = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "what the person calls it"),
        RecordField("created", \.created, "when it was made, if that is known"),
        RecordField("confirmed", \.isConfirmed, "whether the person was asked it back"),
        RecordField("accepted", \.isAccepted, "whether it opens this store"))
}

package struct BackupCreate: StoreOperation {
    package static let name = "backup.create"
    package static let access = OperationAccess.control
    package static let meaning =
        "Adds a backup of the whole store, encrypted as the store is, to a folder of backups, which it makes if need be. The "
        + "request brings the descriptor of the folder above that. It reports progress; when it is cancelled, there is no new backup."

    package var name = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "of the folder of backups, without a path"))

    package struct Answer: Record {
        package static let recordName = "backup-report"
        package static let refusesUnknownFields = false
        package var backup = ""
        package var vaults: [String] = []
        package var fileCount = 0
        package var byteCount = 0
        package var writtenByteCount = 0
        package var faultyAttachments: [FaultyFileMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("backup", \.backup, "the name of the backup"),
            RecordField("vaults", \.vaults, "names of the vaults"),
            RecordField("fileCount", \.fileCount, "files of all vaults"),
            RecordField("byteCount", \.byteCount, "bytes that the backup holds"),
            RecordField("writtenByteCount", \.writtenByteCount, "bytes that were written for it"),
            RecordField(
                "faultyAttachments", \.faultyAttachments,
                "files that are missing or damaged; the backup has them as they lie"))
    }
}

package struct BackupVerify: StoreOperation {
    package static let name = "backup.verify"
    package static let access = OperationAccess.control
    package static let meaning =
        "Verifies the backups of the folder whose descriptor the request brings. It "
        + "reads what is new since it verified them last, and reports progress."

    package var readsAll: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("readsAll", \.readsAll, "reads also what was verified before"))

    package struct Answer: Record {
        package static let recordName = "backup-check"
        package static let refusesUnknownFields = false
        package var backupCount = 0
        package var unreadable: [String] = []
        package var damaged: [String] = []
        package var readByteCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("backupCount", \.backupCount, "backups of the folder"),
            RecordField("unreadable", \.unreadable, "those of other passphrases or recovery keys, or of another store"),
            RecordField("damaged", \.damaged, "those that cannot be restored whole, each with its fault"),
            RecordField("readByteCount", \.readByteCount, "bytes of the volumes that were read"))
    }
}
