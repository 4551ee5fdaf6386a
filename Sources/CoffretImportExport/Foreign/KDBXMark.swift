// What KeePass has no place for, on an entry that Coffret wrote. Invariant: an entry without the mark, or with one that is altered,
// is read as any other.

internal import CoffretBase
internal import CoffretCore

/// Data of an entry under the key `coffret`, which KeePass programs keep and do not show: a JSON object.
struct KDBXMark {
    static let key = "coffret"

    private var kind = ItemKind.login
    /// Whether the text says the title.
    private var isUntitled = false
    private var isPinned = false
    private var isArchived = false
    /// Whether the key of the one-time code was no address.
    private var isBareCode = false
    /// Tags that KeePass's list of tags cannot hold.
    private var tags: [String] = []
    /// Of files that had to be called otherwise, as KeePass has one of a name, their own names.
    private var fileNames: [String: String] = [:]
    /// The fields that are no standard ones, in their order.
    private var fields: [FieldMark] = []

    // MARK: Writing

    init(
        _ item: Item, fields: [FieldMark], fileNames: [String: String], isBareCode: Bool, tags: [String]
    ) {
        kind = item.kind
        isUntitled = item.givenTitle?.isEmpty ?? true
        (isPinned, isArchived) = (item.isPinned, item.isArchived)
        (self.fields, self.fileNames, self.tags, self.isBareCode) = (fields, fileNames, tags, isBareCode)
    }

    /// Nil where there is nothing to say: a plain login.
    var text: String? {
        var members: [JSONValue.Member] = []
        if kind != .login { members.append(.init("type", .string(kind.name))) }
        for (name, isSet) in [
            ("untitled", isUntitled), ("pinned", isPinned), ("archived", isArchived), ("bareCode", isBareCode),
        ] where isSet { members.append(.init(name, .bool(true))) }
        if !tags.isEmpty { members.append(.init("tags", .array(tags.map { .string($0) }))) }
        if !fileNames.isEmpty {
            let names = fileNames.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
            members.append(.init("files", .object(names)))
        }
        if !fields.isEmpty {
            let list = fields.map { field in
                JSONValue.object([
                    .init("name", .string(field.name)), .init("label", .string(field.label)),
                    .init("kind", .string(field.kind.rawValue)),
                ])
            }
            members.append(.init("fields", .array(list)))
        }
        return members.isEmpty ? nil : JSONValue.object(members).text()
    }

    // MARK: Reading

    /// - Returns: nil for an entry without the mark.
    init?(of entry: XMLElement) {
        let data = entry.child("CustomData")?.children.first { $0.text("Key") == Self.key }
        guard let text = data?.text("Value"), let value = try? JSONValue(parsing: Array(text.utf8)) else { return nil }
        func isSet(_ name: String) -> Bool { value[name] == .bool(true) }
        func string(_ value: JSONValue?) -> String? { if case .string(let text)? = value { text } else { nil } }
        func list(_ value: JSONValue?) -> [JSONValue] { if case .array(let list)? = value { list } else { [] } }
        kind = string(value["type"]).flatMap(ItemKind.init(name:)) ?? .login
        (isUntitled, isPinned, isArchived) = (isSet("untitled"), isSet("pinned"), isSet("archived"))
        isBareCode = isSet("bareCode")
        tags = list(value["tags"]).compactMap(string)
        if case .object(let names)? = value["files"] {
            for name in names { fileNames[name.name] = string(name.value) }
        }
        fields = list(value["fields"]).compactMap { field in
            guard let name = string(field["name"]), let label = string(field["label"]).flatMap(cleanLabel),
                let kind = string(field["kind"]), FieldKey(kind) != nil
            else { return nil }
            return FieldMark(name: name, label: label, kind: FieldKind(rawValue: kind))
        }
    }

    /// Before the values of an entry are taken.
    func begin(_ item: inout ForeignItem) {
        item.draft.kind = kind
        (item.draft.isPinned, item.draft.isArchived) = (isPinned, isArchived)
        for tag in tags { item.setFolder(tag, separator: "/", original: "Tags") }
    }

    /// Once they are taken.
    func finish(_ item: inout ForeignItem) {
        item.arrange(fields)
        if isUntitled { item.draft.title = nil }
        for index in item.files.indices {
            if let name = fileNames[item.files[index].name] { item.files[index].name = name }
        }
        if isBareCode, let address = item.value("totp"), let key = KDBXMark.bareCode(of: address) {
            item.remove("totp")
            item.set("totp", to: key, original: "otp")
        }
    }

    /// A one-time code's address for a bare key.
    static func codeAddress(ofBare key: String, title: String) -> String {
        "otpauth://totp/" + String(decoding: percentEncoded(Array(title.utf8)), as: UTF8.self) + "?secret="
            + String(decoding: percentEncoded(Array(key.utf8)), as: UTF8.self)
    }

    private static func bareCode(of address: String) -> String? {
        address.firstRange(of: "?secret=").map { range in
            let rest = Array(address[range.upperBound...].utf8)
            return String(decoding: percentDecoded(rest[...]) ?? rest, as: UTF8.self)
        }
    }
}

extension ItemKind {
    /// The name of the standard field with a label.
    func standardField(labelled label: String) -> String? {
        standardFields.first { $0.label == label }?.key.name
    }
}
