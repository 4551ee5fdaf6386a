// A vault as a KeePass database. Invariant: what an entry has no place for goes into its mark or into a string of it, so that it comes
// back with the next import.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

extension Vault {
    /// Writes all items but locked ones as a KeePass database (KDBX 4) under a password, into one new file of mode 0600.
    ///
    /// Earlier versions are not in it; earlier passwords that came with an import are, as the past of their entries.
    /// - Parameters:
    ///   - costs: of opening it.
    ///   - isStopped: asked before each item and file; of a database that was stopped nothing is left.
    /// - Throws: `.targetOccupied`, `.targetUnwritable`, `.vaultFailed`, `.stopped`.
    /// - Complexity: each file is read twice, and memory is that of one item and its text; Argon2 takes what `costs` says.
    package func exportKDBX(
        to path: String, password: borrowing SecretBytes, costs: KDBXCosts = .usual,
        files: (any FileContentStore)? = nil, random: any RandomSource = SystemRandomSource(),
        progress: (WorkProgress) -> Void = { _ in }, isStopped: () -> Bool = { false }
    ) throws(ImportExportError) -> ExportReport {
        try wrappingVaultErrors { try checkNothingIsVeiled() }
        let (view, contents) = (try wrappingVaultErrors { try present }, try fileContents(files))
        var report = ExportReport()
        try writeNewFile(to: path) { (write) throws(ImportExportError) in
            let sink = try KDBXSink(password: password, costs: costs, random: random, output: write)
            var run = try KeePassExportRun(view: view, files: contents, sink: sink, name: name, random: random)
            try run.collect(isStopped)
            try run.writeEntries(progress, isStopped)
            try sink.finish()
            run.report.byteCount = sink.byteCount
            report = run.report
        }
        return report
    }
}

private struct KeePassExportRun {
    /// KeePass programs hold a file in memory as a whole.
    private static let fileByteCountMax = 1 << 30
    private static let recycleBin = "Recycle Bin"

    let view: VaultView
    let files: any FileContentStore
    let sink: KDBXSink
    let name: String
    var report = ExportReport()
    private var document: KDBXDocument
    private var root = Group(path: [])
    private var bin = Group(path: [Self.recycleBin])
    /// Of each file, its number among the binaries.
    private var numbers: [EntityID: Int] = [:]
    private var itemCount = 0
    private var doneCount = 0

    private struct Group {
        let path: [String]
        var items: [EntityID] = []
        var groups: [String: Group] = [:]

        mutating func add(_ item: EntityID, at rest: ArraySlice<String>) {
            guard let first = rest.first else { return items.append(item) }
            groups[first, default: Group(path: path + [first])].add(item, at: rest.dropFirst())
        }
    }

    init(
        view: VaultView, files: any FileContentStore, sink: KDBXSink, name: String, random: any RandomSource
    ) throws(ImportExportError) {
        (self.view, self.files, self.sink, self.name) = (view, files, sink, name)
        var key = random.bytes(count: 64)
        defer { key.zero() }
        document = try KDBXDocument(streamKey: key)
        // The inner header: the stream and its key, then the files.
        try sink.write([1] + KDBXSink.number(4, 4) + KDBXSink.number(3, 4))
        try sink.write([2] + KDBXSink.number(key.count, 4) + key)
    }

    // MARK: Groups and files

    /// Goes through the items once: sorts them into groups, and writes their files.
    mutating func collect(_ isStopped: () -> Bool) throws(ImportExportError) {
        var ids: [EntityID] = []
        try wrappingVaultErrors { try view.forEachItem { ids.append($0.id) } }
        for id in ids {
            if isStopped() { throw ImportExportError(.stopped) }
            guard let item = try wrappingVaultErrors({ try view.item(id) }) else { continue }
            guard !item.isLocked else {
                report.locked += 1
                continue
            }
            itemCount += 1
            let path = (item.givenTags.first?.path ?? "").split(separator: "/").map(String.init)
            if item.isTrashed { bin.add(id, at: path[...]) } else { root.add(id, at: path[...]) }
            for file in item.attachments { try writeBinary(file, of: item) }
            report.warnOfConflicts(item)
        }
        try sink.write([0] + KDBXSink.number(0, 4))
    }

