// A query as it was understood. Invariant: it holds the words as they were written; only `MatchExpression` turns them
// into FTS5's language, and quotes every one.

package import CoffretBase

/// A part of a document that words are looked for in.
package enum SearchColumn: Int, Sendable, CaseIterable {
    // As the full-text table has them: a place in its first column takes two bytes less in every list of places, so the
    // column with the most words comes first.
    case body, fields, tags, title

    /// The column's name in the full-text table.
    var name: String {
        switch self {
        case .title: "title"
        case .tags: "tags"
        case .fields: "fields"
        case .body: "body"
        }
    }
}

/// Words that must stand one after the other; most often one word.
package struct TextTerm: Equatable, Sendable {
    package var text: String
    /// Whether the last word may go on.
    package var isPrefix: Bool
    /// Where to look; nil is everywhere.
    package var column: SearchColumn?
    /// Whether the last word may go on as well, and counts more where it does not: the last word of a query.
    package var goesOn = false
    /// The words that it may go on to, longer than itself; nil where nobody has looked for them.
    package var endings: [String]?
    /// The words that are looked for instead, any of these: the nearest ones to a word without a match.
    package var spellings: [String] = []
}

/// A condition that is not about words.
package enum QueryFilter: Equatable, Sendable {
    /// The tag or one below it, ASCII letters in lower case.
    case tag(String)
    case kind(UInt8)
    case flag(Flag)
    case untagged, locked, conflicted
    case hasAttachments
    /// Milliseconds from the lower bound to before the upper one.
    case modified(Range<Milliseconds>)
    case created(Range<Milliseconds>)
}

package indirect enum QueryNode: Equatable, Sendable {
    case text(TextTerm)
    case filter(QueryFilter)
    case all([QueryNode])
    case any([QueryNode])
    case not(QueryNode)
}

/// A parsed query.
package struct SearchQuery: Equatable, Sendable {
    package let root: QueryNode
    /// The columns that `in:` restricts all words to; empty means everywhere.
    package let columns: Set<SearchColumn>
    /// Whether documents in the trash are found too: only if the query speaks of it.
    package let includesTrashed: Bool

    package init(root: QueryNode, columns: Set<SearchColumn> = [], includesTrashed: Bool = false) {
        self.root = root
        self.columns = columns
        self.includesTrashed = includesTrashed
    }
}

extension SearchQuery {
    /// The words that documents must not contain, as they were written.
    package var exclusions: [String] { root.exclusions }
}

extension QueryNode {
    fileprivate var exclusions: [String] {
        switch self {
        case .text, .filter: []
        case .not(let inner): inner.texts
        case .all(let children), .any(let children): children.flatMap(\.exclusions)
        }
    }

    private var texts: [String] {
        switch self {
        case .text(let term): [term.text]
        case .filter, .not: []
        case .all(let children), .any(let children): children.flatMap(\.texts)
        }
    }
}

/// Kinds of documents by the names that `type:` takes.
package struct SearchVocabulary: Sendable {
    package let kinds: [String: UInt8]

    package init(kinds: [String: UInt8]) {
        self.kinds = kinds
    }

    /// The kinds of items, with the short names that people try first.
    package static let items = SearchVocabulary(kinds: [
        "note": UInt8(ascii: "N"), "login": UInt8(ascii: "L"), "card": UInt8(ascii: "C"),
        "identity": UInt8(ascii: "I"), "ssh-key": UInt8(ascii: "S"), "sshkey": UInt8(ascii: "S"),
        "ssh": UInt8(ascii: "S"), "api-token": UInt8(ascii: "T"), "apitoken": UInt8(ascii: "T"),
        "token": UInt8(ascii: "T"), "custom": UInt8(ascii: "X"),
    ])
}

/// Options for reading the text of a query.
package struct SearchQueryOptions: Sendable {
    package var vocabulary = SearchVocabulary.items
    /// Whether a word of three letters or more at the very end counts as a beginning too.
    package var lastWordIsPrefix = false
    /// The difference to UTC of the time in which dates are meant.
    package var utcOffsetMilliseconds: Milliseconds = 0

    package init(
        vocabulary: SearchVocabulary = .items, lastWordIsPrefix: Bool = false, utcOffsetMilliseconds: Milliseconds = 0
    ) {
        self.vocabulary = vocabulary
        self.lastWordIsPrefix = lastWordIsPrefix
        self.utcOffsetMilliseconds = utcOffsetMilliseconds
    }
}

enum QueryLimits {
    static let byteCountMax = 4_096
    static let termCountMax = 64
    static let depthMax = 16
}

/// Upper-case ASCII letters in lower case: how tags and names of fields are compared.
func foldASCII(_ text: String) -> String {
    String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
}
