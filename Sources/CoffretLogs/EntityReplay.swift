// The life of an item, played again. The one thing to keep true: it reads the entries of the item and no others, and ends in
// what stands now.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust

/// What stood of some entities after each entry that changed them, in the order of `EntryWalk`, oldest first.
package struct EntityReplay {
    /// One entry, with its changes of these entities.
    package struct Step: Sendable {
        package let entry: BlobName
        package let rank: EntryRank
        package let accountID: ChainID
        package let deviceID: UniqueID
        /// The author's clock; for show.
        package let time: Milliseconds
        package let changes: [Change]
    }

    /// What stood before the first step that is kept here, below a checkpoint; nil: nothing did.
    package struct Start: Sendable {
        /// The root of the tree that has it.
        package let root: BlobName
        package let accountID: ChainID
        package let deviceID: UniqueID
        /// As the link states it.
        package let time: Milliseconds
    }

    package let start: Start?
    package let steps: [Step]
    private let repository: LogRepository
    /// Facts by key; what was replaced stands no more.
    private var standing: [FactKey: CurrentFacts]
    /// All versions of texts, for merging.
    private var versions: [FactKey: [Dot: (version: TextVersion, content: ChangeContent)]] = [:]
    /// How many steps were taken.
    package private(set) var stepCount = 0

    init(
        _ repository: LogRepository, start: Start?, facts: [FactKey: CurrentFacts], steps: [Step]
    ) {
        self.repository = repository
        self.start = start
        self.steps = steps
        standing = facts
        for (key, facts) in facts where repository.isText(key) {
            for (dot, fact) in facts {
                let version = TextVersion(rank: EntryRank(height: fact.height, dot: dot))
                versions[key, default: [:]][dot] = (version, fact.content)
            }
        }
    }

    /// Takes the next step.
    ///
    /// - Returns: nil at the end.
    package mutating func next() -> Step? {
        guard stepCount < steps.count else { return nil }
        let step = steps[stepCount]
        stepCount += 1
        for change in step.changes {
            var facts = standing[change.key] ?? [:]
            for dot in change.replaces { facts[dot] = nil }
            if change.content != .retraction {
                facts[step.rank.dot] = CurrentFact(height: step.rank.height, content: change.content)
            }
            standing[change.key] = facts.isEmpty ? nil : facts
            guard repository.isText(change.key) else { continue }
            let version = TextVersion(
                rank: step.rank, replaces: change.replaces, isRetraction: change.content == .retraction)
            versions[change.key, default: [:]][step.rank.dot] = (version, change.content)
        }
        return step
    }

    /// Takes steps up to one, and that one.
    package mutating func advance(upTo rank: EntryRank) {
        while stepCount < steps.count, steps[stepCount].rank <= rank { _ = next() }
    }

    /// The facts that stand, ascending.
    package var facts: [Fact] { facts { _ in true } }

    /// The facts that stand of some entities, ascending.
    package func facts(_ isWanted: (EntityID) -> Bool) -> [Fact] {
        var found: [Fact] = []
        for (key, facts) in standing where isWanted(key.entity) {
            for (dot, fact) in facts {
                found.append(Fact(key: key, content: fact.content.inTree, dot: dot, height: fact.height))
            }
        }
        return found.sorted()
    }

    /// The value of a fact that stands.
    package func value(of fact: Fact) throws(StorageError) -> [UInt8] {
        let content = standing[fact.key]?[fact.dot]?.content ?? fact.content.inEntry
        return try repository.value(of: content, under: fact.key)
    }

    /// What a text key shows; nil: nothing stands under it.
    package func shownText(under key: FactKey) throws(StorageError) -> ShownText? {
        guard let facts = standing[key], !facts.isEmpty else { return nil }
        let known = versions[key] ?? [:]
        let current = facts.map { dot, fact in
            known[dot]?.version ?? TextVersion(rank: EntryRank(height: fact.height, dot: dot))
        }
        return try repository.show(current, under: key, versions: { known[$0]?.version }) {
            facts[$0]?.content ?? known[$0]?.content
        }
    }
}

