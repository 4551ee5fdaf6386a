// What devices wrote from some entries on, and taking it back. Invariant: taking back writes new entries that bring what was written back to
// the state that is without it; all else that was written meanwhile stays.

internal import CoffretBase
package import CoffretHistory
internal import CoffretLogs
package import CoffretStorage

/// What devices wrote from some entries on.
package struct WrittenWork: Sendable {
    /// The first such entry of each log.
    package var firsts: [BlobName] { starts.map(\.name).sorted() }
    /// How many entries changed something.
    package fileprivate(set) var entryCount = 0
    /// Items that they touched, themselves or a file of theirs, as far as these are there.
    package fileprivate(set) var items: [EntityID] = []
    fileprivate var starts: [(name: BlobName, dot: Dot, before: BlobName?)] = []
    fileprivate var entities: Set<EntityID> = []

    package var isEmpty: Bool { entryCount == 0 }
}

extension Vault {
    /// All entries that count here, log by log.
    package var frontier: Frontier {
        get throws { try inStorage { () throws(StorageError) in try repository.ask { (machine) in machine.frontier } } }
    }

    /// What counts here of some devices, and is behind a frontier.
    ///
    /// - Complexity: reads all entries that are kept.
    package func work(behind before: Frontier, by isMeant: (EntryContext) -> Bool) throws -> WrittenWork {
        try work { entry in isMeant(entry.context) && !before.covers(entry.dot) }
    }

    /// What counts here of the logs of some entries, from these on.
    ///
    /// - Complexity: reads all entries that are kept.
    package func work(from names: [BlobName]) throws -> WrittenWork {
        var firsts: [InstanceID: EntryNumber] = [:]
        for name in names {
            guard let dot = try inStorage(repository.entry(named: name))?.dot else {
                throw CoreError(.commitNotFound, at: name.description)
            }
            firsts[dot.instance] = min(firsts[dot.instance] ?? .max, dot.number)
        }
        return try work { entry in firsts[entry.dot.instance].map { entry.dot.number >= $0 } ?? false }
    }

    private func work(where isIn: (VerifiedEntry) -> Bool) throws -> WrittenWork {
        var work = WrittenWork()
        var starts: [InstanceID: (name: BlobName, dot: Dot, before: BlobName?)] = [:]
        var walk = try inStorage(repository.walk())
        while let entry = try inStorage(walk.next()) {
            guard isIn(entry) else { continue }
            // The walk goes down.
            starts[entry.instance] = (entry.name, entry.dot, entry.body.before)
            if case .none = entry.body.changes { continue }
            work.entryCount += 1
            try inStorage(
                repository.forEachChangedKey(of: entry) { key in
                    work.entities.insert(key.entity)
                    return true
                })
        }
        work.starts = starts.values.sorted { $0.dot < $1.dot }
        var items = work.entities.filter { ItemKind($0) != nil }
        let files = Set(work.entities.filter { $0.kind == EntityKind.attachment }.map(\.sharedPrefix))
        if !files.isEmpty {
            try whole.forEachItem { item in
                if files.contains(AttachmentID.prefix(for: item.id)) { items.insert(item.id) }
            }
        }
        work.items = items.sorted()
        return work
    }

    /// Brings what was written back to what stands without it. What others wrote meanwhile stays.
    ///
    /// - Throws: `.storage` where history before it was dropped, or is on its way.
    /// - Returns: how many facts changed.
    @discardableResult
    package func takeBack(_ work: WrittenWork) throws -> Int {
        guard !work.isEmpty else { return 0 }
        var rest = try frontier
        for start in work.starts {
            rest[start.dot.instance] = start.before.map { EntryMark(number: start.dot.number - 1, name: $0) }
        }
        let past = try reader(of: inStorage(repository.moment(at: rest)))
        return try batch { batch in
            let now = try whole.reader
            var changes: [LogChange] = []
            for entity in work.entities.sorted() {
                let (old, new) = (try past.winners(of: entity), try now.winners(of: entity))
                var turned = new.keys.filter { old[$0] == nil }.map { LogChange(key: $0, value: nil) }
                for (key, value) in old where new[key] != value { turned.append(LogChange(key: key, value: value)) }
                let modified = FactKey(entity: entity, attribute: ItemAttribute.modified)
                if !turned.isEmpty, old[modified] != nil {
                    turned.removeAll { $0.key == modified }
                    turned.append(LogChange(key: modified, value: FactValue.encode(batch.time)))
                }
                changes += turned.sorted { $0.key < $1.key }
            }
            if !changes.isEmpty { batch.write(changes) }
            return changes.count
        }
    }
}

extension EntityID {
    /// Of a file: the part of its id that it shares with its item.
    fileprivate var sharedPrefix: [UInt8] { Array(bytes.prefix(1 + AttachmentID.sharedByteCount)) }
}
