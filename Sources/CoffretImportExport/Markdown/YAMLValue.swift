// One value of front matter, read by libyaml. Invariant: a value that is more than a text or a list of texts is not
// taken apart.

internal import CYAML

/// The value of a key.
enum YAMLValue: Equatable {
    case text(String)
    case list([String])
    /// Maps, lists in lists, anchors and tags.
    case other
    /// The lines are no YAML, or libyaml is not installed.
    case notYAML

    /// Reads the lines of an entry.
    ///
    /// - Parameters:
    ///   - rest: the text behind the key and its colon.
    ///   - following: the other lines of the entry.
    init(rest: String, following: ArraySlice<String>) {
        let lines = ["k:" + (rest.isEmpty ? "" : " " + rest)] + following
        var collector = Collector(lines: lines)
        var text = lines.joined(separator: "\n") + "\n"
        let kind = unsafe withUnsafeMutablePointer(to: &collector) { collector in
            text.withUTF8 { bytes in
                unsafe coffret_yaml_value(
                    bytes.baseAddress, bytes.count,
                    { context, item in
                        // SAFETY: the context is the collector of this call, which outlives it.
                        guard let item = unsafe item?.pointee else { return }
                        unsafe context?.assumingMemoryBound(to: Collector.self).pointee.take(item)
                    }, collector)
            }
        }
        switch kind {
        case COFFRET_YAML_SCALAR: self = .text(collector.items.first ?? "")
        case COFFRET_YAML_LIST where collector.isComplete: self = .list(collector.items)
        case COFFRET_YAML_LIST, COFFRET_YAML_OTHER: self = .other
        default: self = .notYAML
        }
    }

    private struct Collector {
        let lines: [String]
        var items: [String] = []
        var isComplete = true

        mutating func take(_ item: coffret_yaml_item) {
            guard let start = unsafe item.bytes else {
                let link = unsafe text(line: item.line, from: item.column, to: item.end_column)
                isComplete = isComplete && link?.hasPrefix("[[") == true
                items.append(link ?? "")
                return
            }
            let bytes = unsafe UnsafeBufferPointer(start: start, count: item.byte_count)
            var text = unsafe String(decoding: bytes, as: UTF8.self)
            if unsafe item.is_plain != 0, ["~", "null", "Null", "NULL"].contains(text) { text = "" }
            if unsafe item.is_block != 0 { while text.utf8.last == 0x0A { text.removeLast() } }
            items.append(text)
        }

        private func text(line: Int, from column: Int, to endColumn: Int) -> String? {
            guard lines.indices.contains(line), column <= endColumn else { return nil }
            let scalars = lines[line].unicodeScalars
            guard let start = scalars.index(scalars.startIndex, offsetBy: column, limitedBy: scalars.endIndex),
                let end = scalars.index(scalars.startIndex, offsetBy: endColumn, limitedBy: scalars.endIndex)
            else { return nil }
            return String(scalars[start..<end])
        }
    }
}