extension LogRepository {
    /// The life of all entities whose ids begin with one of these bytes, none of which begins with another.
    ///
    /// - Complexity: one read for each of their entries.
    package func replay(ofEntities prefixes: [[UInt8]]) throws(StorageError) -> EntityReplay {
        try ask { (machine) throws(StorageError) in
            var ranks: Set<EntryRank> = []
            for prefix in prefixes {
                for entity in try machine.store.items.entities(withPrefix: prefix) {
                    ranks.formUnion(try machine.store.items.versions(of: entity))
                }
            }
            // The tip of a checkpoint is kept below which history was dropped; what it wrote is in the tree.
            let floor = machine.droppedBelow.map { machine.members.chain.states[$0].accepted } ?? Frontier()
            var steps: [EntityReplay.Step] = []
            for rank in ranks.sorted() where !floor.covers(rank.dot) {
                for stored in try machine.store.entries(at: rank.dot) where stored.entry.height == rank.height {
                    let entry = stored.entry
                    guard try machine.counts(entry) else { continue }
                    var changes: [Change] = []
                    for prefix in prefixes { changes += try files.changes(of: entry, withPrefix: prefix) }
                    guard !changes.isEmpty else { continue }
                    steps.append(
                        EntityReplay.Step(
                            entry: entry.name, rank: rank, accountID: entry.context.accountID,
                            deviceID: entry.context.deviceID, time: entry.body.time, changes: changes))
                }
            }
            // Entries below a base may be gone, or not here yet: what they wrote is in its tree.
            let kept = Set(steps.map(\.rank.dot))
            var facts: [FactKey: CurrentFacts] = [:]
            for prefix in prefixes {
                for (key, found) in try beginning(machine, withPrefix: prefix, without: kept) {
                    for fact in found {
                        facts[key, default: [:]][fact.dot] = CurrentFact(
                            height: fact.height, content: fact.content.inEntry)
                    }
                }
            }
            var start: EntityReplay.Start?
            if !facts.isEmpty, let link = machine.droppedBelow ?? machine.base,
                let root = machine.startRoot ?? machine.baseRoot
            {
                let signed = machine.members.chain.links[link]
                start = EntityReplay.Start(
                    root: root, accountID: signed.accountID, deviceID: signed.deviceID,
                    time: signed.details?.time ?? machine.members.chain.states[link].time)
            }
            return EntityReplay(self, start: start, facts: facts, steps: steps)
        }
    }

    /// What a text key shows in an earlier state.
    ///
    /// - Parameter current: the facts that stand there; at least one.
    package func shownText(under key: FactKey, of current: [Fact]) throws(StorageError) -> ShownText {
        let contents = Dictionary(current.map { ($0.dot, $0.content.inEntry) }) { first, _ in first }
        var known: [Dot: (version: TextVersion, content: ChangeContent)] = [:]
        try ask { (machine) throws(StorageError) in
            for name in try machine.store.entries(touching: key) {
                guard let entry = try machine.store.entry(named: name)?.entry, try machine.counts(entry) else {
                    continue
                }
                if let change = try files.change(of: key, by: entry) {
                    let version = TextVersion(
                        rank: entry.rank, replaces: change.replaces, isRetraction: change.content == .retraction)
                    known[entry.dot] = (version, change.content)
                }
            }
        }
        let versions = current.map { fact in
            known[fact.dot]?.version ?? TextVersion(rank: EntryRank(height: fact.height, dot: fact.dot))
        }
        return try show(versions, under: key, versions: { known[$0]?.version }) {
            known[$0]?.content ?? contents[$0]
        }
    }

    fileprivate func show(
        _ current: [TextVersion], under key: FactKey, versions: @escaping (Dot) -> TextVersion?,
        content: @escaping (Dot) -> ChangeContent?
    ) throws(StorageError) -> ShownText {
        var failure: StorageError?
        do throws(HistoryError) {
            let merge = TextMerge(version: versions) { (dot) throws(HistoryError) in
                guard let content = content(dot) else { throw HistoryError(.valueMalformed, place: dot.description) }
                do throws(StorageError) { return try self.value(of: content, under: key) } catch {
                    if error.code != .factMalformedValue { failure = error }
                    throw HistoryError(.valueMalformed, place: key.description, cause: error)
                }
            }
            let shown = try merge.show(current)
            if let failure { throw HistoryError(.valueMalformed, cause: failure) }
            return shown
        } catch {
            throw failure ?? StorageError(.factMalformedValue, place: key.description, cause: error)
        }
    }
}

extension Fact {
    /// The value as its author had it, if it lies in place and was not compressed.
    package var plainInlineValue: [UInt8]? {
        guard let stored = inlineValue, stored.first == 0 else { return nil }
        return Array(stored.dropFirst())
    }
}