    /// Read twice: a binary begins with its length, so that a fault must show before.
    private mutating func writeBinary(_ file: Attachment, of item: Item) throws(ImportExportError) {
        var byteCount = 0
        do throws(ImportExportError) {
            try files.load(file.encodedReference) { byteCount += $0.count }
        } catch {
            guard error.code == .vaultFailed, let fault = error.cause.flatMap(AttachmentFault.init) else { throw error }
            report.faults[file.encodedReference] = fault
            return
        }
        guard byteCount <= Self.fileByteCountMax else {
            report.warnings.append("a file is too long for KeePass, and stays behind: \(printableText(file.name.utf8))")
            return
        }
        // A flag comes first: the file is kept as it is in memory.
        try sink.write([3] + KDBXSink.number(byteCount + 1, 4) + [0])
        var left = byteCount
        try files.load(file.encodedReference) { (piece) throws(ImportExportError) in
            left -= piece.count
            guard left >= 0 else { throw ImportExportError(.vaultFailed, at: "file length") }
            try sink.write(piece)
        }
        guard left == 0 else { throw ImportExportError(.vaultFailed, at: "file length") }
        numbers[file.id] = numbers.count
        report.attachments += 1
    }

    // MARK: The document

    mutating func writeEntries(
        _ progress: (WorkProgress) -> Void, _ isStopped: () -> Bool
    ) throws(ImportExportError) {
        try sink.write(Array("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\n".utf8))
        document.begin("KeePassFile")
        document.begin("Meta")
        document.element("Generator", "Coffret")
        document.element("DatabaseName", name)
        document.element("RecycleBinEnabled", "True")
        document.element("RecycleBinUUID", Self.id(of: bin.path))
        document.end()
        document.begin("Root")
        try writeGroup(root, name: name, progress, isStopped)
        document.element("DeletedObjects", "")
        document.end()
        document.end()
        try flush()
    }

    private mutating func flush() throws(ImportExportError) {
        var bytes = document.take()
        defer { bytes.zero() }
        try sink.write(bytes)
    }

    private static func id(of path: [String]) -> String {
        let text = path.joined(separator: "\u{0}")
        return Base64.standard.encode(BLAKE2b.hash(Array("group \(text)".utf8), byteCount: 16))
    }

    private mutating func writeGroup(
        _ group: Group, name: String, _ progress: (WorkProgress) -> Void, _ isStopped: () -> Bool
    ) throws(ImportExportError) {
        document.begin("Group")
        document.element("UUID", Self.id(of: group.path))
        document.element("Name", name)
        document.element("IconID", group.path == bin.path ? "43" : "48")
        for id in group.items {
            if isStopped() { throw ImportExportError(.stopped) }
            guard let item = try wrappingVaultErrors({ try view.item(id) }) else { continue }
            try KeePassEntry(item, numbers).write(to: &document)
            if item.kind == .note { report.notes += 1 } else { report.otherItems += 1 }
            try flush()
            doneCount += 1
            progress(
                WorkProgress(
                    stage: .writing, doneCount: doneCount, totalCount: itemCount, byteCount: sink.byteCount))
        }
        for (name, inner) in group.groups.sorted(by: { $0.key < $1.key }) {
            try writeGroup(inner, name: name, progress, isStopped)
        }
        if group.path.isEmpty { try writeGroup(bin, name: Self.recycleBin, progress, isStopped) }
        document.end()
    }
}

/// An item as an entry.
private struct KeePassEntry {
    private struct Text {
        let key: String
        let value: String
        let isSecret: Bool
    }

    private let item: Item
    private let files: [(name: String, number: Int)]
    /// Own names of files by those that they have in the entry.
    private var fileNames: [String: String] = [:]
    private var texts: [Text] = []
    private var keys: Set<String> = []
    private var marks: [FieldMark] = []
    /// Earlier passwords, and the day until which each was in use.
    private var previous: [(password: String, until: Milliseconds)] = []
    private var isBareCode = false
    private var expiry: Milliseconds?

