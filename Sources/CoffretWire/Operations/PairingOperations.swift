// Requests that bring a store to a server, and another device to the account.

package struct ServerJoin: StoreOperation {
    package static let name = "server.join"
    package static let access = OperationAccess.control
    package static let meaning =
        "Registers the store at a server. The session asks for the passphrase of the store, and whether the key is the server's where no "
        + "authority signed for it and no fingerprint is given."

    package var url = ""
    package var fingerprint: String?
    package var authorities: String?
    package var allowsPlain: Bool?
    package var invitation: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("url", \.url, "address of the server"),
        RecordField("fingerprint", \.fingerprint, "SHA-256 of the server's public key, 64 hexadecimal digits"),
        RecordField("authorities", \.authorities, "absolute path of a file with authorities in place of the system's"),
        RecordField("allowsPlain", \.allowsPlain, "also without TLS to another machine, as inside a tunnel"),
        RecordField("invitation", \.invitation, "text of the server's operator, where registration needs it"))

    package struct Answer: Record {
        package static let recordName = "server-joined"
        package static let refusesUnknownFields = false
        package var url = ""
        package var account = ""
        package var accountName = ""
        package var fingerprint: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("url", \.url, "address of the server"),
            RecordField("account", \.account, "id in hexadecimal digits"),
            RecordField("accountName", \.accountName, "the name of the account for a device that asks to join"),
            RecordField(
                "fingerprint", \.fingerprint, "SHA-256 of the key that is expected from now on; none without TLS"))
    }
}

package struct ServerLeave: StoreOperation {
    package static let name = "server.leave"
    package static let access = OperationAccess.control
    package static let meaning =
        "Forgets the server on this device; all data on the server and on this device stay. The session asks for the passphrase of the store."

    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField(
            "isTrial", \.isTrial, "forgets nothing, and says which server it would be; it asks for no passphrase"))

    package struct Answer: Record {
        package static let recordName = "server-left"
        package static let refusesUnknownFields = false
        package var url = ""

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("url", \.url, "address of the server"))
    }
}

package struct DeviceApprove: StoreOperation {
    package static let name = "device.approve"
    package static let access = OperationAccess.control
    package static let meaning =
        "Lets a new device in. The session asks for the passphrase of the store and, without the whole number, whether the new device "
        + "shows it; then for the code that the new device shows. A notice of the kind `code` has the code to type there."

    package var pairing: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField(
            "pairing", \.pairing,
            "the number that the new device shows, its first eight digits or more, or the text of its QR code; "
                + "without it the only device that waits"))

    package struct Answer: Record {
        package static let recordName = "approved-device"
        package static let refusesUnknownFields = false
        package var id = ""
        package var name = ""
        package var wantedName: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "its name from now on"),
            RecordField("wantedName", \.wantedName, "the name that it asked for, if another device has it"))
    }
}
