// Bitwarden's own export: JSON, in clear or under a password, alone or in a zip with the files. Invariant: a member that
// nothing here means becomes a field of its name.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let bitwardenJSON = ForeignFormat(
        name: "bitwarden", title: "a Bitwarden export",
        signs: [
            .json(["encrypted", "passwordProtected"]), .json(["encrypted", "items"]), .json(["folders", "items"]),
            .json(["collections", "items"]), .json(["encrypted", "folders"]), .json(["encrypted", "collections"]),
            .json(["items.folderId", "items.organizationId"]),
        ],
        open: { (source, keys) throws(ImportExportError) in try BitwardenSeal.open(source, keys) },
        read: { (source, sink) throws(ImportExportError) in
            var bytes = try source.content()
            defer { bytes.zero() }
            if let main = source.main { sink.took(main, try source.bytes()) }
            var reader = BitwardenReader(source, sink)
            try reader.read(ForeignObject.parse(bytes, limits: source.limits))
        })
}

private struct BitwardenReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private var folders: [String: String] = [:]
    private var collections: [String: String] = [:]
    /// Files in a zip lie in a folder of their item's id.
    private var files: [String: [Int]] = [:]

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
        for (index, entry) in source.entries.enumerated() where index != source.main {
            let parts = entry.path.components.map { String(decoding: $0, as: UTF8.self) }
            if parts.count > 1 { files[parts[parts.count - 2], default: []].append(index) }
        }
    }

    mutating func read(_ list: ForeignObject) throws(ImportExportError) {
        if list.flag("encrypted") == true {
            throw ImportExportError(
                .sourceUnsupported,
                subject: "\(source.path.printable) is a Bitwarden export that only its account opens; "
                    + "export it there with a password")
        }
        list.ignore("passwordProtected")
        folders = names(of: "folders", in: list)
        collections = names(of: "collections", in: list)
        guard let items = list.objects("items") else { throw ImportExportError(.formatInvalid, at: "items") }
        for item in items { try put(item) }
        for (name, _) in list.rest {
            sink.warn("not of an item, left out: \(printableText(name.utf8))")
            sink.drop()
        }
    }

    private func names(of member: String, in list: ForeignObject) -> [String: String] {
        var names: [String: String] = [:]
        for folder in list.objects(member) ?? [] {
            if let id = folder.text("id"), let name = folder.text("name") { names[id] = name }
            folder.ignoreRest()
        }
        return names
    }

    private static let common: [String: ListFormat.Column] = [
        "name": .title, "notes": .text, "favorite": .pinned, "creationDate": .created(.calendar),
        "revisionDate": .modified(.calendar), "archivedDate": .archived, "deletedDate": .trashed, "id": .id,
        // The program remembers these for itself: its owner, and that it is an item.
        "organizationId": .ignored, "object": .ignored,
    ]

    private static let login: [String: ListFormat.Column] = [
        "username": .field("username"), "password": .field("password"), "totp": .field("totp"),
        "passwordRevisionDate": .labelled("Password changed", .text),
    ]

    private static let card: [String: ListFormat.Column] = [
        "cardholderName": .field("cardholder"), "brand": .field("brand"), "number": .field("number"),
        "code": .field("code"),
    ]

    private static let identity: [String: ListFormat.Column] = [
        "title": .labelled("Title", .text), "firstName": .field("first-name"),
        "middleName": .labelled("Middle name", .text), "lastName": .field("last-name"), "address1": .field("street"),
        "address2": .labelled("Address 2", .text), "address3": .labelled("Address 3", .text), "city": .field("city"),
        "state": .labelled("State", .text), "postalCode": .field("postcode"), "country": .field("country"),
        "company": .field("company"), "email": .field("email"), "phone": .field("phone"),
        "ssn": .labelled("Social security number", .secret), "username": .labelled("Username", .text),
        "passportNumber": .labelled("Passport number", .secret),
        "licenseNumber": .labelled("License number", .secret),
    ]

    private static let key: [String: ListFormat.Column] = [
        "privateKey": .field("private-key"), "publicKey": .field("public-key"), "keyFingerprint": .field("fingerprint"),
    ]

    private static let kinds: [Int64: ItemKind] = [1: .login, 2: .note, 3: .card, 4: .identity, 5: .sshKey]

    private func put(_ object: ForeignObject) throws(ImportExportError) {
        let type = object.integer("type")
        var item = ForeignItem(kind: type.flatMap { Self.kinds[$0] } ?? .custom)
        if let type, Self.kinds[type] == nil { item.add("type", String(type)) }
        item.take(object, Self.common)
        setFolders(of: object, &item)
        if let login = object.object("login") { take(login, into: &item) }
        if let card = object.object("card") {
            item.take(card, Self.card)
            item.setExpiry(month: card.text("expMonth"), year: card.text("expYear"))
        }
        if let identity = object.object("identity") { item.take(identity, Self.identity) }
        if let key = object.object("sshKey") { item.take(key, Self.key) }
        if let note = object.object("secureNote"), note.peek("type")?.integer == 0 { note.ignore("type") }
        var fields = object.objects("fields") ?? []
        // The export of coffret marks items that Bitwarden has no type for, and of their tags.
        fields.removeAll { field in
            guard let name = field.peek("name")?.string, let value = field.peek("value")?.string else { return false }
            if name == BitwardenWriter.typeMark, let kind = ItemKind(name: value) {
                item.draft.kind = kind
            } else if name == BitwardenWriter.tagsMark {
                for tag in value.split(separator: ",") { item.setFolder(String(tag), separator: "/", original: "tags") }
            } else {
                return false
            }
            field.ignoreRest()
            return true
        }
        for field in fields { take(field: field, into: &item) }
        for old in object.objects("passwordHistory") ?? [] {
            if let password = old.text("password") {
                item.addPrevious(password, until: old.time("lastUsedDate", .calendar))
            }
        }
        // Whether the program asks for its passphrase again before it shows the item.
        if object.peek("reprompt")?.integer == 0 { object.ignore("reprompt") }
        item.keepRest(of: object)
        item.files = (files[item.id] ?? []).map { index in
            let entry = source.entries[index]
            return ForeignFile(
                name: String(decoding: entry.path.name, as: UTF8.self), content: .entry(index),
                created: entry.modifiedMilliseconds)
        }
        try sink.put(item)
    }

    private func setFolders(of object: ForeignObject, _ item: inout ForeignItem) {
        if let id = object.peek("folderId")?.string, let name = folders[id] {
            object.ignore("folderId")
            item.setFolder(name, separator: "/", original: "folder")
        }
        let ids = (object.peek("collectionIds")?.elements ?? []).compactMap(\.string)
        guard ids.allSatisfy({ collections[$0] != nil }) else { return }
        object.ignore("collectionIds")
        for id in ids { item.setFolder(collections[id] ?? "", separator: "/", original: "collection") }
    }

    private func take(_ login: ForeignObject, into item: inout ForeignItem) {
        item.take(login, Self.login)
        for address in login.objects("uris") ?? [] {
            if let text = address.text("uri") { item.addAddress(text, original: "uri") }
        }
        for passkey in login.objects("fido2Credentials") ?? [] {
            item.addPasskey(passkey)
        }
    }

    private func take(field: ForeignObject, into item: inout ForeignItem) {
        let name = field.text("name") ?? "field"
        let type = field.integer("type")
        if let linked = field.integer("linkedId") { return item.add(name, "linked to \(linked)") }
        guard let value = field.text("value") ?? field.flag("value").map({ $0 ? "true" : "false" }) else { return }
        // Fields that an item of this kind has and Bitwarden's does not, such as a card's PIN.
        let standard = item.draft.kind.standardFields.first { $0.label == name && $0.kind.isSecret == (type == 1) }
        if item.draft.kind != .login, let standard, item.value(standard.key.name) == nil {
            item.set(standard.key.name, to: value, original: name)
        } else {
            item.add(name, value, kind: type == 1 ? .secret : .text, isRaw: false)
        }
    }
}

extension ForeignItem {
    /// When a card expires, from two values.
    mutating func setExpiry(month: String?, year: String?) {
        switch (month, year) {
        case (let month?, let year?):
            set("expiry", to: "\(month.utf8.count < 2 ? "0" : "")\(month)/\(year)", original: "expiry")
        case (let value?, nil): add("Expires in month", value, isRaw: false)
        case (nil, let value?): add("Expires in year", value, isRaw: false)
        case (nil, nil): break
        }
    }

    /// A passkey, whole, as its program wrote it.
    mutating func addPasskey(_ object: ForeignObject) {
        let site = object.peek("rpId")?.string ?? object.peek("domain")?.string
        let members = object.names.compactMap { name in object.value(name).map { JSONValue.Member(name, $0) } }
        add(
            site.map { "Passkey of \($0)" } ?? "Passkey", JSONValue.object(members).text(), kind: .passkey, isRaw: false
        )
    }
}
