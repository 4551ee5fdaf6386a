// Requests about flags, links and tags of items, and about removing items.

package import CoffretBase

package struct ItemFlag: StoreOperation, FlagWanting {
    package static let name = "item.flag"
    package static let access = OperationAccess.write
    package static let meaning =
        "Pins, archives or hides items of one vault, or undoes it, in one commit. Lists keep their order."

    package var items: [String] = []
    package var vault: String?
    /// Any but the trash, which has operations of its own.
    package var flags: [Flag: Bool] = [:]
    package var isHidden: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .items(\.items),
        .vaultOfFirst(\.vault),
        RecordField(
            "isHidden", \.isHidden, "shown only to a person who is there; taking it off asks for presence first")
    ).adding(RecordField.flags(Flag.allCases.filter { $0 != .trashed }, \.meaning), after: "vault")

    package struct Answer: Record {
        package static let recordName = "flag-result"
        package static let refusesUnknownFields = false
        package var items: [ItemMessage] = []
        package var changed: [String] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("items", \.items, "as they are now, without secrets, in the order of the request"),
            RecordField("changed", \.changed, "ids of those that were not so before"))
    }
}

package struct ItemRemove: StoreOperation {
    package static let name = "item.remove"
    package static let access = OperationAccess.write
    package static let meaning =
        "Removes items of one vault with their files, in one commit. The history has them until it is compacted."

    package var items: [String] = []
    package var vault: String?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .items(\.items),
        .vaultOfFirst(\.vault),
        RecordField("isTrial", \.isTrial, "removes nothing, and says what it would remove"))

    package struct Answer: Record {
        package static let recordName = "remove-result"
        package static let refusesUnknownFields = false
        package var removed: [String] = []
        package var fileCount: Int?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("removed", \.removed, "ids, in the order of the request"),
            RecordField("fileCount", \.fileCount, "of a trial: files that belong to them"))
    }
}

package struct ItemForget: StoreOperation {
    package static let name = "item.forget"
    package static let access = OperationAccess.control
    package static let meaning =
        "Deletes all earlier versions of items of one vault for good, with whatever else the same changes changed, here, at "
        + "the server and, after seven days, on other devices. A synced vault is synced for it. It cannot be undone."

    package var items: [String] = []
    package var vault: String?
    package var deletes: Bool?
    package var agreedCount: Int?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("items", \.items, "as in `item.read`; items that were removed by whole ids"),
        .vaultOfFirst(\.vault),
        RecordField("deletes", \.deletes, "the items go too; without it they stay as they are now"),
        RecordField("agreedCount", \.agreedCount, "nothing goes if more changes would than these"),
        RecordField("isTrial", \.isTrial, "changes nothing, and says how much would go"))

    package struct Answer: Record {
        package static let recordName = "forget-result"
        package static let refusesUnknownFields = false
        package var removedCommitCount = 0
        package var versionCount = 0
        package var otherItemCount: Int?
        package var removedFileCount: Int?
        package var keptCommitCount: Int?
        package var isSynced = false
        package var record: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("removedCommitCount", \.removedCommitCount, "changes that go, or would"),
            RecordField(
                "versionCount", \.versionCount,
                "versions that go with them; of locked notes those that could be read; 0: nothing is to be done"),
            RecordField("otherItemCount", \.otherItemCount, "other items of which a version goes with them"),
            RecordField("removedFileCount", \.removedFileCount, "files that went with them"),
            RecordField("keptCommitCount", \.keptCommitCount, "changes that stay"),
            RecordField("isSynced", \.isSynced, "the vault is on a server, and other devices may have it"),
            RecordField("record", \.record, "the link that says so"))
    }
}

package struct ItemLabel: StoreOperation {
    package static let name = "item.label"
    package static let access = OperationAccess.list
    package static let meaning =
        "Says how items are shown in a line: by title, tags and the shortest id that names them."

    package var items: [String] = []
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.items(\.items), .vaultOfItem(\.vault))

    package struct Answer: Record {
        package static let recordName = "label-list"
        package static let refusesUnknownFields = false
        package var labels: [LabelMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("labels", \.labels, "in the order of the request"))
    }
}

/// An item in a line.
package struct LabelMessage: Record {
    package static let recordName = "label"
    package static let refusesUnknownFields = false

    package var id = ""
    package var shortID = ""
    package var title = ""
    package var tags: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "32 hexadecimal digits"),
        RecordField("shortID", \.shortID, "the beginning of the id that names no other item of its vault"),
        RecordField("title", \.title, "as in `item`"), RecordField("tags", \.tags, "all tags, without `#`"))
}

package struct LinkList: StoreOperation {
    package static let name = "link.list"
    package static let access = OperationAccess.read
    package static let meaning = "Lists what the text of an item links to, and the items that link to it."

    package var item = ""
    package var vault: String?
    package var givesShortIDs: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        .givesShortIDs(\.givesShortIDs))

    package struct Answer: Record {
        package static let recordName = "link-list"
        package static let refusesUnknownFields = false
        package var links: [LinkMessage] = []
        package var backlinks: [SummaryMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("links", \.links, "in the order of the text"),
            RecordField("backlinks", \.backlinks, "the items that link to it, those in the trash left out"))
    }
}

/// A link in a text.
package struct LinkMessage: Record {
    package static let recordName = "link"
    package static let refusesUnknownFields = false

    package var target = ""
    package var items: [SummaryMessage] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("target", \.target, "as the text has it"),
        RecordField("items", \.items, "the items that it can mean; none for one that is not there yet"))
}

package struct LinkAdd: StoreOperation {
    package static let name = "link.add"
    package static let access = OperationAccess.write
    package static let meaning =
        "Adds a link at the end of an item's text. It names the other item's id, so it holds when the title changes."

    package var item = ""
    package var target = ""
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        RecordField("target", \.target, "an item of the same vault, as in `item.read`"),
        RecordField("vault", \.vault, "name or id; without it the vault that has the item"))

    package typealias Answer = ItemEdit.Answer
}

package struct TagRename: StoreOperation {
    package static let name = "tag.rename"
    package static let access = OperationAccess.write
    package static let meaning = "Renames a tag, and all tags below it, in all items of a vault, in one commit."

    package var tag = ""
    package var newTag = ""
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("tag", \.tag, "with or without `#`"), RecordField("newTag", \.newTag, "with or without `#`"),
        .vaultOrDefault(\.vault))

    package struct Answer: Record {
        package static let recordName = "rename-result"
        package static let refusesUnknownFields = false
        package var itemCount = 0
        package var textCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("itemCount", \.itemCount, "items that had the tag"),
            RecordField("textCount", \.textCount, "texts in which it stood, which were changed"))
    }
}
