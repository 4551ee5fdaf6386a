// Blocks of Markdown out of HTML. Invariant: code comes out as it stands, whatever marks are in it.

extension HTMLMarkdown {
    static func prefixed(_ text: String, first: String, rest: String) -> String {
        var isFirst = true
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            defer { isFirst = false }
            if line.isEmpty, !isFirst { return rest.trimmedBlanks().isEmpty ? "" : rest.trimmedBlanks() }
            return (isFirst ? first : rest) + line
        }.joined(separator: "\n")
    }

    static func fenced(_ element: HTMLElement) -> String {
        var lines: [String] = [""]
        func add(_ text: String) {
            let parts = text.replacing("\r\n", with: "\n").replacing("\u{A0}", with: " ")
                .split(separator: "\n", omittingEmptySubsequences: false)
            lines[lines.count - 1] += parts.first ?? ""
            lines += parts.dropFirst().map(String.init)
        }
        func walk(_ nodes: [HTMLNode]) {
            for node in nodes {
                switch node {
                case .text(let text): add(text)
                case .element(let child) where child.name == "br": lines.append("")
                case .element(let child) where child.name == "div" || child.name == "p":
                    if lines.last?.isEmpty == false { lines.append("") }
                    let isBreak = child.children.count == 1 && child.first("br") != nil
                    walk(isBreak ? [] : child.children)
                    lines.append("")
                case .element(let child): walk(child.children)
                }
            }
        }
        walk(element.children)
        while lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
        let language =
            element.first("code")?.attributes["class"]?.split(separator: " ")
            .first { $0.hasPrefix("language-") }?.dropFirst("language-".count) ?? ""
        var fence = "```"
        while lines.contains(where: { $0.hasPrefix(fence) }) { fence += "`" }
        return ([fence + language] + lines + [fence]).joined(separator: "\n")
    }
}
