// Lists of keys for one-time codes: otpauth addresses, Google Authenticator, Aegis, andOTP, 2FAS, Proton Authenticator, and
// Dashlane's older JSON. Invariant: a key that makes no codes here, such as Steam's, is kept all the same.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

extension ForeignFormat {
    static let oneTimeCodeLists: [ForeignFormat] = [
        ForeignFormat(
            name: "otpauth", title: "a list of one-time codes (otpauth)", signs: [.start("otpauth://")],
            read: { (source, sink) throws(ImportExportError) in try OneTimeCodeReader(source, sink).readAddresses() }),
        ForeignFormat(
            name: "google-authenticator", title: "a list of one-time codes (Google Authenticator)",
            signs: [.words(["otpauth-migration://"])],
            read: { (source, sink) throws(ImportExportError) in try OneTimeCodeReader(source, sink).readAddresses() }),
        ForeignFormat(
            name: "2fas", title: "a 2FAS backup",
            signs: [.json(["schemaVersion", "services"]), .json(["services.otp"])],
            open: { (source, keys) throws(ImportExportError) in try CodeBackups.openTwoFAS(source, keys) },
            read: { (source, sink) throws(ImportExportError) in try OneTimeCodeReader(source, sink).readTwoFAS() }),
        ForeignFormat(
            name: "aegis", title: "an Aegis backup", signs: [.json(["header.slots", "db"])],
            open: { (source, keys) throws(ImportExportError) in try CodeBackups.openAegis(source, keys) },
            read: { (source, sink) throws(ImportExportError) in try OneTimeCodeReader(source, sink).readAegis() }),
        ForeignFormat(
            name: "andotp", title: "an andOTP backup", signs: [.json(["secret", "label", "digits"])],
            read: { (source, sink) throws(ImportExportError) in try OneTimeCodeReader(source, sink).readAndOTP() }),
        ForeignFormat(
            name: "proton-authenticator", title: "a Proton Authenticator export",
            signs: [.json(["entries.content.uri", "entries.content.entry_type"])],
            read: { (source, sink) throws(ImportExportError) in
                try OneTimeCodeReader(source, sink).readProtonAuthenticator()
            }),
    ]

    static let dashlaneJSON = ForeignFormat(
        name: "dashlane-json", title: "a Dashlane export", signs: [.json(["AUTHENTIFIANT"])],
        read: { (source, sink) throws(ImportExportError) in
            var bytes = try source.bytes()
            defer { bytes.zero() }
            if let main = source.main { sink.took(main, bytes) }
            let lists = try ForeignObject.parse(bytes, limits: source.limits)
            let logins: [String: ListFormat.Column] = [
                "title": .title, "domain": .addresses(separator: "\n"), "url": .addresses(separator: "\n"),
                "login": .field("username"), "email": .labelled("Email", .email), "password": .field("password"),
                "secondaryLogin": .labelled("Username 2", .text), "note": .text, "otpSecret": .field("totp"),
                "otpUrl": .field("totp"), "category": .folder(separator: "/"), "id": .id,
            ]
            for name in lists.names {
                for object in lists.objects(name) ?? [] {
                    var item = ForeignItem(
                        kind: name == "AUTHENTIFIANT" ? .login : name == "SECURENOTE" ? .note : .custom)
                    if item.draft.kind == .custom { item.add("Type", name, isRaw: false) }
                    item.take(object, logins)
                    item.keepRest(of: object)
                    try sink.put(item)
                }
            }
            for (name, _) in lists.rest {
                sink.warn("not of an item, left out: \(printableText(name.utf8))")
                sink.drop()
            }
        })
}

