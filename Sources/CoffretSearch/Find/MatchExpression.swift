// From query to FTS5's language. Invariant: every word stands between quotes with inner quotes doubled, so nothing
// that was typed can act as an operator.

internal import CoffretSQLite

/// An expression for FTS5, and what each of its phrases is worth.
struct MatchExpression {
    /// A phrase as ranking sees it.
    struct Phrase: Equatable {
        /// Which term of the query it stands for, counted in order; nil behind NOT.
        var term: Int?
        /// How much a hit counts beside the word itself.
        var worth = 1.0
        var isPrefix = false
        /// Whether it is a word that the term goes on to.
        var isEnding = false
    }

    /// The weight of a word that continues.
    private static let beginningWorth = 0.5

    var text: String
    /// One entry per phrase, in order.
    var phrases: [Phrase]
    /// How many terms the phrases stand for.
    var termCount: Int

    /// The expression for a part of a query that is about words alone; nil if it is not, or if it only excludes.
    init?(_ node: QueryNode, columns: Set<SearchColumn>) {
        switch node {
        case .text(let term):
            (text, phrases) = Self.quote(term, columns: columns)
            termCount = 1
        case .filter, .not:
            return nil
        case .any(let children):
            var parts: [MatchExpression] = []
            for child in children {
                guard let part = MatchExpression(child, columns: columns) else { return nil }
                parts.append(part)
            }
            self = Self.joined(parts, by: " OR ")
        case .all(let children):
            var required: [MatchExpression] = []
            var excluded: [MatchExpression] = []
            for child in children {
                if case .not(let inner) = child {
                    guard let part = MatchExpression(inner, columns: columns) else { return nil }
                    excluded.append(part)
                } else {
                    guard let part = MatchExpression(child, columns: columns) else { return nil }
                    required.append(part)
                }
            }
            guard !required.isEmpty else { return nil }
            self = Self.joined(required, by: " AND ")
            guard !excluded.isEmpty else { return }
            let exclusion = Self.joined(excluded, by: " OR ")
            text = "(\(text)) NOT (\(exclusion.text))"
            phrases += exclusion.phrases.map { _ in Phrase(term: nil) }
        }
    }

    /// All words that a document may hold for them, joined by OR: for ranking what was found otherwise.
    static func anyOf(_ terms: [TextTerm], columns: Set<SearchColumn>) -> MatchExpression? {
        guard !terms.isEmpty else { return nil }
        return MatchExpression(.any(terms.map { .text($0) }), columns: columns)
    }

    private static func joined(_ parts: [MatchExpression], by sign: String) -> MatchExpression {
        guard parts.count > 1 else { return parts[0] }
        var result = parts[0]
        result.text = parts.map { "(\($0.text))" }.joined(separator: sign)
        for part in parts.dropFirst() {
            let before = result.termCount
            result.phrases += part.phrases.map { phrase in
                var phrase = phrase
                phrase.term = phrase.term.map { $0 + before }
                return phrase
            }
            result.termCount += part.termCount
        }
        return result
    }

    private static func quote(_ term: TextTerm, columns: Set<SearchColumn>) -> (String, [Phrase]) {
        let names = term.column.map { [$0] } ?? columns.sorted { $0.rawValue < $1.rawValue }
        let scope = names.isEmpty ? "" : "{\(names.map(\.name).joined(separator: " "))} : "
        if !term.spellings.isEmpty {
            return (
                term.spellings.map { scope + quote($0) }.joined(separator: " OR "),
                term.spellings.map { _ in Phrase(term: 0) }
            )
        }
        let quoted = scope + quote(term.text)
        if term.goesOn {
            let whole = Phrase(term: 0)
            guard let endings = term.endings else {
                let beginning = Phrase(term: 0, worth: beginningWorth, isPrefix: true, isEnding: true)
                return ("\(quoted) OR \(quoted) *", [whole, beginning])
            }
            return (
                ([quoted] + endings.map { scope + quote($0) }).joined(separator: " OR "),
                [whole] + endings.map { _ in Phrase(term: 0, worth: beginningWorth, isEnding: true) }
            )
        }
        return (quoted + (term.isPrefix ? " *" : ""), [Phrase(term: 0, isPrefix: term.isPrefix)])
    }

    private static func quote(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" { quoted += "\"" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}

extension QueryNode {
    /// The query without the words that hold no letter or digit, which nothing could match; nil if nothing is left.
    func pruned(_ tokenizer: ScriptTokenizer) -> QueryNode? {
        switch self {
        case .text(let term):
            var hasWord = false
            tokenizer.forEachWord(of: term.text) { _, _ in
                hasWord = true
                return false
            }
            return hasWord ? self : nil
        case .filter:
            return self
        case .not(let inner):
            return inner.pruned(tokenizer).map { .not($0) }
        case .all(let children):
            let children = children.compactMap { $0.pruned(tokenizer) }
            return children.count > 1 ? .all(children) : children.first
        case .any(let children):
            let children = children.compactMap { $0.pruned(tokenizer) }
            return children.count > 1 ? .any(children) : children.first
        }
    }

    /// The words that a document may hold for, in order: those not behind a negation.
    var positiveTerms: [TextTerm] {
        switch self {
        case .text(let term): [term]
        case .filter: []
        // A double negation was resolved by the parser.
        case .not: []
        case .all(let children), .any(let children): children.flatMap(\.positiveTerms)
        }
    }
}
