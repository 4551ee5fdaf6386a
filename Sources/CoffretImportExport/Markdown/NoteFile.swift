// One Markdown file, read. Invariant: byte order mark ‖ front matter ‖ text are together the bytes of the file, so
// that an export can give back exactly what came in.

package import CoffretBase
package import CoffretCore

/// A Markdown file as the note that it becomes.
package struct NoteFile: Flagged, Sendable {
    /// Why a file with a Markdown name is no note; it is imported as a file then.
    package enum Refusal: Equatable, Sendable {
        case notUTF8
        case binary
    }

    /// Whether the file starts with the three bytes EF BB BF.
    package let hasByteOrderMark: Bool
    /// The block at the start, if there is one.
    package let frontMatter: FrontMatter?
    /// The text of the note, behind the block.
    package let text: [UInt8]
    /// The title; nil if the first line of the text is a heading and says it.
    package let givenTitle: String?
    /// Tags of the front matter, valid and without repetitions, in the order of the file.
    package let frontMatterTags: [TagPath]
    /// The folder as a nested tag; nil at the top, or if no tag can be made of it.
    package let folderTag: TagPath?
    /// Times of the front matter, in milliseconds since 1970.
    package let created: Int64?
    package let modified: Int64?
    package var flags: FlagSet
    /// Keys that Coffret has no place for: label and value, as text.
    package let rawFields: [(label: String, value: String)]
    /// Title, tags and links in the text.
    package let scan: MarkdownScan
    /// Links of the text.
    package let links: [SourceLink]

    /// The byte order mark of UTF-8.
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Reads a file.
    ///
    /// - Returns: the note, or why it is none.
    /// - Throws: `.lineTooLong`. The size was checked when the file was read.
    package static func parse(
        _ bytes: [UInt8], path: SourcePath, limits: ImportLimits
    ) throws(ImportExportError) -> Result<NoteFile, RefusalError> {
        guard !bytes.contains(0) else { return .failure(RefusalError(reason: .binary)) }
        guard isValidUTF8(bytes) else { return .failure(RefusalError(reason: .notUTF8)) }
        var lineStart = 0
        while let end = bytes[lineStart...].firstIndex(of: 0x0A) {
            guard end - lineStart <= limits.lineByteCountMax else { throw lineTooLong(path) }
            lineStart = end + 1
        }
        guard bytes.count - lineStart <= limits.lineByteCountMax else { throw lineTooLong(path) }
        return .success(NoteFile(validBytes: bytes, path: path, limits: limits))
    }

    private static func lineTooLong(_ path: SourcePath) -> ImportExportError {
        ImportExportError(.lineTooLong, subject: path.printable)
    }

    /// Carries a refusal through `Result`.
    package struct RefusalError: Error, Equatable {
        package let reason: Refusal
    }

    private init(validBytes bytes: [UInt8], path: SourcePath, limits: ImportLimits) {
        hasByteOrderMark = bytes.starts(with: Self.byteOrderMark)
        let content = bytes.dropFirst(hasByteOrderMark ? Self.byteOrderMark.count : 0)
        let block = FrontMatter(startOf: content, byteCountMax: limits.frontMatterByteCountMax)
        frontMatter = block
        text = Array(content.dropFirst(block?.byteCount ?? 0))
        scan = MarkdownScan(bytes: text)
        folderTag = Self.folderTag(of: path)
        var reading = FrontMatterReading()
        reading.read(block)
        let listed = reading.attachments.compactMap { SourceLink(listed: $0) }
        links = SourceLink.links(of: scan, in: text) + listed
        frontMatterTags = reading.tags
        created = reading.created
        modified = reading.modified
        flags = reading.flags
        rawFields = reading.rawFields
        givenTitle = reading.title ?? Self.fallbackTitle(text: text, scan: scan, path: path)
    }

    /// The title without front matter: nil if the text begins with a heading, else the file's name.
    static func fallbackTitle(text: [UInt8], scan: MarkdownScan? = nil, path: SourcePath) -> String? {
        if startsWithHeading(text), !(scan ?? MarkdownScan(bytes: text)).title.isEmpty { return nil }
        return cleanTitle(String(decoding: path.stem, as: UTF8.self)) ?? path.printable
    }

    /// The tag that a folder stands for: its path, as far as it can be one.
    static func folderTag(of path: SourcePath) -> TagPath? {
        guard !path.folder.isEmpty else { return nil }
        // A character that no tag may contain becomes a hyphen, so that "C#" and "a, b" still name a tag.
        let text = String(decoding: path.folder, as: UTF8.self).unicodeScalars.map { scalar -> Character in
            scalar == "#" || scalar == "," || scalar.value < 0x20 || scalar.value == 0x7F ? "-" : Character(scalar)
        }
        return try? TagPath(String(text))
    }

    /// Whether the first line that is neither blank nor a comment is a heading.
    private static func startsWithHeading(_ text: [UInt8]) -> Bool {
        var isComment = false
        var rest = text[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
            let line = rest[rest.startIndex..<end].drop { $0 == 0x20 || $0 == 0x09 }
            rest = rest[min(end + 1, rest.endIndex)...]
            let content = line.last == 0x0D ? line.dropLast() : line
            if isComment || content.starts(with: "<!--".utf8) {
                isComment = !containsCommentEnd(content)
                continue
            }
            if content.isEmpty || content.first == UInt8(ascii: "<") { continue }
            if content.first == UInt8(ascii: "#") {
                let marks = content.prefix { $0 == UInt8(ascii: "#") }.count
                return marks <= 6 && (content.count == marks || content[content.startIndex + marks] == 0x20)
            }
            let next = rest.prefix { $0 != 0x0A }
            let isUnderline = next.count >= 3 && next.allSatisfy { $0 == UInt8(ascii: "=") || $0 == 0x0D }
            return isUnderline
        }
        return false
    }

    private static func containsCommentEnd(_ line: ArraySlice<UInt8>) -> Bool {
        var run = 0
        for byte in line {
            if byte == UInt8(ascii: ">"), run >= 2 { return true }
            run = byte == UInt8(ascii: "-") ? run + 1 : 0
        }
        return false
    }
}

