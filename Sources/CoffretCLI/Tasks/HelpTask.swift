// Help by what a person wants to do. The one thing to keep true: every command line shown here
// parses, which a test checks.

internal import CoffretTerminal

/// One task, explained on less than a screen.
struct HelpTask: Sendable {
    /// The word that `coffret help` lists.
    let name: String
    let title: String
    /// Other words by which people look for it.
    let keywords: [String]
    let steps: [Step]

    enum Step: Sendable {
        case text(String)
        /// A command line, and what it does.
        case command(String, String)
    }

    /// Tasks whose name, title or keywords fit all the words, best first.
    static func matching(_ words: [String]) -> [HelpTask] {
        let wanted = words.flatMap { $0.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber }) }
            .map(String.init)
        let joined = wanted.joined(separator: "-")
        if let exact = HelpTasks.all.first(where: { $0.name == joined }) { return [exact] }
        let meaningful = wanted.filter { $0.count > 2 && !["the", "and", "from", "with", "how", "one"].contains($0) }
        guard !meaningful.isEmpty else { return [] }
        let scored = HelpTasks.all.map { task in (task, task.score(for: meaningful)) }.filter { $0.1 > 0 }
        let best = scored.map(\.1).max() ?? 0
        return scored.filter { $0.1 == best }.map(\.0)
    }

    private func score(for words: [String]) -> Int {
        let titleWords = Set(
            (title.lowercased().split(separator: " ").map(String.init)) + name.split(separator: "-").map(String.init))
        return words.reduce(0) { sum, word in
            if titleWords.contains(word) { return sum + 3 }
            if keywords.contains(word) { return sum + 3 }
            let isNear = (titleWords.union(keywords)).contains {
                $0.hasPrefix(word) || word.hasPrefix($0) && $0.count > 3
            }
            return sum + (isNear ? 1 : 0)
        }
    }

    func text(width: Int, style: TextStyler) -> String {
        var lines = [style.apply(.heading, title.prefix(1).uppercased() + title.dropFirst()), ""]
        for step in steps {
            switch step {
            case .text(let text):
                lines += TextWidth.wrap(text, width: width)
                lines.append("")
            case .command(let command, let meaning):
                lines.append("  " + style.apply(.title, command))
                lines += TextWidth.wrap(meaning, width: width, indent: 6, hanging: 6)
                lines.append("")
            }
        }
        while lines.last == "" { lines.removeLast() }
        return lines.joined(separator: "\n") + "\n"
    }
}