private struct OneTimeCodeReader {
    let source: ForeignSource
    let sink: ForeignSink

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
    }

    private func content() throws(ImportExportError) -> [UInt8] {
        let bytes = try source.content()
        // By its content as it lies there, a second import knows the file again.
        if let main = source.main { sink.took(main, try source.bytes()) }
        return bytes
    }

    /// One key: a login with its issuer as title, and its account as user name.
    private func put(
        address: String, issuer: String?, account: String?, id: String? = nil,
        _ more: (inout ForeignItem) -> Void = { _ in }
    ) throws(ImportExportError) {
        var item = ForeignItem(kind: .login)
        item.draft.title = [issuer, account].compactMap { $0 }.first { !$0.isEmpty }.flatMap { cleanTitle($0) }
        if let account, !account.isEmpty { item.set("username", to: account, original: "account") }
        item.addOneTimeCode(address, label: "One-time code")
        item.id = id ?? ""
        more(&item)
        try sink.put(item)
    }

    // MARK: Lines of addresses

    func readAddresses() throws(ImportExportError) {
        var bytes = withoutMark(try content())
        defer { bytes.zero() }
        for (number, line) in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).enumerated() {
            let place = "line \(number + 1)"
            guard line.count <= source.limits.lineByteCountMax, let text = String(validating: line, as: UTF8.self)
            else {
                throw ImportExportError(.formatInvalid, at: place)
            }
            let address = text.trimmedBlanks()
            if address.isEmpty || address.hasPrefix("#") { continue }
            if address.hasPrefix("otpauth-migration://") {
                for account in try MigrationAccount.accounts(of: address, place) {
                    try put(address: account.address, issuer: account.issuer, account: account.name)
                }
            } else if address.hasPrefix("otpauth://") {
                try put(address)
            } else {
                throw ImportExportError(.formatInvalid, at: place)
            }
        }
    }

    /// An address says its issuer and account by itself.
    private func put(_ address: String, note: String? = nil, id: String? = nil) throws(ImportExportError) {
        let rest = address.dropFirst("otpauth://".count)
        let label = (rest.split(separator: "?", maxSplits: 1).first ?? "").split(separator: "/", maxSplits: 1)
            .dropFirst()
        let plain = percentDecoded(Array((label.first ?? "").utf8)[...]).map { String(decoding: $0, as: UTF8.self) }
        let parts = (plain ?? String(label.first ?? "")).split(separator: ":", maxSplits: 1).map {
            String($0).trimmedBlanks()
        }
        let query = rest.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let named = query.split(separator: "&").first { $0.hasPrefix("issuer=") }.flatMap { parameter in
            percentDecoded(Array(parameter.dropFirst(7).utf8.map { $0 == 0x2B ? 0x20 : $0 })[...])
        }.map { String(decoding: $0, as: UTF8.self) }
        try put(
            address: address, issuer: named ?? (parts.count > 1 ? parts[0] : nil), account: parts.last, id: id
        ) { item in
            if let note { item.addText(note) }
        }
    }

    // MARK: Backups

    func readProtonAuthenticator() throws(ImportExportError) {
        let list = try ForeignObject.parse(content(), limits: source.limits)
        for entry in list.objects("entries") ?? [] {
            let content = entry.object("content")
            guard let address = content?.text("uri") else { throw ImportExportError(.formatInvalid, at: "entry") }
            content?.ignore("entry_type", "name")
            if address.hasPrefix("otpauth://") {
                try put(address, note: entry.text("note"), id: entry.text("id"))
            } else {
                try put(address: address, issuer: nil, account: nil, id: entry.text("id"))
            }
        }
    }

    func readAegis() throws(ImportExportError) {
        let list = try ForeignObject.parse(content(), limits: source.limits)
        let base = source.payload == nil ? list.object("db") : list
        guard let base, let entries = base.objects("entries") else { throw ImportExportError(.formatInvalid, at: "db") }
        var groups: [String: String] = [:]
        for group in base.objects("groups") ?? [] {
            if let id = group.text("uuid"), let name = group.text("name") { groups[id] = name }
        }
        for entry in entries {
            guard let info = entry.object("info"), let secret = info.text("secret") else {
                throw ImportExportError(.formatInvalid, at: "entry")
            }
            let (issuer, account) = (entry.text("issuer"), entry.text("name"))
            let address = Self.address(
                type: entry.text("type"), secret: secret, issuer: issuer, account: account,
                algorithm: info.text("algo"),
                digits: info.text("digits"), period: info.text("period"), counter: info.text("counter"))
            let names =
                (entry.texts("groups") ?? []).compactMap { groups[$0] } + [entry.text("group")].compactMap { $0 }
            // A picture, and its hash.
            entry.ignore("icon", "icon_mime", "icon_hash")
            try put(address: address, issuer: issuer, account: account, id: entry.text("uuid")) { item in
                if let note = entry.text("note") { item.addText(note) }
                item.draft.isPinned = entry.flag("favorite") ?? false
                for name in names { item.setFolder(name, separator: "/", original: "group") }
                item.keepRest(of: entry)
            }
        }
    }

    func readAndOTP() throws(ImportExportError) {
        let list = try parseForeignJSON(content(), limits: source.limits)
        for value in list.elements ?? [] {
            guard let entry = ForeignObject(value), let secret = entry.text("secret") else {
                throw ImportExportError(.formatInvalid, at: "entry")
            }
            let (issuer, account) = (entry.text("issuer"), entry.text("label"))
            let address = Self.address(
                type: entry.text("type"), secret: secret, issuer: issuer, account: account,
                algorithm: entry.text("algorithm"), digits: entry.text("digits"), period: entry.text("period"),
                counter: entry.text("counter"))
            // A picture's name, and how often it was used.
            entry.ignore("thumbnail", "last_used", "used_frequency")
            try put(address: address, issuer: issuer, account: account) { item in
                for tag in entry.texts("tags") ?? [] { item.setFolder(tag, separator: "/", original: "tag") }
                item.keepRest(of: entry)
            }
        }
    }

    func readTwoFAS() throws(ImportExportError) {
        let services: [ForeignObject]
        var groups: [String: String] = [:]
        if source.payload == nil {
            let list = try ForeignObject.parse(content(), limits: source.limits)
            services = list.objects("services") ?? []
            for group in list.objects("groups") ?? [] {
                if let id = group.text("id"), let name = group.text("name") { groups[id] = name }
            }
        } else {
            services = (try parseForeignJSON(content(), limits: source.limits).elements ?? []).compactMap {
                ForeignObject($0)
            }
        }
        for service in services {
            guard let secret = service.text("secret"), let otp = service.object("otp") else {
                throw ImportExportError(.formatInvalid, at: "service")
            }
            let issuer = otp.text("issuer") ?? service.peek("name")?.string
            let account = otp.text("account") ?? otp.peek("label")?.string
            let address = Self.address(
                type: otp.text("tokenType"), secret: secret, issuer: issuer, account: account,
                algorithm: otp.text("algorithm"), digits: otp.text("digits"), period: otp.text("period"),
                counter: otp.text("counter"))
            otp.ignore("link", "label", "source")
            service.ignore("order", "icon")
            try put(address: address, issuer: service.text("name") ?? issuer, account: account) { item in
                item.draft.modified = service.time("updatedAt", .milliseconds)
                if let id = service.peek("groupId")?.string, let name = groups[id] {
                    service.ignore("groupId")
                    item.setFolder(name, separator: "/", original: "group")
                }
                item.keepRest(of: service)
            }
        }
    }

    /// An otpauth address of its parts.
    private static func address(
        type: String?, secret: String, issuer: String?, account: String?, algorithm: String?, digits: String?,
        period: String?, counter: String?
    ) -> String {
        func encoded(_ text: String) -> String {
            text.utf8.map { byte in
                let isPlain =
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || [0x2D, 0x2E, 0x5F, 0x7E, 0x40].contains(byte)
                return isPlain ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte]).uppercased()
            }.joined()
        }
        let label = [issuer, account].compactMap { $0 }.filter { !$0.isEmpty }.map(encoded).joined(separator: ":")
        var text = "otpauth://\((type ?? "totp").asciiLowercased())/\(label)?secret="
        text += String(secret.prefix { $0 != "=" })
        if let issuer, !issuer.isEmpty { text += "&issuer=\(encoded(issuer))" }
        if let algorithm { text += "&algorithm=\(encoded(algorithm))" }
        if let digits { text += "&digits=\(encoded(digits))" }
        if let period { text += "&period=\(encoded(period))" }
        if let counter { text += "&counter=\(encoded(counter))" }
        return text
    }

    /// An account in a link of Google Authenticator: protocol buffers in base64.
    private struct MigrationAccount {
        var secret: [UInt8] = []
        var name = ""
        var issuer: String?
        var algorithm: UInt64 = 1
        var digits: UInt64 = 1
        var type: UInt64 = 2
        var counter: UInt64 = 0

        var address: String {
            let names: [UInt64: String] = [1: "SHA1", 2: "SHA256", 3: "SHA512", 4: "MD5"]
            return OneTimeCodeReader.address(
                type: type == 1 ? "hotp" : "totp", secret: Base32Text.encode(secret), issuer: issuer, account: name,
                algorithm: names[algorithm] ?? String(algorithm), digits: digits == 2 ? "8" : "6",
                period: type == 1 ? nil : "30", counter: type == 1 ? String(counter) : nil)
        }

        static func accounts(of link: String, _ place: String) throws(ImportExportError) -> [MigrationAccount] {
            let invalid = ImportExportError(.formatInvalid, at: place)
            guard
                let data = link.split(separator: "?").last?.split(separator: "&").first(where: { $0.hasPrefix("data=") }
                ),
                let text = percentDecoded(Array(data.dropFirst(5).utf8)[...]),
                let bytes = try? Base64.standard.decode(String(decoding: text, as: UTF8.self))
            else { throw invalid }
            var accounts: [MigrationAccount] = []
            guard let fields = protobufFields(bytes[...]) else { throw invalid }
            for (number, value) in fields where number == 1 {
                guard case .bytes(let message) = value, let parts = protobufFields(message) else { throw invalid }
                var account = MigrationAccount()
                for (part, value) in parts {
                    switch (part, value) {
                    case (1, .bytes(let bytes)): account.secret = Array(bytes)
                    case (2, .bytes(let bytes)): account.name = String(decoding: bytes, as: UTF8.self)
                    case (3, .bytes(let bytes)) where !bytes.isEmpty:
                        account.issuer = String(decoding: bytes, as: UTF8.self)
                    case (4, .number(let number)): account.algorithm = number
                    case (5, .number(let number)): account.digits = number
                    case (6, .number(let number)): account.type = number
                    case (7, .number(let number)): account.counter = number
                    default: break
                    }
                }
                guard !account.secret.isEmpty else { throw invalid }
                accounts.append(account)
            }
            return accounts
        }
    }
}

