// Requests that decide which devices count.

package struct DeviceRevoke: StoreOperation {
    package static let name = "device.revoke"
    package static let access = OperationAccess.control
    package static let meaning =
        "Revokes a device, and those that came by it unless they are kept; a sheet counts for seven days after this was announced. "
        + "The session asks for the passphrase of the store."

    package var device = ""
    package var keep: [String]?
    package var keepsAdded: Bool?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("device", \.device, "name, id, or the beginning of one (at least four digits)"),
        RecordField("keep", \.keep, "of those that came by it: names or ids of the ones that stay"),
        RecordField("keepsAdded", \.keepsAdded, "all that came by it stay"),
        RecordField("isTrial", \.isTrial, "revokes nothing, and says what would go; it asks for no passphrase"))

    package struct Answer: Record {
        package static let recordName = "revocation"
        package static let refusesUnknownFields = false
        package var device = DeviceLabel()
        package var isRevoked = false
        package var announced: WireMoment?
        package var falling: [DeviceLabel] = []
        package var kept: [DeviceLabel] = []
        package var alsoRevoked: [DeviceLabel] = []
        package var alsoAnnounced: [DeviceLabel] = []
        package var renewedVaults: [String] = []
        package var completedVaultCount: Int?
        package var unseen: [UnseenWork] = []
        package var problem: OperationFailure?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("device", \.device, "which one it is"),
            RecordField("isRevoked", \.isRevoked, "whether it counts no more"),
            RecordField("announced", \.announced, "of a sheet that still counts: when the devices were told"),
            RecordField("falling", \.falling, "of a trial: those that would go with it"),
            RecordField("kept", \.kept, "those that came by it and stay"),
            RecordField("alsoRevoked", \.alsoRevoked, "those that went with it"),
            RecordField("alsoAnnounced", \.alsoAnnounced, "sheets that came by it, and count for seven days more"),
            RecordField("renewedVaults", \.renewedVaults, "ids of vaults that got new keys"),
            RecordField(
                "completedVaultCount", \.completedVaultCount,
                "vaults in which a revocation took effect now that another device had begun"),
            RecordField("unseen", \.unseen, "work of the revoked devices that came with this, and counts"),
            RecordField("problem", \.problem, "why the next sync has to make it whole"))
    }
}

/// A device, as a person knows it.
package struct DeviceLabel: Record {
    package static let recordName = "device-label"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name: String?
    package var kind = DeviceMessage.Kind.device

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "what people call it, if known"),
        RecordField("kind", \.kind, "a paper device is a sheet with a key"))
}

package struct RescueList: StoreOperation {
    package static let name = "rescue.list"
    package static let access = OperationAccess.list
    package static let meaning =
        "Lists items as a revoked device wrote them; nothing of that counts unless somebody takes it."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id; without it all synced ones"))

    package struct Answer: Record {
        package static let recordName = "rescue-list"
        package static let refusesUnknownFields = false
        package var items: [RescueMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("items", \.items, "vault by vault"))
    }
}

/// An item as a revoked device wrote it.
package struct RescueMessage: Record {
    package static let recordName = "rescue"
    package static let refusesUnknownFields = false

    package var vault = ""
    package var id = ""
    package var title: String?
    package var device = ""
    package var time = WireMoment(0)

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "its name"), RecordField("id", \.id, "of the item, in hexadecimal digits"),
        RecordField("title", \.title, "as the device says"), RecordField("device", \.device, "name of the device"),
        RecordField("time", \.time, "by the clock of the device"))
}

package struct RescueSettle: StoreOperation {
    package static let name = "rescue.settle"
    package static let access = OperationAccess.control
    package static let meaning =
        "Takes what a revoked device wrote as this device's own changes, or forgets it. The session asks for the passphrase of "
        + "the store where there is something to take or to forget."

    package var vault: String?
    package var isTaken = false
    package var itemCount = 0

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id; without it all synced ones"),
        RecordField("isTaken", \.isTaken, "true: it is taken; false: it is forgotten"),
        RecordField("itemCount", \.itemCount, "how many items `rescue.list` had: another number is refused"))

    package struct Answer: Record {
        package static let recordName = "rescue-settled"
        package static let refusesUnknownFields = false
        package var itemCount = 0
        package var changeCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("items", \.itemCount, "items that it was about"),
            RecordField("changes", \.changeCount, "changes that were taken or forgotten"))
    }
}
