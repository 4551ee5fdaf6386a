// Own work that stood on commits which count no more, written again. The one thing to keep true: what is written has seen
// what the first writing had seen of what counts, and nothing else, so that it supersedes nothing that it did not before.

internal import CoffretBase
internal import CoffretCrypto

/// What this device wrote in commits that were set aside, by what of the rest it had seen.
private struct OwnWork {
    /// Commits that count and that came to be seen, and the last change of each key from there to the next step.
    struct Step {
        var seen: [BlobName]
        var changes: [FactKey: CommitChange] = [:]
    }

    var steps: [Step] = []
    /// The newest own commit in it.
    var sequence: UInt64 = 0

    var seen: [BlobName] { steps.flatMap(\.seen) }

    mutating func see(_ name: BlobName) {
        if let last = steps.last, last.changes.isEmpty {
            steps[steps.count - 1].seen.append(name)
        } else {
            steps.append(Step(seen: [name]))
        }
    }

    mutating func add(_ changes: [CommitChange]) {
        if steps.isEmpty { steps.append(Step(seen: [])) }
        for change in changes { steps[steps.count - 1].changes[change.key] = change }
    }
}

extension CommitChange {
    /// The change that makes a fact, by whoever writes it.
    fileprivate init(_ fact: Fact) {
        switch fact.content {
        case .retraction: self.init(key: fact.key, content: .retraction)
        case .inline(let bytes): self.init(key: fact.key, content: .inline(bytes))
        case .stored(let value): self.init(key: fact.key, content: .stored(value))
        }
    }
}

extension Adoption {
    /// What is left of the local head when it counts no more: its newest commits that do, and above them what this device
    /// wrote in those that do not, one commit for all between two that came from others (protocol 3).
    func validSides(
        of foreign: ForeignHistory, _ heads: [BlobName], _ localHead: BlobName, time: Milliseconds
    ) throws(StorageError) -> [MergeSide] {
        guard let work = try ownWork(in: foreign, heads, upTo: localHead) else { return [] }
        let record = try lostRecord(foreign, work.seen)
        var sides: [MergeSide] = []
        for (index, step) in work.steps.enumerated() {
            for name in step.seen { sides.append(try side(name)) }
            let isLast = index == work.steps.count - 1
            guard !step.changes.isEmpty || isLast && record != nil else { continue }
            let base = try reduce(sides, time: time)
            let changes = step.changes.values.sorted { $0.key < $1.key }
            sides = [try write(changes, isLast ? record : nil, on: base, time: time)]
        }
        return sides
    }

    private func ownWork(
        in foreign: ForeignHistory, _ heads: [BlobName], upTo head: BlobName
    ) throws(StorageError) -> OwnWork? {
        var works: [BlobName: OwnWork] = [:]
        for commit in foreign.rejudged where foreign.setAside.contains(commit.name) {
            var parts: [OwnWork] = []
            for parent in commit.parents {
                var part = OwnWork()
                if let work = works[parent] {
                    part = work
                } else if try graph.contains(parent) {
                    part.see(parent)
                } else {
                    part = try removedWork(below: commit, in: foreign, heads + [head])
                }
                parts.append(part)
            }
            // What this device wrote is one line, and the others have a beginning of it.
            var work = OwnWork()
            for part in parts where part.sequence > work.sequence { work = part }
            for name in parts.flatMap(\.seen) where try !hasSeen(name, work.seen) { work.see(name) }
            if commit.instance == author.instanceID {
                work.sequence = commit.sequence
                // A merge says nothing of its own.
                if !commit.flags.contains(.merge) { work.add(try ownChanges(of: commit)) }
            }
            works[commit.name] = work
        }
        return works[head]
    }

    /// What this device wrote in commits that led to one and were removed here, as far as it was there still in the end.
    ///
    /// - Parameter heads: what counts leads to these.
    private func removedWork(
        below commit: CommitSummary, in foreign: ForeignHistory, _ heads: [BlobName]
    ) throws(StorageError) -> OwnWork {
        var work = OwnWork()
        let versions = try graph.versions(of: commit.name)
        for name in try newestCounting(in: foreign, heads, within: versions) { work.see(name) }
        // What this device wrote is one line: what led to a commit of its own that counts does too.
        var counting: UInt64 = 0
        for name in try newestCounting(in: foreign, heads, within: nil) {
            counting = max(counting, try graph.versions(of: name)[author.instanceID])
        }
        // Where a history begins its tree is kept.
        guard try incoming.containsTree(commit.commit.root) else { return work }
        var changes: [CommitChange] = []
        try loader.state(of: commit.name).forEachFact { fact in
            let (instance, sequence) = (fact.dot.instance, fact.dot.sequence)
            guard instance == author.instanceID, sequence > counting, fact.dot != commit.dot else { return }
            work.sequence = max(work.sequence, sequence)
            changes.append(CommitChange(fact))
        }
        if !changes.isEmpty { work.add(changes) }
        return work
    }

    /// The newest commits that count, of those that lead to some heads.
    ///
    /// - Parameter versions: of a commit from which no line leads there any more: only what it has seen.
    private func newestCounting(
        in foreign: ForeignHistory, _ heads: [BlobName], within versions: VersionVector?
    ) throws(StorageError) -> [BlobName] {
        var newest: [BlobName] = []
        var pending = heads
        var met = Set(heads)
        while let name = pending.popLast() {
            guard try graph.contains(name) else { continue }
            if foreign.commits[name]?.standing ?? .valid == .valid, !foreign.setAside.contains(name),
                try isSeen(name, by: versions)
            {
                newest.append(name)
                continue
            }
            for parent in try graph.summary(name).parents where met.insert(parent).inserted { pending.append(parent) }
        }
        return newest.sorted()
    }

