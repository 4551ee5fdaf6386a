// Requests about versions of an item that differ, and about values that contradict each other.

package struct ItemCompare: StoreOperation {
    package static let name = "item.compare"
    package static let access = OperationAccess.read
    package static let meaning =
        "Says what is different between two versions of an item: without any moment, what its latest change was."

    package var item = ""
    package var vault: String?
    package var at: WireMoment?
    package var version: String?
    package var newAt: WireMoment?
    package var newVersion: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("at", \.at, "the older version: as it was at this moment"),
        RecordField("version", \.version, "the older version: as it was in this commit"),
        RecordField("newAt", \.newAt, "the newer version; without it the present"),
        RecordField("newVersion", \.newVersion, "the newer version, by its commit"))

    package struct Answer: Record {
        package static let recordName = "difference"
        package static let refusesUnknownFields = false
        package var id = ""
        package var from = ""
        package var to: String?
        package var summary = ""
        package var oldTitle: String?
        package var newTitle: String?
        package var addedTags: [String] = []
        package var removedTags: [String] = []
        package var fields: [FieldDifference] = []
        package var flags: [FlagDifference] = []
        package var addedAttachments: [String] = []
        package var removedAttachments: [String] = []
        package var hunks: [HunkMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "of the item"), RecordField("from", \.from, "the older commit"),
            RecordField("to", \.to, "the newer commit; left out for the present"),
            RecordField("summary", \.summary, "the change in a few words"),
            RecordField("oldTitle", \.oldTitle, "if the title changed"),
            RecordField("newTitle", \.newTitle, "if the title changed"),
            RecordField("addedTags", \.addedTags, "without `#`"),
            RecordField("removedTags", \.removedTags, "without `#`"),
            RecordField("fields", \.fields, "fields that changed, without their values"),
            RecordField("flags", \.flags, "flags that were set or taken away"),
            RecordField("addedAttachments", \.addedAttachments, "names of files"),
            RecordField("removedAttachments", \.removedAttachments, "names of files"),
            RecordField("hunks", \.hunks, "changed lines of the text, with three around them"))
    }
}

/// A field that differs between two versions.
package struct FieldDifference: Record {
    package static let recordName = "field-difference"
    package static let refusesUnknownFields = false

    package var name = ""
    package var label = ""
    package var change = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "as in `field`"), RecordField("label", \.label, "what people see"),
        RecordField("change", \.change, "`added`, `changed` or `removed`"))
}

/// A flag that differs between two versions.
package struct FlagDifference: Record {
    package static let recordName = "flag-difference"
    package static let refusesUnknownFields = false

    package var name = ""
    package var isSet = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "`pinned`, `archived`, `trashed`, `locked` or `hidden`"),
        RecordField("isSet", \.isSet, "in the newer version"))
}

/// Lines of a text that changed, with some around them.
package struct HunkMessage: Record {
    package static let recordName = "hunk"
    package static let refusesUnknownFields = false

    package var oldStart = 0
    package var newStart = 0
    package var lines: [LineMessage] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("oldStart", \.oldStart, "its first line in the older text, from 0"),
        RecordField("newStart", \.newStart, "its first line in the newer text, from 0"),
        RecordField("lines", \.lines, "in order; removed ones before added ones"))
}

/// A line of a hunk.
package struct LineMessage: Record {
    package static let recordName = "line"
    package static let refusesUnknownFields = false

    package var mark = ""
    package var text = ""
    package var lacksLineEnd: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("mark", \.mark, "`kept`, `removed` or `added`"),
        RecordField("text", \.text, "without its line end"),
        RecordField("lacksLineEnd", \.lacksLineEnd, "true for the last line of a text that ends without one"))
}

package struct ConflictList: StoreOperation {
    package static let name = "conflict.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists the items for which devices wrote different values at the same time."

    package var vault: String?
    package var givesShortIDs: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrAll(\.vault), .givesShortIDs(\.givesShortIDs))

    package struct Answer: Record {
        package static let recordName = "conflict-list"
        package static let refusesUnknownFields = false
        package var items: [ConflictedItem] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("items", \.items, "vault by vault"))
    }
}

/// An item that awaits a decision.
package struct ConflictedItem: Record {
    package static let recordName = "conflicted-item"
    package static let refusesUnknownFields = false

    package var id = ""
    package var title = ""
    package var conflicts: [String] = []
    package var vault: String?
    package var shortID: String?
    package var labels: [String]?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"), RecordField("title", \.title, "as in `item`"),
        RecordField("conflicts", \.conflicts, "attributes, one for each other value"),
        RecordField("vault", \.vault, "name of its vault, where there are several"),
        .shortID(\.shortID), RecordField("labels", \.labels, "what people call the attributes, with `givesShortIDs`"))
}

package struct ConflictRead: StoreOperation {
    package static let name = "conflict.read"
    package static let access = OperationAccess.read
    package static let meaning = "Shows the values of an item that contradict each other."

    package var item = ""
    package var vault: String?
    package var revealsSecrets: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("revealsSecrets", \.revealsSecrets, "with the values of secret fields"))

    package struct Answer: Record {
        package static let recordName = "conflicts"
        package static let refusesUnknownFields = false
        package var id = ""
        package var title = ""
        package var conflicts: [ConflictMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "of the item"), RecordField("title", \.title, "as in `item`"),
            RecordField("conflicts", \.conflicts, "by their numbers"))
    }
}

/// Two values of one attribute.
package struct ConflictMessage: Record {
    package static let recordName = "conflict"
    package static let refusesUnknownFields = false

    package var number = 0
    package var attribute = ""
    package var label = ""
    package var isSecret = false
    package var shown: String?
    package var other: String?
    package var hunks: [HunkMessage]?
    package var device: String?
    package var time: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("number", \.number, "from 1, for `conflict.settle`"),
        RecordField("attribute", \.attribute, "`text`, `title`, `field/password` and so on"),
        RecordField("label", \.label, "the label of a field, else the attribute"),
        RecordField("isSecret", \.isSecret, "a secret field"),
        RecordField("shown", \.shown, "the value that is shown now, if there is one and it may be told"),
        RecordField("other", \.other, "the other value, if it is a text and may be told"),
        RecordField("hunks", \.hunks, "of a text: the lines in which the other value differs, against what is shown"),
        RecordField("device", \.device, "the device that wrote the other value, in answers of `conflict.read`"),
        RecordField("time", \.time, "when it did, by its clock"))
}

package struct ConflictSettle: StoreOperation {
    package static let name = "conflict.settle"
    package static let access = OperationAccess.write
    package static let meaning =
        "Settles the conflicts of an item in one commit: keeps what is shown now, unless it is told otherwise."

    package var item = ""
    package var vault: String?
    package var attribute: String?
    package var number: Int?
    package var keepsAll: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("attribute", \.attribute, "settles this one only; also the name or label of a field"),
        RecordField("number", \.number, "takes the other value with this number, and settles its attribute only"),
        RecordField("keepsAll", \.keepsAll, "of texts all values, one below the other; not with `number`"))

    package struct Answer: Record {
        package static let recordName = "settle-result"
        package static let refusesUnknownFields = false
        package var settledCount = 0
        package var item = ItemMessage()

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("settledCount", \.settledCount, "attributes that were settled"),
            RecordField("item", \.item, "as it is now, without secrets"))
    }
}
