// The search index of a first import, made on a second thread while the first one seals. Invariant: the index names a
// commit only when that commit is durable; until then it counts as unfinished.

internal import CoffretBase
internal import CoffretLogs
internal import CoffretSearch
internal import CoffretStorage

/// Builds the index of a vault that is empty as yet, out of the items of the batch that fills it.
///
/// A failure here is found, and reported, when the index is next asked for.
final class IndexBuilder {
    /// How many bytes of text may wait for the second thread.
    private static let waitingByteCountMax = 8 << 20

    /// An item on its way, with what is known of its text.
    private struct Sent: Sendable {
        let item: Item
        let scan: MarkdownScan?
    }

    private let items = Handoff<Sent>(costMax: waitingByteCountMax)
    /// The state that the finished index is to name; ended without a value if it is given up.
    private let verdict = Handoff<IndexedState>(costMax: 1)
    private let outcome = Outcome()
    private let worker: WorkerThread
    private var sent: Set<EntityID> = []
    /// Items that changed after they were sent.
    private var changed: Set<EntityID> = []
    private var isOpen = true

    /// - Parameter openIndex: called on the second thread, which the index belongs to until `end` returns it.
    init(open openIndex: @escaping @Sendable () throws(SearchError) -> SearchIndex) {
        let task = Task(open: openIndex, items: items, verdict: verdict, outcome: outcome)
        worker = WorkerThread { task.run() }
    }

    deinit { abandon() }

    /// Takes an item as the batch leaves it for now.
    ///
    /// - Parameter scan: of the item's text, if it was made already.
    func put(_ item: Item, scan: MarkdownScan?) {
        guard isOpen else { return }
        if sent.insert(item.id).inserted {
            items.put(Sent(item: item, scan: scan), cost: item.text.utf8.count + 256)
        } else {
            changed.insert(item.id)
        }
    }

    /// Says that the batch is complete, though not durable: the second thread goes on to write what it has.
    ///
    /// - Parameter latest: an item as the batch left it.
    func endItems(latest: (EntityID) -> Item?) {
        guard isOpen else { return }
        for id in changed {
            guard let item = latest(id) else { return abandon() }
            items.put(Sent(item: item, scan: nil), cost: item.text.utf8.count + 256)
        }
        items.end()
    }

    /// Says that the batch is durable, after `endItems`.
    func finish(at state: StateMark) {
        guard isOpen else { return }
        isOpen = false
        verdict.put(IndexedState(state), cost: 1)
        verdict.end()
    }

    /// Gives up: the batch came to nothing, or did what only reading it again would tell.
    func abandon() {
        guard isOpen else { return }
        isOpen = false
        items.stop()
        verdict.end()
    }

    /// Waits for the second thread.
    ///
    /// - Returns: the finished index; nil if it has to be made in another way.
    func end() -> SearchIndex? {
        abandon()
        worker.join()
        return outcome.index
    }

    private final class Outcome: @unchecked Sendable {
        // SAFETY: written by the worker and read after it was joined.
        var index: SearchIndex?
    }

    private struct Abandoned: Error {}

    private struct Task: Sendable {
        let open: @Sendable () throws(SearchError) -> SearchIndex
        let items: Handoff<Sent>
        let verdict: Handoff<IndexedState>
        let outcome: Outcome

        /// Waits until the batch is durable or has come to nothing.
        private func decidedState() throws(Abandoned) -> IndexedState {
            guard let state = verdict.take()?.first else { throw Abandoned() }
            return state
        }

        func run() {
            // Ends the sender's waiting, in any case.
            defer { items.stop() }
            do {
                let index = try open()
                try index.rebuild(newState: try decidedState().bytes) { add in
                    while let list = items.take() {
                        for sent in list { try add(SearchDocument(sent.item, scan: sent.scan)) }
                    }
                }
                outcome.index = index
            } catch {
                // The index is unfinished, and made anew when it is next needed.
            }
        }
    }
}
