// The tables that other programs export, one value each; the more telling headers first. Invariant: a format is data and,
// where a program packs several things into one cell, one function.

internal import CoffretBase
internal import CoffretCore

extension ListFormat {
    /// All tables that this version reads.
    static let tables: [ListFormat] = [
        bitwarden, bitwardenOrganization, firefox, lastPass, nordPass, dashlaneLogins, dashlanePayments, dashlaneIDs,
        dashlanePersonal, onePassword, keePassXC, keePassX, keePass, strongbox, applePasswords, browser, titledTable,
        dashlaneNotes,
    ]

    private static let bitwardenColumns: [String: Column] = [
        "name": .title, "notes": .text, "type": .kind(["login": .login, "note": .note]), "fields": .lines,
        "login_uri": .addresses(separator: ","), "login_username": .field("username"),
        "login_password": .field("password"), "login_totp": .field("totp"), "favorite": .pinned,
        "folder": .folder(separator: "/"), "collections": .tags(separator: ","), "archiveddate": .archived,
        // Whether the program asks for its passphrase again before it shows the item.
        "reprompt": .ignored,
    ]

    static let bitwarden = ListFormat(
        name: "bitwarden-csv", title: "Bitwarden export (CSV)",
        telling: ["folder", "type", "login_uri", "login_password"], columns: bitwardenColumns)

    static let bitwardenOrganization = ListFormat(
        name: "bitwarden-org-csv", title: "Bitwarden organization export (CSV)",
        telling: ["collections", "type", "login_uri", "login_password"], columns: bitwardenColumns)

    static let firefox = ListFormat(
        name: "firefox", title: "passwords of Firefox (CSV)", telling: ["url", "username", "password", "httprealm"],
        columns: [
            "url": .field("url"), "username": .field("username"), "password": .field("password"), "guid": .id,
            "httprealm": .labelled("HTTP realm", .text), "formactionorigin": .labelled("Form address", .url),
            "timecreated": .created(.milliseconds), "timepasswordchanged": .modified(.milliseconds),
            "timelastused": .labelled("Last used", .text),
        ])

    static let lastPass = ListFormat(
        name: "lastpass", title: "LastPass export (CSV)", telling: ["url", "extra", "name", "grouping", "fav"],
        columns: [
            "name": .title, "url": .field("url"), "username": .field("username"), "password": .field("password"),
            "totp": .field("totp"), "extra": .text, "grouping": .folder(separator: "\\"), "fav": .pinned,
        ], adjust: adjustLastPass)

    static let nordPass = ListFormat(
        name: "nordpass", title: "NordPass export (CSV)", telling: ["name", "cardholdername", "cardnumber", "type"],
        columns: [
            "name": .title, "url": .field("url"), "additional_urls": .addresses(separator: ","),
            "username": .field("username"), "password": .field("password"), "note": .text,
            "cardholdername": .field("cardholder"), "cardnumber": .field("number"), "cvc": .field("code"),
            "pin": .field("pin"), "expirydate": .field("expiry"), "folder": .folder(separator: "/"),
            "phone_number": .field("phone"), "email": .field("email"), "address1": .field("street"),
            "zipcode": .field("postcode"), "city": .field("city"), "country": .field("country"),
            "full_name": .labelled("Name", .text), "address2": .labelled("Address 2", .text),
            "state": .labelled("State", .text),
            "type": .kind([
                "password": .login, "note": .note, "credit_card": .card, "identity": .identity,
            ]),
        ], adjust: adjustNordPass)

    static let dashlaneLogins = ListFormat(
        name: "dashlane", title: "Dashlane export (CSV)", telling: ["username2", "username3", "otpsecret"],
        columns: [
            "title": .title, "url": .field("url"), "username": .field("username"), "password": .field("password"),
            "username2": .labelled("Username 2", .text), "username3": .labelled("Username 3", .text), "note": .text,
            "category": .folder(separator: "/"), "otpsecret": .field("totp"), "otpurl": .field("totp"),
        ])