    /// Keys that mean something to programs; a field that a person called so gets another one.
    private static let reserved: Set<String> = [
        "Title", "UserName", "Password", "URL", "Notes", "otp", "TimeOtp-Secret-Base32", "TOTP Seed", "TOTP Settings",
    ]
    private static let reservedPrefixes = ["KP2A_URL", "KPEX_PASSKEY_"]
    private static let standardKeys = ["username": "UserName", "password": "Password", "url": "URL", "totp": "otp"]
    private static let previousLabel = "Previous password, until "

    init(_ item: Item, _ numbers: [EntityID: Int]) {
        self.item = item
        var names: Set<String> = []
        var (files, fileNames): ([(name: String, number: Int)], [String: String]) = ([], [:])
        for file in item.attachments {
            guard let number = numbers[file.id] else { continue }
            let name = Self.free(file.name, among: &names)
            if name != file.name { fileNames[name] = file.name }
            files.append((name, number))
        }
        (self.files, self.fileNames) = (files, fileNames)
        add("Title", item.title)
        if !item.text.isEmpty { add("Notes", item.text) }
        let past = Self.pastCount(of: item.fields)
        for field in item.fields.dropLast(past) { add(field) }
        previous = item.fields.suffix(past).compactMap { field in
            (try? CivilTime.parse(String(field.label.dropFirst(Self.previousLabel.utf8.count)))).map {
                (field.value, $0)
            }
        }
    }

    /// How many fields at the end are earlier passwords that an entry's past can hold: all different, and each with a day.
    private static func pastCount(of fields: [ItemField]) -> Int {
        let past = fields.reversed().prefix { field in
            field.kind == .secret && field.label.hasPrefix(previousLabel)
                && (try? CivilTime.parse(String(field.label.dropFirst(previousLabel.utf8.count)))) != nil
        }
        let values = past.map(\.value) + fields.filter { $0.key.name == "password" }.map(\.value)
        return Set(values).count == values.count ? past.count : 0
    }

    private static func free(_ name: String, among taken: inout Set<String>) -> String {
        var (free, number) = (name, 1)
        while !taken.insert(free).inserted {
            number += 1
            free = "\(name) \(number)"
        }
        return free
    }

    private mutating func add(_ key: String, _ value: String, isSecret: Bool = false) {
        keys.insert(key)
        texts.append(Text(key: key, value: value, isSecret: isSecret))
    }

    private mutating func add(_ field: ItemField) {
        let isStandard = item.kind.standardFields.contains { $0.key == field.key }
        if isStandard, let key = Self.standardKeys[field.key.name] {
            guard key == "otp", !field.value.hasPrefix("otpauth://") else {
                return add(key, field.value, isSecret: field.kind.isSecret)
            }
            isBareCode = true
            return add(key, KDBXMark.codeAddress(ofBare: field.value, title: item.title), isSecret: true)
        }
        if isStandard { return add(Self.free(field.label, among: &keys), field.value, isSecret: field.kind.isSecret) }
        if addPasskey(field) || addAddress(field) || addExpiry(field) { return }
        let isReserved =
            Self.reserved.contains(field.label) || item.kind.standardField(labelled: field.label) != nil
            || Self.reservedPrefixes.contains { field.label.hasPrefix($0) }
        let key = Self.free(isReserved ? "(field) " + field.label : field.label, among: &keys)
        marks.append(FieldMark(name: key, label: field.label, kind: field.kind))
        texts.append(Text(key: key, value: field.value, isSecret: field.kind.isSecret))
    }

    /// A passkey that KeePassXC made is one for it again.
    private mutating func addPasskey(_ field: ItemField) -> Bool {
        guard field.kind == .passkey, case .object(let members)? = try? JSONValue(parsing: Array(field.value.utf8)),
            members.allSatisfy({ member in
                guard case .string = member.value else { return false }
                return member.name.hasPrefix("KPEX_PASSKEY_") && !keys.contains(member.name)
            })
        else { return false }
        for member in members {
            guard case .string(let value) = member.value else { continue }
            add(member.name, value, isSecret: member.name.hasSuffix("_PRIVATE_KEY_PEM"))
        }
        // As the import calls it.
        let site = members.first { $0.name == "KPEX_PASSKEY_RELYING_PARTY" }?.value
        let name = if case .string(let site)? = site { "Passkey of \(site)" } else { "Passkey" }
        keys.insert(name)
        marks.append(FieldMark(name: name, label: field.label, kind: .passkey))
        return true
    }

