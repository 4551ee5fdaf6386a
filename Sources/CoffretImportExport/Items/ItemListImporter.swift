// Coffret's own plain format for items: a JSON list that people can write by hand and programs can make. Invariant:
// every member of the file ends up in the item, known or not.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

/// Reads `{"format": "coffret-items", "version": 1, "items": [ … ]}`.
///
/// Spec: Docs/import-export.md, "A list of items".
package struct ItemListImporter: Importer {
    package let name = "items"
    package let title = "Coffret item list"

    static let format = "coffret-items"
    static let version: Int64 = 1
    /// A list is held in memory.
    static let byteCountMax = 64 << 20

    package init() {}

    package func detect(_ sample: SourceSample) throws(ImportExportError) -> ImportConfidence? {
        guard sample.source.listing.entries.count == 1 else { return nil }
        return Self.hasMarker(Array(try sample.head(ofEntry: 0).bytes.prefix(1_024))) ? .certain : nil
    }

    /// Whether a file starts like a list of items.
    static func hasMarker(_ prefix: [UInt8]) -> Bool {
        let start = prefix.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard start.first == UInt8(ascii: "{") else { return false }
        return String(decoding: start, as: UTF8.self).contains("\"\(format)\"")
    }

    package func run(_ source: any ImportSource, into session: ImportSession) throws(ImportExportError) {
        try source.visit({ $0 == 0 }) { (index, reader) throws(ImportExportError) in
            let files = try Self.read(reader, path: source.listing.entries[index].path, into: session)
            for (reference, _) in files {
                session.report.dropped += 1
                session.report.warn("import the folder of the list to bring its file: \(printableText(reference.utf8))")
            }
        }
    }

    /// Reads a list into the session.
    ///
    /// - Returns: the files that its items name, as references relative to the list.
    static func read(
        _ reader: any SourceEntryReader, path: SourcePath, into session: ImportSession
    ) throws(ImportExportError) -> [(reference: String, item: EntityID)] {
        // The copy that holds secrets is cleared; those in the items live as long as the import.
        var bytes = try reader.readAll(byteCountMax: byteCountMax)
        defer { bytes.zero() }
        let files = try session.put(try parse(bytes, limits: session.limits), ofListAt: path)
        session.noteContainer(key: path.bytes, contentHash: BLAKE2b.hash(bytes))
        session.didRead(byteCount: bytes.count)
        return files
    }

    /// Reads a whole list.
    ///
    /// - Throws: `.formatInvalid`, `.formatTruncated`, `.formatVersionUnknown`; `place` says where.
    static func parse(_ bytes: [UInt8], limits: ImportLimits) throws(ImportExportError) -> [ListEntry] {
        var rest: [UInt8]? = bytes
        var reader = JSONReader(depthMax: limits.nestingDepthMax, stringByteCountMax: Item.textByteCountMax) {
            defer { rest = nil }
            return rest
        }
        do {
            return try parse(&reader, limits: limits)
        } catch let error as JSONError {
            throw ImportExportError(formatError: error)
        } catch let error as ImportExportError {
            throw error
        } catch {
            throw ImportExportError(.formatInvalid, cause: error)
        }
    }

    private static func parse(_ reader: inout JSONReader, limits: ImportLimits) throws -> [ListEntry] {
        guard try reader.next() == .beginObject else { throw reader.error(.unexpectedValue) }
        var entries: [ListEntry] = []
        var hasFormat = false
        var hasVersion = false
        members: while true {
            switch try reader.next() {
            case .name("format"):
                guard try reader.next() == .string(format) else { throw reader.error(.unexpectedValue) }
                hasFormat = true
            case .name("version"):
                guard try reader.next() == .number("\(version)") else {
                    throw ImportExportError(.formatVersionUnknown, at: "line \(reader.line)")
                }
                hasVersion = true
            case .name("items"):
                guard hasFormat, hasVersion, try reader.next() == .beginArray else {
                    throw reader.error(.unexpectedValue)
                }
                while true {
                    let token = try reader.next()
                    if token == .endArray { break }
                    guard entries.count < limits.entryCountMax else { throw ImportExportError(.tooManyEntries) }
                    entries.append(try entry(JSONValue(startingWith: token, from: &reader), line: reader.line))
                }
            case .name: throw reader.error(.unexpectedValue)
            default: break members
            }
        }
        guard try reader.next() == .end, hasFormat, hasVersion else { throw reader.error(.unexpectedValue) }
        return entries
    }

    private static func entry(_ value: JSONValue, line: Int) throws(ImportExportError) -> ListEntry {
        guard case .object(let members) = value else { throw invalid(line, "an item is an object") }
        var builder = ItemListEntryBuilder(line: line)
        for member in members { try builder.take(member) }
        return try builder.finish(text: value.text())
    }

    static func invalid(_ line: Int, _ what: String) -> ImportExportError {
        ImportExportError(.formatInvalid, at: "line \(line): \(what)")
    }
}

