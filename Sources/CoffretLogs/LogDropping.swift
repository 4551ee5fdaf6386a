// Room. The one thing to keep true: what the rules keep lives with all that it leads to, and everything else goes at the
// next compaction; a crash in between leaves bytes, and no half entry.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage
internal import CoffretTrust

extension LogRepository {
    /// What would go below a checkpoint (G1, G2); nil: no base that is verified or believed covers it. A person is shown it.
    ///
    /// - Parameter unacknowledged: own entries that the server has not acknowledged.
    package func droppingPlan(below link: Int, unacknowledged: Set<BlobName>) throws(StorageError) -> DroppingPlan? {
        try ask { (machine) throws(StorageError) in
            try machine.droppingPlan(below: link, unacknowledged: unacknowledged)
        }
    }

    /// Drops what was agreed to (G4), durably. `compact` frees the bytes.
    ///
    /// - Returns: why nothing went; nil: it went.
    package func drop(
        _ agreed: DroppingPlan, unacknowledged: Set<BlobName>
    ) throws(StorageError) -> DroppingObstacle? {
        try requireWriter()
        let obstacle = try step { (machine) throws(StorageError) in
            let obstacle = try machine.drop(agreed, unacknowledged: unacknowledged)
            try machine.trimStart()
            return obstacle
        }
        if obstacle == nil { try checkpoint() }
        return obstacle
    }

    /// Drops what links deleted for good, where the wait for objections is over (P3, P4), durably. `compact` frees the bytes.
    ///
    /// - Returns: whether something went.
    @discardableResult
    package func purge(unacknowledged: Set<BlobName>, now: Milliseconds) throws(StorageError) -> Bool {
        try requireWriter()
        let hasGone = try change { (loaded) throws(StorageError) in
            loaded.isAhead = true
            let hasGone = try loaded.machine.purge(
                unacknowledged: unacknowledged, refused: loaded.refusedPurges, now: now)
            try loaded.machine.trimStart()
            return hasGone
        }
        try checkpoint()
        return hasGone
    }

    /// P1: writes anew, whole, the current texts of entities that are stored as differences to older ones. Each of several
    /// current values replaces itself, so that the order of what is shown stays.
    package func writeWhole(_ entities: [EntityID], time: Milliseconds) throws(StorageError) {
        let present = try present()
        var rounds: [[LogChange]] = []
        for entity in entities {
            let facts = try present.facts(of: entity).filter { isText($0.key) }
            for (key, facts) in Dictionary(grouping: facts, by: \.key) {
                var isDifference = false
                for fact in facts {
                    let stored = try files.storedValue(of: fact.content.inEntry, unstored: present.unstored)
                    if stored?.first == ValueForm.delta.rawValue { isDifference = true }
                }
                guard isDifference else { continue }
                let ascending = facts.sorted {
                    EntryRank(height: $0.height, dot: $0.dot) < EntryRank(height: $1.height, dot: $1.dot)
                }
                for (round, fact) in ascending.enumerated() {
                    if rounds.count == round { rounds.append([]) }
                    rounds[round].append(
                        LogChange(key: key, value: try present.value(of: fact), replaces: [fact.dot], isWhole: true))
                }
            }
        }
        for changes in rounds { try commit(changes, time: time) }
    }

    /// Links whose purge a person at this device refused (P3).
    package func refusedPurges() throws(StorageError) -> Set<Int> { try change { (loaded) in loaded.refusedPurges } }

    /// A person at this device refuses the purge of a link, durably.
    package func refusePurge(of link: Int) throws(StorageError) {
        try change { (loaded) in
            loaded.refusedPurges.insert(link)
            loaded.isAhead = true
        }
        try checkpoint()
    }

    /// P3: a person at this device agrees to the purge of a link, which `purge` does from then on; durably.
    package func agreeToPurge(of link: Int, now: Milliseconds) throws(StorageError) {
        try step { (machine) in machine.agreeToPurge(of: link, now: now) }
        try checkpoint()
    }

    /// Purges by others that wait for objections, and for how long still.
    package func waitingPurges(
        now: Milliseconds
    ) throws(StorageError) -> [(link: VerifiedMemberLink, remaining: Milliseconds)] {
        try change { (loaded) in
            var machine = loaded.machine
            return machine.waitingPurges(refused: loaded.refusedPurges, now: now).map {
                (machine.members.chain.links[$0.link], $0.remaining)
            }
        }
    }

    /// Rewrites what lives into packs and drops the rest: entries that were dropped, trees of before.
    ///
    /// - Throws: as `BlobStore.compact`; then everything is as before.
    /// - Complexity: reads what lives once.
    @discardableResult
    package func compact() throws(StorageError) -> BlobCompaction {
        try requireWriter()
        try checkpoint()
        let live = try liveBlobs()
        return try blobs.compact(state: blobs.state) { (keep) throws(StorageError) in
            for name in live { _ = keep(name) }
        }
    }

