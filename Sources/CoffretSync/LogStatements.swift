// Devices state heads of one vault in entries of another. The one thing to keep true: a statement is kept until what it
// speaks of has come, and one that fits proves nothing and is forgotten (E9).

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
package import CoffretStorage
internal import CoffretTrust

/// Statements of an account's devices about its vaults. All of it is local.
package enum LogStatements {
    /// A head that a device stated of this vault, and that is not here.
    package struct Late: Equatable, Sendable {
        package let device: UniqueID
        package let head: WitnessedHead
        /// Another entry has its number: the server shows two histories (`sync.head.forked`).
        package let isContradicted: Bool
        /// For a day (R4).
        package let isWithheld: Bool
    }

    private static let statedCountMax = 16
    private static let withheldTime: Milliseconds = 24 * 3_600_000

    /// The head that a device may state of this vault in others, with the newest entry of it that was applied here; nil: there
    /// is none.
    package static func witnessed(in repository: LogRepository) throws(StorageError) -> WitnessedHead? {
        guard let memory = LogMemory(decoding: repository.syncMemory), let head = memory.head else { return nil }
        let remembered = try ServedLogs(memory, in: repository).remembered(in: repository)
        let newest = try repository.ask { (machine) throws(StorageError) -> VerifiedEntry? in
            var newest: VerifiedEntry?
            for mark in remembered.marks.values {
                guard let entry = try machine.store.entry(named: mark.name)?.entry else { continue }
                if newest.map({ $0.rank < entry.rank }) ?? true { newest = entry }
            }
            return newest
        }
        let link = try repository.ask { (machine) in machine.members.newest }
        guard let newest, link >= 0 else { return nil }
        return WitnessedHead(
            vaultID: repository.keys.vaultID, frontier: head, newest: newest.dot, newestName: newest.name,
            memberLink: UInt64(link))
    }

    /// Key 9 of the next own entry; nil: there is nothing to state, or nobody to state it.
    ///
    /// - Parameter heads: of other vaults; the first eight are stated.
    package static func seal(
        _ heads: [WitnessedHead], key: HeadsKey, in repository: LogRepository
    ) throws(StorageError) -> [UInt8]? {
        let others = heads.filter { $0.vaultID != repository.keys.vaultID }.prefix(EntryStatement.countMax)
        guard !others.isEmpty, let context = try repository.ownContext() else { return nil }
        return EntryStatement.seal(
            Array(others), key: key, vaultID: context.vaultID, instance: context.instance,
            random: repository.sealingRandom)
    }

    /// Statements about other vaults in entries of this one, which were not handed to these yet.
    package static func unchecked(in repository: LogRepository) -> [WitnessReport] {
        LogMemory(decoding: repository.syncMemory)?.unchecked ?? []
    }

    /// These were handed to their vaults, or are about vaults that are not here.
    package static func forget(_ handed: [WitnessReport], in repository: LogRepository) throws(StorageError) {
        guard var memory = LogMemory(decoding: repository.syncMemory) else { return }
        memory.unchecked.removeAll { handed.contains($0) }
        try repository.remember(memory.merged(in: repository))
    }

    /// Takes what was stated elsewhere of this vault, if it is not here. A sync of this vault is due then.
    ///
    /// - Returns: whether it is remembered.
    package static func hand(
        _ witness: WitnessReport, to repository: LogRepository, now: Milliseconds
    ) throws(StorageError) -> Bool {
        guard var memory = LogMemory(decoding: repository.syncMemory), witness.head.vaultID == repository.keys.vaultID,
            try isTrusted(witness.device, in: repository)
        else { return false }
        let (device, head) = (witness.device, witness.head)
        let standing = try standing(of: head, in: repository)
        guard standing == .ahead || standing == .contradicted else { return false }
        var late = LateWitness(head: head, wait: .began(now))
        if let old = memory.stated[device] {
            switch try self.standing(of: old.head, in: repository) {
            case .contradicted: return false
            case .ahead:
                // A head that stays away does so since it was first heard of, whatever its device says after it.
                late.wait = old.wait
                let isOlder = old.head.newest.instance == head.newest.instance && head.newest < old.head.newest
                if isOlder, standing == .ahead { return false }
            case .known, .undecided: break
            }
        } else if memory.stated.count >= statedCountMax {
            return false
        }
        memory.stated[device] = late
        try repository.remember(memory.merged(in: repository))
        return true
    }

    /// Looks at what is remembered again, and forgets what has come.
    static func look(
        _ memory: inout LogMemory, in repository: LogRepository, now: Milliseconds
    ) throws(StorageError) -> [Late] {
        var found: [Late] = []
        for (device, late) in memory.stated.sorted(by: { $0.key < $1.key }) {
            let isTrusted = try isTrusted(device, in: repository)
            let standing = isTrusted ? try standing(of: late.head, in: repository) : .undecided
            guard standing == .ahead || standing == .contradicted else {
                memory.stated[device] = nil
                continue
            }
            let wait = late.wait.looked(at: now)
            memory.stated[device]?.wait = wait
            found.append(
                Late(
                    device: device, head: late.head, isContradicted: standing == .contradicted,
                    isWithheld: wait.passed >= withheldTime))
        }
        return found
    }

    private static func standing(
        of head: WitnessedHead, in repository: LogRepository
    ) throws(StorageError) -> WitnessVerdict {
        try repository.ask { (machine) throws(StorageError) in try machine.standing(of: head) }
    }

    /// A device of the own account.
    private static func isTrusted(_ device: UniqueID, in repository: LogRepository) throws(StorageError) -> Bool {
        let account = repository.author.accountID
        return try repository.ask { (machine) in !machine.members.isRevoked(device, of: account) }
    }
}
