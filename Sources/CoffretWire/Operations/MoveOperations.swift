// Requests that bring items into other vaults, and share them.

package struct ItemMove: StoreOperation {
    package static let name = "item.move"
    package static let access = OperationAccess.control
    package static let meaning =
        "Writes items of one vault anew in another one, without their history, and moves the old ones to the trash; or copies them. "
        + "In a vault that others have too they are there only once the server has them."

    package var items: [String] = []
    package var vault: String?
    package var to = ""
    package var isCopy: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("items", \.items, "ids or titles, all of one vault"),
        .vaultOfItem(\.vault),
        RecordField("to", \.to, "name or id of the vault that they come into"),
        RecordField("isCopy", \.isCopy, "the old ones stay, and the new ones have ids of their own"))

    package struct Answer: Record {
        package static let recordName = "items-moved"
        package static let refusesUnknownFields = false
        package var items: [String] = []
        package var from = ""
        package var vault = ""
        package var people: [String] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("items", \.items, "ids of them where they are now"),
            RecordField("from", \.from, "name of the vault that they were in"),
            RecordField("vault", \.vault, "name of the one that they are in"),
            RecordField("people", \.people, "who reads them there, beside the own account"))
    }
}

package struct ShareItem: StoreOperation {
    package static let name = "share.item"
    package static let access = OperationAccess.control
    package static let meaning =
        "Shares one item: founds a vault with it, moves it there, and adds people. One that is in such a vault already is shared with "
        + "more people. The session asks for the passphrase of the store."

    package var item = ""
    package var vault: String?
    package var people: [String] = []
    package var role = ShareRole.viewer
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("people", \.people, "contacts, addresses, or account ids"),
        RecordField("role", \.role, "what they may do"),
        RecordField("isTrial", \.isTrial, "shares nothing, and says with whom it would; it asks for no passphrase"))

    package struct Answer: Record {
        package static let recordName = "item-shared"
        package static let refusesUnknownFields = false
        package var item = ""
        package var title = ""
        package var vault = ""
        package var vaultID = ""
        package var people: [ShareMember] = []
        package var isShared = false
        package var keyCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("item", \.item, "its id"), RecordField("title", \.title, "its title"),
            RecordField("vault", \.vault, "name of the vault that has it alone"),
            RecordField("vaultID", \.vaultID, "its id; empty before it is there"),
            RecordField("people", \.people, "with whom"),
            RecordField("shared", \.isShared, "whether it was done"),
            RecordField("keys", \.keyCount, "people to whom the key went along; to others it follows"))
    }
}

package struct ShareRestart: StoreOperation {
    package static let name = "share.restart"
    package static let access = OperationAccess.control
    package static let meaning =
        "Founds a vault anew: another one with what stands in it now, without history, for the same people in the same roles; the "
        + "old one is left, and stays here to be read. The session asks for the passphrase of the store."

    package var vault = ""
    package var people: [String]?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField("people", \.people, "account ids of those who come along; without it all members"),
        RecordField("isTrial", \.isTrial, "founds nothing, and says for whom it would; it asks for no passphrase"))

    package struct Answer: Record {
        package static let recordName = "share-restarted"
        package static let refusesUnknownFields = false
        package var id = ""
        package var name = ""
        package var formerName = ""
        package var itemCount = 0
        package var people: [ShareMember] = []
        package var isLeft = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "of the new vault; empty before it is there"),
            RecordField("name", \.name, "of the new vault, which had the old one"),
            RecordField("formerName", \.formerName, "of the old vault now"),
            RecordField("items", \.itemCount, "that came along"),
            RecordField("people", \.people, "who were added; they accept it as any other"),
            RecordField("left", \.isLeft, "whether the old vault was left at the server, too"))
    }
}

