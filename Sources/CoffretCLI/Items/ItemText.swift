// One item as a person reads it. The one thing to keep true: secrets are masked unless the person
// asked for them, and everything else is disarmed before a terminal sees it.

internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal

/// Shows an item on a terminal, or plainly for a pipe.
struct ItemText {
    let item: Item
    let id: String
    let revealsSecrets: Bool
    let style: TextStyler
    let relativeTime: RelativeTime

    /// Stands for a secret, of whatever length.
    static let mask = "••••••••"

    /// Title and facts in the first lines, then fields, text, files and conflicts.
    func terminalText() -> String {
        var lines = [style.apply(.title, TextWidth.displaySafe(item.title)), facts]
        let fields = fieldLines()
        if !fields.isEmpty { lines += [""] + fields }
        let text = textBelowTitle
        if !text.isEmpty {
            lines.append("")
            lines.append(trimmed(TextWidth.displaySafe(text, keepsLines: true)))
        }
        if !item.attachments.isEmpty {
            lines.append("")
            lines += item.attachments.map {
                "\(style.apply(.faint, "file")) \(TextWidth.displaySafe($0.name))  \(NumberText.bytes($0.byteCount))"
            }
        }
        if !item.conflicts.isEmpty { lines += [""] + conflictLines() }
        return lines.joined(separator: "\n")
    }

    /// The text without a first line that is the heading above and nothing else: it stands there already.
    private var textBelowTitle: String {
        guard let end = item.text.firstIndex(where: \.isNewline) ?? (item.text.isEmpty ? nil : item.text.endIndex),
            ["", "# "].contains(where: { $0 + item.title == item.text[..<end] })
        else { return item.text }
        return String(item.text[end...].drop(while: \.isNewline))
    }

    /// For a pipe, an item with fields: these and its files, then the text. A note is its text and nothing else.
    func plainText() -> String {
        var lines = ["Title: \(oneLine(item.title))"]
        lines += item.fields.map { "\($0.label): \(oneLine(shownValue($0)))" }
        lines += item.attachments.map { "File: \(oneLine($0.name)), \(NumberText.bytes($0.byteCount))" }
        if !item.text.isEmpty { lines += ["", trimmed(item.text)] }
        return lines.joined(separator: "\n")
    }

    private var facts: String {
        var facts = [style.apply(.identifier, id)]
        if item.kind != .note { facts.append(item.kind.name) }
        facts += item.tags.map { style.apply(.tag, TextWidth.displaySafe("#\($0.path)")) }
        facts.append(style.apply(.faint, "changed \(relativeTime.moment(item.modified))"))
        if item.isPinned { facts.append("pinned") }
        if item.isArchived { facts.append("archived") }
        if item.isLocked { facts.append(item.isSealed ? "locked" : "locked, open now") }
        if item.isHidden { facts.append("hidden") }
        if item.isTrashed { facts.append("in the trash") }
        return facts.joined(separator: "  ")
    }

    private func fieldLines() -> [String] {
        let widest = item.fields.map { TextWidth.columns(of: TextWidth.displaySafe($0.label)) }.max() ?? 0
        return item.fields.flatMap { field in
            let label = TextWidth.pad(TextWidth.displaySafe(field.label), to: min(widest, 24))
            let values = shownValue(field).split(separator: "\n", omittingEmptySubsequences: false)
            return values.enumerated().map { index, value in
                let head = index == 0 ? style.apply(.faint, label) : String(repeating: " ", count: min(widest, 24))
                return "\(head)  \(TextWidth.displaySafe(String(value)))"
            }
        }
    }

    private func conflictLines() -> [String] {
        let count = NumberText.counted(item.conflicts.count, "value")
        return ["Another device wrote \(count) at the same time; coffret conflicts settles it:"]
            + item.conflicts.map { conflict in
                let text =
                    isSecret(attribute: conflict.attribute) && !revealsSecrets ? Self.mask : conflict.otherText ?? "?"
                return "  \(conflict.attribute): \(TextWidth.truncate(TextWidth.displaySafe(text), to: 60))"
            }
    }

    private func isSecret(attribute: String) -> Bool {
        guard attribute.hasPrefix("field/") else { return false }
        let key = String(attribute.dropFirst("field/".count))
        // A field that is gone here cannot be told from a secret.
        return item.fields.first { $0.key.name == key }?.kind.isSecret ?? true
    }

    private func shownValue(_ field: ItemField) -> String {
        field.kind.isSecret && !revealsSecrets ? Self.mask : field.value
    }

    private func oneLine(_ text: String) -> String { text.replacing("\n", with: "\n  ") }

    private func trimmed(_ text: String) -> String {
        var text = text
        while text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