private enum ProtobufValue {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
}

/// The fields of a message in protocol buffers' wire format; nil if it is none.
private func protobufFields(_ message: ArraySlice<UInt8>) -> [(number: UInt64, value: ProtobufValue)]? {
    var rest = message
    var fields: [(number: UInt64, value: ProtobufValue)] = []
    func number() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
    while !rest.isEmpty {
        guard let key = number() else { return nil }
        switch key & 7 {
        case 0:
            guard let value = number() else { return nil }
            fields.append((key >> 3, .number(value)))
        case 2:
            guard let count = number(), count <= UInt64(rest.count) else { return nil }
            fields.append((key >> 3, .bytes(rest.prefix(Int(count)))))
            rest = rest.dropFirst(Int(count))
        default: return nil
        }
    }
    return fields
}

/// Backups of programs for one-time codes under a password.
enum CodeBackups {
    /// Aegis: a master key under scrypt and AES-256-GCM, then the entries under it.
    static func openAegis(_ source: ForeignSource, _ keys: SourceKeys) throws(ImportExportError) -> ForeignPayload? {
        let list = try ForeignObject.parse(source.bytes(), limits: source.limits)
        guard let sealed = list.text("db") else { return nil }
        guard let header = list.object("header"), let parameters = header.object("params"),
            let nonce = hex(parameters, "nonce"), let tag = hex(parameters, "tag"),
            let ciphertext = try? Base64.standard.decode(sealed)
        else { throw ImportExportError(.formatInvalid, at: "header") }
        let subject = source.path.printable
        // Type 1 is a password; others are keys in a phone.
        let slots = (header.objects("slots") ?? []).filter { $0.integer("type") == 1 }
        return try keys.withPassword(of: subject) { (password) throws(ImportExportError) in
            for slot in slots {
                guard let salt = hex(slot, "salt"), let key = hex(slot, "key"), let inner = slot.object("key_params"),
                    let cost = slot.integer("n").flatMap(UInt64.init(exactly:)),
                    let size = slot.integer("r").flatMap(UInt64.init(exactly:)),
                    let lanes = slot.integer("p").flatMap(UInt64.init(exactly:)), let innerNonce = hex(inner, "nonce"),
                    let innerTag = hex(inner, "tag")
                else { throw ImportExportError(.formatInvalid, at: "slot") }
                let derived = try ForeignKeys.scrypt(
                    password, salt: salt, cost: cost, blockSize: size, lanes: lanes, source.limits)
                do throws(ImportExportError) {
                    let master = try ForeignKeys.gcm(
                        key, tag: innerTag, key: derived, nonce: innerNonce, subject: subject)
                    return ForeignPayload(
                        try ForeignKeys.gcm(ciphertext, tag: tag, key: master, nonce: nonce, subject: subject))
                } catch {
                    if error.code != .passwordWrong { throw error }
                }
            }
            throw ImportExportError(.passwordWrong, subject: subject)
        }
    }

