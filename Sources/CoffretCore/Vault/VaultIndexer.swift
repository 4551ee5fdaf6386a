// The search index kept in step with the facts. Invariant: before the index answers anything, it reflects the commit
// that the vault shows; whatever is wrong with it costs a rebuild, never an answer.

internal import CoffretSearch

/// Holds the index of a vault, opened when first needed.
final class VaultIndexer {
    private let openIndex: @Sendable () throws(SearchError) -> SearchIndex
    private var opened: SearchIndex?
    private var builder: IndexBuilder?
    /// An index of so many items is made while a person waits: less than a second. Tests set it lower.
    var quickItemCountMax = 5_000
    /// Hears why the index is made anew, before it is; not called when there is merely none yet.
    var willRebuild: ((RebuildReason) -> Void)?
    /// Hears how many items of how many were indexed during a rebuild.
    var progress: ((_ doneCount: Int, _ itemCount: Int) -> Void)?
    /// Hears that the index cannot be used though nobody expected it: items are read instead.
    var willRead: ((SearchError) -> Void)?

    init(open: @escaping @Sendable () throws(SearchError) -> SearchIndex) {
        openIndex = open
    }

    func index() throws(SearchError) -> SearchIndex {
        if let builder {
            opened = builder.end()
            self.builder = nil
        }
        if let opened { return opened }
        let index = try openIndex()
        opened = index
        return index
    }

    /// Begins to build the index of an empty vault on a second thread; nil if it is in use already.
    func beginBuilding() -> IndexBuilder? {
        guard opened == nil, builder == nil else { return nil }
        let builder = IndexBuilder(open: openIndex)
        self.builder = builder
        return builder
    }
}
