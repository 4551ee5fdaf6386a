// Checking everything. The one thing to keep true: it takes nothing on trust that reading takes on trust: signatures,
// indexes, the state, its tree and all values are verified or computed again.

internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage

/// The findings of `LogRepository.fsck`.
package struct LogFsckReport: Sendable {
    package enum Finding: Equatable, Sendable, CustomStringConvertible {
        case storage(StorageError)
        case history(HistoryError)

        package var description: String {
            switch self {
            case .storage(let error): error.description
            case .history(let error): error.description
            }
        }
    }

    package internal(set) var entryCount = 0
    package internal(set) var signatureCount = 0
    package internal(set) var factCount: UInt64 = 0
    package internal(set) var valueCount = 0
    package internal(set) var reachableBlobCount = 0
    /// What the files themselves showed.
    package internal(set) var blobs = BlobCheckReport()
    /// What is wrong with entries, trees and values, and cannot be made again from what is here.
    package internal(set) var problems: [Finding] = []
    /// What is wrong with what is derived; `repair` makes it anew.
    package internal(set) var repairable: [Finding] = []

    /// All that is wrong.
    package var allProblems: [any Error] {
        var errors: [any Error] = blobs.problems
        for finding in problems + repairable {
            switch finding {
            case .storage(let error): errors.append(error)
            case .history(let error): errors.append(error)
            }
        }
        return errors
    }

    package var isClean: Bool { problems.isEmpty && repairable.isEmpty && blobs.problems.isEmpty }

    mutating func collect(_ body: (inout LogFsckReport) throws(StorageError) -> Void) {
        do throws(StorageError) { try body(&self) } catch {
            problems.append((error.cause as? HistoryError).map { .history($0) } ?? .storage(error))
        }
    }
}

extension LogRepository {
    /// Checks files, entries, signatures, both indexes, the state, its tree and all values; reports all it finds.
    ///
    /// - Parameter progress: an error that it throws ends the check.
    /// - Complexity: reads everything, and verifies a signature for each entry.
    package func fsck(progress: (FsckProgress) throws -> Void) rethrows -> LogFsckReport {
        var report = LogFsckReport()
        report.blobs = try blobs.check { done, total in
            try progress(FsckProgress(phase: .files, doneCount: done, totalCount: total))
        }
        var records: [LogIndex.Record] = []
        report.collect { (_) throws(StorageError) in
            records = try ask { (machine) throws(StorageError) in
                var found: [LogIndex.Record] = []
                try machine.store.index.forEachRecord { (record) in found.append(record) }
                return found
            }
        }
        var items: Set<ItemRecord> = []
        for (place, record) in records.enumerated() {
            if place % 256 == 0 {
                try progress(FsckProgress(phase: .entries, doneCount: place, totalCount: records.count))
            }
            report.collect { (report) throws(StorageError) in try check(record, &items, &report) }
        }
        report.collect { (report) throws(StorageError) in try checkIndexes(Set(records.map(\.name)), items, &report) }
        report.collect { (report) throws(StorageError) in try checkState(&report) }
        report.collect { (report) throws(StorageError) in report.reachableBlobCount = try liveBlobs().count }
        return report
    }

    /// As above, in silence.
    package func fsck() -> LogFsckReport { fsck { _ in } }

    /// Makes everything that is derived anew from the entries that lie here, and stores it.
    ///
    /// What was dropped is known afterwards as far as the index of before can be read.
    package func repair() throws(StorageError) {
        try requireWriter()
        adopt(try load(rebuildsIndex: true))
        try checkpoint()
    }

    private struct ItemRecord: Hashable {
        let entity: EntityID
        let rank: EntryRank
    }

    // MARK: Entries

    private func check(
        _ record: LogIndex.Record, _ items: inout Set<ItemRecord>, _ report: inout LogFsckReport
    ) throws(StorageError) {
        report.entryCount += 1
        let content = try blobs.blobBytes(record.name, type: .entry)
        let entry = try files.unverified(content, name: record.name)
        guard entry.dot == record.dot, entry.body.height == record.height, content.count == record.byteCount,
            entry.isBare == record.isBare
        else {
            report.repairable.append(.storage(StorageError(.indexDamaged, place: record.name.description)))
            return
        }
        checkSignature(of: entry, &report)
        guard !entry.isBare else { return }
        try checkPredecessor(of: entry, &report)
        let verified = VerifiedEntry.readBack(entry)
        for change in try files.changes(of: verified) {
            items.insert(ItemRecord(entity: change.key.entity, rank: verified.rank))
            if change.content != .retraction { checkValue(change.content, under: change.key, &report) }
        }
    }

