// HTML and its kin as Markdown. Invariant: every text of the source is in the result; of its look only what Markdown can
// say is, and the caller learns whether more was there.

internal import CoffretBase

/// Turns elements into Markdown.
struct HTMLMarkdown {
    /// The Markdown of elements that a format has of its own; nil for those of HTML. Called for every element.
    var special: (HTMLElement) -> Special? = { _ in nil }
    /// The destination of a link or picture as it is to stand in the text.
    var destination: (String) -> String = { $0 }
    /// Whether colours, fonts or alignments were left out.
    private(set) var hasLostLook = false

    enum Special {
        /// A part of a line, taken as it stands.
        case inline(String)
        /// Lines by themselves, taken as they stand.
        case block(String)
        case nothing
    }

    /// A piece of the text.
    private enum Block {
        /// A line of its own, next to which other lines stand without a blank one between.
        case line(String)
        /// Lines with a blank line before and behind.
        case block(String)

        var text: String {
            switch self {
            case .line(let text), .block(let text): text
            }
        }
    }

    /// The Markdown of an element's content, with a line feed at its end unless it is empty.
    mutating func markdown(of element: HTMLElement) -> String {
        let text = joined(blocks(element.children, Surroundings()))
        var trimmed = text[...]
        while trimmed.first == "\n" { trimmed.removeFirst() }
        while let last = trimmed.last, last.isNewline || last == " " { trimmed.removeLast() }
        return trimmed.isEmpty ? "" : trimmed + "\n"
    }

    private struct Surroundings {
        var isInList = false
        /// Marks that stand around, which are not repeated inside.
        var marks: Set<String> = []
    }

    // MARK: Blocks

    private static let blockNames: Set<String> = [
        "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt", "en-note",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
        "html",
        "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
        "tr",
        "ul",
    ]
    private static let silentNames: Set<String> = [
        "script", "style", "head", "title", "meta", "link", "template", "noscript", "object", "svg", "icons",
    ]

    private func joined(_ blocks: [Block]) -> String {
        var text = ""
        var isLine = true
        for block in blocks {
            switch block {
            case .line(let line):
                if !text.isEmpty { text += isLine ? "\n" : "\n\n" }
                text += line
                isLine = true
            case .block(let lines):
                if !text.isEmpty { text += text.hasSuffix("\n") ? "\n" : "\n\n" }
                text += lines
                isLine = false
            }
        }
        return text
    }

    private mutating func blocks(_ nodes: [HTMLNode], _ surroundings: Surroundings) -> [Block] {
        var blocks: [Block] = []
        var line: [HTMLNode] = []
        func isBlank(_ node: HTMLNode) -> Bool {
            if case .text(let text) = node { return text.allSatisfy { " \t\r\n".contains($0) } }
            return false
        }
        func close(_ self_: inout HTMLMarkdown) {
            defer { line = [] }
            guard !line.allSatisfy(isBlank) else { return }
            // Each break ends a line; the last one ends the line that a block ends anyway.
            blocks.append(.line(self_.lines(line, surroundings)))
        }
        for node in nodes {
            guard case .element(let element) = node else {
                line.append(node)
                continue
            }
            if case .block(let text)? = special(element) {
                close(&self)
                blocks.append(.block(text))
            } else if Self.hasBlock(element) {
                close(&self)
                blocks += self.blocks(of: element, surroundings)
            } else {
                line.append(node)
            }
        }
        close(&self)
        return blocks
    }

    /// Whether an element is a block or has one inside, as `a` around `div` does.
    private static func hasBlock(_ element: HTMLElement) -> Bool {
        if blockNames.contains(element.name) { return true }
        if silentNames.contains(element.name) { return false }
        return element.children.contains { node in
            if case .element(let child) = node { return hasBlock(child) }
            return false
        }
    }