/// A title without control characters and at most `Item.titleByteCountMax` long; nil if nothing is left.
func cleanTitle(_ text: String) -> String? {
    var result = ""
    for character in text.trimmedBlanks() {
        let isControl = character.utf8.contains { $0 < 0x20 || $0 == 0x7F }
        guard result.utf8.count + character.utf8.count <= Item.titleByteCountMax else { break }
        result.append(isControl ? " " : character)
    }
    return result.isEmpty ? nil : result
}

/// The keys that Coffret understands, taken from a block; everything else becomes a raw field.
struct FrontMatterReading {
    var title: String?
    var tags: [TagPath] = []
    var created: Int64?
    var modified: Int64?
    var flags: FlagSet = []
    /// References to files that belong to the note though its text does not mention them.
    var attachments: [String] = []
    var rawFields: [(label: String, value: String)] = []

    static let titleKeys = ["title"]
    /// A file in the trash is no note of a folder.
    static let flags = Flag.allCases.filter { $0 != .trashed }
    static let tagKeys = ["tags", "tag"]
    static let createdKeys = ["created", "created_at", "date", "creation date", "date created"]
    static let modifiedKeys = [
        "updated", "modified", "updated_at", "modified_at", "lastmod", "last modified", "date modified",
    ]

    mutating func read(_ block: FrontMatter?) {
        for entry in block?.entries ?? [] {
            // A value that its key cannot take is kept raw, so that nothing is lost.
            if !take(entry.key.asciiLowercased(), entry.value) { keep(entry) }
        }
    }

    /// Whether the key is known and its value understood.
    private mutating func take(_ key: String, _ value: FrontMatter.Value) -> Bool {
        switch value {
        case .text(let text) where Self.titleKeys.contains(key):
            guard title == nil, let clean = cleanTitle(text) else { return text.isEmpty }
            title = clean
        case .text(let text) where Self.tagKeys.contains(key):
            return add(tags: text.split(separator: ",").map(String.init))
        case .list(let items) where Self.tagKeys.contains(key):
            return add(tags: items)
        case .list(let items) where key == "attachments":
            guard items.allSatisfy({ SourceLink(listed: $0) != nil }) else { return false }
            attachments += items
        case .text(let text) where Self.createdKeys.contains(key):
            guard created == nil, let time = try? CivilTime.parse(text) else { return false }
            created = time
        case .text(let text) where Self.modifiedKeys.contains(key):
            guard modified == nil, let time = try? CivilTime.parse(text) else { return false }
            modified = time
        case .text(let text):
            guard let flag = Flag(rawValue: key), Self.flags.contains(flag), let isSet = Self.flag(text) else {
                return false
            }
            flags[flag] = isSet
        default: return false
        }
        return true
    }

    private mutating func add(tags texts: [String]) -> Bool {
        var isComplete = true
        for text in texts where !text.trimmedBlanks().isEmpty {
            guard let tag = try? TagPath(text) else {
                isComplete = false
                continue
            }
            if !tags.contains(where: { $0.folded == tag.folded }) { tags.append(tag) }
        }
        return isComplete
    }

    private mutating func keep(_ entry: FrontMatter.Entry) {
        let label = String(printableText(entry.key.utf8).prefix(80))
        rawFields.append((label, entry.value.displayText))
    }

    static func flag(_ text: String) -> Bool? {
        switch text.asciiLowercased() {
        case "true", "yes", "on": true
        case "false", "no", "off", "": false
        default: nil
        }
    }
}
