// The life of one item. Invariant: every state that was ever committed can be read and brought back, and bringing one
// back is a commit like any other, so that it can be undone too.

package import CoffretBase
package import CoffretStorage

/// One state in the life of an item.
package struct ItemVersion: Sendable {
    /// The commit that made it.
    package let commit: BlobName
    /// When, by the clock of the device that made it.
    package let time: Milliseconds
    /// The copy of the store that made it.
    package let instance: UniqueID
    /// The device that made it; `Store.deviceName` knows what people call it.
    package let device: [UInt8]
    /// The item as it then stood; nil if the commit deleted it.
    package let item: Item?
    /// The difference to the version before.
    package let change: ItemChange
}

extension Vault {
    /// The versions of an item, the newest first; also of one that was deleted.
    ///
    /// Commits that touched the item without changing what people see are left out. Where history was compacted
    /// away, the oldest version says that it created the item.
    /// - Throws: `CoreError.itemNotFound` if no commit ever touched such an item.
    /// - Complexity: reads all commits back to the one that made the item, and one state per version; with a limit, and
    ///   where no devices wrote apart since, the commits and states of as many versions and one more.
    package func history(of id: EntityID, limit: Int = .max) throws -> [ItemVersion] {
        var commits: [CommitSummary] = []
        var oldest: CommitSummary?
        var recent: [ItemVersion]?
        var isOneLine = true
        // Of commits in which nothing shows some may lie between: then more are taken.
        var wantedCount = limit.addingReportingOverflow(1).partialValue
        try forEachCommit { commit in
            oldest = commit
            isOneLine = isOneLine && commit.parents.count <= 1
            let (isTouched, isCreation) = try touches(commit, id)
            if isTouched { commits.append(commit) }
            if isOneLine, limit > 0, limit < Int.max, isTouched, commits.count == wantedCount, let base = commits.last {
                let before = try item(id, at: base)
                let found = try versions(of: id, Array(commits.dropLast()), after: before, isOneLine: true)
                if found.count >= limit {
                    recent = found
                    return false
                }
                wantedCount += wantedCount
            }
            // An item's first commit says when it was created; one before it could only be about an earlier life
            // of the same id, which a deletion ended.
            guard isCreation else { return true }
            return try item(id, at: commit) == nil
        }
        if let recent { return Array(recent.prefix(limit)) }
        if let oldest, commits.last?.name != oldest.name, try item(id, at: oldest) != nil { commits.append(oldest) }
        guard !commits.isEmpty else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        return Array(
            try versions(of: id, commits, after: nil, isOneLine: !commits.contains { $0.parents.count > 1 })
                .prefix(limit))
    }

    /// The versions that commits, newest first, made of an item with this state before the oldest of them.
    private func versions(
        of id: EntityID, _ commits: [CommitSummary], after base: Item?, isOneLine: Bool
    ) throws -> [ItemVersion] {
        var versions: [ItemVersion] = []
        var before = base
        let isVeiling = !hiddenGate.isOpen
        let isHiddenNow = try presentReader().isHidden(id)
        for commit in commits.reversed() {
            let item = try item(id, at: commit)
            // Where devices wrote apart, the version before is that of the commit's own line.
            if !isOneLine, let parent = commit.firstParent { before = try self.item(id, atKept: parent) }
            var change = ItemChange(from: before, to: item)
            if isVeiling && (isHiddenNow || item?.isHidden == true || before?.isHidden == true) {
                change = change.withoutContents
            }
            before = item
            guard !change.isEmpty else { continue }
            versions.append(
                ItemVersion(
                    commit: commit.name, time: commit.timeMilliseconds, instance: commit.instance,
                    device: commit.deviceID,
                    item: isVeiling && (isHiddenNow || item?.isHidden == true) ? item?.veiled() : item, change: change))
        }
        return versions.reversed()
    }

    /// Whether a commit changed an item, and whether it made it. A merge changes what it put together of both
    /// sides; what it only took over from one of them was that side's change.
    private func touches(
        _ commit: CommitSummary, _ id: EntityID
    ) throws -> (isTouched: Bool, isCreation: Bool) {
        let createdKey = FactKey(entity: id, attribute: ItemAttribute.created)
        var isTouched = false
        var isCreation = false
        for prefix in [id.bytes, AttachmentID.prefix(for: id)] {
            let facts = try inStorage(repository.changes(of: commit, withPrefix: prefix).facts)
            isTouched = isTouched || !facts.isEmpty
            isCreation = isCreation || facts.contains { $0.key == createdKey && !$0.isRetraction }
        }
        guard isTouched, commit.parents.count > 1 else { return (isTouched, isCreation) }
        let merged = try item(id, at: commit)
        for parent in commit.parents where try item(id, atKept: parent) == merged { return (false, false) }
        return (true, false)
    }

