// KeePass's XML, alone or out of a database: groups, entries, their past and their files. Invariant: protected values are
// opened in the order of the document, each once, whether or not anybody asks for them.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

extension ForeignFormat {
    static let keePassFormats: [ForeignFormat] = [
        ForeignFormat(
            name: "keepass-kdbx", title: "a KeePass database", signs: [.magic(KDBXFile.signature)],
            open: { (source, keys) throws(ImportExportError) in try KDBXFile.open(source, keys) },
            read: { (source, sink) throws(ImportExportError) in
                guard let payload = source.payload else { throw ImportExportError(.passwordNeeded) }
                if let main = source.main { sink.took(main, try source.bytes()) }
                try KeePassReader(source, sink).readDatabase(payload.bytes)
            }),
        ForeignFormat(
            name: "keepass-kdb", title: "a database of KeePass 1 (KDB)",
            signs: [.magic([0x03, 0xD9, 0xA2, 0x9A, 0x65, 0xFB, 0x4B, 0xB5])]),
        ForeignFormat(
            name: "keepass-xml", title: "a KeePass XML export", signs: [.words(["<KeePassFile"])],
            read: { (source, sink) throws(ImportExportError) in
                var bytes = try source.bytes()
                defer { bytes.zero() }
                if let main = source.main { sink.took(main, bytes) }
                try KeePassReader(source, sink).readXML(withoutMark(bytes)[...])
            }),
    ]
}