package struct ShareSeen: StoreOperation {
    package static let name = "share.seen"
    package static let access = OperationAccess.list
    package static let meaning =
        "Lists what somebody has seen who has or had a vault: secret values, texts and files, and which of them were changed since. It "
        + "shows no value."

    package var vault = ""
    package var person = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField("person", \.person, "a member's name or a former one's, or the beginning of its account id"))

    package struct Answer: Record {
        package static let recordName = "share-seen"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var person = ShareMember()
        package var isMember = false
        package var endedAt: WireMoment?
        package var values: [SeenValue] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "its name"), RecordField("person", \.person, "who it is"),
            RecordField("isMember", \.isMember, "whether it reads the vault still"),
            RecordField("endedAt", \.endedAt, "since when it does not, by the clock of whoever removed it"),
            RecordField("values", \.values, "by title"))
    }
}

/// A value that somebody has seen, without the value.
package struct SeenValue: Record {
    package static let recordName = "seen-value"
    package static let refusesUnknownFields = false

    package enum Kind: String, RecordChoice {
        case secret, text, file
    }

    package var item = ""
    package var title = ""
    package var kind = Kind.secret
    package var field = ""
    package var hadForSure = false
    package var isChangedSince = false
    package var isGone = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "its id"), RecordField("title", \.title, "of the item, as it was seen"),
        RecordField("kind", \.kind, "what it is"),
        RecordField("field", \.field, "label of the field, or name of the file"),
        RecordField("hadForSure", \.hadForSure, "a device of the person has said that it had this"),
        RecordField("changedSince", \.isChangedSince, "another value stands there now"),
        RecordField("gone", \.isGone, "the item was removed before the person was"))
}

/// A purpose for which programs look for items by themselves.
package enum GuestUse: String, RecordChoice {
    case git, ssh, run, browser, tokens
}

package struct ShareSettings: StoreOperation {
    package static let name = "share.settings"
    package static let access = OperationAccess.control
    package static let meaning =
        "Says or sets for what programs may use a vault that another person founded, without a word of the person for nothing; and how sure it has to be who somebody is whom the vault takes in."

    package var vault = ""
    package var uses: [GuestUse]?
    package var required: RequiredState?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField(
            "uses", \.uses,
            "for logins that git and others look for, for SSH, for references without an item's whole id, for browsers, and for tokens that are not for named vaults; those that are left out end"
        ),
        RecordField(
            "required", \.required,
            "for all owners: linked, or compared for people whose codes were compared; only an owner sets it"))

    package struct Answer: Record {
        package static let recordName = "share-settings"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var isGuest = false
        package var uses: [GuestUse] = []
        package var required = RequiredState.linked

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "its name"),
            RecordField("guest", \.isGuest, "whether another person founded it; an own one is used for everything"),
            RecordField("uses", \.uses, "for what it is used"),
            RecordField("required", \.required, "what it asks of people whom it takes in"))
    }
}

/// What a vault asks of the people whom its owners let in.
package enum RequiredState: String, RecordChoice {
    case linked, compared
}

package struct ShareActivity: StoreOperation {
    package static let name = "share.activity"
    package static let access = OperationAccess.list
    package static let meaning =
        "Lists what the people of a vault did, latest first: changes of items, and changes of members. It asks no server."

    package var vault = ""
    package var person: String?
    package var limit: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField("person", \.person, "one of them alone; `you` for the own account"),
        RecordField("limit", \.limit, "how many at most; 1,000 if left out"))

    package struct Answer: Record {
        package static let recordName = "share-activities"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var entries: [ActivityMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "its name"), RecordField("entries", \.entries, "latest first"))
    }
}

/// Something that a person did in a vault.
package struct ActivityMessage: Record {
    package static let recordName = "activity"
    package static let refusesUnknownFields = false

    package var time: WireMoment?
    package var account = ""
    package var person = ""
    package var device = ""
    package var version: String?
    package var link: Int?
    package var items: [String] = []
    package var summary = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("time", \.time, "by the clock of the device that did it; none where it cannot be read"),
        RecordField("account", \.account, "id in hexadecimal digits"),
        RecordField("person", \.person, "as this person calls it, else as the member says who added it; `you`"),
        RecordField("device", \.device, "name of an own device, else the beginning of its id"),
        RecordField("version", \.version, "the commit, for a change of items"),
        RecordField("link", \.link, "number in the member chain, for a change of members"),
        RecordField("items", \.items, "ids of the first 20"),
        RecordField("summary", \.summary, "what was done, in words"))
}
