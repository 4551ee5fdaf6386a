// Requests that look through a vault: what happened in it, words that begin so, logins for a place.

package struct LogRead: StoreOperation {
    package static let name = "log.read"
    package static let access = OperationAccess.read
    package static let meaning = "Lists what happened in a vault, latest first."

    package var vault: String?
    package var limit: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrDefault(\.vault), RecordField("limit", \.limit, "at most so many; 1,000 without it"))

    package struct Answer: Record {
        package static let recordName = "log"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var entries: [LogMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "name of the vault"), RecordField("entries", \.entries, "latest first"))
    }
}

/// A change of a vault.
package struct LogMessage: Record {
    package static let recordName = "log-entry"
    package static let refusesUnknownFields = false

    package var version = ""
    package var time = WireMoment(0)
    package var instance = ""
    package var device = ""
    package var itemCount = 0
    package var hasMore: Bool?
    package var items: [String] = []
    package var titles: [String] = []
    package var summary = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("version", \.version, "the commit in hexadecimal digits"),
        RecordField("time", \.time, "by the clock of the device that made it"),
        RecordField("instance", \.instance, "the copy of the store that made it"),
        RecordField("device", \.device, "the device that made it, by its name or its person's"),
        RecordField("itemCount", \.itemCount, "items that it touched"),
        RecordField("hasMore", \.hasMore, "true if it touched more than were counted"),
        RecordField("items", \.items, "ids of the first 20"),
        RecordField("titles", \.titles, "their titles of now, in quotation marks"),
        RecordField("summary", \.summary, "the first two and what it did to them, in words"))
}

package struct NameList: StoreOperation {
    package static let name = "name.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists names that begin so, for a person who is typing one."

    package enum Kind: String, RecordChoice {
        case items, tags, vaults, fields
    }

    package var kind = Kind.items
    package var beginning: String?
    package var item: String?
    package var vault: String?
    package var limit: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("kind", \.kind, "of what"),
        RecordField("beginning", \.beginning, "how they begin, small or capital"),
        RecordField("item", \.item, "whose fields; of an item that is not found, or not one, there are none"),
        .vaultOrAll(\.vault), RecordField("limit", \.limit, "at most so many; 200 without it"))

    package struct Answer: Record {
        package static let recordName = "name-list"
        package static let refusesUnknownFields = false
        package var names: [String] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("names", \.names, "in the order of their lists; none has several lines"))
    }
}

package struct LoginMatch: StoreOperation {
    package static let name = "login.match"
    package static let access = OperationAccess.read
    package static let meaning =
        "Finds logins and tokens for a place on the web, with their secrets: an item fits if its address has the same "
        + "protocol, host and port. Hidden items are left out."

    package var protocolName = ""
    package var host = ""
    package var path: String?
    package var username: String?
    package var vault: String?
    package var includesGuests: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("protocol", \.protocolName, "such as `https`"),
        RecordField("host", \.host, "with the port, if it is not the usual one"),
        RecordField("path", \.path, "the same, where the item's address has one; without it any"),
        RecordField("username", \.username, "the same, where the item has one; without it any"), .vaultOrAll(\.vault),
        RecordField(
            "includesGuests", \.includesGuests,
            "nobody named the vault: those of other people are looked into too, as far as that is allowed, and it is left out where it is not"
        ))

    package struct Answer: Record {
        package static let recordName = "login-matches"
        package static let refusesUnknownFields = false
        package var logins: [LoginMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("logins", \.logins, "vault by vault"))
    }
}

/// A login that fits.
package struct LoginMessage: Record {
    package static let recordName = "login"
    package static let refusesUnknownFields = false

    package var item = ""
    package var title = ""
    package var tags: [String] = []
    package var username: String?
    package var field = ""
    package var secret = ""
    package var hasPath = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id"), RecordField("title", \.title, "as in `item`"),
        RecordField("tags", \.tags, "those that were given to it"),
        RecordField("username", \.username, "of the item or its address"),
        RecordField("field", \.field, "name of the field of the secret"),
        RecordField("secret", \.secret, "password or token"),
        RecordField("hasPath", \.hasPath, "whether its address has the path that was asked for"))
}
