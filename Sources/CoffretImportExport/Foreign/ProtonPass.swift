// Proton Pass's export: a zip with `Proton Pass/data.json` and files. Invariant: an item of a type that nothing here knows
// keeps all that it has.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let protonPass = ForeignFormat(
        name: "proton-pass", title: "a Proton Pass export",
        signs: [
            .files(["proton pass/data.json"]), .json(["vaults", "userId"]),
            .any { $0.hasSuffix("proton pass/data.pgp") || $0 == "data.pgp" }, .place(suffix: "proton pass"),
        ],
        open: { (source, keys) throws(ImportExportError) in
            guard dataEntry(of: source, "data.json") == nil, let main = dataEntry(of: source, "data.pgp") else {
                return nil
            }
            return ForeignPayload(
                try keys.decrypt(try source.bytes(ofEntry: main), of: source.entries[main].path.printable))
        },
        read: { (source, sink) throws(ImportExportError) in
            let main = source.main ?? dataEntry(of: source, "data.json") ?? dataEntry(of: source, "data.pgp")
            guard let main else {
                throw ImportExportError(.formatInvalid, at: "data.json", subject: source.path.printable)
            }
            var bytes: [UInt8]
            if let opened = source.payload?.bytes { bytes = opened } else { bytes = try source.bytes(ofEntry: main) }
            defer { bytes.zero() }
            sink.took(main, bytes)
            var reader = ProtonReader(source, sink)
            try reader.read(ForeignObject.parse(bytes, limits: source.limits))
        })
}

/// The entry of a name, in whatever folder.
private func dataEntry(of source: ForeignSource, _ name: String) -> Int? {
    source.entries.firstIndex { $0.path.name.elementsEqual(name.utf8) }
}

