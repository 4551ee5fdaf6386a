// 1Password's exports: 1PUX (a zip of JSON and files, or the JSON alone) and the older 1PIF. Invariant: a field whose kind
// nothing here knows is kept with its value, as a secret if it was concealed.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let onePasswordPUX = ForeignFormat(
        name: "1pux", title: "a 1Password export (1PUX)",
        signs: [.files(["export.data", "export.attributes"]), .json(["accounts.attrs", "accounts.vaults"])],
        read: { (source, sink) throws(ImportExportError) in
            var bytes = try source.bytes()
            defer { bytes.zero() }
            if let main = source.main { sink.took(main, bytes) }
            if let index = source.entries.firstIndex(where: { $0.path.bytes.elementsEqual("export.attributes".utf8) }) {
                sink.took(index, try source.bytes(ofEntry: index, byteCountMax: 1 << 20))
            }
            var reader = PUXReader(source, sink)
            try reader.read(ForeignObject.parse(bytes, limits: source.limits))
        })

    static let onePasswordPIF = ForeignFormat(
        name: "1pif", title: "a 1Password export (1PIF)",
        signs: [.words(["***5642bee8-a5ff-11dc-8314-0800200c9a66***"]), .words(["\"keyID\"", "\"typeName\""])],
        read: { (source, sink) throws(ImportExportError) in
            var bytes = try source.bytes()
            defer { bytes.zero() }
            if let main = source.main { sink.took(main, bytes) }
            try PIFReader(sink: sink).read(withoutMark(bytes), source.limits)
        })
}

private let categories: [String: (name: String, kind: ItemKind)] = [
    "001": ("Login", .login), "002": ("Credit Card", .card), "003": ("Secure Note", .note),
    "004": ("Identity", .identity), "005": ("Password", .login), "006": ("Document", .note),
    "100": ("Software License", .custom), "101": ("Bank Account", .custom), "102": ("Database", .login),
    "103": ("Driver License", .custom), "104": ("Outdoor License", .custom), "105": ("Membership", .custom),
    "106": ("Passport", .custom), "107": ("Reward Program", .custom), "108": ("Social Security Number", .custom),
    "109": ("Wireless Router", .custom), "110": ("Server", .login), "111": ("Email Account", .login),
    "112": ("API Credential", .apiToken), "113": ("Medical Record", .custom), "114": ("SSH Key", .sshKey),
    "115": ("Crypto Wallet", .custom),
]

/// The standard fields of a kind, by the ids that 1Password gives its own fields.
private let standardFields: [ItemKind: [String: String]] = [
    .login: ["username": "username", "password": "password", "url": "url", "hostname": "url"],
    .card: [
        "cardholder": "cardholder", "type": "brand", "ccnum": "number", "cvv": "code", "expiry": "expiry", "pin": "pin",
    ],
    .identity: [
        "firstname": "first-name", "lastname": "last-name", "birthdate": "birthday", "company": "company",
        "defphone": "phone", "email": "email",
    ],
    .apiToken: ["credential": "token", "username": "username", "hostname": "url", "expires": "expires"],
    .sshKey: ["private_key": "private-key"],
]