    static let dashlanePayments = ListFormat(
        name: "dashlane-payments", title: "payments of Dashlane (CSV)",
        telling: ["account_name", "cc_number", "routing_number"],
        columns: [
            "type": .kind(["credit_card": .card, "bank": .custom]), "account_name": .title,
            "account_holder": .field("cardholder"), "cc_number": .field("number"), "code": .field("code"),
            "routing_number": .labelled("Routing number", .text), "note": .text,
            "account_number": .labelled("Account number", .secret), "country": .labelled("Country", .text),
            "issuing_bank": .labelled("Bank", .text),
        ],
        adjust: { item in
            item.joinExpiry(month: "expiration_month", year: "expiration_year")
        })

    static let dashlaneIDs = ListFormat(
        name: "dashlane-ids", title: "identity papers of Dashlane (CSV)",
        telling: ["type", "number", "issue_date", "place_of_issue"],
        columns: [
            "type": .title, "number": .labelled("Number", .secret), "name": .labelled("Name", .text),
            "issue_date": .labelled("Issued", .date), "expiration_date": .labelled("Expires", .date),
            "place_of_issue": .labelled("Place of issue", .text), "state": .labelled("State", .text),
        ], kind: .custom)

    static let dashlanePersonal = ListFormat(
        name: "dashlane-personal", title: "personal data of Dashlane (CSV)",
        telling: ["item_name", "date_of_birth", "address_recipient"],
        columns: [
            "item_name": .title, "first_name": .field("first-name"), "last_name": .field("last-name"),
            "email": .field("email"), "phone_number": .field("phone"), "date_of_birth": .field("birthday"),
            "address": .field("street"), "zip": .field("postcode"), "city": .field("city"),
            "country": .field("country"), "middle_name": .labelled("Middle name", .text),
            "login": .labelled("Username", .text), "job_title": .labelled("Job title", .text),
            "url": .labelled("Website", .url), "type": .labelled("Type", .text), "title": .labelled("Title", .text),
        ], kind: .identity)

    static let dashlaneNotes = ListFormat(
        name: "dashlane-notes", title: "notes of Dashlane (CSV)", telling: ["title", "note"],
        columns: ["title": .title, "note": .text], kind: .note)

    private static let passwordColumns: [String: Column] = [
        "title": .title, "url": .field("url"), "username": .field("username"), "password": .field("password"),
        "notes": .text, "otpauth": .field("totp"),
    ]

    static let onePassword = ListFormat(
        name: "1password-csv", title: "1Password export (CSV)",
        telling: ["title", "url", "username", "password", "favorite", "archived"],
        columns: passwordColumns.merging([
            "favorite": .pinned, "archived": .archived, "tags": .tags(separator: ";"),
        ]) { $1 })

    static let strongbox = ListFormat(
        name: "strongbox", title: "Strongbox export (CSV)", telling: ["title", "email", "otpauth", "notes"],
        columns: passwordColumns.merging(["email": .labelled("Email", .email)]) { $1 })

    static let applePasswords = ListFormat(
        name: "apple-passwords", title: "Apple Passwords export (CSV)",
        telling: ["title", "url", "username", "password", "notes", "otpauth"], columns: passwordColumns)

    static let keePassXC = ListFormat(
        name: "keepassxc-csv", title: "KeePassXC export (CSV)",
        telling: ["group", "title", "username", "password", "last modified", "created"], columns: keePassColumns,
        adjust: dropRoot)

    static let keePassX = ListFormat(
        name: "keepassx-csv", title: "KeePassX export (CSV)",
        telling: ["group", "title", "username", "password", "url", "notes"], columns: keePassColumns, adjust: dropRoot)

    private static let keePassColumns = passwordColumns.merging([
        "group": .folder(separator: "/"), "totp": .field("totp"), "created": .created(.calendar),
        "last modified": .modified(.calendar),
        // The number of a picture.
        "icon": .ignored,
    ]) { $1 }

    static let keePass = ListFormat(
        name: "keepass-csv", title: "KeePass export (CSV)", telling: ["account", "login name", "password", "web site"],
        columns: [
            "account": .title, "login name": .field("username"), "password": .field("password"),
            "web site": .field("url"), "comments": .text,
        ], hasBackslashes: true)

    static let browser = ListFormat(
        name: "browser", title: "passwords of a browser (CSV)", telling: ["name", "url", "username", "password"],
        columns: [
            "name": .title, "url": .field("url"), "username": .field("username"), "password": .field("password"),
            "note": .text,
        ])