private final class KeePassReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private var stream: ForeignStream?
    /// Files by the number or name that entries refer to them by.
    private var binaries: [String: [UInt8]] = [:]
    private var recycleBin: String?
    private var headerHash: [UInt8]?
    /// Texts of entries by id and letter, for entries that refer to others.
    private var texts: [String: [Field]] = [:]
    /// Entries that refer to others, which may come later.
    private var waiting: [(entry: XMLElement, groups: [Group])] = []

    private struct Group {
        let id: String
        let name: String
        let tags: [String]
    }

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
    }

    // MARK: Reading

    /// The inner header of KDBX 4, then XML.
    func readDatabase(_ bytes: [UInt8]) throws(ImportExportError) {
        let subject = source.path.printable
        var cursor = ByteCursor(bytes[...], subject: subject)
        var (kind, key): (UInt64, [UInt8]) = (0, [])
        var number = 0
        while true {
            let id = try cursor.number(1)
            let value = Array(try cursor.take(Int(cursor.number(4))))
            switch id {
            case 1: kind = value.reversed().reduce(0) { $0 << 8 | UInt64($1) }
            case 2: key = value
            case 3:
                // The first byte says whether programs keep it protected in memory.
                binaries[String(number)] = Array(value.dropFirst())
                number += 1
            case 240: headerHash = value
            default: break
            }
            if id == 0 { break }
        }
        stream = try ForeignKeys.wrapping(subject) { () throws(CryptoError) in
            switch kind {
            case 0: return nil
            case 2:
                return try ForeignStream(
                    .salsa20, key: HashAlgorithm.sha256.hash(key),
                    nonce: [0xE8, 0x30, 0x09, 0x4B, 0x97, 0x20, 0x5D, 0x2A])
            case 3:
                let digest = HashAlgorithm.sha512.hash(key)
                return try ForeignStream(.chaCha20, key: Array(digest[..<32]), nonce: Array(digest[32..<44]))
            default: throw CryptoError(.invalidParameter, at: "inner stream \(kind)")
            }
        }
        try readXML(cursor.remainder)
    }

    func readXML(_ bytes: ArraySlice<UInt8>) throws(ImportExportError) {
        let reader = try ForeignXMLReader(limits: source.limits) { [self] (element, around) throws(ImportExportError) in
            try take(element, around)
        }
        try reader.read(bytes)
        for (entry, groups) in waiting { try put(entry, Self.strings(of: entry), in: groups) }
    }

    /// - Returns: whether the parent keeps the element.
    private func take(_ element: XMLElement, _ around: [XMLElement]) throws(ImportExportError) -> Bool {
        if element.attribute("Protected")?.asciiLowercased() == "true" { try unprotect(element) }
        switch element.name {
        case "Meta":
            recycleBin = element.text("RecycleBinUUID")
            if let headerHash, let stated = element.text("HeaderHash").flatMap({ try? Base64.standard.decode($0) }),
                stated != headerHash
            {
                throw ImportExportError(.checkMismatch, at: "header", subject: source.path.printable)
            }
            return false
        case "Binary" where around.last?.name == "Binaries":
            if let id = element.attribute("ID") { binaries[id] = try content(of: element) }
            return false
        case "Entry" where around.last?.name == "Group":
            let groups = around.filter { $0.name == "Group" }.map(Self.group)
            let strings = Self.strings(of: element)
            if let id = element.text("UUID") { texts[id] = strings }
            if strings.contains(where: { Self.mayRefer($0.value) }) {
                waiting.append((element, groups))
            } else {
                try put(element, strings, in: groups)
            }
            return false
        case "Group":
            // The notes of the group itself; its entries are gone by now.
            if let notes = element.text("Notes") {
                var item = ForeignItem(kind: .note)
                item.id = "group " + (element.text("UUID") ?? "")
                item.draft.title = element.text("Name").flatMap { cleanTitle($0) }
                item.addText(notes)
                setFolder(around.filter { $0.name == "Group" }.map(Self.group), &item)
                try sink.put(item)
            }
            return false
        case "DeletedObjects", "CustomIcons": return false
        default: return true
        }
    }

    private func unprotect(_ element: XMLElement) throws(ImportExportError) {
        guard var stream else { return }
        guard !element.bytes.isEmpty else { return }
        guard let sealed = try? Base64.standard.decode(element.text) else {
            throw ImportExportError(.formatInvalid, at: "protected value", subject: source.path.printable)
        }
        let opened = try ForeignKeys.wrapping(source.path.printable) { () throws(CryptoError) in
            try stream.apply(to: sealed)
        }
        // In early databases nothing else tells that the key of this stream was altered.
        guard element.name != "Value" || isValidUTF8(opened) else {
            throw ImportExportError(.checkMismatch, at: "protected value", subject: source.path.printable)
        }
        element.replaceText(opened)
        self.stream = stream
    }

    private func content(of element: XMLElement) throws(ImportExportError) -> [UInt8] {
        // A protected one has its bytes by now.
        let isOpened = stream != nil && element.attribute("Protected")?.asciiLowercased() == "true"
        guard let bytes = isOpened ? element.bytes : try? Base64.standard.decode(element.text) else {
            throw ImportExportError(.formatInvalid, at: "binary", subject: source.path.printable)
        }
        guard element.attribute("Compressed")?.asciiLowercased() == "true" else { return bytes }
        return try gunzipped(bytes, subject: source.path.printable, limits: source.limits)
    }

    private static func group(_ element: XMLElement) -> Group {
        Group(
            id: element.text("UUID") ?? "", name: element.text("Name") ?? "",
            tags: tags(of: element.text("Tags") ?? ""))
    }

    private static func tags(of text: String) -> [String] {
        text.split { $0 == ";" || $0 == "," }.map { String($0).trimmedBlanks() }.filter { !$0.isEmpty }
    }

    // MARK: Entries

    private struct Field {
        let key: String
        let value: String
        let isSecret: Bool
    }

    private static func strings(of entry: XMLElement) -> [Field] {
        entry.children.filter { $0.name == "String" }.compactMap { string in
            guard let value = string.child("Value") else { return nil }
            let marks = [value.attribute("Protected"), value.attribute("ProtectInMemory")]
            return Field(
                key: string.text("Key") ?? "field", value: value.text,
                isSecret: marks.contains { $0?.asciiLowercased() == "true" })
        }
    }

    /// The fields of an entry by which others refer to it.
    private static let letters: [Character: String] = [
        "T": "Title", "U": "UserName", "P": "Password", "A": "URL", "N": "Notes",
    ]

    private static func mayRefer(_ text: String) -> Bool { text.containsBytes(of: "{REF:") }

    /// `{REF:P@I:<UUID>}` with what it stands for; as it is where nothing answers.
    private func resolved(_ text: String) -> String {
        guard Self.mayRefer(text) else { return text }
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "{REF:"), let end = rest[start.upperBound...].firstIndex(of: "}") {
            let inner = rest[start.upperBound..<end]
            result += rest[..<start.lowerBound]
            let parts = inner.split(separator: "@", maxSplits: 1)
            let id =
                parts.count == 2 && parts[1].hasPrefix("I:")
                ? try? Hex.decode(String(parts[1].dropFirst(2)).asciiLowercased()) : nil
            let key = parts.first?.first.flatMap { Self.letters[$0] }
            let value = id.flatMap { texts[Base64.standard.encode($0)] }?.first { $0.key == key }?.value
            result += value ?? String(rest[start.lowerBound...end])
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private func put(_ entry: XMLElement, _ strings: [Field], in groups: [Group]) throws(ImportExportError) {
        var item = ForeignItem(kind: .login)
        item.id = entry.text("UUID") ?? ""
        setFolder(groups, &item)
        for tag in Self.tags(of: entry.text("Tags") ?? "") { item.setFolder(tag, separator: "/", original: "Tags") }
        let mark = KDBXMark(of: entry)
        mark?.begin(&item)
        takeStrings(strings, &item)
        if let times = entry.child("Times") { take(times, &item) }
        let history = entry.child("History")?.children.filter { $0.name == "Entry" } ?? []
        takeFiles(of: [entry] + history, &item)
        takeHistory(history, now: strings, item.draft.modified, &item)
        takeRest(of: entry, &item)
        mark?.finish(&item)
        item.draft.text = sink.linked(item.draft.text) { Base64.standard.encode($0) }
        try sink.put(item)
    }

    /// The groups below the root, with the recycle bin as the trash.
    private func setFolder(_ groups: [Group], _ item: inout ForeignItem) {
        var path = groups.dropFirst()
        if let bin = path.firstIndex(where: { $0.id == recycleBin && !$0.id.isEmpty }) {
            item.draft.isTrashed = true
            path = path[(bin + 1)...]
        }
        // A slash within a name is no nesting.
        let names = path.map { $0.name.replacing("/", with: "\u{2215}") }
        if !names.isEmpty { item.setFolder(names.joined(separator: "/"), separator: "/", original: "Group") }
        for group in groups { for tag in group.tags { item.setFolder(tag, separator: "/", original: "Tags") } }
    }

    private func takeStrings(_ strings: [Field], _ item: inout ForeignItem) {
        var passkey: [JSONValue.Member] = []
        var site: String?
        for string in strings {
            let value = resolved(string.value)
            guard !value.isEmpty else { continue }
            switch string.key {
            case "Title": item.draft.title = cleanTitle(value)
            case "UserName": item.set("username", to: value, original: string.key)
            case "Password": item.set("password", to: value, original: string.key)
            case let key where item.draft.kind != .login && item.draft.kind.standardField(labelled: key) != nil:
                item.set(item.draft.kind.standardField(labelled: key) ?? key, to: value, original: key)
            case "URL": item.set("url", to: value, original: string.key)
            case "Notes": item.addText(value)
            case "otp", "TimeOtp-Secret-Base32": item.addOneTimeCode(value, label: string.key)
            case "TOTP Seed": item.addOneTimeCode(value, label: string.key)
            case let key where key.hasPrefix("KP2A_URL"): item.addAddress(value, original: key)
            case let key where key.hasPrefix("KPEX_PASSKEY_"):
                if key == "KPEX_PASSKEY_RELYING_PARTY" { site = value }
                passkey.append(JSONValue.Member(key, .string(value)))
            default: item.add(string.key, value, kind: string.isSecret ? .secret : .text, isRaw: false)
            }
        }
        if !passkey.isEmpty {
            item.add(
                site.map { "Passkey of \($0)" } ?? "Passkey", JSONValue.object(passkey).text(), kind: .passkey,
                isRaw: false)
        }
    }

    private func take(_ times: XMLElement, _ item: inout ForeignItem) {
        item.draft.created = Self.time(times.text("CreationTime"))
        item.draft.modified = Self.time(times.text("LastModificationTime"))
        if times.text("Expires")?.asciiLowercased() == "true", let expiry = Self.time(times.text("ExpiryTime")) {
            item.add("Expires", String(CivilTime.format(expiry).prefix(10)), kind: .date, isRaw: false)
        }
    }

    /// ISO 8601, or seconds since the year 1 in base64.
    private static func time(_ text: String?) -> Milliseconds? {
        guard let text else { return nil }
        if let time = try? CivilTime.parse(text) { return time }
        guard let bytes = try? Base64.standard.decode(text), bytes.count == 8 else { return nil }
        let seconds = Int64(bitPattern: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        guard (0..<1 << 40).contains(seconds) else { return nil }
        return (seconds - 62_135_596_800) * 1_000
    }

    /// The files of an entry, and those that only its past had.
    private func takeFiles(of versions: [XMLElement], _ item: inout ForeignItem) {
        var seen: Set<String> = []
        for version in versions {
            for binary in version.children where binary.name == "Binary" {
                let name = binary.text("Key") ?? "file"
                guard let value = binary.child("Value") else { continue }
                let reference = value.attribute("Ref")
                guard seen.insert("\(name) \(reference ?? value.text)").inserted else { continue }
                let bytes = reference.map { binaries[$0] } ?? (try? content(of: value))
                guard let bytes else {
                    sink.warn("a file is not in the export: \(printableText(name.utf8))")
                    sink.drop()
                    continue
                }
                let id = item.files.contains { $0.id == name } ? "\(name) \(item.files.count)" : name
                item.files.append(ForeignFile(name: name, id: id, content: .bytes(bytes)))
            }
        }
    }

    /// Values that differ from the version after it, by the day of that one.
    private func takeHistory(
        _ history: [XMLElement], now: [Field], _ modified: Milliseconds?, _ item: inout ForeignItem
    ) {
        var seen: Set<String> = []
        for (index, version) in history.enumerated() {
            let isLast = index + 1 == history.count
            let next = isLast ? now : Self.strings(of: history[index + 1])
            let until = isLast ? modified : Self.time(history[index + 1].child("Times")?.text("LastModificationTime"))
            for old in Self.strings(of: version) where !old.value.isEmpty {
                guard next.first(where: { $0.key == old.key })?.value != old.value else { continue }
                guard seen.insert("\(old.key) \(old.value)").inserted else { continue }
                if old.key == "Password" || old.isSecret {
                    let label = old.key == "Password" ? "Previous password" : "Previous \(old.key)"
                    item.addPrevious(old.value, until: until, label: label)
                } else {
                    let day = until.map { ", until \(CivilTime.format($0).prefix(10))" } ?? ""
                    item.add("Previous \(old.key)\(day)", old.value, isRaw: false)
                }
            }
        }
    }

    /// Members of an entry that say nothing of it, or that were taken.
    private static let known: Set<String> = [
        "UUID", "Tags", "Times", "String", "Binary", "History",
        // Pictures, and where it lay before.
        "IconID", "CustomIconUUID", "PreviousParentGroup",
    ]

    private func takeRest(of entry: XMLElement, _ item: inout ForeignItem) {
        for element in entry.children where !Self.known.contains(element.name) {
            if element.name == "CustomData" {
                for data in element.children where data.text("Key") != KDBXMark.key {
                    if let key = data.text("Key"), let value = data.text("Value") { item.add(key, value) }
                }
            } else {
                add(element, element.name, &item)
            }
        }
    }

    private func add(_ element: XMLElement, _ name: String, _ item: inout ForeignItem) {
        // How programs type by themselves, where nothing was set.
        let usual = ["AutoType.Enabled": "true", "AutoType.DataTransferObfuscation": "0", "QualityCheck": "true"]
        let text = element.text.trimmedBlanks()
        if !text.isEmpty, usual[name] != text.asciiLowercased() { item.add(name, text) }
        for child in element.children { add(child, "\(name).\(child.name)", &item) }
    }
}
