// Items with fields as text for an editor. The one thing to keep true: what the person left alone stays
// as it was, to the byte; a masked secret is unchanged unless something else stands in its place.

package import CoffretBase
package import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal

/// A form of `Label: value` lines, then `---`, then the text.
///
///     Title: GitHub
///     Tags: work/dev, code
///     Username: ada
///     Password: ••••••••
///     ---
///     Notes in Markdown.
package struct ItemForm: Equatable {
    /// A line of the form, whose value may go on in lines that begin with two spaces.
    package struct Line: Equatable {
        package let label: String
        package let value: String
        /// Where it begins in the form.
        package var number = 0
    }

    /// What a wrong form says.
    package struct Problem: Error, Equatable {
        package let lineNumber: Int
        package let message: String
    }

    package static let divider = "---"
    /// Stands for a secret, of whatever length.
    package static let mask = "••••••••"

    /// The form of an item.
    package static func text(for item: Item) -> String {
        var lines = [line("Title", item.title), line("Tags", item.givenTags.map(\.path).joined(separator: ", "))]
        lines += item.fields.map { line($0.label, $0.kind.isSecret ? mask : $0.value) }
        let missing = item.kind.standardFields.filter { standard in !item.fields.contains { $0.key == standard.key } }
        lines += missing.map { line($0.label, "") }
        return lines.joined() + divider + "\n" + item.text
    }

    private static func line(_ label: String, _ value: String) -> String {
        "\(label): \(value.replacing("\n", with: "\n  "))".trimmingEnd + "\n"
    }

    /// Lines and text of an edited form.
    package static func parse(_ text: String) throws(Problem) -> (lines: [Line], text: String) {
        var lines: [Line] = []
        var rest = text[...]
        var number = 0
        while let end = rest.firstIndex(of: "\n") ?? (rest.isEmpty ? nil : rest.endIndex) {
            let raw = rest[..<end]
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
            number += 1
            if raw == Substring(divider) { return (lines, String(rest)) }
            if raw.hasPrefix("  "), let last = lines.popLast() {
                lines.append(Line(label: last.label, value: "\(last.value)\n\(raw.dropFirst(2))", number: last.number))
                continue
            }
            if raw.allSatisfy({ $0 == " " }) { continue }
            guard let colon = raw.firstIndex(of: ":") else {
                throw Problem(lineNumber: number, message: "a line is \"Name: value\"; text stands below \(divider)")
            }
            let label = String(raw[..<colon]).trimmingEnd
            guard !label.isEmpty else { throw Problem(lineNumber: number, message: "a field needs a name") }
            let value = raw[raw.index(after: colon)...]
            lines.append(
                Line(label: label, value: String(value.hasPrefix(" ") ? value.dropFirst() : value), number: number))
        }
        throw Problem(lineNumber: number, message: "the line \(divider) between fields and text is missing")
    }

    /// Applies an edited form to an item.
    ///
    /// - Parameter random: makes keys for fields that are new.
    package static func apply(_ text: String, to item: inout Item, random: any RandomSource) throws {
        let (lines, body) = try parse(text)
        var kept: [ItemField] = []
        var unused = item.fields
        var position = (item.fields.map(\.position).max() ?? 0) + 1
        for line in lines {
            switch line.label.lowercased() {
            case "title":
                if line.value != item.title { item.givenTitle = line.value }
                continue
            case "tags":
                item.givenTags = try line.value.split(separator: ",").map { try TagPath(String($0).trimmed) }
                continue
            default: break
            }
            if let index = unused.firstIndex(where: { $0.label == line.label }) {
                var field = unused.remove(at: index)
                if line.value.isEmpty, !field.value.isEmpty { continue }
                if !field.kind.isSecret || line.value != mask, line.value != field.value {
                    field.value = line.value
                    try check(field, line)
                }
                kept.append(field)
                continue
            }
            guard !line.value.isEmpty, line.value != mask else { continue }
            let field = newField(line, kind: item.kind, position: position, random: random)
            // A name that is almost that of a field which is gone from the form was mistyped.
            if field.key.name.hasPrefix("x-"),
                let meant = Suggestion.nearest(
                    to: line.label,
                    among: unused.filter { old in !lines.contains { $0.label == old.label } }.map(\.label))
            {
                throw Problem(
                    lineNumber: line.number, message: "there is no field \"\(line.label)\"; did you mean \"\(meant)\"?")
            }
            try check(field, line)
            kept.append(field)
            position += 1
        }
        item.fields = kept
        item.text = body
    }

    private static func check(_ field: ItemField, _ line: Line) throws(Problem) {
        guard let problem = FieldCheck.problem(field.value, kind: field.kind, key: field.key.name) else { return }
        throw Problem(lineNumber: line.number, message: problem)
    }

    private static func newField(
        _ line: Line, kind: ItemKind, position: UInt32, random: any RandomSource
    ) -> ItemField {
        if let standard = kind.standardFields.first(where: { $0.label == line.label }) {
            return ItemField(key: standard.key, label: standard.label, kind: standard.kind, value: line.value)
        }
        return ItemField(
            key: .generate(from: random), label: line.label, kind: .text, value: line.value, position: position)
    }
}

extension String {
    /// Without spaces at the end.
    package var trimmingEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    /// Without spaces at both ends.
    package var trimmed: String { String(drop { $0 == " " }).trimmingEnd }
}
