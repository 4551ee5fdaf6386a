// The lines of front matter into entries. Invariant: every line belongs to an entry or stands before the first one, so
// that a block can be put together again with single entries replaced.

/// Parses the lines between the fences.
struct FrontMatterParser {
    let lines: [String]

    /// The entries, or nil if the lines are not front matter.
    func parse() -> [FrontMatter.Entry]? {
        var entries: [FrontMatter.Entry] = []
        var index = 0
        while index < lines.count, isBlankOrComment(lines[index]) { index += 1 }
        while index < lines.count {
            guard let (key, rest) = splitKey(lines[index]) else { return nil }
            var end = index + 1
            while end < lines.count, belongsToEntry(lines[end]) { end += 1 }
            let value = parseValue(rest: rest, following: lines[(index + 1)..<end])
            entries.append(FrontMatter.Entry(key: key, value: value, lineRange: index..<end))
            index = end
        }
        return entries
    }

    private func isBlankOrComment(_ line: String) -> Bool {
        let trimmed = line.trimmedBlanks()
        return trimmed.isEmpty || trimmed.hasPrefix("#")
    }

    /// Indented lines, list items at the margin, blank lines and comments belong to the entry above.
    private func belongsToEntry(_ line: String) -> Bool {
        guard let first = line.utf8.first else { return true }
        if first == 0x20 || first == 0x09 || first == UInt8(ascii: "#") { return true }
        return line == "-" || line.hasPrefix("- ") || line.hasPrefix("]")
    }

    /// `key: rest`; the key may be quoted and may hold blanks and colons that no blank follows.
    private func splitKey(_ line: String) -> (key: String, rest: String)? {
        let bytes = Array(line.utf8)
        guard let first = bytes.first, first != 0x20, first != 0x09, !"-[]{}>|*&!%@`,?#".utf8.contains(first) else {
            return nil
        }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return splitQuotedKey(line, quote: first) }
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: ":") {
            let isLast = index + 1 == bytes.count
            guard isLast || bytes[index + 1] == 0x20 || bytes[index + 1] == 0x09 else { continue }
            let key = String(decoding: bytes[..<index], as: UTF8.self).trimmedBlanks()
            guard !key.isEmpty, key.utf8.count <= 200 else { return nil }
            return (key, String(decoding: bytes[(index + 1)...], as: UTF8.self).trimmedBlanks())
        }
        return nil
    }

    /// `"key": rest`; the key has no escape in it.
    private func splitQuotedKey(_ line: String, quote: UInt8) -> (key: String, rest: String)? {
        let behind = line.utf8.dropFirst()
        guard let end = behind.firstIndex(of: quote) else { return nil }
        let key = String(line[behind.startIndex..<end])
        let rest = String(line.utf8[end...].dropFirst()) ?? ""
        guard !key.isEmpty, !key.contains("\\"), rest.trimmedBlanks().hasPrefix(":") else { return nil }
        return (key, String(rest.trimmedBlanks().dropFirst()).trimmedBlanks())
    }

    /// libyaml reads each value by itself, so that one that is no YAML spoils no other.
    private func parseValue(rest: String, following: ArraySlice<String>) -> FrontMatter.Value {
        switch YAMLValue(rest: rest, following: following) {
        case .text(let text): return .text(text)
        case .list(let items): return .list(items)
        case .notYAML:
            if let loose = looseValue(rest, following.filter { !isBlankOrComment($0) }) { return loose }
        case .other: break
        }
        return .raw(([rest] + following).joined(separator: "\n").trimmedBlanks())
    }

    /// What people write though YAML refuses it: `title: Part 2: the end`, `by: @name`, `tags: [#a, #b]`, tabs.
    private func looseValue(_ rest: String, _ following: [String]) -> FrontMatter.Value? {
        guard let first = rest.utf8.first else {
            // Items that do not stand below each other.
            let items = following.map { $0.trimmedBlanks() }
            guard items.allSatisfy({ $0.hasPrefix("- ") && !$0.contains(": ") && !$0.hasSuffix(":") }) else {
                return nil
            }
            return .list(items.map { String($0.dropFirst(2)).trimmedBlanks() })
        }
        guard !"\"'{&*!|>".utf8.contains(first) else { return nil }
        if first == UInt8(ascii: "[") {
            let inner = rest.dropFirst().dropLast()
            guard rest.hasSuffix("]"), following.isEmpty, !inner.contains(where: { "[]{}\"'".contains($0) }) else {
                return nil
            }
            return .list(inner.split(separator: ",").map { String($0).trimmedBlanks() }.filter { !$0.isEmpty })
        }
        let text = ([rest] + following.map { $0.trimmedBlanks() }).joined(separator: " ")
        return .text((text.firstRange(of: " #").map { String(text[..<$0.lowerBound]) } ?? text).trimmedBlanks())
    }
}