    /// Whether commits that lead to the present are on their way: what asks for them ends with `storage.history.not-here-yet`.
    package var isHistoryPending: Bool {
        get throws {
            try inStorage(repository.presentStanding == .ahead)
        }
    }

    /// Goes through all commits that are here, newest first; no commit comes before one that builds on it.
    private func forEachCommit(_ body: (CommitSummary) throws -> Bool) throws {
        var cursor = try inStorage(repository.log())
        while let commit = try inStorage(cursor.next()) {
            guard try body(commit) else { return }
        }
    }

    /// The item as of a commit that may have been compacted away: nil then.
    private func item(_ id: EntityID, atKept name: BlobName) throws -> Item? {
        guard try inStorage(repository.commitIfKept(name)) != nil else { return nil }
        return try wholeView(at: name).item(id)
    }

    private func item(_ id: EntityID, at commit: CommitSummary) throws -> Item? {
        try wholeView(at: commit.name).item(id)
    }

    /// The difference between two states of an item, and between their texts.
    ///
    /// - Parameters:
    ///   - old: the commit of the earlier state.
    ///   - new: that of the later one; nil for the current state.
    /// - Throws: as `opened` where a version is locked, even if it is so in both: what differs is inside.
    package func difference(
        of id: EntityID, from old: BlobName, to new: BlobName? = nil
    ) throws -> (change: ItemChange, text: UnifiedDifference) {
        var before = try view(at: old).item(id)
        var after: Item?
        if let new { after = try view(at: new).item(id) } else { after = try present.item(id) }
        guard before != nil || after != nil else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        before = try before.map(opened)
        after = try after.map(opened)
        return (
            ItemChange(from: before, to: after),
            UnifiedDifference(LineDifference(from: before?.text ?? "", to: after?.text ?? ""))
        )
    }

    /// Brings an item back to what it was in a commit, files included, whatever has become of it since.
    ///
    /// Works on facts, so that what this version cannot read comes back too.
    /// - Throws: `CoreError.itemNotFound` if the item was not there then; `.noteHidden` if it is hidden, then or now, and
    ///   nobody has shown to be there.
    /// - Returns: whether anything had to change.
    @discardableResult
    package func restore(_ id: EntityID, to commit: BlobName) throws -> Bool {
        if let shown = try view(at: commit).item(id) { _ = try revealed(shown) }
        let past = try wholeView(at: commit)
        guard let item = try past.item(id) else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        // A readable version would come back beside, or instead of, what a lock seals.
        if let current = try whole.item(id), current.isLocked, !item.isLocked {
            throw CoreError(.noteLocked, at: current.visibleTitle)
        }
        return try batch { batch in
            let now = try whole
            var changes = try self.changes(turning: now, into: past, for: id)
            let files = item.attachments.map(\.id) + (item.lock?.files.map(\.id) ?? [])
            for file in files { changes += try self.changes(turning: now, into: past, for: file) }
            let there = try now.reader.files(of: id)
            for file in there.clear.map(\.id) + there.sealed.map(\.id) where !files.contains(file) {
                for fact in try now.reader.facts(of: file) {
                    changes.append(FactChange(key: fact.key, value: nil))
                }
            }
            let modifiedKey = FactKey(entity: id, attribute: ItemAttribute.modified)
            changes.removeAll { $0.key == modifiedKey }
            guard !changes.isEmpty else { return false }
            changes.append(FactChange(key: modifiedKey, value: FactValue.encode(batch.time)))
            batch.write(changes)
            return true
        }
    }

    /// The changes of facts after which an entity stands in one view as it does in the other.
    private func changes(
        turning now: VaultView, into past: VaultView, for entity: EntityID
    ) throws -> [FactChange] {
        let old = try past.reader.winners(of: entity)
        let new = try now.reader.winners(of: entity)
        var changes: [FactChange] = []
        for (key, value) in old where new[key] != value { changes.append(FactChange(key: key, value: value)) }
        for key in new.keys where old[key] == nil { changes.append(FactChange(key: key, value: nil)) }
        return changes
    }
}

extension SnapshotReader {
    /// The values that an entity's facts show, by key.
    func winners(of entity: EntityID) throws -> [FactKey: [UInt8]] {
        var values: [FactKey: [UInt8]] = [:]
        for (key, facts) in Dictionary(grouping: try facts(of: entity), by: \.key) {
            guard let winner = facts.winner else { continue }
            values[key] = try value(of: winner)
        }
        return values
    }

    func value(of fact: Fact) throws -> [UInt8] {
        if let bytes = fact.inlineValue { return bytes }
        return try inStorage(snapshot.value(of: fact))
    }
}