private struct PUXReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    /// Entries of files by the id that stands before `__` in their name.
    private var files: [String: Int] = [:]

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
        for (index, entry) in source.entries.enumerated() where entry.path.folder.elementsEqual("files".utf8) {
            let name = String(decoding: entry.path.name, as: UTF8.self)
            files[String(name.split(separator: "__", maxSplits: 1).first ?? "")] = index
        }
    }

    mutating func read(_ list: ForeignObject) throws(ImportExportError) {
        guard let accounts = list.objects("accounts") else { throw ImportExportError(.formatInvalid, at: "accounts") }
        let vaults = accounts.flatMap { $0.objects("vaults") ?? [] }
        for vault in vaults {
            let attributes = vault.object("attrs")
            let name = attributes?.text("name") ?? ""
            for item in vault.objects("items") ?? [] {
                // An earlier form of the export had an object around each item.
                try put(item.object("item") ?? item, vault: vaults.count > 1 ? name : "")
            }
        }
    }

    private func put(_ object: ForeignObject, vault: String) throws(ImportExportError) {
        let code = object.text("categoryUuid") ?? ""
        let category = categories[code]
        var item = ForeignItem(kind: category?.kind ?? .custom)
        if category == nil, !code.isEmpty { item.add("category", code) }
        if let category, item.draft.kind == .custom { item.add("Type", category.name, isRaw: false) }
        item.id = object.text("uuid") ?? ""
        item.draft.created = object.time("createdAt", .seconds)
        item.draft.modified = object.time("updatedAt", .seconds)
        item.draft.isPinned = (object.integer("favIndex") ?? 0) != 0
        if !vault.isEmpty { item.setFolder(vault, separator: "/", original: "vault") }
        if let state = object.text("state"), state != "active" {
            if state == "archived" { item.draft.isArchived = true } else { item.add("state", state) }
        }
        item.draft.isTrashed = object.flag("trashed") ?? false
        if let overview = object.object("overview") { take(overview: overview, &item) }
        if let details = object.object("details") { take(details: details, &item) }
        if let file = object.object("file") { take(file: file, path: object.text("path"), &item) }
        item.keepRest(of: object)
        try sink.put(item)
    }

    private func take(overview: ForeignObject, _ item: inout ForeignItem) {
        item.draft.title = overview.text("title").flatMap { cleanTitle($0) }
        for tag in overview.texts("tags") ?? [] { item.setFolder(tag, separator: "/", original: "tag") }
        let first = overview.text("url")
        if let first { item.addAddress(first, original: "url") }
        for address in overview.objects("urls") ?? [] {
            // It only says that this is a website.
            if ["website", ""].contains(address.peek("label")?.string ?? "") { address.ignore("label") }
            if let text = address.text("url"), text != first { item.addAddress(text, original: "url") }
        }
        // The program shows these in lists, computes them from the password, or warns of them.
        overview.ignore("subtitle", "icons", "ps", "pbe", "pgrng", "watchtowerExclusions")
    }

    private func take(details: ForeignObject, _ item: inout ForeignItem) {
        if let text = details.text("notesPlain") { item.addText(text) }
        if let password = details.text("password") { item.set("password", to: password, original: "password") }
        for field in details.objects("loginFields") ?? [] { take(login: field, &item) }
        for section in details.objects("sections") ?? [] {
            let title = section.text("title") ?? ""
            section.ignore("name", "hideAddAnotherField")
            for field in section.objects("fields") ?? [] { take(field: field, section: title, &item) }
        }
        for old in details.objects("passwordHistory") ?? [] {
            if let value = old.text("value") { item.addPrevious(value, until: old.time("time", .seconds)) }
        }
        if let document = details.object("documentAttributes") { take(file: document, &item) }
    }

    /// A field that a form on a website held.
    private func take(login field: ForeignObject, _ item: inout ForeignItem) {
        let designation = field.text("designation")
        let kind = field.text("fieldType")
        let name = field.text("name") ?? field.text("id") ?? "field"
        field.ignore("id")
        guard let value = field.text("value") else { return }
        switch designation {
        case "username", "password": item.set(designation ?? "", to: value, original: name)
        default: item.add(name, value, kind: kind == "P" ? .secret : .text, isRaw: false)
        }
    }

    private func take(field: ForeignObject, section: String, _ item: inout ForeignItem) {
        let id = field.text("id") ?? ""
        let title = field.text("title") ?? section
        // How the program shows and edits it.
        field.ignore(
            "indexAtSource", "guarded", "multiline", "dontGenerate", "inputTraits", "clipboardFilter", "placeholder")
        guard let value = field.object("value"), let kind = value.names.first else { return }
        let label = title.isEmpty ? kind : title
        let standard = standardFields[item.draft.kind]?[id]
        func add(_ text: String, _ fieldKind: FieldKind = .text) {
            if let standard {
                item.set(standard, to: text, original: label)
            } else {
                item.add(label, text, kind: fieldKind, isRaw: false)
            }
        }
        switch kind {
        case "concealed": value.text(kind).map { add($0, .secret) }
        case "creditCardNumber": value.text(kind).map { add($0, .secret) }
        case "totp": value.text(kind).map { item.addOneTimeCode($0, label: label) }
        case "url": value.text(kind).map { add($0, .url) }
        case "phone": value.text(kind).map { add($0, .phone) }
        case "date": value.time(kind, .seconds).map { add(String(CivilTime.format($0).prefix(10)), .date) }
        case "monthYear":
            if let number = value.integer(kind), number > 0 {
                add("\(number % 100 < 10 ? "0" : "")\(number % 100)/\(number / 100)")
            }
        case "email":
            if let mail = value.object(kind) { mail.text("email_address").map { add($0, .email) } }
            value.text(kind).map { add($0, .email) }
        case "address": value.object(kind).map { take(address: $0, label: label, &item) }
        case "file": value.object(kind).map { take(file: $0, &item) }
        case "reference":
            value.text(kind).map { item.addText("\(label): [\(label)](\(sink.address(ofItem: $0)))") }
        case "sshKey": value.object(kind).map { take(sshKey: $0, &item) }
        case "string", "menu", "creditCardType", "gender": value.text(kind).map { add($0) }
        default: break
        }
        for (name, text) in value.rest {
            item.add(name == kind ? label : "\(label) \(name)", text, kind: soundsSecret(label) ? .secret : .text)
        }
        value.ignoreRest()
    }

    private func take(address: ForeignObject, label: String, _ item: inout ForeignItem) {
        let parts = [("street", "street"), ("city", "city"), ("zip", "postcode"), ("country", "country")]
        for (name, standard) in parts {
            guard let text = address.text(name) else { continue }
            if item.draft.kind == .identity, item.value(standard) == nil {
                item.set(standard, to: text, original: "\(label) \(name)")
            } else {
                item.add("\(label) \(name)", text, isRaw: false)
            }
        }
        if let state = address.text("state") { item.add("State", state, isRaw: false) }
    }

    private func take(file: ForeignObject, path: String? = nil, _ item: inout ForeignItem) {
        let id = file.text("documentId") ?? file.text("id") ?? ""
        let name = file.text("fileName") ?? file.text("name") ?? "file"
        file.ignore("decryptedSize", "size")
        guard let index = files[id] ?? path.flatMap({ path in files[String(path.prefix { $0 != "_" })] }) else {
            sink.warn("a file is not in the export: \(printableText(name.utf8))")
            sink.drop()
            return
        }
        item.files.append(
            ForeignFile(
                name: name, id: id, content: .entry(index), created: source.entries[index].modifiedMilliseconds))
    }

    private func take(sshKey key: ForeignObject, _ item: inout ForeignItem) {
        key.text("privateKey").map { item.set("private-key", to: $0, original: "private key") }
        guard let metadata = key.object("metadata") else { return }
        // The same key again.
        metadata.ignore("privateKey")
        metadata.text("publicKey").map { item.set("public-key", to: $0, original: "public key") }
        metadata.text("fingerprint").map { item.set("fingerprint", to: $0, original: "fingerprint") }
        metadata.object("keyType")?.ignoreRest()
    }
}

