// Notes that are folders: a text, an `info.json` about it, and its files in `assets`. Invariant: a bundle is whole, or the
// import is refused; a bundle without its `info.json` would come in without its dates and its trash.

internal import CoffretBase
internal import CoffretCore

/// The bundles of a source. Format: textbundle.org; Bear writes its own members into `info.json`.
struct NoteBundles {
    struct Bundle {
        /// The path of its folder; empty for a source that is one bundle.
        let folder: [UInt8]
        /// The path whose stem and folder name the note.
        let name: SourcePath
        /// Entries of the listing.
        let text: Int
        let info: Int
    }

    private(set) var bundles: [Bundle] = []
    /// The bundle of each entry that lies in one.
    private(set) var bundleOfEntry: [Int: Int] = [:]

    static let infoName = Array("info.json".utf8)
    private static let folderEnd = Array(".textbundle".utf8)

    /// - Parameter isStrict: whether a folder with a bundle's name has to be one.
    /// - Throws: `.formatInvalid` with the bundle as its subject if its text or `info.json` is missing.
    init(of source: any ImportSource, isStrict: Bool) throws(ImportExportError) {
        var members: [[UInt8]: [Int]] = [:]
        let isOne = Self.isOneBundle(source)
        for (index, entry) in source.listing.entries.enumerated() {
            if let folder = isOne ? [] : Self.folder(of: entry.path) { members[folder, default: []].append(index) }
        }
        let order = members.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        for (folder, entries) in order {
            let name = folder.isEmpty ? Array(source.name.utf8) : folder
            let paths = source.listing.entries
            func member(_ isWanted: (SourcePath) -> Bool) -> Int? {
                entries.first { paths[$0].path.folder.elementsEqual(folder) && isWanted(paths[$0].path) }
            }
            let text = member { $0.stem.elementsEqual("text".utf8) && ($0.isMarkdown || $0.fileExtension == "txt") }
            let info = member { $0.name.elementsEqual(Self.infoName) }
            guard let text, let info else {
                guard isStrict else { continue }
                throw ImportExportError(
                    .formatInvalid, at: text == nil ? "no text" : "no info.json", subject: printableText(name))
            }
            for entry in entries { bundleOfEntry[entry] = bundles.count }
            bundles.append(
                Bundle(
                    folder: folder, name: SourcePath(cleanBytes: name.isEmpty ? [0x5F] : name), text: text, info: info))
        }
    }

    /// Whether the source as a whole is one bundle: a folder or an archive of that name.
    private static func isOneBundle(_ source: any ImportSource) -> Bool {
        let names = [source.name, lastComponent(of: source.location)].map { $0.asciiLowercased() }
        guard names.contains(where: { $0.hasSuffix(".textbundle") || $0.hasSuffix(".textpack") }) else { return false }
        return !source.listing.entries.contains { folder(of: $0.path) != nil }
    }

    /// The outermost folder of a path that has a bundle's name.
    private static func folder(of path: SourcePath) -> [UInt8]? {
        var end = 0
        for component in path.components.dropLast() {
            end += component.count + (end > 0 ? 1 : 0)
            let name = String(decoding: component, as: UTF8.self).asciiLowercased()
            if name.utf8.count > folderEnd.count, name.hasSuffix(".textbundle") { return Array(path.bytes.prefix(end)) }
        }
        return nil
    }
}

/// The content of an `info.json`.
struct BundleInfo {
    /// Names the note in Bear.
    let id: String?
    let sealed: BearSealedNote?
    private let isBear: Bool
    private let created: Milliseconds?
    private let modified: Milliseconds?
    private let isPinned: Bool
    private let isArchived: Bool
    private let isTrashed: Bool
    /// What Coffret wrote: tags and title as the note had them, and fields with their kinds; nil where another program wrote it.
    private let own: Own?
    /// What has no place of its own.
    private let rest: [(name: String, value: String)]

    private struct Own {
        let tags: [TagPath]
        let title: String?
        let fields: [(label: String, kind: FieldKind, value: String)]

        /// nil for an object that Coffret did not write.
        init?(_ object: ForeignObject) {
            guard let names = object.texts(TextBundleInfo.tags) else { return nil }
            tags = names.compactMap { try? TagPath($0) }
            title = object.text(TextBundleInfo.title)
            let objects = object.objects(TextBundleInfo.fields) ?? []
            fields = objects.compactMap { field in
                guard let name = field.text("name"), let value = field.text("value") else { return nil }
                let kind = field.text("kind").flatMap { FieldKind(rawValue: $0) } ?? .text
                return (name, FieldKind.known.contains(kind) ? kind : .text, value)
            }
            guard tags.count == names.count, fields.count == objects.count else { return nil }
        }
    }

    static let byteCountMax = 1 << 20