    private mutating func blocks(of element: HTMLElement, _ surroundings: Surroundings) -> [Block] {
        noteLook(of: element)
        switch element.name {
        case "h1", "h2", "h3", "h4", "h5", "h6":
            let text = lines(element.children, surroundings).replacing("\n", with: " ")
            guard !text.isEmpty else { return [] }
            return [.block(String(repeating: "#", count: Int(element.name.dropFirst()) ?? 1) + " " + text)]
        case "hr": return [.block("---")]
        case "pre": return [.block(Self.fenced(element))]
        case "blockquote":
            let inner = joined(blocks(element.children, Surroundings()))
            return inner.isEmpty ? [] : [.block(Self.prefixed(inner, first: "> ", rest: "> "))]
        case "ul", "ol": return [.block(list(element, surroundings))]
        case "table": return table(element, surroundings)
        case "li": return [.block(listItem(element, marker: "- "))]
        case "p", "dt", "dd", "figure", "figcaption":
            let inner = blocks(element.children, surroundings)
            return inner.isEmpty ? [] : [.block(joined(inner))]
        default:
            if element.styles.keys.contains(where: { $0.hasSuffix("en-codeblock") }) {
                return [.block(Self.fenced(element))]
            }
            let inner = blocks(element.children, surroundings)
            // An empty line of its own, as editors write them.
            if inner.isEmpty, element.first("br") != nil { return [.line("")] }
            return inner
        }
    }

    // MARK: Lists

    private mutating func list(_ element: HTMLElement, _ surroundings: Surroundings) -> String {
        var items: [String] = []
        var number = Int(element.attributes["start"] ?? "") ?? 1
        let isChecklist =
            element.styles["--en-todo"] == "true" || element.attributes["class"]?.contains("checklist") == true
        for node in element.children {
            switch node {
            case .text(let text):
                if !text.trimmedBlanks().isEmpty { items.append("- " + lines([node], surroundings)) }
            case .element(let child) where child.name == "ul" || child.name == "ol":
                // A list straight in a list belongs to the item before.
                items.append(Self.prefixed(list(child, surroundings), first: "    ", rest: "    "))
            case .element(let child) where Self.isOnlyList(child):
                items.append(Self.prefixed(joined(blocks(child.children, surroundings)), first: "    ", rest: "    "))
            case .element(let child):
                var marker = "- "
                if element.name == "ol" {
                    marker = "\(number). "
                    number += 1
                }
                if let isChecked = Self.check(of: child, isChecklist: isChecklist) {
                    marker += isChecked ? "[x] " : "[ ] "
                }
                items.append(listItem(child, marker: marker))
            }
        }
        return items.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// Whether an item holds nothing but lists: it deepens the list.
    private static func isOnlyList(_ item: HTMLElement) -> Bool {
        let parts = item.children.filter { node in
            if case .text(let text) = node { return !text.trimmedBlanks().isEmpty }
            return true
        }
        return !parts.isEmpty
            && parts.allSatisfy { node in
                if case .element(let child) = node { return child.name == "ul" || child.name == "ol" }
                return false
            }
    }

    private static func check(of item: HTMLElement, isChecklist: Bool) -> Bool? {
        let classes = item.attributes["class"]?.split(separator: " ") ?? []
        if classes.contains("checked") { return true }
        if let value = item.styles["--en-checked"] { return value == "true" }
        if let value = item.attributes["data-checked"] { return value == "true" }
        return isChecklist || classes.contains("checklist--item") ? false : nil
    }

    private mutating func listItem(_ element: HTMLElement, marker: String) -> String {
        var inner = Surroundings()
        inner.isInList = true
        let blocks = blocks(element.children, inner)
        let text = blocks.map(\.text).filter { !$0.isEmpty }.joined(separator: "\n")
        let width = marker.first?.isNumber == true ? marker.prefix { $0 != " " }.count + 1 : 2
        return Self.prefixed(text, first: marker, rest: String(repeating: " ", count: max(width, 4)))
    }

    // MARK: Tables

    private mutating func table(_ element: HTMLElement, _ surroundings: Surroundings) -> [Block] {
        var rows: [[String]] = []
        var captions: [Block] = []
        func collect(_ self_: inout HTMLMarkdown, _ nodes: [HTMLNode]) {
            for case .element(let child) in nodes {
                switch child.name {
                case "tr":
                    var cells: [String] = []
                    for case .element(let cell) in child.children where cell.name == "td" || cell.name == "th" {
                        cells.append(self_.cell(cell))
                        // Cells over several columns leave the rest of them empty.
                        let span = min(Int(cell.attributes["colspan"] ?? "") ?? 1, 64)
                        if span > 1 { cells += Array(repeating: "", count: span - 1) }
                    }
                    rows.append(cells)
                case "thead", "tbody", "tfoot": collect(&self_, child.children)
                case "colgroup", "col": continue
                default: captions += self_.blocks([.element(child)], surroundings)
                }
            }
        }
        collect(&self, element.children)
        let width = rows.map(\.count).max() ?? 0
        guard width > 0 else { return captions }
        var lines: [String] = []
        for (index, row) in rows.enumerated() {
            let cells = row + Array(repeating: "", count: width - row.count)
            lines.append("| " + cells.joined(separator: " | ") + " |")
            if index == 0 { lines.append("|" + String(repeating: " --- |", count: width)) }
        }
        return captions + [.block(lines.joined(separator: "\n"))]
    }

    private mutating func cell(_ element: HTMLElement) -> String {
        noteLook(of: element)
        return blocks(element.children, Surroundings()).map(\.text).joined(separator: "\n").trimmedBlanks()
            .replacing("|", with: "\\|").replacing("\n", with: "<br>")
    }

    // MARK: Lines

    /// The text of nodes without blocks, on as many lines as it has breaks.
    private mutating func lines(_ nodes: [HTMLNode], _ surroundings: Surroundings) -> String {
        var text = ""
        inline(nodes, surroundings, into: &text)
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                var line = line
                while let last = line.last, last == " " || last == "\t" { line.removeLast() }
                while line.first == " " { line.removeFirst() }
                return MarkdownEscape.lineStart(String(line))
            }
            .joined(separator: "\n").trimmingLastBreak()
    }

