// The operations. Invariant: a name is never used again for something else; Spec/operations.md lists them, and a test holds
// the two together.

package import CoffretBase

/// Answers an operation that has nothing to tell.
package struct NothingMessage: Record {
    package static let recordName = "nothing"
    package static let refusesUnknownFields = false
    package static let layout = RecordLayout<Self>()
    package init() {}
}

/// What both sides are.
package struct Hello: StoreOperation {
    package static let name = "hello"
    package static let access = OperationAccess.none
    package static let meaning = "Says which program answers, and what it can be asked."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "hello-answer"
        package static let refusesUnknownFields = false
        package var version = ""
        package var operations: [String] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("version", \.version, "of the program"),
            RecordField("operations", \.operations, "names of all operations that it knows"))
    }
}

package struct VaultList: StoreOperation {
    package static let name = "vault.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists the vaults of the store, by name."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "vault-list"
        package static let refusesUnknownFields = false
        package var vaults: [VaultMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("vaults", \.vaults, "by name"))
    }
}

package struct ItemList: StoreOperation, FlagWanting {
    package static let name = "item.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists items, of one vault or of all."

    package enum Order: String, RecordChoice {
        case modified, created, title
    }

    package var vault: String?
    package var tags: [String]?
    package var kind: String?
    package var flags: [Flag: Bool] = [:]
    package var includesAll: Bool?
    package var order: Order?
    package var limit: Int?
    package var offset: Int?
    package var at: WireMoment?
    package var version: String?
    package var givesShortIDs: Bool?
    package var givesExcerpts: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrAll(\.vault),
        RecordField("tags", \.tags, "the items that have each of these, or one below it"),
        RecordField("kind", \.kind, "as in `item`"),
        RecordField("includesAll", \.includesAll, "archived and trashed ones too"),
        RecordField("order", \.order, "`modified` without it: latest first, pinned ones before"),
        RecordField("limit", \.limit, "at most so many; 1,000 without it"),
        RecordField("offset", \.offset, "so many of the list are passed over"),
        RecordField("at", \.at, "as the vault was at this moment"),
        RecordField("version", \.version, "as it was in this commit, by at least four digits"),
        .givesShortIDs(\.givesShortIDs),
        RecordField(
            "givesExcerpts", \.givesExcerpts,
            "whether the first 200 say what their text begins with; of the present, and for whoever may read items")
    ).adding(RecordField.flags(Flag.allCases, \.filterMeaning), after: "kind")

    package struct Answer: Record {
        package static let recordName = "item-list"
        package static let refusesUnknownFields = false
        package var items: [SummaryMessage] = []
        package var total = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("items", \.items, "this part of the list"), RecordField("total", \.total, "length of the list"))
    }
}

package struct ItemSearch: StoreOperation {
    package static let name = "item.search"
    package static let access = OperationAccess.list
    package static let meaning = "Finds items by words, as `search.md` says; the last word may be a beginning."

    package var query = ""
    package var vault: String?
    package var limit: Int?
    package var offset: Int?
    package var marksMatches: Bool?
    package var givesShortIDs: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("query", \.query, "words, `\"phrases\"`, `tag:`, `type:`, `in:`"),
        .vaultOrAll(\.vault),
        RecordField("limit", \.limit, "at most so many; 20 without it"),
        RecordField("offset", \.offset, "so many are passed over, in each vault"),
        RecordField("marksMatches", \.marksMatches, "whether to say where the words stand"),
        .givesShortIDs(\.givesShortIDs))

    package struct Answer: Record {
        package static let recordName = "search-result"
        package static let refusesUnknownFields = false
        package var hits: [SummaryMessage] = []
        package var total = 0
        package var didYouMean: [CorrectionMessage]?
        package var without: [String]?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("hits", \.hits, "best first, vault by vault"),
            RecordField("total", \.total, "items that match"),
            RecordField("didYouMean", \.didYouMean, "words that no item has"),
            RecordField("without", \.without, "what the query leaves out, as it was written"))
    }
}

package struct ItemRead: StoreOperation {
    package static let name = "item.read"
    package static let access = OperationAccess.read
    package static let meaning = "Reads one item, now or as it was."

    package var item = ""
    package var vault: String?
    package var revealsSecrets: Bool?
    package var givesConflicts: Bool?
    package var givesForm: Bool?
    package var asksNobody: Bool?
    package var at: WireMoment?
    package var version: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id, the beginning of one, a title, or the beginning of a title"),
        .vaultOfItem(\.vault),
        RecordField("revealsSecrets", \.revealsSecrets, "with the values of secret fields"),
        RecordField("givesConflicts", \.givesConflicts, "with the values that other devices wrote"),
        RecordField("givesForm", \.givesForm, "as a form for an editor too, in which secrets are masked"),
        RecordField(
            "asksNobody", \.asksNobody,
            "for a program that shows items by itself: one that is not open comes without its contents"),
        RecordField("at", \.at, "as it was at this moment"),
        RecordField("version", \.version, "as it was in this commit, by at least four digits"))

    package typealias Answer = ItemMessage
}

package struct ItemCreate: StoreOperation {
    package static let name = "item.create"
    package static let access = OperationAccess.write
    package static let meaning = "Makes an item."

    package var vault: String?
    package var kind: String?
    package var title: String?
    package var text: String?
    package var tags: [String]?
    package var fields: [FieldDraft]?
    package var isPinned: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrDefault(\.vault),
        RecordField("kind", \.kind, "`note` without it"),
        RecordField("title", \.title, "a note's text can say it"),
        RecordField("text", \.text, "Markdown"), RecordField("tags", \.tags, "with or without `#`"),
        RecordField("fields", \.fields, "in this order"), RecordField("isPinned", \.isPinned, "first in lists"))

    package typealias Answer = ItemMessage
}