    private static func hex(_ object: ForeignObject, _ name: String) -> [UInt8]? {
        object.text(name).flatMap { try? Hex.decode($0) }
    }

    /// 2FAS: `ciphertext and tag:salt:nonce` in base64; PBKDF2 with 10,000 rounds, AES-256-GCM.
    static func openTwoFAS(_ source: ForeignSource, _ keys: SourceKeys) throws(ImportExportError) -> ForeignPayload? {
        let list = try ForeignObject.parse(source.bytes(), limits: source.limits)
        guard let sealed = list.text("servicesEncrypted") else { return nil }
        let parts = sealed.split(separator: ":").map { try? Base64.standard.decode(String($0)) }
        guard parts.count == 3, let data = parts[0], let salt = parts[1], let nonce = parts[2], data.count >= 16 else {
            throw ImportExportError(.formatInvalid, at: "servicesEncrypted")
        }
        let subject = source.path.printable
        return try keys.withPassword(of: subject) { (password) throws(ImportExportError) in
            let key = try ForeignKeys.pbkdf2(password, salt: salt, passes: 10_000, source.limits)
            return ForeignPayload(
                try ForeignKeys.gcm(
                    Array(data.dropLast(16)), tag: Array(data.suffix(16)), key: key, nonce: nonce, subject: subject))
        }
    }
}
