// Entries behind what counts of their log, which a link closed or ended. The one thing to keep true: nothing of them enters
// the state but in an own entry, because a person said so, or because their own device writes them again.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage

extension LogRepository {
    /// Entries that are kept of logs which a link closed (K1) or ended (K6), and that do not count; ascending by rank. Without
    /// those that their device wrote again (I4).
    ///
    /// - Complexity: reads the kept entries of such logs, and of an ended one the others of its device.
    package func setAsideEntries() throws(StorageError) -> [VerifiedEntry] {
        try ask { (machine) throws(StorageError) in
            let found = try machine.setAside()
            var again: Set<Dot> = []
            for instance in found.keys {
                guard let owner = machine.owners[instance], machine.members.closingLink(of: owner) == nil else {
                    continue
                }
                for (other, itsOwner) in machine.owners
                where other != instance && itsOwner.author == owner.author {
                    for record in try machine.store.index.records(of: other) where !record.isBare {
                        if let dot = try machine.store.read(record).body.rewrites { again.insert(dot) }
                    }
                }
            }
            return found.values.joined().filter { !again.contains($0.dot) }.sorted { $0.rank < $1.rank }
        }
    }

    /// Drops such entries 30 days after this device first saw what shut their log, durably. Once in a sync.
    ///
    /// - Parameter unacknowledged: own entries that the server has not acknowledged: they stay.
    package func dropSetAside(unacknowledged: Set<BlobName>, now: Milliseconds) throws(StorageError) {
        guard try ask({ (machine) throws(StorageError) in try !machine.setAside().isEmpty }) else { return }
        try step { (machine) throws(StorageError) in
            try machine.dropSetAside(kept: unacknowledged, now: now)
        }
    }
}
