// Commits as points in time. Invariant: the order of commits decides what was before what; times only help people to
// point.

package import CoffretBase
package import CoffretStorage

/// One commit, for the vault's log.
package struct LogEntry: Sendable {
    /// The commit's name.
    package let commit: BlobName
    /// When it was made, by the clock of the device that made it.
    package let time: Milliseconds
    /// The copy of the store that made it.
    package let instance: UniqueID
    /// The device that made it; `Store.deviceName` knows what people call it.
    package let device: [UInt8]
    /// How many items it touched, with their files: of more than `countedItemMax` the first.
    package let itemCount: Int
    /// Whether it touched more than were counted.
    package let hasMore: Bool
    /// Up to `itemCountMax` of them.
    package let items: [EntityID]

    /// How many items an entry names.
    package static let itemCountMax = 20
    /// After so many an entry counts no further: an import of all that somebody has is not read for one line.
    package static let countedItemMax = 1_000
}

extension Vault {
    /// The shortest beginning of a commit's name that is looked for, in hex digits.
    private static var digitCountMin: Int { 4 }

    /// Walks from the newest commit to the oldest along first parents; a commit says what changed against its
    /// first parent, so this line alone tells the whole story of the facts.
    ///
    /// - Parameter body: returns whether to go on.
    func walkHistory(_ body: (CommitSummary) throws -> Bool) throws {
        var next = repository.headNames.first
        while let name = next {
            guard let commit = try inStorage(repository.commitIfKept(name)),
                try body(commit)
            else { return }
            next = commit.firstParent
        }
    }

    /// The commit that a moment points to.
    ///
    /// - Throws: `CoreError` `.momentBeforeHistory` if all commits are newer, `.commitNotFound`,
    ///   `.commitAmbiguous`, `.momentInvalid` for a name shorter than four digits.
    /// - Complexity: reads the commits from the newest back to that one; for a name, all of them.
    package func commit(at moment: Moment) throws -> CommitSummary {
        switch moment {
        case .time(let time):
            var found: CommitSummary?
            try walkHistory { commit in
                if commit.timeMilliseconds <= time { found = commit }
                return found == nil
            }
            guard let found else { throw CoreError(.momentBeforeHistory) }
            return found
        case .commit(let text):
            let digits = text.lowercased()
            guard (Self.digitCountMin...64).contains(digits.utf8.count), digits.allSatisfy(\.isHexDigit) else {
                throw CoreError(.momentInvalid, at: text)
            }
            var found: [CommitSummary] = []
            try walkHistory { commit in
                if commit.name.description.hasPrefix(digits) { found.append(commit) }
                return digits.utf8.count < 64 || found.isEmpty
            }
            guard let first = found.first else { throw CoreError(.commitNotFound, at: text) }
            guard found.count == 1 else {
                throw CoreError(
                    .commitAmbiguous, at: text,
                    candidates: found.prefix(ReferenceResolver.candidateCountMax).map {
                        CoreError.Candidate(id: $0.name.description, title: CivilTime.format($0.timeMilliseconds))
                    })
            }
            return first
        }
    }

    /// The whole vault as it stood then.
    package func view(at moment: Moment) throws -> VaultView {
        try view(at: commit(at: moment).name)
    }

    /// The whole vault as of a commit. What is hidden now, or was then, is without its contents until `hiddenGate` is open.
    package func view(at commit: BlobName) throws -> VaultView {
        VaultView(
            reader: try reader(at: commit), hidden: HiddenItems(gate: hiddenGate, present: try presentReader()))
    }

    private func reader(at commit: BlobName) throws -> SnapshotReader {
        SnapshotReader(snapshot: try inStorage(repository.snapshot(at: commit)))
    }

    /// The items that a commit touched: the first of them, how many there are, and whether there are more.
    private func touchedItems(
        by commit: CommitSummary
    ) throws -> (items: [EntityID], count: Int, hasMore: Bool) {
        var items: [EntityID] = []
        var count = 0
        for kind in ItemKind.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
            try forEachEntity(in: commit, of: kind.rawValue) { entity in
                count += 1
                if items.count < LogEntry.itemCountMax { items.append(entity) }
                return count <= LogEntry.countedItemMax
            }
            if count > LogEntry.countedItemMax { return (items, LogEntry.countedItemMax, true) }
        }
        guard count < LogEntry.itemCountMax else { return (items, count, false) }
        // The items whose files it touched, as far as they are there now.
        var known = Set(items.map { AttachmentID.prefix(for: $0) })
        var owners: [[UInt8]] = []
        try forEachEntity(in: commit, of: EntityKind.attachment) { entity in
            let prefix = Array(entity.bytes.prefix(1 + AttachmentID.sharedByteCount))
            if known.insert(prefix).inserted { owners.append(prefix) }
            return count + owners.count < LogEntry.itemCountMax
        }
        for owner in owners {
            let digits = owner.dropFirst().flatMap { [$0 >> 4, $0 & 0x0F] }
            items += try presentReader().itemIDs(beginningWith: digits, countMax: 1)
        }
        return (items.sorted(), items.count, false)
    }

    /// Goes through the entities of a kind that a commit touched, until `body` says no.
    private func forEachEntity(
        in commit: CommitSummary, of kind: UInt8, _ body: (EntityID) -> Bool
    ) throws {
        var last: EntityID?
        try inStorage(
            repository.forEachChange(of: commit, withPrefix: [kind]) { fact in
                guard fact.key.entity != last else { return true }
                last = fact.key.entity
                return body(fact.key.entity)
            })
    }

    /// The change of an item in a commit, as `history` shows it.
    package func change(of id: EntityID, in commit: BlobName) throws -> ItemChange {
        let summary = try inStorage(repository.commitIfKept(commit))
        let after = try wholeView(at: commit).item(id)
        var before: Item?
        if let parent = summary?.firstParent,
            try inStorage(repository.commitIfKept(parent)) != nil
        {
            before = try wholeView(at: parent).item(id)
        }
        let change = ItemChange(from: before, to: after)
        let isHidden = try presentReader().isHidden(id) || before?.isHidden == true || after?.isHidden == true
        return isHidden && !hiddenGate.isOpen ? change.withoutContents : change
    }

    /// As above, with all contents.
    func wholeView(at commit: BlobName) throws -> VaultView { VaultView(reader: try reader(at: commit)) }

    /// The newest commits of the vault.
    ///
    /// - Complexity: reads each commit, and its changes as far as they are counted.
    package func log(limit: Int = .max) throws -> [LogEntry] {
        var entries: [LogEntry] = []
        guard limit > 0 else { return entries }
        try walkHistory { commit in
            let touched = try touchedItems(by: commit)
            entries.append(
                LogEntry(
                    commit: commit.name, time: commit.timeMilliseconds, instance: commit.instance,
                    device: commit.deviceID, itemCount: touched.count, hasMore: touched.hasMore, items: touched.items))
            return entries.count < limit
        }
        return entries
    }
}
