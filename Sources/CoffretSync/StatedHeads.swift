// What devices state in commits of other vaults, held against this one. The one thing to keep true: a statement is kept
// until what it speaks of has come, and one that fits proves nothing and is forgotten.

package import CoffretBase
internal import CoffretCrypto
package import CoffretStorage

/// A head that another device stated in a commit of this vault, and that was not held against its own vault yet.
package struct UncheckedHead: Equatable, Sendable {
    package let device: UniqueID
    package let seen: SeenHead
}

/// A head of this vault that another device stated in a commit of another one, and that is not here.
package struct StatedHead: Equatable, Sendable {
    package var seen: SeenHead
    /// Since when it is known, by the own clock.
    package var since: Milliseconds
}

extension SyncMemory {
    static let uncheckedCountMax = 32
    static let statedCountMax = 16

    /// Takes what commits that were adopted state of other vaults: of each device and vault the newest.
    mutating func take(_ heads: [UncheckedHead]) {
        for head in heads {
            unchecked.removeAll { $0.device == head.device && $0.seen.vaultID == head.seen.vaultID }
            unchecked.append(head)
        }
        unchecked = unchecked.suffix(Self.uncheckedCountMax)
    }
}

/// Opens what commits state.
struct StatementOpener {
    let key: HeadsKey
    let vaultID: VaultID

    /// What does not open says nothing: it is another account's, or its author's fault.
    func heads(of statements: [CommitStatement]) -> [UncheckedHead] {
        var heads: [UncheckedHead] = []
        for statement in statements {
            guard let device = UniqueID(bytes: statement.deviceID),
                let seen = HeadStatement.open(
                    statement.bytes, key: key, vaultID: vaultID, instance: statement.instance)
            else { continue }
            heads += seen.filter { $0.vaultID != vaultID }.map { UncheckedHead(device: device, seen: $0) }
        }
        return heads
    }
}

/// Holds stated heads of one vault against what is here.
package struct StatedHeadCheck {
    let repository: VaultRepository
    let signers: any CommitSignerDirectory
    /// The newest link that revokes a device, as far as this device knows.
    let newestRevocation: UInt64?
    /// The person's other devices that are trusted now.
    let others: Set<UniqueID>

    package init(
        repository: VaultRepository, signers: any CommitSignerDirectory, newestRevocation: UInt64?,
        others: Set<UniqueID>
    ) {
        self.repository = repository
        self.signers = signers
        self.newestRevocation = newestRevocation
        self.others = others
    }

    func standing(_ seen: SeenHead) throws(StorageError) -> StatedStanding {
        try repository.standing(of: seen, signers: signers, newestRevocation: newestRevocation)
    }

    /// Takes a head that was stated elsewhere into what is remembered of this vault's place, if it is not here.
    ///
    /// - Returns: whether anything is to be remembered.
    package func take(
        _ head: UncheckedHead, into memory: inout SyncMemory, now: Milliseconds
    ) throws(StorageError) -> Bool {
        guard others.contains(head.device), memory.stated[head.device]?.seen != head.seen else { return false }
        let standing = try standing(head.seen)
        guard standing == .ahead || standing == .contradicted else { return false }
        var stated = StatedHead(seen: head.seen, since: now)
        if let old = memory.stated[head.device] {
            switch try self.standing(old.seen) {
            case .contradicted: return false
            case .ahead:
                // What stays away does so since it was first heard of, whatever its device says after it.
                stated.since = old.since
                let isOlder = old.seen.dot.instance == head.seen.dot.instance && head.seen.dot < old.seen.dot
                if isOlder, standing == .ahead { return false }
            case .known, .undecided: break
            }
        } else if memory.stated.count >= SyncMemory.statedCountMax {
            return false
        }
        memory.stated[head.device] = stated
        return true
    }

    /// Looks at what is remembered again, and forgets what has come.
    ///
    /// - Returns: by device, what has not.
    func look(
        _ memory: inout SyncMemory
    ) throws(StorageError) -> [(device: UniqueID, head: StatedHead, isForked: Bool)] {
        var found: [(device: UniqueID, head: StatedHead, isForked: Bool)] = []
        for (device, head) in memory.stated.sorted(by: { $0.key < $1.key }) {
            let standing = others.contains(device) ? try standing(head.seen) : .undecided
            switch standing {
            case .known, .undecided: memory.stated[device] = nil
            case .ahead: found.append((device, head, false))
            case .contradicted: found.append((device, head, true))
            }
        }
        return found
    }
}