    /// G5: blobs at the server that nobody needs, once what lies below a checkpoint goes: of entries that may be dropped, of
    /// those that were and whose blobs lie here still, and of trees of older checkpoints. A link that deletes for good drops
    /// nothing else. Before the next compaction.
    ///
    /// - Parameters:
    ///   - acknowledgedBy: who said that he has what the checkpoint accepts.
    ///   - unacknowledged: own entries that the server has not acknowledged.
    ///   - gone: names of blobs that a compaction took from here before.
    /// - Returns: nil: this device may not have the server collect below that checkpoint now.
    /// - Complexity: reads what lives, and what goes, once.
    package func collectableBlobs(
        below link: Int, acknowledgedBy: Set<MemberDevice>, unacknowledged: Set<BlobName>, gone: [BlobName] = [],
        now: Milliseconds
    ) throws(StorageError) -> [BlobName]? {
        let planned = try step { (machine) throws(StorageError) -> Set<BlobName>? in
            let planned = try machine.collectable(
                below: link, acknowledgedBy: acknowledgedBy, unacknowledged: unacknowledged, now: now)
            let purges = machine.members.chain.links[link].checkpoint?.purges ?? []
            return purges.isEmpty ? planned : planned.map { _ in [] }
        }
        guard let planned else { return nil }
        return try deadBlobs(below: link, dropping: planned, gone: gone)
    }

    /// Blobs that nothing kept here leads to, once some entries go: of these, of dropped ones, and of older trees.
    ///
    /// - Complexity: reads what lives, and what goes, once.
    package func deadBlobs(
        below link: Int, dropping planned: Set<BlobName> = [], gone: [BlobName] = []
    ) throws(StorageError) -> [BlobName] {
        var going = planned
        var roots: [BlobName] = []
        try ask { (machine) throws(StorageError) in
            let accepted = machine.members.chain.states[link].accepted
            try machine.store.index.forEachDropped { (name, dropped) in
                if dropped.wasApplied, accepted.covers(dropped.dot) { going.insert(name) }
            }
            roots = machine.members.chain.links[..<link].compactMap { $0.checkpoint?.root }
        }
        let live = try liveBlobs(without: planned)
        var names: [BlobName] = []
        var seen: Set<BlobName> = []
        let meet = { (name: BlobName) in
            guard seen.insert(name).inserted else { return false }
            if !live.contains(name) { names.append(name) }
            return true
        }
        for name in gone { _ = meet(name) }
        for name in going.sorted() where try blobs.containsBlob(name) {
            guard let entry = try files.entry(named: name) else { continue }
            try walk(entry, visit: meet)
        }
        for root in roots where try blobs.containsBlob(root) && !live.contains(root) {
            do throws(StorageError) {
                try files.facts.walk(files.facts.stored(root), visit: meet) { (fact) throws(StorageError) in
                    try walk(fact.content.inEntry, under: fact.key, visit: meet)
                }
            } catch {
                // Part of it went with a compaction.
                guard error.code == .blobMissing else { throw error }
            }
        }
        return names
    }

    /// G2a: trees of links whose purge this device may still carry out.
    private func rootsOfWaitingPurges(_ machine: Machine, refused: Set<Int>) -> [BlobName] {
        let members = machine.members
        return (0...(machine.base ?? 0)).dropFirst().compactMap { link in
            let signed = members.chain.links[link]
            guard let checkpoint = signed.checkpoint, !checkpoint.purges.isEmpty, !refused.contains(link),
                !machine.purged.contains(link), !members.isRevoked(signed.deviceID, of: signed.accountID),
                members.chain.states[link - 1].members[signed.accountID]?.role == .owner
            else { return nil }
            return checkpoint.root
        }
    }

    /// All that the present, the base and the entries that are kept lead to.
    ///
    /// - Parameter going: entries that are taken to be dropped already.
    func liveBlobs(without going: Set<BlobName> = []) throws(StorageError) -> Set<BlobName> {
        var live: Set<BlobName> = []
        let meet = { (name: BlobName) in live.insert(name).inserted }
        let refused = try refusedPurges()
        let roots = try ask { (machine) throws(StorageError) -> [BlobName] in
            var roots = [machine.baseRoot]
            // A device that never built on such a link may have a part of its tree: then it is not here.
            for root in machine.keptRoots + rootsOfWaitingPurges(machine, refused: refused)
            where try missingNames(ofTree: root).isEmpty { roots.append(root) }
            if let kept = try? KeptState(decoding: blobs.state.kept) {
                try files.indexes.walk(files.indexes.stored(kept.index), visit: meet) { _ in }
                try files.indexes.walk(files.indexes.stored(kept.items), visit: meet) { _ in }
                roots.append(kept.facts)
            }
            return roots.compactMap(\.self)
        }
        for root in roots where try blobs.containsBlob(root) {
            try files.facts.walk(files.facts.stored(root), visit: meet) { (fact) throws(StorageError) in
                try walk(fact.content.inEntry, under: fact.key, visit: meet)
            }
        }
        try ask { (machine) throws(StorageError) in
            try machine.store.index.forEachRecord { (record) throws(StorageError) in
                guard !going.contains(record.name) else { return }
                try walk(machine.store.read(record), visit: meet)
            }
        }
        return live
    }
}
