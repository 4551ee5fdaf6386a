// A state of a vault, as somebody remembers it who derives from it. The one thing to keep true: equal marks mean equal facts,
// and what lies between two marks is told whole or not at all.

internal import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// A state by its digest and by what was applied.
package struct StateMark: Equatable, Sendable {
    package let digest: StateDigest
    package let frontier: Frontier

    package init(digest: StateDigest, frontier: Frontier) {
        self.digest = digest
        self.frontier = frontier
    }

    /// Whether nothing was ever applied.
    package var isEmpty: Bool { frontier.isEmpty && digest == StateDigest() }

    /// [digest, frontier].
    package var encoded: [UInt8] {
        CBOREncoder.encode(reservingByteCount: 64 + frontier.count * 64) { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: digest.bytes32.bytes)
            encoder.encode(frontier: frontier)
        }
    }

    /// Reads what `encoded` wrote; nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> StateMark? in
            try decoder.readArrayHeader(count: 2)
            guard let digest = Bytes32(try decoder.readBytes(count: 32)) else { return nil }
            return StateMark(digest: StateDigest(digest), frontier: try decoder.readFrontier())
        }
        guard let read else { return nil }
        self = read
    }
}

extension LogRepository {
    /// The state as it is now.
    package func stateMark() throws(StorageError) -> StateMark {
        try ask { (machine) in StateMark(digest: machine.summary.digest, frontier: machine.frontier) }
    }

    /// The entities that entries behind an earlier state changed; nil where that cannot be told: entries count no more that
    /// counted then, or lie here no more, or are too many.
    ///
    /// - Complexity: reads those entries.
    package func entities(
        changedSince mark: StateMark, entryCountMax: Int = 4_096
    ) throws(StorageError) -> Set<EntityID>? {
        try ask { (machine) throws(StorageError) -> Set<EntityID>? in
            var entities: Set<EntityID> = []
            var entryCount: UInt64 = 0
            guard machine.frontier.covers(mark.frontier) else { return nil }
            for (instance, now) in machine.frontier.marks {
                let number = mark.frontier.number(of: instance)
                if let old = mark.frontier[instance] {
                    let isHere = try machine.store.index.record(of: old.name, at: Dot(instance, number)) != nil
                    if now.number == number, now.name != old.name { return nil }
                    if now.number > number, !isHere { return nil }
                }
                guard now.number > number else { continue }
                let records = try machine.store.index.records(of: instance, from: number + 1, to: now.number)
                    .filter { !$0.isBare }
                entryCount += now.number - number
                guard UInt64(records.count) == now.number - number, entryCount <= UInt64(entryCountMax) else {
                    return nil
                }
                for record in records {
                    for change in try files.changes(of: machine.store.read(record)) {
                        entities.insert(change.key.entity)
                    }
                }
            }
            return entities
        }
    }
}
