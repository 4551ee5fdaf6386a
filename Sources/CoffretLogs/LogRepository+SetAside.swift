// Entries of devices that lost their right, behind what counts of them. The one thing to keep true: nothing of them enters
// the state but in an own entry, because a person said so.

package import CoffretHistory
package import CoffretStorage

extension LogRepository {
    /// Entries that are kept of logs which a link closed (K1), and that do not count; ascending by rank.
    package func setAsideEntries() throws(StorageError) -> [VerifiedEntry] {
        try ask { (machine) throws(StorageError) in
            var found: [VerifiedEntry] = []
            for (instance, owner) in machine.owners where machine.members.closingLink(of: owner) != nil {
                let counted = machine.accepted.number(of: instance)
                for record in try machine.store.index.records(of: instance, from: counted + 1) where !record.isBare {
                    guard let entry = try machine.store.entry(named: record.name)?.entry,
                        try !machine.isApplied(entry)
                    else { continue }
                    found.append(entry)
                }
            }
            return found.sorted { $0.rank < $1.rank }
        }
    }
}
