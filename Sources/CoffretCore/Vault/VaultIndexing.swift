// Keeps the index up to date. A state of the vault is named by its digest and by what was applied; from the state that the
// index reflects to the current one, only the items that entries touched are read again.

internal import CoffretBase
internal import CoffretHistory
package import CoffretLogs
package import CoffretSearch
package import CoffretStorage

extension Vault {
    /// Above this many touched items, making the index anew is quicker than bringing it up to date.
    private static var updatedItemCountMax: Int { 20_000 }

    /// How many items are indexed between two calls of a progress.
    package static var indexProgressStep: Int { 100 }

    /// Hears of the index: why it is made anew (not called if there was none), how far that is, and that it cannot be
    /// used, so that items are read. What is not given stays as it was.
    package func observeIndex(
        willRebuild: ((RebuildReason) -> Void)? = nil,
        progress: ((_ doneCount: Int, _ itemCount: Int) -> Void)? = nil, willRead: ((SearchError) -> Void)? = nil
    ) {
        if let willRebuild { indexer?.willRebuild = willRebuild }
        if let progress { indexer?.progress = progress }
        if let willRead { indexer?.willRead = willRead }
    }

    /// Brings the index up to date with the current state; does nothing if it is. Worth calling after large changes, so
    /// that the next search need not.
    ///
    /// - Returns: why there is no index that can be used; nil if there is one. What the vault holds is found all the same.
    /// - Throws: `CoreError` of the vault itself, such as `.storage`.
    @discardableResult
    package func synchronizeIndex() throws -> SearchError? {
        guard case .failure(let obstacle) = try answer(forWords: false, { _ in }) else {
            return nil
        }
        return obstacle
    }

    /// Reads the index to its last page, and makes it again if it is damaged anywhere.
    ///
    /// - Returns: nil if there is none that could be read.
    package func checkIndex() throws -> IndexCheck? {
        guard let indexer else { return nil }
        var reason: RebuildReason?
        do throws(SearchError) {
            try indexer.index().verify()
        } catch {
            guard let found = error.reason else { return nil }
            if found == .missing { return nil }
            reason = found
        }
        guard let reason else { return .whole }
        let answer = try answer(forWords: false, madeAnewFor: reason) { _ in }
        guard case .success = answer else { return .damaged }
        return .madeAnew
    }

    /// Whether the index has to be made from nothing, of so many items that nobody should wait for it to see what there
    /// is: after a first sync, or where it was lost. `pageByReading` answers at once.
    ///
    /// - Complexity: counts the items if there is no index.
    package func isIndexFarOff() throws -> Bool {
        guard let indexer, try isIndexUnmade() else { return false }
        return try present.reader.itemCount() > indexer.quickItemCountMax
    }

    /// Whether the index has to be made from nothing.
    package func isIndexUnmade() throws -> Bool {
        // An index that cannot be used now is not waited for either.
        guard let indexer, let state = try? indexer.index().state() else { return false }
        switch state {
        case .rebuildNeeded: return true
        case .ready(let bytes):
            // An index of the vault before its first entry says nothing about what came since.
            return try IndexedState(bytes: bytes)?.mark.isEmpty == true && !presentMark().isEmpty
        }
    }

    /// The facts of some ten items.
    private static let smallFactCountMax: UInt64 = 64

    /// Whether reading the items themselves takes less than opening an index.
    package func isSmall() throws -> Bool {
        try inStorage(repository.ask { (machine) in machine.summary.factCount }) <= Self.smallFactCountMax
    }

    /// The result of `body` on the index, which reflects the current state. It is nil where no index can be used now:
    /// in a vault without one, on read-only media or a full disk, where another process holds it for long, or it
    /// cannot be read.
    /// Then everything is found by reading.
    ///
    /// An index in which `body` meets damage is made anew, and `body` runs again.
    ///
    /// - Parameter forWords: whether words are about to be searched for; see `SearchIndex.update`.
    func fromIndex<Found>(
        forWords: Bool = false, _ body: (SearchIndex) throws -> Found
    ) throws -> Found? {
        switch try answer(forWords: forWords, body) {
        case .success(let found): return found
        case .failure(let obstacle):
            if !obstacle.code.isExpected { indexer?.willRead?(obstacle) }
            return nil
        }
    }

    /// The result of `body` on the index, or why there is none that can be used; see `fromIndex`.
    ///
    /// - Parameter madeAnewFor: what is wrong with the index as it lies; nil if nothing is known to be.
    private func answer<Found>(
        forWords: Bool, madeAnewFor known: RebuildReason? = nil, _ body: (SearchIndex) throws -> Found
    ) throws -> Result<Found?, SearchError> {
        guard let indexer else { return .success(nil) }
        var reason = known
        var isNew = false
        while true {
            do {
                if let reason, !isNew {
                    isNew = true
                    indexer.willRebuild?(reason)
                    try rebuild(inSearch(indexer.index()), to: IndexedState(presentMark()))
                }
                guard let index = try synchronizedIndex(forWords: forWords) else { return .success(nil) }
                return .success(try body(index))
            } catch let error as CoreError {
                guard let obstacle = error.cause as? SearchError, obstacle.code.isAboutIndex else { throw error }
                guard let found = obstacle.reason, !isNew else { return .failure(obstacle) }
                reason = found
            }
        }
    }

