// Requests that get a value from another device, or send one to a page on another machine.

package struct RemoteAsk: StoreOperation {
    package static let name = "remote.ask"
    package static let access = OperationAccess.control
    package static let meaning =
        "Asks another device of the account for one value (`remote.md`). Its person confirms there, within a minute."

    package var item = ""
    package var field: String?
    package var device = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "as the other device knows it: title, alias or id"),
        RecordField(
            "field", \.field,
            "name or label; `code` for a one-time code; without it the password, else the first secret"),
        RecordField("device", \.device, "name, id, or the beginning of one (at least four digits)"))

    package struct Answer: Record {
        package static let recordName = "lent-value"
        package static let refusesUnknownFields = false
        package var title = ""
        package var label = ""
        package var value = ""
        package var seconds: Int?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("title", \.title, "of the item there"), RecordField("label", \.label, "of the field"),
            RecordField("value", \.value, "what was sent; it is kept nowhere"),
            RecordField("seconds", \.seconds, "for which a one-time code is good"))
    }
}

package struct RemoteAnswer: StoreOperation {
    package static let name = "remote.answer"
    package static let access = OperationAccess.control
    package static let meaning =
        "Sends one value to a page on another machine, which shows a code (`remote.md`). The session asks whether it is to be sent, and "
        + "that somebody is there."

    package var code = ""
    package var item = ""
    package var vault: String?
    package var field: String?
    package var reminds: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("code", \.code, "the text that the page shows"),
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField(
            "field", \.field,
            "name or label; `code` for a one-time code; without it the one-time code, else the password, else the first secret"
        ),
        RecordField("reminds", \.reminds, "tags the item `change-password`"))

    package struct Answer: Record {
        package static let recordName = "sent-value"
        package static let refusesUnknownFields = false
        package var title = ""
        package var label = ""
        package var page: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("title", \.title, "of the item"), RecordField("label", \.label, "of the field that was sent"),
            RecordField("page", \.page, "where the page says that it came from; nothing for a file"))
    }
}
