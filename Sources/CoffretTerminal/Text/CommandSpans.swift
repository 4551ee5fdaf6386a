// Where in a sentence a command stands that people copy. Invariant: a command is kept whole rather than a line short;
// a terminal that folds a long line by itself still copies it as one.

/// Says of each space between words whether a line may end there.
///
/// Sentences are ours, and commands stand in them as they are typed. So this knows what ours look like: the name of a
/// program, up to two words of a command, and what looks like an option or a value. Where prose is taken for a part of a
/// command, a line is a word shorter than it could be.
package struct CommandSpans {
    private static let programs: Set<String> = [
        "coffret", "coffret-agent", "coffret-server", "apt", "chmod", "iconv", "mkdir", "ssh-keygen", "sudo",
        "systemctl",
    ]
    private static let clauseEnds: Set<Character> = [";", ",", ":", ".", "?", "!", ")"]
    private static let quotes: Set<Character> = ["\"", "'"]

    private var previous = ""
    /// How many words the command has so far that the last word is a part of; 0 outside of one.
    private var count = 0
    /// The quote that closes the value that the last word is a part of.
    private var quote: Character?

    /// - Parameter gap: the spaces before `word`; several stand between a command and what is said of it.
    /// - Returns: whether no line may end before `word`.
    package mutating func isInside(_ word: String, gap: Int = 1) -> Bool {
        let isInside = isPart(word, gap)
        if Self.programs.contains(word.drop { $0 == "(" || Self.quotes.contains($0) }.description), !isInside {
            count = 1
        } else {
            count = isInside && count > 0 ? count + 1 : 0
        }
        if let open = quote {
            if word.trimmingClause.last == open { quote = nil }
        } else if count > 1, let first = word.first, Self.quotes.contains(first),
            word.count == 1 || word.trimmingClause.last != first
        {
            quote = first
        }
        previous = word
        return isInside
    }

    private func isPart(_ word: String, _ gap: Int) -> Bool {
        guard gap == 1, let last = previous.last else { return false }
        if quote != nil { return true }
        guard !Self.clauseEnds.contains(last) else { return false }
        if Self.isOption(word) { return true }
        if Self.isOption(previous) || count > 2 { return Self.isValue(word) }
        return count > 0
    }

    private static func isOption(_ word: String) -> Bool {
        word.first == "-" && word.dropFirst().contains { $0.isLetter }
    }

    /// A placeholder in capitals, a number, a path, something quoted.
    private static func isValue(_ word: String) -> Bool {
        let bare = word.trimmingClause
        guard let first = bare.first else { return false }
        if quotes.contains(first) || bare.contains(where: { $0.isNumber || "/_@=".contains($0) }) { return true }
        return bare.contains(where: \.isLetter) && !bare.contains(where: \.isLowercase)
    }
}

extension String {
    /// Without the signs that end a clause.
    fileprivate var trimmingClause: Substring {
        var text = self[...]
        while let last = text.last, [";", ",", ":", ".", "?", "!", ")"].contains(last) { text.removeLast() }
        return text
    }
}