    private func isSeen(_ name: BlobName, by versions: VersionVector?) throws(StorageError) -> Bool {
        guard let versions else { return true }
        return try versions.covers(graph.versions(of: name))
    }

    private func hasSeen(_ name: BlobName, _ heads: [BlobName]) throws(StorageError) -> Bool {
        for head in heads where try graph.isAncestor(name, of: head) { return true }
        return false
    }

    func ownChanges(of commit: CommitSummary) throws(StorageError) -> [CommitChange] {
        if case .list(let changes) = commit.commit.changes { return changes }
        return try graph.history.changes(of: commit).facts.map { fact in CommitChange(fact) }
    }

    /// What says what is gone here, where the record by which it went does not count any more.
    ///
    /// - Parameter bases: what stays of the own head.
    /// - Returns: nil if nothing is gone, or records that count say so.
    private func lostRecord(
        _ foreign: ForeignHistory, _ bases: [BlobName]
    ) throws(StorageError) -> CompactionRecord? {
        let aside = foreign.rejudged.filter { foreign.setAside.contains($0.name) }.compactMap(\.commit.compaction)
        guard !aside.isEmpty else { return nil }
        var lost: Set<BlobName> = []
        var beginnings: [BlobName: VersionVector] = [:]
        var counting: [CompactionRecord] = []
        try graph.forEachCommit(from: bases) { (commit) throws(StorageError) in
            if let record = commit.commit.compaction { counting.append(record) }
            for parent in commit.parents where foreign.commits[parent] == nil {
                // What was offered and not asked for does not stay.
                guard try !repository.backend.containsBlob(parent) else { continue }
                lost.insert(parent)
                beginnings[commit.name] = try graph.versions(of: commit.name)
            }
        }
        let isTold = lost.allSatisfy { parent in counting.contains { $0.removedParents.contains(parent) } }
        let isStated = beginnings.keys.allSatisfy { name in counting.contains { $0.beginnings?[name] != nil } }
        guard !isTold || !isStated else { return nil }
        let followed = aside.filter { !lost.isDisjoint(with: $0.removedParents) }
        guard !followed.isEmpty else { return nil }
        var removed = VersionVector()
        var authors: [UniqueID: CompactionRecord.Author] = [:]
        for record in followed {
            removed.merge(record.removedVersions)
            authors.merge(record.authors ?? [:]) { known, _ in known }
        }
        return CompactionRecord(
            removedParents: lost.sorted(), removedCommitCount: followed.reduce(0) { $0 + $1.removedCommitCount },
            removedVersions: removed, olderThanMilliseconds: followed.map(\.olderThanMilliseconds).max() ?? .min,
            beginnings: beginnings, authors: authors)
    }

    /// Writes an ordinary commit on a state.
    ///
    /// - Parameters:
    ///   - changes: ascending, one for each key.
    ///   - record: what it says was removed.
    func write(
        _ changes: [CommitChange], _ record: CompactionRecord? = nil, on base: MergeSide?, time: Milliseconds
    ) throws(StorageError) -> MergeSide {
        var versions = base?.versions ?? VersionVector()
        let annotation = try RepositoryAnnotation.decode(repository.backend.state.annotation)
        let before = Dot(instance: author.instanceID, sequence: versions[author.instanceID])
        let newest = max(
            before.sequence, annotation.usedSequences[author.instanceID], droppedOwn[author.instanceID])
        let dot = Dot(instance: author.instanceID, sequence: newest + 1)
        var previous: BlobName?
        if let base, before.sequence > 0 { previous = try graph.commit(with: before, from: base.commit.name) }
        versions.advance(dot)

        let facts = changes.map { $0.fact(ownDot: dot) }
        let root = try loader.editor.apply(
            facts.map { Replacement(key: $0.key, facts: $0.isRetraction ? [] : [$0]) },
            to: base?.state.root() ?? loader.emptyRoot)
        let context = repository.context(for: author, epoch: base?.commit.context.epoch)
        let parents = base.map { [$0.commit.name] } ?? []
        var commit = Commit(
            context: try transaction.writeBlob(type: .commitContext, bytes: context.encode()), root: root.name,
            parents: parents, sequence: dot.sequence, timeMilliseconds: time, flags: record == nil ? [] : [.compaction],
            changes: .list(changes), previousOfInstance: previous.flatMap { parents.contains($0) ? nil : $0 },
            versionVector: versions, compaction: record)
        var unstored = base?.state.overlay.unstored ?? [:]
        if isLarge(changes) {
            try storeTree(of: changes, in: &commit, dot: dot)
        } else {
            for (change, fact) in zip(changes, facts) {
                guard let content = change.content.unstoredBlob, case .stored(let value) = fact.content else {
                    continue
                }
                unstored[value.name] = content
            }
        }
        let name = try transaction.writeBlob(
            type: .commit, bytes: commit.sign(with: author, vaultID: context.vaultID))
        graph.note(versions, of: name)
        return MergeSide(
            commit: CommitSummary(name: name, commit: commit, context: context), versions: versions,
            state: state(of: name, root: root, unstored: unstored))
    }
}