    private func synchronizedIndex(forWords: Bool) throws -> SearchIndex? {
        guard let indexer else { return nil }
        let index = try inSearch(indexer.index())
        // Another process may have brought the index to a state that this one has not seen yet.
        do throws(StorageError) {
            _ = try repository.refresh()
        } catch {
            // A state under a key that came since looks damaged. Whoever opens the vault next has the key; until then items are
            // read, in the state that is known.
            if error.code == .journalDamagedSegment { return nil }
            throw CoreError(error)
        }
        let present = IndexedState(try presentMark())
        if try addOwnChanges(to: index, present, forWords: forWords) {
            if index.isWorn { try rebuild(index, to: present) }
            return index
        }
        switch try inSearch(index.state()) {
        case .ready(let bytes) where bytes == present.bytes:
            unindexed = nil
            return index
        case .ready(let bytes):
            if let indexed = IndexedState(bytes: bytes), let touched = try touchedItems(since: indexed),
                touched.count <= Self.updatedItemCountMax
            {
                try update(index, touched, to: present, forWords: forWords)
                if index.isWorn { try rebuild(index, to: present) }
            } else {
                try rebuild(index, to: present)
            }
        case .rebuildNeeded(let reason):
            if reason != .missing { indexer.willRebuild?(reason) }
            try rebuild(index, to: present)
        }
        unindexed = nil
        return index
    }

    /// Brings the index up to date in one step if it stands where the entries of this process began.
    ///
    /// - Returns: whether it did; if not, for any reason, nothing has changed.
    private func addOwnChanges(
        to index: SearchIndex, _ present: IndexedState, forWords: Bool
    ) throws -> Bool {
        guard let unindexed, let entities = unindexed.entities(to: present.mark) else { return false }
        let changes = try changes(of: try items(of: entities))
        do throws(SearchError) {
            let from = IndexedState(unindexed.from)
            let isUpdated = try index.update(
                from: from.bytes, changes, newState: present.bytes, bringsInWords: forWords)
            guard isUpdated else { return false }
        } catch {
            // An index that has to be made anew is reported, and made, by the caller that looks at its state.
            guard error.reason != nil else { throw CoreError(.search, at: error.code.rawValue, cause: error) }
            return false
        }
        self.unindexed = nil
        return true
    }

    private func update(
        _ index: SearchIndex, _ items: Set<EntityID>, to state: IndexedState, forWords: Bool
    ) throws {
        let changes = try changes(of: items)
        try inSearch(index.update(changes, newState: state.bytes, bringsInWords: forWords))
    }

    /// The changes of items for the index.
    private func changes(of items: Set<EntityID>) throws -> [DocumentChange] {
        let view = try whole
        var changes: [DocumentChange] = []
        for id in items.sorted() {
            if let item = try view.item(id) {
                changes.append(.put(SearchDocument(item)))
            } else {
                changes.append(.remove(id.bytes))
            }
        }
        return changes
    }

    func rebuild(_ index: SearchIndex, to state: IndexedState) throws {
        let view = try whole
        let itemCount = try view.reader.itemCount()
        var doneCount = 0
        do {
            try index.rebuild(newState: state.bytes) { add in
                try view.forEachItem { item in
                    try inSearch(add(SearchDocument(item)))
                    doneCount += 1
                    if doneCount % Self.indexProgressStep == 0 || doneCount == itemCount {
                        indexer?.progress?(doneCount, itemCount)
                    }
                }
            }
        } catch let error as CoreError {
            throw error
        } catch let error as SearchError {
            throw CoreError(.search, at: error.code.rawValue, cause: error)
        } catch {
            throw CoreError(.search, cause: error)
        }
    }

    /// The state of the vault now, by which `changedItems` and `conflictedItems` tell what came since.
    package func presentMark() throws -> StateMark { try inStorage(repository.stateMark()) }

    /// The items that differ, or may differ, between an indexed state and the current one; nil if nobody can tell.
    private func touchedItems(since indexed: IndexedState) throws -> Set<EntityID>? {
        guard !indexed.mark.isEmpty else { return nil }
        return try changedItems(since: indexed.mark)
    }

    /// The items that differ, or may differ, from an earlier state, those among them of which a file was attached or taken
    /// away; nil where nobody can tell.
    package func changedItems(since mark: StateMark) throws -> Set<EntityID>? {
        guard let entities = try inStorage(repository.entities(changedSince: mark)) else { return nil }
        return try items(of: entities)
    }

    /// Items among entities, and the items of the attachments among them.
    package func itemIDs(of entities: Set<EntityID>) throws -> Set<EntityID> { try items(of: entities) }

