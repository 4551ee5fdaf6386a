// Up to where the server has each log. The one thing to keep true: an own entry counts as served only when the server took
// it or gave it.

internal import CoffretBase
internal import CoffretHistory
package import CoffretLogs
package import CoffretStorage

/// The logs that one server has, as far as is known here. A value: the repository was asked before.
package struct ServedLogs: Sendable {
    private let served: [InstanceID: EntryNumber]
    private let own: Set<InstanceID>

    package init(_ memory: LogMemory, in repository: LogRepository) throws(StorageError) {
        served = memory.served
        let device = repository.author.device
        own = try repository.ask { (machine) in
            Set(machine.owners.filter { $0.value.author == device }.map(\.key))
        }
    }

    /// Logs of this device.
    func isOwn(_ instance: InstanceID) -> Bool { own.contains(instance) }

    /// Whether the server has a log up to a number.
    func has(_ instance: InstanceID, _ number: EntryNumber) -> Bool {
        served[instance].map { number <= $0 } ?? !own.contains(instance)
    }

    /// The newest number of a log that the server took or gave; 0: none is remembered.
    func end(of instance: InstanceID) -> EntryNumber { served[instance] ?? 0 }

    /// The frontier that this server took from here or gave (F4).
    ///
    /// - Parameter numbers: logs are lowered to these.
    func remembered(
        in repository: LogRepository, below numbers: [InstanceID: EntryNumber] = [:]
    ) throws(StorageError) -> Frontier {
        let frontier = try repository.ask { (machine) in machine.frontier }
        var result = frontier
        for (instance, mark) in frontier.marks {
            let known = has(instance, mark.number) ? mark.number : served[instance] ?? 0
            let number = min(known, numbers[instance] ?? known)
            guard number < mark.number else { continue }
            let record = try repository.ask { (machine) throws(StorageError) in
                try machine.store.index.records(of: instance, from: number, to: number).first { $0.wasApplied }
            }
            result[instance] = record.map { EntryMark(number: number, name: $0.name) }
        }
        return result
    }

    /// Own entries that the server has not acknowledged: they are never dropped (G2).
    package func unacknowledged(in repository: LogRepository) throws(StorageError) -> Set<BlobName> {
        try repository.ask { (machine) throws(StorageError) in
            var names: Set<BlobName> = []
            for instance in own {
                let records = try machine.store.index.records(of: instance, from: (served[instance] ?? 0) + 1)
                names.formUnion(records.map(\.name))
            }
            return names
        }
    }
}