    private mutating func inline(_ nodes: [HTMLNode], _ surroundings: Surroundings, into text: inout String) {
        for node in nodes {
            switch node {
            case .text(let value): Self.append(value, to: &text)
            case .element(let element): inline(element, surroundings, into: &text)
            }
        }
    }

    /// Appends text with its runs of white space as one blank each.
    private static func append(_ value: String, to text: inout String) {
        var clean = ""
        var isAfterBlank = text.last == " " || text.last == "\n"
        for character in value {
            if character == " " || character.isNewline || character == "\t" {
                if !isAfterBlank { clean.append(" ") }
                isAfterBlank = true
            } else {
                clean.append(character)
                isAfterBlank = false
            }
        }
        text += MarkdownEscape.inline(clean)
    }

    private mutating func inline(_ element: HTMLElement, _ surroundings: Surroundings, into text: inout String) {
        switch special(element) {
        case .inline(let value), .block(let value):
            text += value
            return
        case .nothing: return
        case nil: break
        }
        if Self.silentNames.contains(element.name) { return }
        noteLook(of: element)
        switch element.name {
        case "br": text += "\n"
        case "b", "strong": marked("**", element, surroundings, into: &text)
        case "i", "em", "cite", "dfn", "var": marked("*", element, surroundings, into: &text)
        case "s", "del", "strike": marked("~~", element, surroundings, into: &text)
        case "mark": marked("==", element, surroundings, into: &text)
        case "u", "sub", "sup", "kbd", "ins":
            let inner = inner(element, surroundings)
            if !inner.isEmpty { text += "<\(element.name)>" + inner + "</\(element.name)>" }
        case "code", "tt", "samp": text += MarkdownEscape.code(element.text)
        case "a": link(element, surroundings, into: &text)
        case "img":
            let source = element.attributes["src"] ?? ""
            let name = (element.attributes["alt"] ?? "").replacing("\n", with: " ")
            if !source.isEmpty { text += "![\(MarkdownEscape.label(name))](\(written(source)))" }
        case "input":
            if element.attributes["type"] == "checkbox" {
                text += element.attributes["checked"] != nil ? "[x] " : "[ ] "
            }
        case "audio", "video", "iframe", "embed":
            if let source = element.attributes["src"] ?? element.first("source")?.attributes["src"] {
                text += "[\(MarkdownEscape.label(element.name))](\(written(source)))"
            }
        default: styled(element, surroundings, into: &text)
        }
    }