    private func items(of entities: Set<EntityID>) throws -> Set<EntityID> {
        let reader = try present.reader
        var items: Set<EntityID> = []
        for entity in entities {
            if ItemKind(entity) != nil {
                items.insert(entity)
            } else if entity.kind == EntityKind.attachment {
                // Gone or not, half of its id is half of its item's.
                let half = entity.uuid.bytes.prefix(AttachmentID.sharedByteCount)
                let digits = half.flatMap { [$0 >> 4, $0 & 15] }
                items.formUnion(try reader.itemIDs(beginningWith: digits, countMax: .max))
            }
        }
        return items
    }
}

/// Which entities the entries of this process touched since the index was brought up to date, so that they need not be read
/// again for it.
struct UnindexedChanges {
    /// Above this many, reading them again costs little in comparison.
    private static let entityCountMax = 1_000
    /// The state before the first of them.
    let from: StateMark
    private var to: StateMark
    private var entities: Set<EntityID> = []

    /// Adds an entry to those before it; begins anew if it does not follow them.
    ///
    /// `earlier` becomes nil where nothing can be said: after the first entry of all, or too many changes. It is changed
    /// where it lies: a copy for each entry would be one of all entities.
    static func add(
        to earlier: inout UnindexedChanges?, from before: StateMark, to after: StateMark, _ changes: [LogChange]
    ) {
        guard !before.isEmpty, changes.count <= entityCountMax else { return earlier = nil }
        if earlier?.to != before { earlier = UnindexedChanges(from: before, to: before) }
        earlier?.to = after
        for change in changes { earlier?.entities.insert(change.key.entity) }
        if let count = earlier?.entities.count, count > entityCountMax { earlier = nil }
    }

    /// The entities, if exactly these entries lie between `from` and a state.
    func entities(to mark: StateMark) -> Set<EntityID>? { mark == to ? entities : nil }
}

/// The state of a vault as the index remembers it: format (1) ‖ `StateMark`.
///
/// The format number changes whenever documents are made differently, which makes every index anew.
struct IndexedState: Equatable {
    static let format: UInt8 = 3
    let mark: StateMark

    init(_ mark: StateMark) { self.mark = mark }

    init?(bytes: [UInt8]) {
        guard bytes.first == Self.format, let mark = StateMark(decoding: Array(bytes.dropFirst())) else { return nil }
        self.mark = mark
    }

    var bytes: [UInt8] { [Self.format] + mark.encoded }
}

/// The result of a check of the index.
package enum IndexCheck: String, Sendable {
    case whole
    /// It was damaged, and was made again.
    case madeAnew = "made-anew"
    /// It is damaged, and cannot be made again now.
    case damaged
}

extension SearchError.Code {
    /// Whether this is about the index and not about a query: then items are read instead.
    var isAboutIndex: Bool {
        switch self {
        case .rebuildNeeded, .indexBusy, .indexFull, .indexReadOnly, .indexFailed: true
        default: false
        }
    }

    /// Whether the index lies where it cannot be used now, though nothing is wrong with it.
    var isExpected: Bool { self == .indexReadOnly || self == .indexFull || self == .indexBusy }
}

/// Evaluates `value`, turning errors of the search index into this module's.
func inSearch<Result>(_ value: @autoclosure () throws(SearchError) -> Result) throws -> Result {
    do throws(SearchError) {
        return try value()
    } catch {
        throw CoreError(.search, at: error.code.rawValue, cause: error)
    }
}

extension Item {
    /// Whether more of it may be found than the title and tags that anybody sees.
    fileprivate var isSearched: Bool { !isLocked && !isHidden }

    /// The text as far as it may be found.
    var searchedText: String { isSearched ? text : "" }
}

extension SearchDocument {
    /// An item as it is to be found: without the values of secret fields, and without all that is locked or hidden.
    ///
    /// - Parameter known: the scan of the item's text; nil to make it here.
    init(_ item: Item, scan known: MarkdownScan? = nil) {
        let hasContents = item.isSearched
        let scan = hasContents ? known ?? MarkdownScan(item.text) : MarkdownScan("")
        var fields: [(name: String, text: String)] = []
        if hasContents {
            fields = item.fields.filter { !$0.kind.isSecret }.map { (name: $0.label, text: $0.value) }
            fields += item.attachments.map { (name: "file", text: $0.name) }
        }
        let title = hasContents ? item.title(scan: scan) : item.visibleTitle
        self.init(
            entity: item.id.bytes, title: title, body: item.searchedText,
            tags: hasContents ? item.allTags(scan: scan).map(\.path) : item.visibleTags.map(\.path),
            fields: fields, createdMilliseconds: item.created, modifiedMilliseconds: item.modified,
            flags: item.flags, hasAttachments: item.hasAttachments, isLocked: item.isLocked,
            hasConflicts: !item.conflicts.isEmpty,
            links: scan.links.flatMap { NoteLink.keys(in: $0, from: item.path) },
            keys: NoteLink.keys(of: item, title: title))
    }
}