    /// - Throws: `.formatInvalid`, `.formatTruncated`, `.formatVersionUnknown` with `subject`.
    init(_ bytes: [UInt8], subject: String, limits: ImportLimits) throws(ImportExportError) {
        let object: ForeignObject
        do throws(ImportExportError) {
            object = try ForeignObject.parse(withoutLastCommas(bytes), limits: limits)
        } catch {
            throw ImportExportError(error.code, at: error.place, subject: subject)
        }
        if let version = object.integer("version"), !(1...2).contains(version) {
            throw ImportExportError(.formatVersionUnknown, at: "version \(version)", subject: subject)
        }
        // How the bundle is written, not what it holds.
        object.ignore("type", "transient", "flatExtension")
        let bear = object.object("net.shinyfrog.bear")
        isBear = bear != nil
        if isBear { object.ignore("creatorIdentifier") }
        id = bear?.text("uniqueIdentifier")
        created = bear?.time("creationDate", .calendar)
        modified = bear?.time("modificationDate", .calendar)
        isPinned = Self.flag(bear, "pinned")
        isArchived = Self.flag(bear, "archived")
        isTrashed = Self.flag(bear, "trashed")
        for name in ["version", "locked", "encrypted"] where bear?.peek(name) == .integer(0) || name == "version" {
            bear?.ignore(name)
        }
        if let bear, bear.peek("encrypted") == .integer(1) {
            sealed = try BearSealedNote(bear, subject: subject)
        } else {
            sealed = nil
        }
        // What another program keeps under that name is left where it is, and kept as raw fields.
        own = Self.isOurs(object) ? object.object(TextBundleInfo.ours).flatMap { Own($0) } : nil
        rest = object.rest
    }

    private static func isOurs(_ object: ForeignObject) -> Bool {
        guard let copy = ForeignObject(object.peek(TextBundleInfo.ours)) else { return false }
        return Own(copy) != nil
    }

    /// Bear writes 0 and 1.
    private static func flag(_ object: ForeignObject?, _ name: String) -> Bool {
        guard let value = object?.peek(name), [.integer(0), .integer(1), .bool(true), .bool(false)].contains(value)
        else {
            return false
        }
        object?.ignore(name)
        return value == .integer(1) || value == .bool(true)
    }

    /// The names of values of a sealed note that have no place.
    var leftOut: [String] { sealed == nil ? [] : rest.map(\.name) }

    /// Completes the item of the bundle's text.
    func complete(_ item: inout ForeignItem) {
        item.draft.created = created
        item.draft.modified = modified ?? created
        item.draft.isPinned = isPinned
        item.draft.isArchived = isArchived
        item.draft.isTrashed = isTrashed
        // A locked note has no field in clear; what is left is about Bear's devices.
        if let own {
            (item.draft.tags, item.draft.title) = (own.tags, own.title)
            for (label, kind, value) in own.fields { item.add(label, value, kind: kind, isRaw: false) }
        }
        for (name, value) in sealed == nil ? rest : [] {
            let label =
                name.hasPrefix("net.shinyfrog.bear.") ? String(name.dropFirst("net.shinyfrog.bear.".count)) : name
            item.add(label, value)
        }
        guard let sealed else { return }
        item.draft.title = cleanTitle(sealed.title) ?? item.draft.title
        for tag in sealed.tags { item.addTag(tag) }
        item.sealed = sealed.content
    }
}

/// A note that Bear sealed: the article's scheme with constants that only Bear knows.
struct BearSealedNote {
    let title: String
    let tags: [String]
    let content: ForeignSealedNote

    /// - Throws: `.formatInvalid`, `.formatVersionUnknown` with `subject`.
    init(_ object: ForeignObject, subject: String) throws(ImportExportError) {
        func fail(_ what: String) -> ImportExportError { ImportExportError(.formatInvalid, at: what, subject: subject) }
        func bytes(_ object: ForeignObject, _ name: String) throws(ImportExportError) -> [UInt8] {
            guard let text = object.text(name), let bytes = try? Base64.standard.decode(text), !bytes.isEmpty else {
                throw fail(name)
            }
            return bytes
        }
        func id(_ object: ForeignObject, _ name: String) throws(ImportExportError) -> UniqueID {
            guard let text = object.text(name), let id = try? UniqueID.parse(text) else { throw fail(name) }
            return id
        }
        object.ignore("encrypted")
        guard let password = object.object("password") else { throw fail("password") }
        guard password.integer("encryptionVersion") == 1 else {
            throw ImportExportError(.formatVersionUnknown, at: "encryptionVersion", subject: subject)
        }
        title = object.text("title") ?? ""
        tags = object.texts("tags") ?? []
        guard let created = password.time("creationDate", .calendar) else { throw fail("password.creationDate") }
        content = ForeignSealedNote(
            body: try bytes(object, "encryptedData"), encryptionID: try id(object, "encryptionUniqueIdentifier"),
            passphraseID: try id(password, "uniqueIdentifier"), created: created,
            check: try bytes(password, "encryptedData"))
    }
}

/// The text with blanks in the place of commas that stand before a closing bracket.
private func withoutLastCommas(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    var comma: Int?
    var isText = false
    var isEscaped = false
    for (index, byte) in result.enumerated() {
        if isText {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isText = false
            }
            continue
        }
        switch byte {
        case UInt8(ascii: ","): comma = index
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            if let comma { result[comma] = 0x20 }
            comma = nil
        case 0x09, 0x0A, 0x0D, 0x20: break
        default:
            comma = nil
            isText = byte == UInt8(ascii: "\"")
        }
    }
    return result
}
