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
