// Requests about drafts: text that a person types and that is no change yet.

package struct DraftKeep: StoreOperation {
    package static let name = "draft.keep"
    package static let access = OperationAccess.write
    package static let meaning =
        "Keeps the text of a note that a person is typing, sealed on this device, until `item.edit` names the draft or "
        + "`draft.settle` saves it. A draft that says what its base says is dropped."

    package var draft = ""
    package var item = ""
    package var vault: String?
    package var text = ""
    package var baseText = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("draft", \.draft, "32 hexadecimal digits that the client has chosen at random for this text"),
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("text", \.text, "as a whole"),
        RecordField("baseText", \.baseText, "the text that was changed into `text`"))

    package struct Answer: Record {
        package static let recordName = "draft-kept"
        package static let refusesUnknownFields = false
        package var isKept = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("isKept", \.isKept, "false for a locked note, whose text is nowhere but under its passphrase"))
    }
}

package struct DraftSettle: StoreOperation {
    package static let name = "draft.settle"
    package static let access = OperationAccess.write
    package static let meaning =
        "Saves as changes the drafts that no other session writes. A desk that opens a vault does so by itself with those of "
        + "sessions that have ended; this one takes its own drafts too."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrAll(\.vault))

    package struct Answer: Record {
        package static let recordName = "drafts-settled"
        package static let refusesUnknownFields = false
        package var items: [SettledDraft] = []
        package var waitingCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("items", \.items, "what became of each, vault by vault"),
            RecordField(
                "waitingCount", \.waitingCount, "drafts of locked notes, and those that cannot be read or written now"))
    }
}

/// A draft that is a change now.
package struct SettledDraft: Record {
    package static let recordName = "settled-draft"
    package static let refusesUnknownFields = false

    package var item = ""
    package var title = ""
    package var isChanged = false
    package var isBeside = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id of the item that has the text now"),
        RecordField("title", \.title, "as in `item`"),
        RecordField("isChanged", \.isChanged, "false if its text was there already"),
        RecordField(
            "isBeside", \.isBeside,
            "it became a note of its own: others changed the same lines, or removed the item"))
}
