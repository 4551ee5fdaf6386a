// Titles as names. Invariant: two texts that people take for the same name have the same key; what the key lets
// through is compared once more.

internal import CoffretSQLite

/// The form of titles in the `name` table.
enum NameKey {
    static let byteCountMax = 256

    /// The words of a name, folded, with single spaces between them; a name without words stands for itself.
    static func derive(_ name: String, _ tokenizer: ScriptTokenizer) -> String {
        var key: [UInt8] = []
        tokenizer.forEachWord(of: name) { folded, _ in
            if !key.isEmpty { key.append(0x20) }
            unsafe folded.withUnsafeBytes { unsafe key.append(contentsOf: $0) }
            return key.count < byteCountMax
        }
        if key.isEmpty { key = Array(name.lowercased().utf8.prefix(byteCountMax)) }
        return String(decoding: key, as: UTF8.self)
    }

    /// The same name but for case and spaces around it; composed and decomposed letters are equal.
    static func isSame(_ left: String, _ right: String) -> Bool {
        trimmed(left).lowercased() == trimmed(right).lowercased()
    }

    static func hasPrefix(_ name: String, _ prefix: String) -> Bool {
        trimmed(name).lowercased().hasPrefix(trimmed(prefix).lowercased())
    }

    private static func trimmed(_ text: String) -> Substring {
        var text = text[...]
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