    private func checkSignature(of entry: UnverifiedEntry, _ report: inout LogFsckReport) {
        do throws(HistoryError) {
            let members = MemberView(
                accounts: chains.accounts, chain: chains.members, takenCount: chains.members.count)
            _ = try EntryVerifier(vaultID: keys.vaultID, authority: members).verifySignature(of: entry)
            report.signatureCount += 1
        } catch {
            report.problems.append(.history(error))
        }
    }

    /// A log has no gaps, but below what was dropped.
    private func checkPredecessor(of entry: UnverifiedEntry, _ report: inout LogFsckReport) throws(StorageError) {
        guard let before = entry.body.before else { return }
        let dot = Dot(entry.dot.instance, entry.dot.number - 1)
        let isKnown = try ask { (machine) throws(StorageError) in
            // Below the base of a new device there is nothing, and after a repair nobody knows what was dropped.
            let below = machine.accepted.covers(dot)
            let known = try machine.store.dot(of: before)
            return below || known == dot || machine.frontier.number(of: dot.instance) < entry.dot.number
        }
        if !isKnown { report.problems.append(.history(HistoryError(.logBroken, place: entry.dot.description))) }
    }

    private func checkValue(_ content: ChangeContent, under key: FactKey, _ report: inout LogFsckReport) {
        report.valueCount += 1
        report.collect { (_) throws(StorageError) in _ = try value(of: content, under: key) }
    }

    // MARK: What is derived

    private func checkIndexes(
        _ known: Set<BlobName>, _ items: Set<ItemRecord>, _ report: inout LogFsckReport
    ) throws(StorageError) {
        var lost: Set<BlobName> = []
        try blobs.forEachBlob(type: .entry) { (name, content) throws(StorageError) in
            guard !known.contains(name), let entry = try files.readable(content, name: name) else { return }
            let isLost = try ask { (machine) throws(StorageError) in
                // What a sync left that broke off is garbage.
                guard machine.frontier.covers(entry.dot), !machine.accepted.covers(entry.dot) else { return false }
                guard try machine.store.index.records(at: entry.dot).isEmpty else { return false }
                return try machine.store.index.dropped(name) == nil
            }
            if isLost { lost.insert(name) }
        }
        var listed: Set<ItemRecord> = []
        try ask { (machine) throws(StorageError) in
            try machine.store.items.forEachRecord { (entity, rank) in
                listed.insert(ItemRecord(entity: entity, rank: rank))
            }
        }
        for name in lost.sorted() {
            report.repairable.append(.storage(StorageError(.indexDamaged, place: name.description)))
        }
        for record in listed.symmetricDifference(items).sorted(by: { $0.rank < $1.rank }) {
            let place = "\(record.entity) \(record.rank.dot)"
            report.repairable.append(.storage(StorageError(.indexDamaged, place: place)))
        }
    }

    /// The tree, its digest, and the state computed anew from the base.
    private func checkState(_ report: inout LogFsckReport) throws(StorageError) {
        let present = try present()
        var (facts, digest) = ([FactKey: [Fact]](), StateDigest())
        try present.forEachFact { (fact) throws(StorageError) in
            facts[fact.key, default: []].append(fact)
            digest.add(files.digestTerm(of: fact))
            report.factCount += 1
            checkValue(fact.content.inEntry, under: fact.key, &report)
        }
        if try files.facts.changing(files.facts.empty(), facts).name != present.rootName {
            report.repairable.append(.storage(StorageError(.treeRootMismatch, place: present.rootName.description)))
        }
        let found = StateSummary(digest: digest, factCount: report.factCount)
        let (anew, root) = try ask { (machine) throws(StorageError) in
            var plan = machine
            // Nobody leaves: the plan is computed anew from the base.
            try plan.leave([], of: nil, isForked: true)
            try plan.flush()
            return (plan.summary, plan.store.tree.name)
        }
        if found != present.summary || anew != found || root != present.rootName {
            report.repairable.append(.history(HistoryError(.stateDiffers, place: directory)))
        }
    }
}
