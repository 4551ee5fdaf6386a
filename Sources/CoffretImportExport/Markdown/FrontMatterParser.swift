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
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
            guard let (key, end) = quoted(bytes[...]) else { return nil }
            let rest = String(decoding: bytes[end...], as: UTF8.self).trimmedBlanks()
            guard rest.hasPrefix(":"), !key.isEmpty else { return nil }
            return (key, String(rest.dropFirst()).trimmedBlanks())
        }
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: ":") {
            let isLast = index + 1 == bytes.count
            guard isLast || bytes[index + 1] == 0x20 || bytes[index + 1] == 0x09 else { continue }
            let key = String(decoding: bytes[..<index], as: UTF8.self).trimmedBlanks()
            guard !key.isEmpty, key.utf8.count <= 200 else { return nil }
            return (key, String(decoding: bytes[(index + 1)...], as: UTF8.self).trimmedBlanks())
        }
        return nil
    }

    private func parseValue(rest: String, following: ArraySlice<String>) -> FrontMatter.Value {
        let content = following.filter { !isBlankOrComment($0) }
        let raw = { () -> FrontMatter.Value in
            .raw(([rest] + following.map { $0 }).joined(separator: "\n").trimmedBlanks())
        }
        if rest.isEmpty || rest.hasPrefix("#") {
            guard !content.isEmpty else { return .text("") }
            return listItems(content).map { .list($0) } ?? raw()
        }
        if let first = rest.utf8.first, first == UInt8(ascii: "|") || first == UInt8(ascii: ">") {
            guard rest.utf8.dropFirst().allSatisfy({ $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }) else {
                return raw()
            }
            return .text(block(following, isFolded: first == UInt8(ascii: ">")))
        }
        if rest.hasPrefix("[") {
            let joined = ([rest] + content).joined(separator: " ")
            return inlineList(Array(joined.utf8)).map { .list($0) } ?? raw()
        }
        if rest.hasPrefix("{") || rest.hasPrefix("&") || rest.hasPrefix("*") || rest.hasPrefix("!") { return raw() }
        guard let text = scalar(([rest] + content.map { $0.trimmedBlanks() }).joined(separator: " ")) else {
            return raw()
        }
        return .text(text)
    }

    /// `- a` lines; nil if one of them is more than a scalar.
    private func listItems(_ lines: [String]) -> [String]? {
        var items: [String] = []
        for line in lines {
            let trimmed = line.trimmedBlanks()
            guard trimmed.hasPrefix("-") else { return nil }
            let item = String(trimmed.dropFirst()).trimmedBlanks()
            guard trimmed.utf8.count == 1 || trimmed.utf8.dropFirst().first == 0x20 else { return nil }
            let isQuoted = item.hasPrefix("\"") || item.hasPrefix("'")
            // `- name: x` is a map inside the list; `- [[Link]]` is what people write for links.
            if !isQuoted, item.contains(": ") || item.hasSuffix(":") || item.hasPrefix("- ") || item.hasPrefix("{") {
                return nil
            }
            guard let text = item.hasPrefix("[[") ? item : scalar(item) else { return nil }
            items.append(text)
        }
        return items
    }

    /// `[a, "b, c"]`; nil if it is not closed or nested.
    private func inlineList(_ bytes: [UInt8]) -> [String]? {
        var items: [String] = []
        var index = 1
        while true {
            while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
            guard index < bytes.count else { return nil }
            if bytes[index] == UInt8(ascii: "]") { break }
            if bytes[index] == UInt8(ascii: "[") || bytes[index] == UInt8(ascii: "{") { return nil }
            if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") {
                guard let (text, end) = quoted(bytes[index...]) else { return nil }
                items.append(text)
                index = end
            } else {
                let start = index
                while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != UInt8(ascii: "]") {
                    index += 1
                }
                items.append(String(decoding: bytes[start..<index], as: UTF8.self).trimmedBlanks())
            }
            while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
            guard index < bytes.count else { return nil }
            if bytes[index] == UInt8(ascii: ",") { index += 1 } else if bytes[index] != UInt8(ascii: "]") { return nil }
        }
        let rest = String(decoding: bytes[(index + 1)...], as: UTF8.self).trimmedBlanks()
        return rest.isEmpty || rest.hasPrefix("#") ? items.filter { !$0.isEmpty } : nil
    }

    /// A plain or quoted scalar, a comment behind it cut off; nil if a quote is not closed.
    private func scalar(_ text: String) -> String? {
        if text.hasPrefix("\"") || text.hasPrefix("'") {
            let bytes = Array(text.utf8)
            guard let (value, end) = quoted(bytes[...]) else { return nil }
            let rest = String(decoding: bytes[end...], as: UTF8.self).trimmedBlanks()
            return rest.isEmpty || rest.hasPrefix("#") ? value : nil
        }
        var bytes = Array(text.utf8)
        for index in bytes.indices.dropFirst() where bytes[index] == UInt8(ascii: "#") && bytes[index - 1] == 0x20 {
            bytes.removeSubrange(index...)
            break
        }
        let value = String(decoding: bytes, as: UTF8.self).trimmedBlanks()
        return value == "~" || value == "null" ? "" : value
    }

    /// A quoted scalar at the start of `bytes`, and the index behind its closing quote.
    private func quoted(_ bytes: ArraySlice<UInt8>) -> (String, Int)? {
        guard let quote = bytes.first else { return nil }
        var result: [UInt8] = []
        var index = bytes.startIndex + 1
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == quote {
                if quote == UInt8(ascii: "'"), index + 1 < bytes.endIndex, bytes[index + 1] == quote {
                    result.append(quote)
                    index += 2
                    continue
                }
                return (String(decoding: result, as: UTF8.self), index + 1)
            }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                guard index + 1 < bytes.endIndex, let (decoded, next) = escape(bytes, at: index + 1) else { return nil }
                result.append(contentsOf: String(decoded).utf8)
                index = next
                continue
            }
            result.append(byte)
            index += 1
        }
        return nil
    }

    private func escape(_ bytes: ArraySlice<UInt8>, at index: Int) -> (Unicode.Scalar, Int)? {
        let simple: [UInt8: Unicode.Scalar] = [
            UInt8(ascii: "n"): "\n", UInt8(ascii: "t"): "\t", UInt8(ascii: "r"): "\r", UInt8(ascii: "0"): "\0",
            UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: " "): " ",
        ]
        if let scalar = simple[bytes[index]] { return (scalar, index + 1) }
        let digitCounts: [UInt8: Int] = [UInt8(ascii: "x"): 2, UInt8(ascii: "u"): 4, UInt8(ascii: "U"): 8]
        guard let count = digitCounts[bytes[index]], index + count < bytes.endIndex else { return nil }
        let digits = String(decoding: bytes[(index + 1)...(index + count)], as: UTF8.self)
        guard let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number) else { return nil }
        return (scalar, index + count + 1)
    }

    private func block(_ lines: ArraySlice<String>, isFolded: Bool) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let indent =
            lines.filter { !$0.trimmedBlanks().isEmpty }.map { $0.utf8.prefix(while: isBlank).count }.min() ?? 0
        let texts = lines.map { String(decoding: $0.utf8.dropFirst(indent), as: UTF8.self) }
        return texts.joined(separator: isFolded ? " " : "\n").trimmedBlanks()
    }
}
