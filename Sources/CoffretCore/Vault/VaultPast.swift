// Entries as points in time. Invariant: the order of entries decides what was before what; times only help people to point.

package import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
package import CoffretStorage
internal import CoffretTrust

/// One entry, for the vault's log.
package struct LogLine: Sendable {
    /// The entry's name.
    package let commit: BlobName
    /// When it was made, by the clock of the device that made it.
    package let time: Milliseconds
    /// The log that it is in.
    package let instance: UniqueID
    /// The device that made it; `Store.deviceName` knows what people call it.
    package let device: [UInt8]
    /// The account of that device.
    package let account: [UInt8]
    /// How many items it touched, with their files: of more than `countedItemMax` the first.
    package let itemCount: Int
    /// Whether it touched more than were counted.
    package let hasMore: Bool
    /// Up to `itemCountMax` of them.
    package let items: [EntityID]

    /// How many items a line names.
    package static let itemCountMax = 20
    /// After so many an entry counts no further: an import of all that somebody has is not read for one line.
    package static let countedItemMax = 1_000
}

extension Vault {
    /// The shortest beginning of a commit's name that is looked for, in hex digits.
    private static var digitCountMin: Int { 4 }

    /// The entry that a moment points to: of a time the newest that is not later.
    ///
    /// - Throws: `CoreError` `.momentBeforeHistory` if all entries are newer, `.commitNotFound`,
    ///   `.commitAmbiguous`, `.momentInvalid` for a name shorter than four digits.
    /// - Complexity: reads the entries from the newest back to that one; for a name, the index.
    package func entry(at moment: Moment) throws -> BlobName {
        switch moment {
        case .time(let time):
            var walk = try inStorage(repository.walk())
            while let entry = try inStorage(walk.next()) {
                if entry.body.time <= time { return entry.name }
            }
            throw CoreError(.momentBeforeHistory)
        case .commit(let text):
            let digits = text.lowercased()
            guard (Self.digitCountMin...64).contains(digits.utf8.count), digits.allSatisfy(\.isHexDigit) else {
                throw CoreError(.momentInvalid, at: text)
            }
            var found = try inStorage(repository.entryNames(beginningWith: digits))
            if let root = try inStorage(repository.droppedRoot()), root.description.hasPrefix(digits) {
                found.append(root)
            }
            guard let first = found.first else { throw CoreError(.commitNotFound, at: text) }
            guard found.count == 1 else {
                var candidates: [CoreError.Candidate] = []
                for name in found.prefix(ReferenceResolver.candidateCountMax) {
                    let time = try inStorage(repository.entry(named: name))?.body.time
                    candidates.append(
                        CoreError.Candidate(id: name.description, title: time.map { CivilTime.format($0) } ?? ""))
                }
                throw CoreError(.commitAmbiguous, at: text, candidates: candidates)
            }
            return first
        }
    }

    /// The whole vault as it stood then.
    ///
    /// - Throws: as `entry(at:)`; `.storage` where history before that was dropped.
    package func view(at moment: Moment) throws -> VaultView {
        guard case .time(let time) = moment else { return try view(at: entry(at: moment)) }
        // Somebody asks for a time before all that there is.
        _ = try entry(at: moment)
        return try hiding(inStorage(repository.moment(at: time)))
    }

    /// The whole vault as of an entry. What is hidden now, or was then, is without its contents until `hiddenGate` is open.
    package func view(at entry: BlobName) throws -> VaultView { try hiding(snapshot(at: entry)) }

    private func hiding(_ snapshot: LogSnapshot) throws -> VaultView {
        VaultView(
            reader: reader(of: snapshot), hidden: HiddenItems(gate: hiddenGate, present: try presentReader()))
    }

    private func snapshot(at name: BlobName) throws -> LogSnapshot {
        try inStorage { () throws(StorageError) in
            if let entry = try repository.entry(named: name) {
                return try repository.moment(at: repository.frontier(upTo: entry.rank))
            }
            guard let frontier = try repository.droppedFrontier(root: name) else {
                throw StorageError(.historyCompacted, place: name.description)
            }
            return try repository.moment(at: frontier)
        }
    }