/// 1PIF: one JSON object a line, with a line of asterisks after each.
private struct PIFReader {
    let sink: ForeignSink

    private static let kinds: [String: ItemKind] = [
        "webforms.WebForm": .login, "securenotes.SecureNote": .note, "wallet.financial.CreditCard": .card,
        "identities.Identity": .identity, "passwords.Password": .login,
    ]

    func read(_ bytes: [UInt8], _ limits: ImportLimits) throws(ImportExportError) {
        var objects: [ForeignObject] = []
        for (number, line) in bytes.split(separator: 0x0A).enumerated() {
            guard objects.count < limits.entryCountMax else { throw ImportExportError(.tooManyEntries) }
            let text = line.drop { [0x20, 0x09, 0x0D].contains($0) }
            guard let first = text.first, first != UInt8(ascii: "*") else { continue }
            do throws(ImportExportError) {
                objects.append(try ForeignObject.parse(Array(text), limits: limits))
            } catch {
                throw ImportExportError(error.code, at: "line \(number + 1)")
            }
        }
        guard !objects.isEmpty else { throw ImportExportError(.formatInvalid, at: "no records") }
        let folders = objects.filter { $0.peek("typeName")?.string == "system.folder.Regular" }
        var names: [String: (title: String, parent: String?)] = [:]
        for folder in folders {
            guard let id = folder.text("uuid"), let title = folder.text("title") else { continue }
            names[id] = (title, folder.text("folderUuid"))
        }
        for object in objects where object.peek("typeName")?.string != "system.folder.Regular" {
            try put(object, names)
        }
    }

