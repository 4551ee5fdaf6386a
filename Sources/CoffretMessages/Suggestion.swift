// Near misses. The one thing to keep true: a suggestion is only ever shown, never acted upon.

/// Finds what somebody probably meant.
package enum Suggestion {
    /// Commands of other programs and what they are called here.
    private static let synonyms = [
        "add": "new", "create": "new", "list": "ls", "delete": "rm", "remove": "rm", "find": "search",
        "grep": "search", "get": "show", "cat": "show", "view": "show", "undo": "restore", "versions": "history",
        "password": "generate", "totp": "otp", "clip": "copy", "check": "fsck", "verify": "fsck", "gc": "compact",
        "prune": "compact", "backlinks": "link", "links": "link", "unlock": "status", "man": "help",
        "passwd": "passphrase", "set": "edit", "rename": "edit",
    ]

    /// What another program's word is called here, if there is such a candidate.
    package static func synonym(of word: String, among candidates: [String]) -> String? {
        synonyms[word].flatMap { candidates.contains($0) ? $0 : nil }
    }

    /// The candidate nearest to `word`, if it is near enough to be what was meant.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let extending = candidates.filter { $0.hasPrefix(word) && word.count >= 2 }
        if extending.count == 1 { return extending[0] }
        let limit = max(1, word.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = editDistance(Array(word), Array(candidate))
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// "a, b or c".
    package static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    /// Insertions, deletions, substitutions and swaps of neighbours between two words.
    ///
    /// Source: optimal string alignment. O(n·m), for words of a few letters.
    package static func editDistance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let substitution = last[column] + (left[row] == right[column] ? 0 : 1)
                var distance = min(substitution, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    distance = min(distance, beforeLast[column - 1] + 1)
                }
                current.append(distance)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
