// One item as a person reads it. The one thing to keep true: secrets are masked unless the person
// asked for them, and everything else is disarmed before a terminal sees it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

/// Shows an item on a terminal, or plainly for a pipe.
struct ItemText {
    /// With the values of its conflicts, and those of secrets if they are to be shown.
    let item: ItemMessage
    let id: String
    let revealsSecrets: Bool
    let style: TextStyler
    let relativeTime: RelativeTime

    init(item: ItemMessage, id: String, _ context: CommandContext) {
        self.init(
            item: item, id: id, revealsSecrets: context.arguments.isSet(ShowCommand.reveal),
            style: context.terminal.style, relativeTime: context.relativeTime)
    }

    init(item: ItemMessage, id: String, revealsSecrets: Bool, style: TextStyler, relativeTime: RelativeTime) {
        self.item = item
        self.id = id
        self.revealsSecrets = revealsSecrets
        self.style = style
        self.relativeTime = relativeTime
    }

    /// Stands for a secret, of whatever length.
    static let mask = ItemForm.mask

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
        if item.conflictValues?.isEmpty == false { lines += [""] + conflictLines() }
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
        if item.kind != ItemKind.note.name { facts.append(item.kind) }
        facts += item.tags.map { style.apply(.tag, TextWidth.displaySafe("#\($0)")) }
        facts.append(style.apply(.faint, "changed \(relativeTime.moment(item.modified.milliseconds))"))
        facts += Flag.allCases.filter { item.flags[$0] }.map(\.state)
        if item.isLocked { facts.append(item.isSealed == true ? "locked" : "locked, open now") }
        if item.isHidden { facts.append("hidden") }
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
        let conflicts = item.conflictValues ?? []
        let count = NumberText.counted(conflicts.count, "value")
        return ["Another device wrote \(count) at the same time; coffret conflicts settles it:"]
            + conflicts.map { conflict in
                let text = conflict.isSecret && !revealsSecrets ? Self.mask : conflict.other ?? "?"
                return "  \(conflict.attribute): \(TextWidth.truncate(TextWidth.displaySafe(text), to: 60))"
            }
    }

    private func shownValue(_ field: FieldMessage) -> String {
        field.isSecret && !revealsSecrets ? Self.mask : field.value ?? ""
    }

    private func oneLine(_ text: String) -> String { text.replacing("\n", with: "\n  ") }

    private func trimmed(_ text: String) -> String {
        var text = text
        while text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
