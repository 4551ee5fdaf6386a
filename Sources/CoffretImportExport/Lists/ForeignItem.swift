// One record of another program's list on its way to be an item. Invariant: a value that came in is in the item
// somewhere: in the field that means it, in a field of its own name, or in the text.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

struct ForeignItem {
    var draft: ItemDraft
    /// Names the item in its source; empty for none.
    var id = ""
    /// Whether `id` says where the item lies, and its program gave it none.
    var isIDOfPlace = false
    /// The record says something of other items, which have it as well.
    var isNoItem = false
    /// The names of values that no standard field means.
    private(set) var rawNames: [String] = []
    /// Values of standard fields: which those are depends on the kind, which may come last.
    private var values: [(name: String, value: String, original: String)] = []
    private var extras: [(label: String, kind: FieldKind, value: String)] = []
    /// Earlier values, which stand behind all others.
    private var previous: [(label: String, value: String)] = []
    /// Its files; `ForeignSink` attaches them.
    var files: [ForeignFile] = []
    /// The content of a note that its program sealed, in the place of its text.
    var sealed: ForeignSealedNote?

    init(kind: ItemKind = .login) { draft = ItemDraft(kind: kind) }

    // MARK: Taking values

    /// The value of a standard field.
    ///
    /// - Parameter original: the name in the source, for a kind of item that has no such field.
    mutating func set(_ field: String, to value: String, original: String) {
        guard !value.isEmpty else { return }
        if values.contains(where: { $0.name == field }) {
            // A second password is as secret as the first.
            extras.append((original, secretKind(of: field), value))
        } else {
            values.append((field, value, original))
        }
    }

    /// A value that the source's person named, or that no field means.
    ///
    /// - Parameter isRaw: whether the report counts it as kept raw.
    mutating func add(_ label: String, _ value: String, kind: FieldKind = .text, isRaw: Bool = true) {
        guard !value.isEmpty else { return }
        if isRaw { rawNames.append(label) }
        extras.append((label, kind, value))
    }

    /// Takes a value that was kept under its own name out again, for somebody who knows what it means.
    mutating func takeRaw(_ label: String, _ body: (inout ForeignItem, String) -> Void) {
        guard let index = extras.firstIndex(where: { $0.label.asciiLowercased() == label }) else { return }
        let (written, _, value) = extras.remove(at: index)
        if let raw = rawNames.firstIndex(of: written) { rawNames.remove(at: raw) }
        body(&self, value)
    }

    /// Orders values without a standard field, and gives them the kinds and labels that an export of Coffret says they had. Others
    /// stay behind them.
    mutating func arrange(_ marks: [FieldMark]) {
        var rest = extras
        extras = marks.compactMap { mark in
            guard let index = rest.firstIndex(where: { $0.label == mark.name }) else { return nil }
            return (mark.label, mark.kind, rest.remove(at: index).value)
        }
        extras += rest
    }

    mutating func addText(_ text: String) {
        guard !text.isEmpty else { return }
        draft.text += draft.text.isEmpty || draft.text.hasSuffix("\n") ? text : "\n" + text
    }

    /// A folder becomes a nested tag.
    mutating func setFolder(_ path: String, separator: Character, original: String) {
        let parts = path.split(separator: separator).map { String($0).trimmedBlanks() }.filter { !$0.isEmpty }
        guard !parts.isEmpty else { return }
        if let tag = try? TagPath(parts.joined(separator: "/")) {
            draft.tags.append(tag)
        } else {
            add(original, path)
        }
    }

    /// An earlier password or other secret, which becomes a field with the day until which it was in use.
    ///
    /// - Parameter time: in milliseconds since 1970.
    mutating func addPrevious(_ value: String, until time: Int64?, label: String = "Previous password") {
        let day = time.map { ", until \(CivilTime.format($0).prefix(10))" } ?? ""
        if !value.isEmpty { previous.append((label + day, value)) }
    }

    /// The value of a standard field so far.
    func value(_ field: String) -> String? { values.first { $0.name == field }?.value }

    mutating func remove(_ field: String) { values.removeAll { $0.name == field } }

    // MARK: Closing

    /// The entry; `draft` has its fields from then on. Its hash is that of all that was made of the record.
    mutating func finished() -> ListEntry {
        let entry = finished(text: [])
        return ListEntry(
            draft: draft, key: entry.key, attachments: [], hash: Self.hash(draft, sealed), rawNames: rawNames)
    }