private struct ProtonReader {
    private let sink: ForeignSink
    private var files: [String: Int] = [:]

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.sink = sink
        for (index, entry) in source.entries.enumerated() {
            files[String(decoding: entry.path.name, as: UTF8.self)] = index
        }
    }

    mutating func read(_ list: ForeignObject) throws(ImportExportError) {
        guard let vaults = list.object("vaults") else { throw ImportExportError(.formatInvalid, at: "vaults") }
        let all = vaults.names.compactMap { vaults.object($0) }
        for vault in all {
            let name = vault.text("name") ?? ""
            for item in vault.objects("items") ?? [] { try put(item, vault: all.count > 1 ? name : "") }
        }
    }

    private static let kinds: [String: ItemKind] = [
        "login": .login, "note": .note, "creditCard": .card, "identity": .identity, "sshKey": .sshKey,
        "alias": .custom, "wifi": .custom, "custom": .custom,
    ]

    private static let common: [String: ListFormat.Column] = [
        "itemId": .id, "createTime": .created(.seconds), "modifyTime": .modified(.seconds), "pinned": .pinned,
        "aliasEmail": .labelled("Alias", .email),
        // The program remembers these for itself.
        "shareId": .ignored, "contentFormatVersion": .ignored, "shareCount": .ignored,
    ]

    private static let content: [ItemKind: [String: ListFormat.Column]] = [
        .login: [
            "itemUsername": .field("username"), "username": .field("username"), "password": .field("password"),
            "itemEmail": .labelled("Email", .email),
        ],
        .card: [
            "cardholderName": .field("cardholder"), "number": .field("number"), "verificationNumber": .field("code"),
            "pin": .field("pin"), "cardType": .ignored,
        ],
        .identity: [
            "firstName": .field("first-name"), "lastName": .field("last-name"), "email": .field("email"),
            "phoneNumber": .field("phone"), "birthdate": .field("birthday"), "organization": .field("company"),
            "streetAddress": .field("street"), "zipOrPostalCode": .field("postcode"), "city": .field("city"),
            "countryOrRegion": .field("country"), "fullName": .labelled("Full name", .text),
            "middleName": .labelled("Middle name", .text), "gender": .labelled("Gender", .text),
            "stateOrProvince": .labelled("State", .text), "floor": .labelled("Floor", .text),
            "county": .labelled("County", .text), "website": .labelled("Website", .url),
            "socialSecurityNumber": .labelled("Social security number", .secret),
            "passportNumber": .labelled("Passport number", .secret),
            "licenseNumber": .labelled("License number", .secret), "company": .labelled("Works at", .text),
            "jobTitle": .labelled("Job title", .text), "personalWebsite": .labelled("Personal website", .url),
            "workPhoneNumber": .labelled("Work phone", .phone), "workEmail": .labelled("Work email", .email),
            "secondPhoneNumber": .labelled("Second phone", .phone), "xHandle": .labelled("X", .text),
            "linkedin": .labelled("LinkedIn", .text), "reddit": .labelled("Reddit", .text),
            "facebook": .labelled("Facebook", .text), "yahoo": .labelled("Yahoo", .text),
            "instagram": .labelled("Instagram", .text),
        ],
        .sshKey: ["privateKey": .field("private-key"), "publicKey": .field("public-key")],
        .custom: [
            "ssid": .labelled("Network", .text), "password": .labelled("Password", .secret),
            "security": .labelled("Security", .text),
        ],
    ]

    private func put(_ object: ForeignObject, vault: String) throws(ImportExportError) {
        let data = object.object("data")
        let type = data?.text("type") ?? ""
        var item = ForeignItem(kind: Self.kinds[type] ?? .custom)
        if item.draft.kind == .custom, !type.isEmpty { item.add("Type", type, isRaw: Self.kinds[type] == nil) }
        item.take(object, Self.common)
        if !vault.isEmpty { item.setFolder(vault, separator: "/", original: "vault") }
        // 1 is active, 2 the trash.
        if let state = object.integer("state"), state != 1 {
            if state == 2 { item.draft.isTrashed = true } else { item.add("state", String(state)) }
        }
        if let data {
            if let metadata = data.object("metadata") {
                item.draft.title = metadata.text("name").flatMap { cleanTitle($0) }
                if let note = metadata.text("note") { item.addText(note) }
                metadata.ignore("itemUuid")
            }
            for field in data.objects("extraFields") ?? [] { take(extra: field, &item) }
            data.object("platformSpecific").map {
                item.keepRest(of: $0); $0.ignoreRest()
            }
            if let content = data.object("content") { take(content, &item) }
        }
        for name in object.texts("files") ?? [] { attach(name, &item) }
        item.keepRest(of: object)
        try sink.put(item)
    }

    private func take(_ content: ForeignObject, _ item: inout ForeignItem) {
        if let code = content.text("totpUri") { item.addOneTimeCode(code, label: "One-time code") }
        for address in content.texts("urls") ?? [] where !address.isEmpty {
            item.addAddress(address, original: "url")
        }
        if let date = content.text("expirationDate") {
            let parts = date.split(separator: "-").map(String.init)
            if parts.count == 2, parts[0].utf8.count == 4 {
                item.setExpiry(month: parts[1], year: parts[0])
            } else {
                item.set("expiry", to: date, original: "expirationDate")
            }
        }
        for passkey in content.objects("passkeys") ?? [] { item.addPasskey(passkey) }
        for section in content.objects("sections") ?? [] {
            let title = section.text("sectionName") ?? ""
            for field in section.objects("sectionFields") ?? [] { take(extra: field, section: title, &item) }
        }
        for name in content.names where name.hasPrefix("extra") {
            for field in content.objects(name) ?? [] { take(extra: field, &item) }
        }
        item.take(content, Self.content[item.draft.kind] ?? [:])
    }

    private func take(extra field: ForeignObject, section: String = "", _ item: inout ForeignItem) {
        let name = field.text("fieldName") ?? "field"
        let label = section.isEmpty ? name : "\(section): \(name)"
        let type = field.text("type") ?? "text"
        guard let data = field.object("data") else { return }
        if let code = data.text("totpUri") { item.addOneTimeCode(code, label: label) }
        if let value = data.text("content") {
            item.add(label, value, kind: type == "hidden" ? .secret : .text, isRaw: false)
        }
        if let moment = data.text("timestamp") { item.add(label, moment, kind: .date, isRaw: false) }
    }

    private func attach(_ name: String, _ item: inout ForeignItem) {
        guard let index = files[name] ?? files[name.split(separator: "/").last.map(String.init) ?? name] else {
            sink.warn("a file is not in the export: \(printableText(name.utf8))")
            sink.drop()
            return
        }
        item.files.append(ForeignFile(name: name, content: .entry(index)))
    }
}