    /// Further addresses of a login, where browsers' extensions look for them.
    private mutating func addAddress(_ field: ItemField) -> Bool {
        guard item.kind == .login, field.kind == .url, field.label == "Website", keys.contains("URL") else {
            return false
        }
        let number = keys.count { $0.hasPrefix("KP2A_URL") }
        add(number == 0 ? "KP2A_URL" : "KP2A_URL_\(number)", field.value)
        marks.append(FieldMark(name: field.label, label: field.label, kind: field.kind))
        return true
    }

    /// The day on which an entry expires is none of its strings.
    private mutating func addExpiry(_ field: ItemField) -> Bool {
        guard field.label == "Expires", field.kind == .date, expiry == nil,
            let time = try? CivilTime.parse(field.value),
            CivilTime.format(time).prefix(10) == field.value
        else { return false }
        expiry = time
        keys.insert(field.label)
        marks.append(FieldMark(name: field.label, label: field.label, kind: field.kind))
        return true
    }

    // MARK: Writing

    func write(to document: inout KDBXDocument) throws(ImportExportError) {
        document.begin("Entry")
        document.element("UUID", Base64.standard.encode(item.id.uuid.bytes))
        document.element("IconID", "0")
        let others = item.givenTags.dropFirst().map(\.path)
        let isListed = { (tag: String) in !tag.contains { $0 == ";" || $0 == "," } }
        document.element("Tags", others.filter(isListed).joined(separator: ";"))
        writeTimes(modified: item.modified, to: &document)
        for text in texts { try write(text, to: &document) }
        for file in files {
            document.begin("Binary")
            document.element("Key", file.name)
            document.begin("Value", " Ref=\"\(file.number)\"")
            document.end()
            document.end()
        }
        let mark = KDBXMark(
            item, fields: marks, fileNames: fileNames, isBareCode: isBareCode, tags: others.filter { !isListed($0) })
        if let text = mark.text {
            document.begin("CustomData")
            document.begin("Item")
            document.element("Key", KDBXMark.key)
            document.element("Value", text)
            document.end()
            document.end()
        }
        try writePast(to: &document)
        document.end()
    }

    private func write(_ text: Text, to document: inout KDBXDocument) throws(ImportExportError) {
        document.begin("String")
        document.element("Key", text.key)
        try document.value(text.value, isProtected: text.isSecret)
        document.end()
    }

    private func writeTimes(modified: Milliseconds, to document: inout KDBXDocument) {
        document.begin("Times")
        for (name, time) in [
            ("CreationTime", item.created), ("LastModificationTime", modified), ("LastAccessTime", modified),
            ("ExpiryTime", expiry ?? modified), ("LocationChanged", modified),
        ] { document.element(name, Self.time(time)) }
        document.element("Expires", expiry == nil ? "False" : "True")
        document.element("UsageCount", "0")
        document.end()
    }

    /// Seconds since the year 1.
    private static func time(_ time: Milliseconds) -> String {
        let seconds = Int64((Double(time) / 1_000).rounded(.down)) + 62_135_596_800
        return Base64.standard.encode(littleEndian(UInt64(max(0, seconds))))
    }

    /// Versions with the earlier passwords: each was in use until the next one was made.
    private func writePast(to document: inout KDBXDocument) throws(ImportExportError) {
        guard !previous.isEmpty else { return }
        let kept = texts.filter { ["Title", "UserName"].contains($0.key) }
        let now = texts.filter { $0.key == "Password" }
        document.begin("History")
        for index in 0...previous.count {
            document.begin("Entry")
            document.element("UUID", Base64.standard.encode(item.id.uuid.bytes))
            writeTimes(modified: index == 0 ? item.created : previous[index - 1].until, to: &document)
            let password =
                index < previous.count
                ? [Text(key: "Password", value: previous[index].password, isSecret: true)] : now
            for text in kept + password { try write(text, to: &document) }
            document.end()
        }
        document.end()
    }
}
