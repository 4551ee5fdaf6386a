// Requests about paired browsers. Invariant: each needs control, so that no token shows or removes one.

internal import CoffretBase

/// A browser that may ask for logins.
package struct BrowserMessage: Record {
    package static let recordName = "browser"
    package static let refusesUnknownFields = false

    package var name = ""
    package var program = ""
    package var created = WireMoment(0)
    package var isRemote: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "as it was paired"),
        RecordField(
            "program", \.program,
            "who started its host then, as the system named it; nothing for one on another machine"),
        RecordField("created", \.created, "when it was paired"),
        RecordField("remote", \.isRemote, "whether it is on another machine, and asks over the relay (`remote.md`)"))
}

package struct BrowserList: StoreOperation {
    package static let name = "browser.list"
    package static let access = OperationAccess.control
    package static let meaning = "Lists the browsers that are paired with the store on this computer (`bridge.md`)."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "browser-list"
        package static let refusesUnknownFields = false
        package var browsers: [BrowserMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("browsers", \.browsers, "the oldest first"))
    }
}

package struct BrowserAllow: StoreOperation {
    package static let name = "browser.allow"
    package static let access = OperationAccess.control
    package static let meaning =
        "Lets the extension of a browser on another machine, which shows a code, ask this device for logins (`remote.md`). The session asks "
        + "whether it may, and that somebody is there."

    package var code = ""
    package var name: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("code", \.code, "the text that the extension shows"),
        RecordField("name", \.name, "for the browser; else as it calls itself"))

    package typealias Answer = BrowserMessage
}

package struct BrowserRemove: StoreOperation {
    package static let name = "browser.remove"
    package static let access = OperationAccess.control
    package static let meaning = "Forgets a paired browser, or all of them; the agent refuses its next session."

    package var name: String?
    package var isAll: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "of the browser"),
        RecordField("all", \.isAll, "instead of a name: all, also where their record was altered"))

    package typealias Answer = NothingMessage
}

package struct BrowserNotices: StoreOperation {
    package static let name = "browser.notices"
    package static let access = OperationAccess.control
    package static let meaning =
        "Says, or decides, whether the desktop shows a notification for each value that a browser is given."

    package var isOn: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(RecordField("on", \.isOn, "left out to ask"))

    package struct Answer: Record {
        package static let recordName = "browser-notices"
        package static let refusesUnknownFields = false
        package var isOn = false

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("on", \.isOn, "as it is now"))
    }
}
