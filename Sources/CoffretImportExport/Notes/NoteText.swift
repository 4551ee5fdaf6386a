// Small tools of the readers of notes: texts within their limits, tags, links. Invariant: a text that comes in was looked at
// whole, and a tag that Coffret cannot have is kept in another form.

internal import CoffretBase
internal import CoffretCore

/// A text file of another program as text.
///
/// - Throws: `.noteTooLarge`, `.lineTooLong`; `.formatInvalid` if it is not UTF-8 or holds NUL bytes.
func noteText(_ bytes: [UInt8], subject: String, limits: ImportLimits) throws(ImportExportError) -> String {
    let bytes = withoutMark(bytes)
    guard bytes.count <= min(limits.noteByteCountMax, Item.textByteCountMax) else {
        throw ImportExportError(.noteTooLarge, at: "bytes \(bytes.count)", subject: subject)
    }
    var lineStart = 0
    for index in bytes.indices where bytes[index] == 0x0A || bytes[index] == 0 {
        guard bytes[index] != 0 else { throw ImportExportError(.formatInvalid, at: "a NUL byte", subject: subject) }
        guard index - lineStart <= limits.lineByteCountMax else {
            throw ImportExportError(.lineTooLong, subject: subject)
        }
        lineStart = index + 1
    }
    guard bytes.count - lineStart <= limits.lineByteCountMax else {
        throw ImportExportError(.lineTooLong, subject: subject)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
        throw ImportExportError(.formatInvalid, at: "not UTF-8", subject: subject)
    }
    return text
}

extension ForeignItem {
    /// Checks the text that a reader made or took out of a larger file.
    ///
    /// - Throws: as `noteText`.
    mutating func setText(_ text: String, subject: String, limits: ImportLimits) throws(ImportExportError) {
        draft.text = try noteText(Array(text.utf8), subject: subject, limits: limits)
    }

    /// A label of the source becomes a tag; characters that no tag may have become hyphens.
    mutating func addTag(_ label: String, original: String = "tag") {
        let clean = String(
            label.unicodeScalars.map { scalar -> Character in
                scalar == "#" || scalar == "," || scalar.value < 0x20 || scalar.value == 0x7F
                    ? "-" : Character(scalar)
            })
        guard let tag = try? TagPath(clean) else { return add(original, label) }
        if !draft.tags.contains(where: { $0.folded == tag.folded }) { draft.tags.append(tag) }
    }

    /// Where the item would lie as a file of the source: links and files are relative to it.
    mutating func setPath(_ path: String, in sink: ForeignSink) { draft.path = sink.place(of: path) }
}

/// A Markdown text with other destinations in its links and pictures.
///
/// - Parameter destination: the new one; nil to leave it.
/// - Complexity: linear in the text.
func relinked(_ text: String, _ destination: (String) -> String?) -> String {
    let bytes = Array(text.utf8)
    let scan = MarkdownScan(bytes: bytes)
    var result: [UInt8] = []
    var end = 0
    for link in scan.links.sorted(by: { $0.destinationRange.lowerBound < $1.destinationRange.lowerBound }) {
        let range = link.destinationRange
        guard range.lowerBound >= end, let new = destination(link.destination) else { continue }
        result += bytes[end..<range.lowerBound] + Array(new.utf8)
        end = range.upperBound
    }
    return end == 0 ? text : String(decoding: result + bytes[end...], as: UTF8.self)
}

/// The text of a path as the destination of a link.
func linkDestination(_ path: some Collection<UInt8>) -> String {
    String(decoding: percentEncoded(path), as: UTF8.self)
}

extension ForeignSink {
    /// The place of an item or file in the vault, of its path in the source.
    func place(of path: String) -> String { root + "/" + path }

    /// A file of a note: the name, content and place of an entry.
    func file(_ entry: Int, of source: ForeignSource, id: String? = nil, name: String? = nil) -> ForeignFile {
        let path = source.entries[entry].path
        let ownName = String(decoding: path.name, as: UTF8.self)
        var file = ForeignFile(
            name: name ?? ownName, id: id ?? ownName, content: .entry(entry),
            created: source.entries[entry].modifiedMilliseconds)
        file.path = place(of: String(decoding: path.bytes, as: UTF8.self))
        return file
    }
}