/// Puts one entry together, member by member.
private struct ItemListEntryBuilder {
    let line: Int
    private var draft = ItemDraft()
    private var id: String?
    private var hasKind = false
    private var attachments: [String] = []
    private var fieldValues: [JSONValue] = []
    private var rawFields: [(name: String, value: String)] = []

    init(line: Int) {
        self.line = line
    }

    private func invalid(_ what: String) -> ImportExportError { ItemListImporter.invalid(line, what) }

    private func text(_ member: JSONValue.Member) throws(ImportExportError) -> String {
        guard let text = member.value.string else { throw invalid("\(member.name) is a text") }
        return text
    }

    private func flag(_ member: JSONValue.Member) throws(ImportExportError) -> Bool {
        guard let flag = member.value.bool else { throw invalid("\(member.name) is true or false") }
        return flag
    }

    private func time(_ member: JSONValue.Member) throws(ImportExportError) -> Int64 {
        guard let time = try? CivilTime.parse(text(member)) else { throw invalid("\(member.name) is a time") }
        return time
    }

    mutating func take(_ member: JSONValue.Member) throws(ImportExportError) {
        if let known = Flag(rawValue: member.name) { return draft.flags[known] = try flag(member) }
        switch member.name {
        case "kind":
            guard let kind = ItemKind(name: try text(member)) else { throw invalid("unknown kind") }
            draft.kind = kind
            hasKind = true
        case "id": id = try text(member)
        case "title": draft.title = cleanTitle(try text(member))
        case "notes", "text": draft.text = try text(member)
        case "created": draft.created = try time(member)
        case "modified": draft.modified = try time(member)
        case "attachments":
            guard let elements = member.value.elements else { throw invalid("attachments is a list") }
            for element in elements {
                guard let reference = element.string else { throw invalid("an attachment is a path") }
                attachments.append(reference)
            }
        case "tags":
            guard let elements = member.value.elements else { throw invalid("tags is a list") }
            for element in elements {
                guard let text = element.string, let tag = try? TagPath(text) else {
                    throw invalid("a tag is a short text")
                }
                draft.tags.append(tag)
            }
        case "fields":
            guard let elements = member.value.elements else { throw invalid("fields is a list") }
            fieldValues = elements
        default: rawFields.append((member.name, member.value.string ?? member.value.text()))
        }
    }

    /// - Parameter text: the entry's canonical text, for the hash.
    mutating func finish(text: String) throws(ImportExportError) -> ListEntry {
        guard hasKind else { throw invalid("an item has a kind") }
        // Fields come last, since which are standard ones depends on the kind.
        for value in fieldValues { try addField(value) }
        for raw in rawFields { try add(name: raw.name, kind: .text, value: raw.value) }
        guard draft.title != nil || draft.kind == .note else { throw invalid("an item has a title") }
        let username = draft.fields.first { $0.key.name == "username" }?.value ?? ""
        let key = id ?? [draft.kind.name, draft.title ?? "", username].joined(separator: "\u{1F}")
        return ListEntry(
            draft: draft, key: Array(key.utf8), attachments: attachments, hash: BLAKE2b.hash(Array(text.utf8)),
            rawNames: rawFields.map(\.name))
    }

    private mutating func addField(_ value: JSONValue) throws(ImportExportError) {
        guard let name = value["name"]?.string, let text = value["value"]?.string else {
            throw invalid("a field has a name and a value")
        }
        guard let kindName = value["kind"] else { return try add(name: name, kind: nil, value: text) }
        guard let kindText = kindName.string, FieldKind.known.contains(FieldKind(rawValue: kindText)) else {
            throw invalid("unknown kind of field")
        }
        try add(name: name, kind: FieldKind(rawValue: kindText), value: text)
    }

    private mutating func add(name: String, kind: FieldKind?, value: String) throws(ImportExportError) {
        if let field = ItemField(standard: name, of: draft.kind, value: value), kind.map({ $0 == field.kind }) ?? true,
            !draft.fields.contains(where: { $0.key == field.key })
        {
            draft.fields.append(field)
            return
        }
        let position = UInt32(draft.fields.count) + 1
        guard cleanLabel(name) == name, value.utf8.count <= ItemField.valueByteCountMax else {
            throw invalid("a field's name or value is not acceptable")
        }
        draft.fields.append(ItemField(listed: name, kind: kind ?? .text, value: value, position: position))
    }
}

extension ImportExportError {
    /// A refusal of the JSON reader.
    init(formatError error: JSONError) {
        let place = "line \(error.line), byte \(error.byteOffset): \(error.code.rawValue)"
        self.init(error.code == .truncated ? .formatTruncated : .formatInvalid, at: place)
    }
}