    private static func hash(_ draft: ItemDraft, _ sealed: ForeignSealedNote?) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.updateLengthPrefixed(
            itemStateHash(
                givenTitle: draft.title, text: draft.text, tags: draft.tags, fields: draft.fields,
                flags: draft.flags))
        let rest =
            [draft.created, draft.modified].map { $0.map(String.init) ?? "" } + [draft.path ?? "", draft.kind.name]
        for part in rest { hasher.updateLengthPrefixed(Array(part.utf8)) }
        hasher.updateLengthPrefixed([draft.isTrashed ? 1 : 0])
        if let sealed { hasher.updateLengthPrefixed(sealed.passphraseID.bytes + sealed.body) }
        return hasher.finish()
    }

    /// The entry; `draft` has its fields from then on.
    ///
    /// - Parameter text: the record's canonical text, for the hash.
    mutating func finished(text: [UInt8]) -> ListEntry {
        for (name, value, original) in values {
            if let field = ItemField(standard: name, of: draft.kind, value: value), !tooLong(value) {
                draft.fields.append(field)
            } else {
                rawNames.append(original)
                extras.append((original, secretKind(of: name), value))
            }
        }
        for (label, kind, value) in extras { append(label, kind, value) }
        for (label, value) in previous { append(label, .secret, value) }
        if draft.kind != .note, draft.title == nil { draft.title = cleanTitle(fallbackTitle) }
        if draft.kind == .note, draft.title == nil, draft.text.isEmpty { draft.title = cleanTitle(fallbackTitle) }
        let key =
            id.isEmpty
            ? [draft.kind.name, draft.title ?? "", value("username") ?? "", value("url") ?? ""].joined(
                separator: "\u{1F}")
            : id
        return ListEntry(
            draft: draft, key: Array(key.utf8), attachments: [], hash: BLAKE2b.hash(text), rawNames: rawNames)
    }

    private func tooLong(_ value: String) -> Bool { value.utf8.count > ItemField.valueByteCountMax }

    /// A password in an item that has no field for one is a secret all the same.
    private func secretKind(of field: String) -> FieldKind {
        let standard = ItemKind.allCases.flatMap(\.standardFields).first { $0.key.name == field }
        return standard?.kind ?? .text
    }

    private mutating func append(_ label: String, _ kind: FieldKind, _ value: String) {
        guard let label = cleanLabel(label), !tooLong(value) else { return addText("\(label): \(value)") }
        let position = UInt32(draft.fields.count) + 1
        draft.fields.append(ItemField(listed: label, kind: kind, value: value, position: position))
    }

    /// As people find it again: the website's host, or the name they log in by.
    private var fallbackTitle: String {
        if let url = value("url"), let host = Self.host(of: url) { return host }
        return value("username") ?? extras.first?.value ?? "untitled"
    }

    private static func host(of url: String) -> String? {
        let rest = url.split(separator: "://", maxSplits: 1).last ?? ""
        let host = rest.prefix { !"/?#".contains($0) }.split(separator: "@").last.map(String.init) ?? ""
        return host.isEmpty ? nil : host
    }
}

extension ItemField {
    /// A field of a list that no standard field means; its key follows from its place and name, so that the same list gives
    /// the same item.
    init(listed label: String, kind: FieldKind, value: String, position: UInt32) {
        let digest = BLAKE2b.hash(Array("\(position) \(label)".utf8), byteCount: 16)
        guard let key = FieldKey("x-" + Hex.encode(digest.prefix(8))) else {
            preconditionFailure("hex digits are a key")
        }
        self.init(key: key, label: label, kind: kind, value: value, position: position)
    }
}

/// What an export of Coffret says of a field beside its value.
struct FieldMark {
    /// The name under which the field stands in the export.
    let name: String
    let label: String
    let kind: FieldKind
}

/// A label as items have them: on one line, and not too long; nil if nothing is left.
func cleanLabel(_ text: String) -> String? {
    var result = ""
    for character in text.trimmedBlanks() {
        let isControl = character.utf8.contains { $0 < 0x20 || $0 == 0x7F }
        guard result.utf8.count + character.utf8.count <= ItemField.labelByteCountMax else { break }
        result.append(isControl ? " " : character)
    }
    return result.isEmpty ? nil : result
}

/// One entry of a list, read.
struct ListEntry: Equatable {
    var draft: ItemDraft
    /// Identifies the item at a second import: its id, or the parts of it that rarely change.
    let key: [UInt8]
    /// Files that belong to the item, as references relative to the list.
    let attachments: [String]
    /// BLAKE2b-256 of the entry's canonical text.
    let hash: [UInt8]
    /// Members without a place of their own.
    let rawNames: [String]
}

/// The items of one list on their way into the vault: those of one key are told apart by their number.
struct ListPass {
    let path: SourcePath
    private var seen: [[UInt8]: Int] = [:]
    private var count = 0

    init(path: SourcePath) { self.path = path }

    /// What names an item in its source.
    func key(_ own: [UInt8]) -> [UInt8] { path.bytes + [0] + own }

    /// The key of the next item, and its name for people.
    fileprivate mutating func next(_ own: [UInt8]) -> (key: [UInt8], name: String) {
        count += 1
        var key = key(own)
        seen[key, default: 0] += 1
        if let number = seen[key], number > 1 { key += Array(" \(number)".utf8) }
        return (key, "item \(count) of \(path.printable)")
    }
}

extension ImportSession {
    /// Writes one entry of a list.
    ///
    /// - Parameter name: for the report; nil to name it by its number.
    /// - Returns: the item; nil if it was deleted in the vault and stays so.
    func put(
        _ entry: ListEntry, in list: inout ListPass, name: String? = nil, sealed: ForeignSealedNote? = nil,
        constants: LockConstants? = nil
    ) throws(ImportExportError) -> EntityID? {
        let next = list.next(entry.key)
        let name = name.map { printableText($0.utf8) } ?? next.name
        if case .unchanged = standing(ofKey: next.key, contentHash: entry.hash) {
        } else {
            // It comes in as it is, or a list that export wrote could not come back.
            for field in entry.draft.fields {
                guard let problem = FieldCheck.problem(field.value, kind: field.kind, key: field.key.name) else {
                    continue
                }
                report.warn("\(name): \(field.label): \(problem)")
            }
        }
        return try put(
            entry.draft, key: next.key, contentHash: entry.hash, name: name, rawNames: entry.rawNames, sealed: sealed,
            constants: constants)
    }

    /// Writes the entries of a list.
    ///
    /// - Returns: the files that its items name.
    func put(_ entries: [ListEntry], ofListAt path: SourcePath) throws(ImportExportError)
        -> [(reference: String, item: EntityID)]
    {
        var list = ListPass(path: listPath(path))
        var files: [(reference: String, item: EntityID)] = []
        for entry in entries {
            guard let item = try put(entry, in: &list) else { continue }
            files += entry.attachments.map { ($0, item) }
        }
        return files
    }
}