    func reader(of snapshot: LogSnapshot) -> SnapshotReader {
        let repository = repository
        return SnapshotReader(snapshot: snapshot, unreadable: unreadable) { key, facts in
            try inStorage(repository.shownText(under: key, of: facts))
        }
    }

    /// The items that an entry touched: the first of them, how many there are, and whether there are more.
    private func touchedItems(
        by entry: VerifiedEntry
    ) throws -> (items: [EntityID], count: Int, hasMore: Bool) {
        var items: [EntityID] = []
        var count = 0
        for kind in ItemKind.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
            try forEachEntity(in: entry, of: kind.rawValue) { entity in
                count += 1
                if items.count < LogLine.itemCountMax { items.append(entity) }
                return count <= LogLine.countedItemMax
            }
            if count > LogLine.countedItemMax { return (items, LogLine.countedItemMax, true) }
        }
        guard count < LogLine.itemCountMax else { return (items, count, false) }
        // The items whose files it touched, as far as they are there now.
        var known = Set(items.map { AttachmentID.prefix(for: $0) })
        var owners: [[UInt8]] = []
        try forEachEntity(in: entry, of: EntityKind.attachment) { entity in
            let prefix = Array(entity.bytes.prefix(1 + AttachmentID.sharedByteCount))
            if known.insert(prefix).inserted { owners.append(prefix) }
            return count + owners.count < LogLine.itemCountMax
        }
        for owner in owners {
            let digits = owner.dropFirst().flatMap { [$0 >> 4, $0 & 0x0F] }
            items += try presentReader().itemIDs(beginningWith: digits, countMax: 1)
        }
        return (items.sorted(), items.count, false)
    }

    /// Goes through the entities of a kind that an entry touched, until `body` says no.
    private func forEachEntity(
        in entry: VerifiedEntry, of kind: UInt8, _ body: (EntityID) -> Bool
    ) throws {
        var last: EntityID?
        try inStorage(
            repository.forEachChangedKey(of: entry, withPrefix: [kind]) { key in
                guard key.entity != last else { return true }
                last = key.entity
                return body(key.entity)
            })
    }

    /// Goes through the items that an entry touched.
    func forEachItem(touchedBy entry: VerifiedEntry, _ body: (EntityID) -> Void) throws {
        for kind in ItemKind.allCases {
            try forEachEntity(in: entry, of: kind.rawValue) { entity in
                body(entity)
                return true
            }
        }
    }

    /// The change of an item in an entry, as `history` shows it.
    package func change(of id: EntityID, in entry: BlobName) throws -> ItemChange {
        var life = try ItemLife(id, in: repository)
        var (before, after): (Item?, Item?) = (nil, try life.first()?.item)
        while let state = try life.next() {
            before = after
            after = state.item
            if state.name == entry { break }
        }
        let change = ItemChange(from: before, to: after)
        let isHidden = try presentReader().isHidden(id) || before?.isHidden == true || after?.isHidden == true
        return isHidden && !hiddenGate.isOpen ? change.withoutContents : change
    }

    /// The newest entries of the vault.
    ///
    /// - Parameter account: of one account alone; nil for all.
    /// - Complexity: reads each entry, and its changes as far as they are counted.
    package func log(limit: Int = .max, by account: [UInt8]? = nil) throws -> [LogLine] {
        var lines: [LogLine] = []
        guard limit > 0 else { return lines }
        var walk = try inStorage(repository.walk())
        while lines.count < limit, let entry = try inStorage(walk.next()) {
            // What states something, or says what was seen, changed nothing.
            if case .none = entry.body.changes { continue }
            if let account, entry.context.accountID.bytes != account { continue }
            let touched = try touchedItems(by: entry)
            lines.append(
                LogLine(
                    commit: entry.name, time: entry.body.time, instance: entry.instance,
                    device: entry.context.deviceID.bytes, account: entry.context.accountID.bytes,
                    itemCount: touched.count, hasMore: touched.hasMore,
                    items: touched.items))
        }
        return lines
    }
}
