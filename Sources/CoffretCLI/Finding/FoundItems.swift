// The list that `coffret find` shows. Invariant: no more of it is in memory than was looked at lately.

internal import CoffretApp
internal import CoffretTerminal
internal import CoffretWire

/// The items that fit a query, page by page; all items, latest first, for none.
struct FoundItems {
    let query: String
    /// How many there are to go through.
    let count: Int
    /// How many fit; a search shows the best.
    let total: Int
    private var pages: [Int: [SummaryMessage]] = [:]

    private static let pageCount = 100
    private static let pageCountMax = 20
    /// A search shows as many, the best first.
    private static let hitCountMax = 200

    static let empty = FoundItems()

    private init() { (query, count, total) = ("", 0, 0) }

    /// - Parameter isCancelled: whether nobody waits any more.
    init(_ query: String, of store: CommandStore, isCancelled: @escaping () -> Bool) throws {
        self.query = query
        guard !query.isEmpty else {
            let answer = try store.perform(Self.request(from: 0, store), isCancelled: isCancelled)
            (count, total, pages[0]) = (answer.total, answer.total, answer.items)
            return
        }
        var request = ItemSearch()
        (request.query, request.vault, request.limit) = (query, store.namedVault, Self.hitCountMax)
        request.marksMatches = true
        let answer = try store.perform(request, isCancelled: isCancelled)
        (count, total) = (answer.hits.count, answer.total)
        for start in stride(from: 0, to: count, by: Self.pageCount) {
            pages[start / Self.pageCount] = Array(answer.hits[start..<min(start + Self.pageCount, count)])
        }
    }

    private static func request(from offset: Int, _ store: CommandStore) -> ItemList {
        var request = ItemList()
        (request.vault, request.offset, request.limit) = (store.namedVault, offset, pageCount)
        return request
    }

    /// One of the items; nil behind the end, and for one that another program has taken away meanwhile.
    mutating func item(_ index: Int, of store: CommandStore) throws -> SummaryMessage? {
        guard (0..<count).contains(index) else { return nil }
        let (page, place) = index.quotientAndRemainder(dividingBy: Self.pageCount)
        if pages[page] == nil {
            if pages.count >= Self.pageCountMax { pages = [:] }
            pages[page] = try store.perform(Self.request(from: page * Self.pageCount, store)).items
        }
        guard let items = pages[page], place < items.count else { return nil }
        return items[place]
    }
}
