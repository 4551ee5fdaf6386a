// Results of a search.

package import CoffretBase

/// A document that was found.
package struct SearchHit: Equatable {
    package let document: DocumentSummary
    /// How well it fits; only meaningful beside the others of one search.
    package let score: Double
    /// The words in the title, as byte offsets into its UTF-8.
    package let titleMatches: [Range<Int>]
}

/// One page of what was found, best first.
package struct SearchResults {
    package let hits: [SearchHit]
    /// How many documents match altogether.
    package let totalCount: Int
    /// Words that are nowhere, and what was looked for instead.
    package var corrections: [WordCorrection] = []
    let finder: SnippetFinder

    /// The piece of a document that shows why it was found: of its text, or of fields or tags if only those hold the words.
    ///
    /// The index keeps no texts; who shows a hit has the document.
    ///
    /// - Parameter document: made only if the body does not hold the words.
    package func snippet(ofBody body: String, of document: @autoclosure () -> SearchDocument) -> Snippet {
        let body = SnippetFinder.beginningOf(body)
        if let snippet = finder.snippet(of: body, column: .body) { return snippet }
        let document = document()
        let fields = SnippetFinder.beginningOf(document.fieldText)
        if let snippet = finder.snippet(of: fields, column: .fields) { return snippet }
        let tags = document.tags.joined(separator: "\n")
        return finder.snippet(of: tags, column: .tags) ?? finder.beginning(of: body)
    }
}

/// A word that no document has, and the nearest ones that some have.
package struct WordCorrection: Equatable, Sendable {
    package let word: String
    package let nearest: [String]
}

/// Which documents a list shows; every condition that is set must hold.
package struct ListFilter: FlagWanting, Equatable, Sendable {
    /// Of any of these kinds; nil is all.
    package var kinds: Set<UInt8>?
    /// With each of these tags, or one below it.
    package var tags: [String] = []
    /// Unless said otherwise the trash is out of sight.
    package var flags: [Flag: Bool] = [.trashed: false]
    package var isUntagged: Bool?
    package var hasAttachments: Bool?
    package var hasConflicts: Bool?
    package var modified: Range<Milliseconds>?

    package init() {}
}

package enum ListOrder: Sendable {
    /// Last changed first.
    case modified
    /// The same, those that are pinned before all others.
    case pinnedFirst
    /// Newest first.
    case created
    /// By title, as their folded words sort.
    case title
}

/// One page of a list.
package struct DocumentList: Equatable, Sendable {
    package let documents: [DocumentSummary]
    package let totalCount: Int
}

/// A tag that documents carry.
package struct TagCount: Equatable, Sendable {
    /// As most of its documents write it.
    package let path: String
    /// Documents with this very tag, those in the trash left out.
    package let count: Int
}
