// Requests on tokens, and on what programs asked. Invariant: each needs control, so that no token makes, shows or removes one.

internal import CoffretBase

/// A token with its limits, for a person to read.
package struct TokenMessage: Record {
    package static let recordName = "token"
    package static let refusesUnknownFields = false

    package enum Access: String, RecordChoice {
        case list, read, write
    }

    package var name = ""
    package var access: Access?
    package var operations: [String]?
    package var vaults: [String]?
    package var tags: [String]?
    package var reason = ""
    package var created = WireMoment(0)
    package var until: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "what the person calls it"),
        RecordField("access", \.access, "it allows operations that need this access or less"),
        RecordField("operations", \.operations, "names of operations that it allows beside those"),
        RecordField("vaults", \.vaults, "ids; without it all vaults"),
        RecordField("tags", \.tags, "items with one of these or one below it; without it all items"),
        RecordField("reason", \.reason, "what it is for"), RecordField("created", \.created, "when it was made"),
        RecordField("until", \.until, "when it ends"))
}

package struct TokenCreate: StoreOperation {
    package static let name = "token.create"
    package static let access = OperationAccess.control
    package static let meaning =
        "Makes a token for a program, once a person has shown to be there. Its secret is in this answer and nowhere else."

    package var name = ""
    package var access: TokenMessage.Access?
    package var operations: [String]?
    package var vaults: [String]?
    package var tags: [String]?
    package var reason = ""
    package var until: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "what the person calls it"), RecordField("access", \.access, "as in `token`"),
        RecordField("operations", \.operations, "as in `token`; one that needs control is refused"),
        RecordField("vaults", \.vaults, "names or ids; without it all vaults"),
        RecordField("tags", \.tags, "as in `token`, with or without `#`"),
        RecordField("reason", \.reason, "what it is for"), RecordField("until", \.until, "when it ends"))

    package struct Answer: Record {
        package static let recordName = "token-made"
        package static let refusesUnknownFields = false
        package var secret = ""
        package var token = TokenMessage()

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("secret", \.secret, "what the program opens a session with"),
            RecordField("token", \.token, "as it was made"))
    }
}

package struct TokenList: StoreOperation {
    package static let name = "token.list"
    package static let access = OperationAccess.control
    package static let meaning = "Lists the tokens of the store on this computer."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "token-list"
        package static let refusesUnknownFields = false
        package var tokens: [TokenMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("tokens", \.tokens, "by name"))
    }
}

package struct TokenRemove: StoreOperation {
    package static let name = "token.remove"
    package static let access = OperationAccess.control
    package static let meaning =
        "Removes a token, or all of them; sessions that it opened are refused from their next request on."

    package var name: String?
    package var isAll: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "of the token"),
        RecordField("all", \.isAll, "instead of a name: all, also where their file was altered"))

    package typealias Answer = NothingMessage
}

package struct AccessList: StoreOperation {
    package static let name = "access.list"
    package static let access = OperationAccess.control
    package static let meaning =
        "Says which programs asked the store, and for what: the log of `access.md`, latest first."

    package var limit: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(RecordField("limit", \.limit, "at most so many; all without it"))

    package struct Answer: Record {
        package static let recordName = "access-list"
        package static let refusesUnknownFields = false
        package var entries: [AccessEntry] = []
        package var titles: [AccessTitle] = []
        package var isIncomplete = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("entries", \.entries, "latest first"),
            RecordField("titles", \.titles, "of the items of these entries that are still there"),
            RecordField(
                "isIncomplete", \.isIncomplete, "entries are missing: the file was changed, or a crash tore one"))
    }
}

/// The present title of an item in the log.
package struct AccessTitle: Record {
    package static let recordName = "access-title"
    package static let refusesUnknownFields = false

    package var item = ""
    package var title = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id of the item"), RecordField("title", \.title, "as it is called now"))
}

/// An entry of the log.
package struct AccessEntry: Record {
    package static let recordName = "access-entry"
    package static let refusesUnknownFields = false

    package enum Event: String, RecordChoice {
        case opened, asked, refused, ended
    }

    package var number = 0
    package var time = WireMoment(0)
    package var event = Event.opened
    package var session = ""
    package var program: String?
    package var token: String?
    package var browser: String?
    package var device: String?
    package var operation: String?
    package var vault: String?
    package var item: String?
    package var code: String?
    package var count: Int?
    package var last: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("number", \.number, "counts all entries there ever were"),
        RecordField("time", \.time, "when it happened, the first time"),
        RecordField("event", \.event, "a session began, was asked, refused something, or ended"),
        RecordField("session", \.session, "8 hexadecimal digits, for entries that belong together"),
        RecordField("program", \.program, "who opened the session, as the system knows it"),
        RecordField("token", \.token, "name of the token"),
        RecordField("browser", \.browser, "name of the paired browser (`bridge.md`)"),
        RecordField("device", \.device, "name of the device, or the page, that asked (`remote.md`)"),
        RecordField("operation", \.operation, "what was asked for"),
        RecordField("vault", \.vault, "id of the vault that it was about"),
        RecordField("item", \.item, "id of the item that it was about"),
        RecordField("code", \.code, "why it was refused or failed"),
        RecordField("count", \.count, "how often in a row, if more than once"),
        RecordField("last", \.last, "when the last time of those was"))
}