    static let titledTable = ListFormat(
        name: "passwords-csv", title: "table of passwords (CSV)", telling: ["title", "url", "username", "password"],
        columns: passwordColumns)

    // MARK: Cells with more than one thing in them

    /// Every entry of a KeePass table lies below its root.
    @Sendable private static func dropRoot(_ item: inout ForeignItem) {
        item.draft.tags = item.draft.tags.compactMap { tag in
            let parts = tag.path.split(separator: "/")
            guard parts.first == "Root" else { return tag }
            return parts.count > 1 ? try? TagPath(parts.dropFirst().joined(separator: "/")) : nil
        }
    }

    /// LastPass says by the address `http://sn` that an item is no login, and by the first line of its notes of which kind
    /// it is.
    @Sendable private static func adjustLastPass(_ item: inout ForeignItem) {
        let address = item.value("url")
        if address == "http://" || address == "http://sn" { item.remove("url") }
        guard address == "http://sn" else { return }
        item.draft.kind = .note
        let lines = item.draft.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let first = lines.first, first.hasPrefix("NoteType:") else { return }
        let type = first.dropFirst("NoteType:".count)
        item.draft.kind = type == "Credit Card" ? .card : .custom
        if type != "Credit Card" { item.add("Type", String(type), isRaw: false) }
        item.draft.text = ""
        let fields = ["Name on Card": "cardholder", "Type": "brand", "Number": "number", "Security Code": "code"]
        for (index, line) in lines.enumerated().dropFirst() {
            guard let colon = line.firstIndex(of: ":") else {
                item.addText(line)
                continue
            }
            let (label, value) = (String(line[..<colon]), String(line[line.index(after: colon)...]))
            // The notes are the last, with all lines that follow.
            if label == "Notes" { return item.addText(([value] + lines[(index + 1)...]).joined(separator: "\n")) }
            if type == "Credit Card", let field = fields[label] {
                item.set(field, to: value, original: label)
            } else if type == "Credit Card", label == "Expiration Date", let expiry = expiry(words: value) {
                item.set("expiry", to: expiry, original: label)
            } else if label != "Language" {
                let isSecret = ["Number", "Password", "Passphrase", "PIN", "Private Key", "Security Code"].contains(
                    label)
                item.add(label, value, kind: isSecret ? .secret : .text, isRaw: false)
            }
        }
    }

    /// `May,2008` as `05/2008`.
    private static func expiry(words: String) -> String? {
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        let parts = words.split(separator: ",").map { String($0).trimmedBlanks() }
        guard parts.count == 2, let month = months.firstIndex(of: String(parts[0].asciiLowercased().prefix(3))),
            parts[1].utf8.count == 4, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return "\(month < 9 ? "0" : "")\(month + 1)/\(parts[1])"
    }

    /// NordPass lists its folders as rows, and custom fields as JSON in one cell.
    @Sendable private static func adjustNordPass(_ item: inout ForeignItem) {
        item.takeRaw("type") { item, value in
            if value == "folder" { item.isNoItem = true } else { item.add("type", value) }
        }
        item.takeRaw("custom_fields") { item, value in
            guard let fields = try? JSONValue(parsing: Array(value.utf8)).elements else {
                return item.add("custom_fields", value)
            }
            for field in fields {
                guard let label = field["label"]?.string, let text = field["value"]?.string else {
                    item.add("custom_fields", field.text())
                    continue
                }
                let isSecret = ["hidden", "password"].contains(field["type"]?.string ?? "")
                item.add(label, text, kind: isSecret ? .secret : .text, isRaw: false)
            }
        }
    }
}

extension ForeignItem {
    /// A month and a year that stand in two columns.
    fileprivate mutating func joinExpiry(month: String, year: String) {
        var parts: [String: String] = [:]
        takeRaw(month) { _, value in parts[month] = value }
        takeRaw(year) { _, value in parts[year] = value }
        switch (parts[month], parts[year]) {
        case (let first?, let second?): set("expiry", to: "\(first)/\(second)", original: "expiration")
        case (let value?, nil): add(month, value)
        case (nil, let value?): add(year, value)
        case (nil, nil): break
        }
    }
}
