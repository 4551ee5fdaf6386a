// The target of a link in a note. Invariant: the same place always has the same key, from the side of the link as from
// the side of the note, so that links and backlinks are the same relation.

internal import CoffretBase
package import CoffretStorage

/// The names by which notes are linked to.
///
/// A note answers to its title and its aliases, in any case, to the path that it was imported from, to the name
/// of its file and the ends of its path, in any case, and to `coffret:` with its id. A link names one or more.
package enum NoteLink {
    /// The scheme of links that name an id: `[Tomatoes](coffret:4f7a…)`, with all 32 digits.
    package static let scheme = "coffret:"

    /// How many ends of a path an item answers to.
    private static let pathEndCountMax = 8

    /// The keys that an item answers to: `i:` and its id, `t:` and its title or an alias in lower case, `p:` and its
    /// path, `n:` and the name of its file in lower case, without `.md`, `s:` and an end of its path, likewise.
    package static func keys(of id: EntityID, title: String, path: String?, aliases: [String] = []) -> [String] {
        var keys = ["i:" + id.uuid.hex]
        for name in [title] + aliases where !name.isEmpty && !keys.contains("t:" + name.lowercased()) {
            keys.append("t:" + name.lowercased())
        }
        if let path { keys += ["p:" + path, "n:" + fileName(path)] + pathEnds(path).map { "s:" + $0 } }
        return keys
    }

    /// The keys of an item; those of one that is locked or hidden tell nothing of its contents.
    static func keys(of item: Item, title: String) -> [String] {
        let hasContents = !item.isLocked && !item.isHidden
        return keys(
            of: item.id, title: title, path: item.path,
            aliases: hasContents ? aliases(fields: item.fields, text: item.text) : [])
    }

    /// The ends of a path with at least one folder and without the first, `b/c` and `a/b/c` of `root/x/a/b/c.md`; and
    /// the name of a file in which `___` stands for the slash, as Logseq writes it.
    private static func pathEnds(_ path: String) -> [String] {
        let name = fileName(path)
        let folders = path.split(separator: "/").dropLast().dropFirst(2).map { $0.lowercased() }
        var ends: [String] = []
        var end = name
        for folder in folders.reversed().prefix(pathEndCountMax) {
            end = folder + "/" + end
            ends.append(end)
        }
        let parts = name.split(separator: "___", omittingEmptySubsequences: false)
        if parts.count > 1, !parts.contains("") { ends.append(parts.joined(separator: "/")) }
        return ends
    }

    /// The names beside its title that an item gives itself: the field `alias` or `aliases`, and the line `alias::` among
    /// the first ones of its text, each with commas between the names.
    package static func aliases(fields: [ItemField], text: String) -> [String] {
        var texts = fields.filter { !$0.kind.isSecret && isAliasKey($0.label) }.map(\.value)
        for line in text.split(separator: "\n", maxSplits: 10, omittingEmptySubsequences: false).prefix(10) {
            // Most lines have no colon, and the search for a byte is quick.
            guard line.utf8.contains(UInt8(ascii: ":")), let mark = line.firstRange(of: "::") else { break }
            if isAliasKey(String(line[..<mark.lowerBound])) { texts.append(String(line[mark.upperBound...])) }
        }
        return texts.flatMap { $0.split(separator: ",") }.map { name in
            String(name.drop { aliasMarks.contains($0) }.reversed().drop { aliasMarks.contains($0) }.reversed())
        }
        .filter { !$0.isEmpty }
    }

    /// Blanks, quotes and brackets around a name.
    private static let aliasMarks: Set<Character> = [" ", "\t", "\r", "\"", "'", "[", "]"]

    private static func isAliasKey(_ key: String) -> Bool { ["alias", "aliases"].contains(key.lowercased()) }

    /// The last part of a path in lower case, without `.md`.
    private static func fileName(_ path: String) -> String {
        let name = lastPart(path).lowercased()
        return name.hasSuffix(".md") && name != ".md" ? String(name.dropLast(3)) : name
    }

    /// The part behind the last slash that is not at the end.
    private static func lastPart(_ path: String) -> Substring {
        // In ASCII a slash is always a character of its own; elsewhere a mark may combine with it.
        guard path.utf8.allSatisfy({ $0 < 0x80 }) else { return path.split(separator: "/").last ?? path[...] }
        let slash = UInt8(ascii: "/")
        var part = path.utf8[...]
        while part.last == slash { part.removeLast() }
        guard !part.isEmpty else { return path[...] }
        if let before = part.lastIndex(of: slash) { part = part[part.index(after: before)...] }
        return Substring(part)
    }

    /// The keys of the inside of `[[…]]`: a title or alias; a path from the note's folder or from the top of its import,
    /// with or without `.md`; the name of a file anywhere, or the end of a path.
    private static func keys(ofWiki text: String, from path: String?) -> [String] {
        var keys = ["t:" + text.lowercased()]
        // Any file at the top serves as the place from which the top is seen.
        let top = path?.split(separator: "/").first.map { "\($0)/-" }
        let bases: [String?] = path == nil ? [nil] : [path, top]
        for base in bases {
            guard let target = relativePath(text, from: base) else { continue }
            for key in ["p:" + target, "p:" + target + ".md"] where !keys.contains(key) { keys.append(key) }
        }
        guard text.contains("/") else { return keys + ["n:" + fileName(text)] }
        let folded = text.lowercased()
        return keys + ["s:" + (folded.hasSuffix(".md") ? String(folded.dropLast(3)) : folded)]
    }

    /// The keys that a link may mean, the likeliest first; empty for addresses of other kinds, for images and
    /// for fragments of the same note.
    ///
    /// - Parameter path: where the linking note was imported from; relative links start in its folder.
    package static func keys(in link: MarkdownScan.Link, from path: String?) -> [String] {
        link.form == .image ? [] : keys(of: link.destination, isWiki: link.form == .wiki, from: path)
    }

    /// The same of a destination alone.
    ///
    /// - Parameter isWiki: whether it stands in `[[…]]`.
    package static func keys(of destination: String, isWiki: Bool, from path: String?) -> [String] {
        isWiki ? keys(ofWiki: destination, from: path) : key(inAddress: destination, from: path).map { [$0] } ?? []
    }

    private static func key(inAddress address: String, from path: String?) -> String? {
        guard address.lowercased().hasPrefix(scheme) else { return relativePath(address, from: path).map { "p:" + $0 } }
        return digits(ofAddress: address).map { "i:" + $0 }
    }

    private static func digits(ofAddress address: String) -> String? {
        let digits = address.dropFirst(scheme.count).lowercased()
        return digits.utf8.count == 32 && digits.allSatisfy(\.isHexDigit) ? digits : nil
    }

    /// The note that an address names by its id, there or not; nil for any other address.
    package static func note(ofAddress address: String) -> EntityID? {
        guard address.lowercased().hasPrefix(scheme), let digits = digits(ofAddress: address),
            let bytes = try? Hex.decode(digits)
        else { return nil }
        return EntityID(bytes: [ItemKind.note.rawValue] + bytes)
    }

    /// The path that an address means in the folder tree of the import; `/` at its beginning is the top of the import.
    ///
    /// - Returns: nil if the address has a scheme or a host, is only a fragment, or climbs out of the tree.
    package static func relativePath(_ address: String, from path: String?) -> String? {
        let end = address.utf8.firstIndex { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "?") }
        let bytes = Array(address.utf8[..<(end ?? address.utf8.endIndex)])
        guard let first = bytes.first, !bytes.starts(with: "//".utf8) else { return nil }
        // A scheme is letters, digits, "+", "-" and "." before the first colon, and a path has no colon there.
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), !bytes[..<colon].contains(UInt8(ascii: "/")) {
            return nil
        }
        guard let decoded = PercentCoding.decode(bytes[...]) else { return nil }
        let folders = (path ?? "").split(separator: "/").dropLast().map(String.init)
        let isFromTop = first == UInt8(ascii: "/")
        guard !isFromTop || !folders.isEmpty else { return nil }
        var parts = isFromTop ? Array(folders.prefix(1)) : folders
        for part in decoded.split(separator: "/") {
            switch part {
            case ".": continue
            case "..":
                guard parts.popLast() != nil else { return nil }
            default: parts.append(String(part))
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: "/")
    }
}

/// Percent escapes of addresses.
package enum PercentCoding {
    /// The text behind the escapes; nil for a broken escape or for bytes that are not UTF-8.
    static func decode(_ bytes: ArraySlice<UInt8>) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == UInt8(ascii: "%") {
                guard index + 2 < bytes.endIndex, let high = hexValue(bytes[index + 1]),
                    let low = hexValue(bytes[index + 2])
                else { return nil }
                output.append(high << 4 | low)
                index += 3
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return String(validating: output, as: UTF8.self)
    }

    /// The text with everything escaped but what addresses may hold anywhere (RFC 3986 section 2.3).
    ///
    /// - Parameter keeping: characters beyond those that stay, such as the slashes of a path.
    package static func encode(_ text: String, keeping: [UInt8] = []) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: output.append(byte)
            case _ where keeping.contains(byte): output.append(byte)
            default: output += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