package struct ItemEdit: StoreOperation {
    package static let name = "item.edit"
    package static let access = OperationAccess.write
    package static let meaning = "Changes an item, in one commit; what is left out stays as it is."

    package var item = ""
    package var vault: String?
    package var title: String?
    package var text: String?
    package var baseText: String?
    package var setFields: [FieldDraft]?
    package var removeFields: [String]?
    package var form: String?
    package var draft: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("title", \.title, "an empty one: what the text begins with"),
        RecordField("text", \.text, "the new text as a whole"),
        RecordField(
            "baseText", \.baseText, "the text that was changed into `text`: lines that others wrote since are kept"),
        RecordField("setFields", \.setFields, "fields to set"),
        RecordField("removeFields", \.removeFields, "names or labels; one that is not there is refused"),
        RecordField("form", \.form, "the whole item as a form, edited: a masked secret stays; with no other field"),
        RecordField("draft", \.draft, "a draft of the item (`draft.keep`) that goes once this change is made"))

    package struct Answer: Record {
        package static let recordName = "edit-result"
        package static let refusesUnknownFields = false
        package var item = ItemMessage()
        package var isChanged = false
        package var restoredTime: WireMoment?
        package var target: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("item", \.item, "as it is now, without secrets"),
            RecordField("isChanged", \.isChanged, "false if it was so before; then nothing was written"),
            RecordField("restoredTime", \.restoredTime, "of a version that was brought back: when it was made"),
            RecordField("target", \.target, "of a link that was added: the item that it leads to"))
    }
}

package struct ItemTrash: StoreOperation {
    package static let name = "item.trash"
    package static let access = OperationAccess.write
    package static let meaning = "Moves items of one vault to the trash, in one commit."

    package var items: [String] = []
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .items(\.items),
        .vaultOfFirst(\.vault))

    package struct Answer: Record {
        package static let recordName = "trash-result"
        package static let refusesUnknownFields = false
        package var trashed: [String] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("trashed", \.trashed, "ids, in the order of the request"))
    }
}

package struct ItemRestore: StoreOperation {
    package static let name = "item.restore"
    package static let access = OperationAccess.write
    package static let meaning = "Takes an item out of the trash, or makes an earlier version the present one."

    package var item = ""
    package var vault: String?
    package var at: WireMoment?
    package var version: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "as in `item.read`; also the beginning of a title in the trash"),
        .vaultOfItem(\.vault),
        RecordField("at", \.at, "back to what it was at this moment"),
        RecordField("version", \.version, "back to what it was in this commit"))

    package typealias Answer = ItemEdit.Answer
}

package struct ItemHistory: StoreOperation {
    package static let name = "item.history"
    package static let access = OperationAccess.read
    package static let meaning = "Lists the versions of an item, latest first."

    package var item = ""
    package var vault: String?
    package var limit: Int?
    package var namesDevices: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("limit", \.limit, "at most so many"),
        RecordField("namesDevices", \.namesDevices, "whether to name the devices that made them"))

    package struct Answer: Record {
        package static let recordName = "history"
        package static let refusesUnknownFields = false
        package var id = ""
        package var versions: [VersionMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "of the item"), RecordField("versions", \.versions, "latest first"))
    }
}

package struct TagList: StoreOperation {
    package static let name = "tag.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists the tags of a vault, by path."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrDefault(\.vault))

    package struct Answer: Record {
        package static let recordName = "tag-list"
        package static let refusesUnknownFields = false
        package var tags: [TagMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("tags", \.tags, "by path"))
    }
}

package struct TagChange: StoreOperation {
    package static let name = "tag.change"
    package static let access = OperationAccess.write
    package static let meaning = "Gives an item tags and takes others away, in one commit."

    package var item = ""
    package var vault: String?
    package var add: [String]?
    package var remove: [String]?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("add", \.add, "those that it has already are passed over"),
        RecordField("remove", \.remove, "out of the text too, where their words stay"))

    package struct Answer: Record {
        package static let recordName = "tag-result"
        package static let refusesUnknownFields = false
        package var item = ItemMessage()
        package var isTextChanged = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("item", \.item, "as it is now, without secrets"),
            RecordField("isTextChanged", \.isTextChanged, "whether a tag stood in the text"))
    }
}

package struct CodeRead: StoreOperation {
    package static let name = "code.read"
    package static let access = OperationAccess.read
    package static let meaning =
        "Computes the one-time code of an item. A code that is counted moves on, which is saved first."

    package var item = ""
    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault))

    package struct Answer: Record {
        package static let recordName = "code"
        package static let refusesUnknownFields = false
        package var code = ""
        package var remainingSeconds: Int?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("code", \.code, "the digits"),
            RecordField("remainingSeconds", \.remainingSeconds, "for how long it is valid; left out for a counted one"))
    }
}

package struct StoreLock: StoreOperation {
    package static let name = "lock"
    package static let access = OperationAccess.control
    package static let meaning =
        "Locks the store. The session ends after the answer, and so do all others of the store."

    package init() {}
    package static let layout = RecordLayout<Self>()
    package typealias Answer = NothingMessage
}
