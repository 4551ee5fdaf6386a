// The search index of a first import, made on a second thread while the first one seals. The one thing to keep true:
// the index names a commit only when that commit is durable; until then it counts as unfinished.

internal import CoffretBase
internal import CoffretSearch
internal import CoffretStorage

/// Builds the index of a vault that is empty as yet, out of the items of the batch that fills it.
///
/// What goes wrong here is found, and told, when the index is next asked for.
final class IndexBuilder {
    /// How many bytes of text may wait for the second thread.
    private static let waitingByteCountMax = 8 << 20

    private let items = Handoff<Item>(costMax: waitingByteCountMax)
    private let outcome = Outcome()
    private let worker: WorkerThread
    private var sent: Set<EntityID> = []
    /// Items that changed after they were sent.
    private var changed: Set<EntityID> = []
    private var isOpen = true

    /// - Parameter openIndex: called on the second thread, which the index belongs to until `end` returns it.
    init(open openIndex: @escaping () throws(SearchError) -> SearchIndex) {
        let task = Task(open: openIndex, items: items, outcome: outcome)
        worker = WorkerThread { task.run() }
    }

    deinit { abandon() }

    /// Takes an item as the batch leaves it for now.
    func put(_ item: Item) {
        guard isOpen else { return }
        if sent.insert(item.id).inserted {
            items.put(item, cost: item.text.utf8.count + 256)
        } else {
            changed.insert(item.id)
        }
    }

    /// Says that the batch is durable.
    ///
    /// - Parameter item: an item as the batch left it.
    func finish(at commit: BlobName, item: (EntityID) -> Item?) {
        guard isOpen else { return }
        for id in changed {
            guard let item = item(id) else { return abandon() }
            items.put(item, cost: item.text.utf8.count + 256)
        }
        isOpen = false
        outcome.state = IndexedState(head: commit)
        items.end()
    }

    /// Gives up: the batch came to nothing, or did what only reading it again would tell.
    func abandon() {
        guard isOpen else { return }
        isOpen = false
        items.end()
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
        // SAFETY: `state` is written before the sender ends `items`, and read after its end was seen; `index` is
        // written by the worker and read after it was joined.
        var state: IndexedState?
        var index: SearchIndex?
    }

    private struct Abandoned: Error {}

    private struct Task: @unchecked Sendable {
        // SAFETY: handed to the worker, which alone uses `open` while it runs; the rest is made for two threads.
        let open: () throws(SearchError) -> SearchIndex
        let items: Handoff<Item>
        let outcome: Outcome

        func run() {
            // Ends the sender's waiting, whatever happens.
            defer { items.stop() }
            do {
                let index = try open()
                try index.rebuild(newState: outcome.state?.bytes ?? []) { add in
                    while let list = items.take() {
                        for item in list { try add(SearchDocument(item)) }
                    }
                    guard outcome.state != nil else { throw Abandoned() }
                }
                outcome.index = index
            } catch {
                // The index is unfinished, and made anew when it is next needed.
            }
        }
    }
}
