// Requests about the vaults and the devices of a store.

package struct VaultCreate: StoreOperation {
    package static let name = "vault.create"
    package static let access = OperationAccess.control
    package static let meaning = "Makes a vault, with keys of its own."

    package var name = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "what people call it; no other vault is called so"))

    package typealias Answer = VaultMessage
}

package struct VaultEdit: StoreOperation {
    package static let name = "vault.edit"
    package static let access = OperationAccess.control
    package static let meaning =
        "Changes the name of a vault, and what this device does with it."

    package enum Files: String, RecordChoice {
        case all, asked
    }

    package var vault = ""
    package var newName: String?
    package var isDefault: Bool?
    package var files: Files?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"), RecordField("newName", \.newName, "on all devices, if it syncs"),
        RecordField("isDefault", \.isDefault, "true: from now on it is meant where none is named, on this device"),
        RecordField(
            "files", \.files, "whether its files come to this device by themselves, or when they are asked for"))

    package typealias Answer = VaultMessage
}

package struct VaultRemove: StoreOperation {
    package static let name = "vault.remove"
    package static let access = OperationAccess.control
    package static let meaning =
        "Removes a vault with everything in it and its history, for good; one that syncs is refused."

    package var vault = ""
    package var itemCount = 0
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField(
            "itemCount", \.itemCount, "how many items go with it, in the trash too: another number is refused"),
        RecordField("isTrial", \.isTrial, "removes nothing, and says what would go, whatever the number"))

    package struct Answer: Record {
        package static let recordName = "vault-removed"
        package static let refusesUnknownFields = false
        package var removed = ""
        package var itemCount = 0
        package var name: String?
        package var changeCount: Int?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("removed", \.removed, "id of the vault"),
            RecordField("itemCount", \.itemCount, "items that went with it"),
            RecordField("name", \.name, "of a trial: its name"),
            RecordField("changeCount", \.changeCount, "of a trial: changes of its history"))
    }
}

package struct DeviceList: StoreOperation {
    package static let name = "device.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists the devices of the account, as this one has seen them last; it asks no server."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "device-list"
        package static let refusesUnknownFields = false
        package var devices: [DeviceMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("devices", \.devices, "in the order in which they joined"))
    }
}

/// A device of the account.
package struct DeviceMessage: Record {
    package static let recordName = "device"
    package static let refusesUnknownFields = false

    package enum Kind: String, RecordChoice {
        case device, paper
    }

    package var id = ""
    package var name = ""
    package var model = ""
    package var kind = Kind.device
    package var added: WireMoment?
    package var isRevoked = false
    package var isCurrent = false
    package var revocable: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"),
        RecordField("name", \.name, "what people call it; empty where that is not known"),
        RecordField("model", \.model, "what it is, as it said itself"),
        RecordField("kind", \.kind, "a paper device is a sheet with a key"),
        RecordField("added", \.added, "when it was let in"),
        RecordField("revoked", \.isRevoked, "whether it was revoked"),
        RecordField("current", \.isCurrent, "the device that answers"),
        RecordField("revocable", \.revocable, "when a paper device can be revoked, if that was announced"))
}

/// The content of the store.
package struct StoreRead: StoreOperation {
    package static let name = "store.read"
    package static let access = OperationAccess.list
    package static let meaning =
        "Says what the store and one of its vaults hold, and whether anything is damaged. It looks at sizes and heads of files, and reads no "
        + "contents."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrDefault(\.vault))

    package struct Answer: Record {
        package static let recordName = "store-state"
        package static let refusesUnknownFields = false
        package var storeID = ""
        package var byteCount = 0
        package var recoveryKeyCount = 0
        package var printedKeyCount = 0
        package var vaults: [String] = []
        package var id = ""
        package var name = ""
        package var isSynced = false
        package var kinds: [KindCount] = []
        package var trashedCount = 0
        package var lastChange: WireMoment?
        package var version: String?
        package var headCode: String?
        package var isRemembered = true
        package var isOlderCopy = false
        package var faultyFiles: [FaultyFileMessage] = []
        package var people: PeopleWaiting?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("storeID", \.storeID, "in hexadecimal digits"),
            RecordField("byteCount", \.byteCount, "of all files of the store on this disk"),
            RecordField("recoveryKeyCount", \.recoveryKeyCount, "recovery keys that open it"),
            RecordField("printedKeyCount", \.printedKeyCount, "those that were printed and never asked back"),
            RecordField("vaults", \.vaults, "names of all vaults"),
            RecordField("id", \.id, "of the vault, in hexadecimal digits"),
            RecordField("vault", \.name, "its name"),
            RecordField("synced", \.isSynced, "whether it lies at a server too"),
            RecordField("kinds", \.kinds, "items outside of the trash by kind"),
            RecordField("trashedCount", \.trashedCount, "items in the trash"),
            RecordField("lastChange", \.lastChange, "when something was written last"),
            RecordField("version", \.version, "the state that it made"),
            RecordField("headCode", \.headCode, "digits that are the same on all devices that have the same state"),
            RecordField(
                "remembered", \.isRemembered, "whether this machine remembers the store, which was not copied here"),
            RecordField("olderCopy", \.isOlderCopy, "the vault is older than this machine remembers"),
            RecordField("faultyFiles", \.faultyFiles, "files of items that are damaged or missing"),
            RecordField("people", \.people, "who waits for a word of the person, as the agent saw it last"))
    }
}

/// Items of one kind.
package struct KindCount: Record {
    package static let recordName = "kind-count"
    package static let refusesUnknownFields = false

    package var kind = ""
    package var count = 0

    package init() {}

    package init(_ kind: String, _ count: Int) { (self.kind, self.count) = (kind, count) }

    package static let layout = RecordLayout<Self>(
        RecordField("kind", \.kind, "as in `item`"), RecordField("count", \.count, "how many there are"))
}
