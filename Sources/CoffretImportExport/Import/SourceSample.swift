// The parts that recognition looks at: the paths of a source and the first bytes of a few of its files. Invariant: each of these is
// read once, however many formats look at it.

internal import CoffretBase

/// A source as recognition sees it.
package final class SourceSample {
    let source: any ImportSource
    /// The paths in lower case ASCII, in the order of the listing.
    let paths: [String]
    /// The name of the file or folder that the person named, in lower case ASCII.
    let place: String
    /// The name of the import in lower case ASCII: in an archive the folder that all its files lie in.
    let root: String
    /// Whether some file is called Markdown; other files are attachments then.
    let hasNotes: Bool

    private var heads: [Int: Head] = [:]

    /// Bytes of a file that are looked at.
    static let headByteCount = 16 << 10
    /// Files whose first bytes are looked at.
    private static let headCountMax = 3
    private static let tellingExtensions: Set<String> = [
        "json", "xml", "enex", "csv", "txt", "kdbx", "kdb", "1pif", "2fas", "html", "nnbackup", "data", "",
    ]

    /// The first bytes of a file, and what they say.
    final class Head {
        let bytes: [UInt8]
        /// Repaired where the sample ends inside a character.
        private(set) lazy var text = String(decoding: bytes, as: UTF8.self)
        /// The members of JSON as paths, `items.login.uris`: arrays add nothing to the path.
        private(set) lazy var jsonPaths = jsonMemberPaths(ofPrefix: bytes)
        /// The cells of a table's header in lower case; nil if this is no table.
        private(set) lazy var columns = CSVTable.firstRow(bytes).map { row in
            Set(row.map { $0.trimmedBlanks().asciiLowercased() })
        }

        init(_ bytes: [UInt8]) { self.bytes = bytes }
    }

    package init(_ source: any ImportSource) {
        self.source = source
        paths = source.listing.entries.map { String(decoding: $0.path.bytes, as: UTF8.self).asciiLowercased() }
        place = lastComponent(of: source.location).asciiLowercased()
        root = source.name.asciiLowercased()
        hasNotes = source.listing.entries.contains { $0.path.isMarkdown }
    }

    /// The first bytes of an entry.
    func head(ofEntry index: Int) throws(ImportExportError) -> Head {
        if let known = heads[index] { return known }
        let head = Head(try source.prefix(ofEntry: index, byteCount: Self.headByteCount))
        heads[index] = head
        return head
    }

    /// The entries whose first bytes may tell the format; none among notes.
    var tellingEntries: [Int] {
        let entries = source.listing.entries
        if entries.count == 1 { return [0] }
        guard !hasNotes else { return [] }
        let telling = entries.indices.filter { Self.tellingExtensions.contains(entries[$0].path.fileExtension) }
        return Array(telling.prefix(Self.headCountMax))
    }

    /// The entry with this path, or with this end of a path behind a slash.
    func entry(at path: String) -> Int? { paths.firstIndex { $0 == path || $0.hasSuffix("/" + path) } }

    /// Whether more than half of these paths are such.
    static func isMost(of paths: [String], _ isMember: (String) -> Bool) -> Bool {
        !paths.isEmpty && paths.count(where: isMember) * 2 > paths.count
    }
}

/// The members of a JSON text that may be cut short, as paths; empty if it is none.
///
/// - Complexity: one pass; at most 4,096 different paths are kept.
private func jsonMemberPaths(ofPrefix bytes: [UInt8]) -> Set<String> {
    var reader = JSONReader(withoutMark(bytes))
    var paths: Set<String> = []
    // The name of each open object's current member; nil within an array.
    var open: [String?] = []
    do throws(JSONError) {
        while paths.count < 4_096 {
            switch try reader.next() {
            case .beginObject: open.append("")
            case .beginArray: open.append(nil)
            case .endObject, .endArray: open.removeLast()
            case .name(let name):
                open[open.count - 1] = name
                paths.insert(open.compactMap { $0 }.joined(separator: "."))
            case .string, .number, .bool, .null: continue
            case .end: return paths
            }
        }
    } catch {
        // The text ends within the sample, or is none from here on.
    }
    return paths
}

/// The bytes without a byte order mark.
func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
}
