// Front matter for export. Invariant: what is written reads back as the same values, and entries that did not change
// keep their bytes.

/// A change to front matter.
package struct FrontMatterChange: Equatable, Sendable {
    /// The key, in lower case for keys that Coffret knows.
    package let key: String
    /// The new value; nil removes the key.
    package let value: FrontMatter.Value?

    package init(_ key: String, _ value: FrontMatter.Value?) {
        self.key = key
        self.value = value
    }
}

/// Puts front matter together.
package enum FrontMatterWriter {
    /// The block with some keys replaced, removed or added at the end; all other lines as they were.
    ///
    /// - Parameter original: nil for a note that had none.
    /// - Returns: an empty string if nothing is left to say and there was no block before.
    package static func text(replacing changes: [FrontMatterChange], in original: FrontMatter?) -> String {
        let lineEnd = original?.lineEnd ?? "\n"
        var lines: [String] = []
        var done = Set<String>()
        var next = 0
        let changed = Dictionary(changes.map { ($0.key.asciiLowercased(), $0) }, uniquingKeysWith: { $1 })
        for entry in original?.entries ?? [] {
            lines.append(contentsOf: original?.lines[next..<entry.lineRange.lowerBound] ?? [])
            next = entry.lineRange.upperBound
            guard let change = changed[entry.key.asciiLowercased()] else {
                lines.append(contentsOf: original?.lines[entry.lineRange] ?? [])
                continue
            }
            // A key that stands twice is written once.
            guard done.insert(change.key.asciiLowercased()).inserted, let value = change.value else { continue }
            lines.append(contentsOf: Self.lines(key: entry.key, value: value).map { $0 + lineEnd })
        }
        lines.append(contentsOf: original?.lines[next...] ?? [])
        for change in changes where !done.contains(change.key.asciiLowercased()) {
            guard let value = change.value else { continue }
            done.insert(change.key.asciiLowercased())
            lines.append(contentsOf: Self.lines(key: change.key, value: value).map { $0 + lineEnd })
        }
        if original == nil, lines.isEmpty { return "" }
        return (original?.opening ?? "---\n") + lines.joined() + (original?.closing ?? "---\n")
    }

    private static func lines(key: String, value: FrontMatter.Value) -> [String] {
        let key = isPlain(key) && !key.contains(":") ? key : quoted(key)
        switch value {
        case .text(let text): return ["\(key): \(scalar(text))"]
        case .list(let items): return items.isEmpty ? ["\(key): []"] : ["\(key):"] + items.map { "  - \(scalar($0))" }
        case .raw(let text):
            // Raw values were read from a block and start either on the key's line or below it.
            let rows = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            let first = rows.first ?? ""
            if rows.count == 1 { return ["\(key): \(first)"] }
            return ["\(key):"] + rows.map { $0.hasPrefix(" ") ? $0 : "  " + $0 }
        }
    }

    /// A scalar that reads back as exactly `text`.
    package static func scalar(_ text: String) -> String {
        isPlain(text) ? text : quoted(text)
    }

    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last, first != 0x20, last != 0x20 else { return false }
        guard !"-?:,[]{}#&*!|>'\"%@`~=".utf8.contains(first), last != UInt8(ascii: ":") else { return false }
        // Words that YAML reads as something else than text.
        guard !["true", "false", "yes", "no", "on", "off", "null"].contains(text.asciiLowercased()) else {
            return false
        }
        // Other readers would take these for a number or a time.
        guard text.utf8.contains(where: { !"0123456789.+-:_eE".utf8.contains($0) }) else { return false }
        guard !text.unicodeScalars.contains(where: isEscaped) else { return false }
        var previous: UInt8 = 0
        for byte in text.utf8 {
            if previous == UInt8(ascii: ":"), byte == 0x20 { return false }
            if previous == 0x20, byte == UInt8(ascii: "#") { return false }
            previous = byte
        }
        return true
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where isEscaped(scalar):
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Control characters, line ends of other kinds and what YAML does not allow as it stands.
    private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x2029, 0xFEFF, 0xFFFE...0xFFFF: true
        default: false
        }
    }
}
