// Where the links of a note point to inside an import. Links stay in the text as they were written; the
// one thing to keep true here is that what counts as a link to a file is what the vault later follows.

internal import CoffretCore

/// A link of a note that may point to another file of the import.
package struct SourceLink: Equatable, Sendable {
    /// The target of the link.
    package enum Target: Equatable, Sendable {
        /// A relative path, percent-decoded, without fragment and query.
        case path([UInt8])
        /// The inside of `[[…]]`: a title, a file name or a path.
        case wiki([UInt8])
    }

    package let target: Target
    /// Whether the target is shown in place: an image or `![[…]]`.
    package let isEmbed: Bool

    /// A file that front matter lists; nil if the reference is not a relative path.
    init?(listed reference: String) {
        guard let path = Self.relativePath(of: Array(reference.utf8)), path.first != UInt8(ascii: "/") else {
            return nil
        }
        self.init(target: .path(path), isEmbed: true)
    }

    init(target: Target, isEmbed: Bool) {
        self.target = target
        self.isEmbed = isEmbed
    }

    /// The links of a text that do not lead out of the folder by an address of their own.
    static func links(of scan: MarkdownScan, in text: [UInt8]) -> [SourceLink] {
        scan.links.compactMap { link in
            let written = Array(link.destination.utf8)
            if link.form == .wiki {
                var open = link.destinationRange.lowerBound
                while open > 0, text[open - 1] == 0x20 || text[open - 1] == 0x09 { open -= 1 }
                let isEmbed = open >= 3 && text[open - 3] == UInt8(ascii: "!")
                return SourceLink(target: .wiki(written), isEmbed: isEmbed)
            }
            guard let path = relativePath(of: written) else { return nil }
            return SourceLink(target: .path(path), isEmbed: link.form == .image)
        }
    }

    /// The path of a destination, with `/` in front if it begins at the top of the source; nil for addresses with a
    /// scheme or a host and for fragments.
    static func relativePath(of destination: [UInt8]) -> [UInt8]? {
        guard let first = destination.first, first != UInt8(ascii: "#"), first != UInt8(ascii: "?"),
            !destination.starts(with: "//".utf8)
        else { return nil }
        let end = destination.firstIndex { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "?") } ?? destination.endIndex
        let path = destination[..<end]
        if let colon = path.firstIndex(of: UInt8(ascii: ":")), !path[..<colon].contains(UInt8(ascii: "/")) {
            return nil
        }
        guard !path.isEmpty else { return nil }
        return percentDecoded(path) ?? Array(path)
    }
}

/// Finds the entries of a listing that links point to.
package struct LinkIndex: Sendable {
    private let indexOfPath: [SourcePath: Int]
    /// Entries by file name and, for notes, by name without extension, in lower case.
    private let indexesOfName: [[UInt8]: [Int]]
    private let entries: [SourceEntry]

    package init(_ entries: [SourceEntry]) {
        self.entries = entries
        var byPath: [SourcePath: Int] = Dictionary(minimumCapacity: entries.count)
        var byName: [[UInt8]: [Int]] = Dictionary(minimumCapacity: entries.count)
        for (index, entry) in entries.enumerated() {
            byPath[entry.path] = index
            byName[Self.folded(entry.path.name), default: []].append(index)
            if entry.path.isMarkdown { byName[Self.folded(entry.path.stem), default: []].append(index) }
        }
        indexOfPath = byPath
        indexesOfName = byName
    }

    /// The entry with a path.
    package func index(of path: SourcePath) -> Int? { indexOfPath[path] }

    /// The entry that a link in the note at `path` points to; nil if there is none.
    package func resolve(_ link: SourceLink, from path: SourcePath) -> Int? {
        switch link.target {
        case .path(let reference) where reference.first == UInt8(ascii: "/"):
            return SourcePath.resolve(reference.dropFirst(), in: []).flatMap { indexOfPath[$0] }
        case .path(let reference):
            guard let target = SourcePath.resolve(reference[...], in: path.folder) else { return nil }
            return indexOfPath[target]
        case .wiki(let name):
            return resolveWiki(name, from: path)
        }
    }

    /// A path from the note or from the top, with or without `.md`, a name anywhere, or the end of a path; the nearest
    /// wins, which is the one that shares most folders with the note, then the first.
    private func resolveWiki(_ name: [UInt8], from path: SourcePath) -> Int? {
        for suffix in [[], Array(".md".utf8)] {
            for folder in [path.folder, []] {
                if let target = SourcePath.resolve((name + suffix)[...], in: folder), let index = indexOfPath[target] {
                    return index
                }
            }
        }
        let parts = name.split(separator: UInt8(ascii: "/"))
        guard let last = parts.last else { return nil }
        let folders = parts.dropLast().map(Self.folded)
        var candidates = (indexesOfName[Self.folded(last)] ?? []).filter { index in
            entries[index].path.components.dropLast().suffix(folders.count).map(Self.folded) == folders
        }
        // Logseq writes the slash of a page's name so in the name of its file.
        if candidates.isEmpty, parts.count > 1 {
            candidates = indexesOfName[Self.folded(Array(parts.joined(separator: Array("___".utf8)))[...])] ?? []
        }
        return candidates.max {
            sharedDepth($0, path) < sharedDepth($1, path) || (sharedDepth($0, path) == sharedDepth($1, path) && $0 > $1)
        }
    }

    private func sharedDepth(_ index: Int, _ path: SourcePath) -> Int {
        zip(entries[index].path.components.dropLast(), path.components.dropLast()).prefix { $0 == $1 }.count
    }

    private static func folded(_ name: ArraySlice<UInt8>) -> [UInt8] {
        name.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
    }
}