    private static func path(of id: String, _ names: [String: (title: String, parent: String?)]) -> String? {
        var parts: [String] = []
        var next: String? = id
        while let id = next, let folder = names[id], parts.count < TagPath.depthMax {
            parts.insert(folder.title, at: 0)
            next = folder.parent
        }
        return parts.isEmpty ? nil : parts.joined(separator: "/")
    }

    private static let common: [String: ListFormat.Column] = [
        "uuid": .id, "title": .title, "createdAt": .created(.seconds), "updatedAt": .modified(.seconds),
        "trashed": .trashed,
        // The program computes these for itself.
        "keyID": .ignored, "contentsHash": .ignored, "securityLevel": .ignored, "txTimestamp": .ignored,
        "locationKey": .ignored,
    ]

    private func put(
        _ object: ForeignObject, _ names: [String: (title: String, parent: String?)]
    ) throws(ImportExportError) {
        let type = object.text("typeName") ?? ""
        var item = ForeignItem(kind: Self.kinds[type] ?? .custom)
        if Self.kinds[type] == nil { item.add("Type", type, isRaw: false) }
        item.take(object, Self.common)
        if let id = object.peek("folderUuid")?.string, let path = Self.path(of: id, names) {
            object.ignore("folderUuid")
            item.setFolder(path, separator: "/", original: "folder")
        }
        for tag in object.texts("tags") ?? [] { item.setFolder(tag, separator: "/", original: "tag") }
        if let open = object.object("openContents") {
            for tag in open.texts("tags") ?? [] { item.setFolder(tag, separator: "/", original: "tag") }
            item.draft.isPinned = (open.integer("faveIndex") ?? 0) != 0
            open.ignore("usernameHash", "autosubmit", "scope")
        }
        let location = object.text("location")
        if let location { item.addAddress(location, original: "location") }
        if let contents = object.object("secureContents") { take(contents, location, &item) }
        item.keepRest(of: object)
        try sink.put(item)
    }

    private func take(_ contents: ForeignObject, _ location: String?, _ item: inout ForeignItem) {
        if let text = contents.text("notesPlain") { item.addText(text) }
        for field in contents.objects("fields") ?? [] {
            let (designation, kind) = (field.text("designation"), field.text("type"))
            let name = field.text("name") ?? field.text("id") ?? "field"
            field.ignore("id")
            guard let value = field.text("value") else { continue }
            if let designation, ["username", "password"].contains(designation) {
                item.set(designation, to: value, original: name)
            } else {
                item.add(name, value, kind: kind == "P" ? .secret : .text, isRaw: false)
            }
        }
        for address in contents.objects("URLs") ?? [] {
            if ["website", ""].contains(address.peek("label")?.string ?? "") { address.ignore("label") }
            if let text = address.text("url"), text != location { item.addAddress(text, original: "url") }
        }
        if let password = contents.text("password") { item.set("password", to: password, original: "password") }
        for section in contents.objects("sections") ?? [] {
            section.ignore("name", "title")
            for field in section.objects("fields") ?? [] {
                let (id, kind) = (field.text("n") ?? "", field.text("k"))
                let label = field.text("t") ?? id
                guard let value = field.text("v") else { continue }
                if id.hasPrefix("TOTP_") {
                    item.addOneTimeCode(value, label: label)
                } else if let standard = standardFields[item.draft.kind]?[id] {
                    item.set(standard, to: value, original: label)
                } else {
                    item.add(label, value, kind: kind == "concealed" ? .secret : .text, isRaw: false)
                }
            }
        }
        for old in contents.objects("passwordHistory") ?? [] {
            if let value = old.text("value") { item.addPrevious(value, until: old.time("time", .seconds)) }
        }
        let columns = Dictionary(
            uniqueKeysWithValues: (standardFields[item.draft.kind] ?? [:]).map {
                ($0.key, ListFormat.Column.field($0.value))
            })
        item.take(contents, columns)
        contents.ignore("htmlForm", "htmlMethod", "htmlAction", "htmlID", "htmlName")
    }
}

extension ForeignItem {
    /// The key of one-time codes; a second one, and one of an item that is no login, is a field of its own.
    mutating func addOneTimeCode(_ value: String, label: String) {
        guard !value.isEmpty else { return }
        if draft.kind == .login, self.value("totp") == nil {
            set("totp", to: value, original: label)
        } else {
            add(label, value, kind: .oneTimeCode, isRaw: false)
        }
    }
}