    private mutating func inner(_ element: HTMLElement, _ surroundings: Surroundings) -> String {
        var inner = ""
        inline(element.children, surroundings, into: &inner)
        return inner
    }

    /// Text between marks, which stand at its first and last character that is no blank.
    private mutating func marked(
        _ mark: String, _ element: HTMLElement, _ surroundings: Surroundings, into text: inout String
    ) {
        guard !surroundings.marks.contains(mark) else { return inline(element.children, surroundings, into: &text) }
        var inside = surroundings
        inside.marks.insert(mark)
        let inner = inner(element, inside)
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\n" || $0 == "\u{A0}" }
        guard let first = inner.firstIndex(where: { !isBlank($0) }), let last = inner.lastIndex(where: { !isBlank($0) })
        else {
            text += inner
            return
        }
        // Marks do not reach over line ends.
        let core = inner[first...last].split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.allSatisfy(isBlank) ? String($0) : mark + $0 + mark }.joined(separator: "\n")
        let before = inner[..<first]
        if text.last == " ", before.first == " " { text += before.dropFirst() } else { text += before }
        text += core + inner[inner.index(after: last)...]
    }

    /// What a style says that Markdown can say too.
    private mutating func styled(
        _ element: HTMLElement, _ surroundings: Surroundings, into text: inout String
    ) {
        let styles = element.styles
        var mark: String?
        if let weight = styles["font-weight"], weight.hasPrefix("bold") || (Int(weight) ?? 0) >= 600 { mark = "**" }
        if styles["font-style"] == "italic" { mark = mark ?? "*" }
        if styles["text-decoration"]?.contains("line-through") == true { mark = mark ?? "~~" }
        if styles.keys.contains(where: { $0.hasSuffix("evernote-highlight") || $0 == "--en-highlight" }) {
            mark = mark ?? "=="
        }
        guard let mark else { return inline(element.children, surroundings, into: &text) }
        marked(mark, element, surroundings, into: &text)
    }

    private mutating func link(_ element: HTMLElement, _ surroundings: Surroundings, into text: inout String) {
        let label = inner(element, surroundings)
        guard let target = element.attributes["href"], !target.isEmpty else {
            text += label
            return
        }
        let address = written(target)
        if label == target || label.isEmpty {
            text += label.isEmpty ? "[\(MarkdownEscape.label(target))](\(address))" : "<\(address)>"
        } else {
            text += "[\(label.replacing("\n", with: " ").trimmedBlanks())](\(address))"
        }
    }

    /// A destination without the characters that would end it.
    private func written(_ target: String) -> String {
        destination(target.trimmedBlanks()).replacing(" ", with: "%20").replacing("(", with: "%28")
            .replacing(")", with: "%29").replacing("<", with: "%3C").replacing(">", with: "%3E")
            .replacing("\n", with: "")
    }

    private static let lookStyles: Set<String> = [
        "color", "background-color", "font-size", "font-family", "text-align",
    ]

    private mutating func noteLook(of element: HTMLElement) {
        if element.name == "font" || !Self.lookStyles.isDisjoint(with: element.styles.keys) { hasLostLook = true }
    }
}

extension String {
    /// The text without one line feed at its end.
    fileprivate func trimmingLastBreak() -> String { hasSuffix("\n") ? String(dropLast()) : self }
}
