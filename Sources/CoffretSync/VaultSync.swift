// A vault as the sync engine sees it. The one thing to keep true: a head of a server enters the vault only
// after it was verified and has seen what the same server showed before.

internal import CoffretBase
internal import CoffretCore
package import CoffretCrypto
package import CoffretStorage
internal import CoffretWire

/// What the engine needs done; implemented over a vault, and in tests over what a test likes.
package protocol SyncVault: AnyObject {
    /// Does what is asked; failures are a reply as well.
    func perform(_ request: VaultRequest) -> VaultReply
}

/// Does the engine's requests on one vault.
///
/// With a repository that is open for writing, blobs go into a transaction as they come. With one that is open for
/// reading they wait in memory, and the vault is open for writing for as long as it takes to put them in: nobody waits
/// for the network with it.
package final class VaultSync: SyncVault {
    /// Opens the vault for writing, runs something, and gives the lock back.
    package typealias Writing = (_ body: (VaultRepository) throws -> VaultReply) throws -> VaultReply

    private let repository: VaultRepository
    private let writing: Writing?
    private let signers: any CommitSignerDirectory
    private let rule: any ValueMergeRule
    private let acknowledger: SyncAcknowledger?
    private let revocationSinceJoining: UInt64?
    private let opener: StatementOpener?
    private let now: () -> Int64
    private var adoption: Adoption?
    /// Blobs that came and were not put in yet.
    private var waiting: [SealedBlob] = []
    /// What comes now was asked for by its address: whether it verifies decides how the sync goes on.
    private var isRepairing = false
    private var pending: ArraySlice<BlobName> = []
    /// At most so many addresses are asked for at once.
    private static let addressCountMax = 8_192

    /// - Parameters:
    ///   - repository: open for writing, or for reading if there is `writing`.
    ///   - headsKey: of the account; nil reads no statements.
    ///   - revocationSinceJoining: the first link that revoked a device after this one was added.
    ///   - writing: called once for each change; nil changes `repository` itself.
    ///   - now: milliseconds since 1970, for show in merge commits.
    package init(
        repository: VaultRepository, signers: any CommitSignerDirectory, rule: any ValueMergeRule = TextMergeRule(),
        acknowledger: SyncAcknowledger? = nil, headsKey: HeadsKey? = nil, revocationSinceJoining: UInt64? = nil,
        writing: Writing? = nil,
        now: @escaping () -> Int64
    ) {
        opener = headsKey.map { StatementOpener(key: $0, vaultID: repository.keys.vaultID) }
        self.repository = repository
        self.writing = writing
        self.signers = signers
        self.rule = rule
        self.acknowledger = acknowledger
        self.revocationSinceJoining = revocationSinceJoining
        self.now = now
    }

    /// The memory of the last sync; nil if there was none.
    package static func memory(of repository: VaultRepository) throws(StorageError) -> SyncMemory? {
        SyncMemory.decode(try repository.syncNote())
    }

    /// Forgets what was offered and not adopted.
    package func cancel() {
        adoption?.cancel()
        adoption = nil
        waiting = []
        isRepairing = false
    }

    package func perform(_ request: VaultRequest) -> VaultReply {
        do {
            switch request {
            case .judge(let address, let remembered): return try judge(address, remembered)
            case .present(let memory):
                return try changing { repository in try beginWithPresent(memory, repository) }
            case .offer(let blob): return .offered(try offer(blob))
            case .stage(let memory):
                return try changing { repository in
                    var due = memory
                    due.areRemovalsDue = true
                    let notes = (plain: try note(memory, repository), due: try note(due, repository))
                    let areRemovalsDue = try begun(repository).stage { $0 ? notes.due : notes.plain }
                    adoption = nil
                    waiting = []
                    return .staged(areRemovalsDue: areRemovalsDue)
                }
            case .adopt(let address, let memory):
                return try changing { repository in try adopt(address, memory, repository) }
            case .export(let known, let withAllFiles): return try export(from: known, withAllFiles: withAllFiles)
            case .nextPart(let byteCountMax): return try nextPart(byteCountMax)
            case .remember(let memory):
                let note = try note(memory, repository)
                if try repository.syncNote() == note { return .remembered }
                return try changing { repository in
                    try repository.setSyncNote(note)
                    return .remembered
                }
            case .acknowledgement(let memory):
                return .acknowledgement(try acknowledger?.acknowledgement(of: memory, in: repository) ?? [])
            case .inspect(let list, let memory):
                guard let acknowledger else { return .inspected(memory, SyncAudit()) }
                return try acknowledger.inspect(list, memory, in: repository)
            }
        } catch let error as StorageError {
            cancel()
            return .failed(Self.translate(error))
        } catch let error as SyncError {
            cancel()
            return .failed(error)
        } catch {
            cancel()
            return .failed(SyncError(.vaultFailed, cause: error))
        }
    }

    /// The memory as it is kept: with the number of the head's commit, while that is here.
    private func note(_ memory: SyncMemory, _ repository: VaultRepository) throws(StorageError) -> [UInt8] {
        var memory = memory
        if let head = memory.head, memory.headDot == nil { memory.headDot = try repository.dot(ofCommit: head) }
        return memory.encode()
    }

    /// Runs a change with the vault open for writing.
    private func changing(_ body: (VaultRepository) throws -> VaultReply) throws -> VaultReply {
        guard let writing else { return try body(repository) }
        let reply = try writing { repository in
            // What is in the adoption goes with the lock; the blobs are still here if they are needed once more.
            defer {
                adoption?.cancel()
                adoption = nil
            }
            return try body(repository)
        }
        try repository.refresh()
        return reply
    }

    private func offer(_ blob: SealedBlob) throws -> Bool {
        guard writing != nil else { return try begun(repository).offer(blob) != nil }
        // What came with others is judged when it is put in.
        if isRepairing, try !repository.verifies(blob) { return false }
        waiting.append(blob)
        return true
    }

    private func begun(_ repository: VaultRepository) throws(StorageError) -> Adoption {
        if let adoption { return adoption }
        let begun = try repository.beginAdoption(rule: rule)
        for blob in waiting { try begun.offer(blob) }
        adoption = begun
        return begun
    }

    private func judge(_ address: BlobAddress, _ remembered: BlobName?) throws(StorageError) -> VaultReply {
        // A commit that lies here unverified, such as one that was staged or is in quarantine, is not known.
        if let remembered, remembered != repository.headNames.first, try repository.dot(ofCommit: remembered) == nil {
            return try judge(address, removed: remembered)
        }
        guard let name = try repository.commitName(at: address), let head = repository.headNames.first,
            try repository.isKnown(name, to: head)
        else { return .judged(.unknown) }
        // What a revocation has set aside since need not have been seen.
        guard let remembered, try !repository.isSetAside(remembered) else { return .judged(.newer(name)) }
        switch try repository.relation(of: remembered, to: name) {
        case .same: return .judged(.same)
        case .ancestor: return .judged(.newer(name))
        case .descendant: return .judged(.older(name))
        case .unrelated: return .judged(.unrelated(name))
        }
    }

    /// The same where the remembered head is not here: it never came, or a compaction has removed it.
    private func judge(_ address: BlobAddress, removed remembered: BlobName) throws(StorageError) -> VaultReply {
        let memory = try Self.memory(of: repository)
        guard memory?.head == remembered, let dot = memory?.headDot, try repository.hasRemoved(dot) else {
            return .judged(.unknown)
        }
        if try repository.addresses(of: remembered).contains(address) { return .judged(.same) }
        guard let name = try repository.commitName(at: address), let head = repository.headNames.first,
            try repository.isKnown(name, to: head)
        else { return .judged(.unknown) }
        return .judged(try repository.versions(of: name).covers(dot) ? .newer(name) : .older(name))
    }

    private func adopt(
        _ address: BlobAddress, _ memory: SyncMemory, _ repository: VaultRepository
    ) throws -> VaultReply {
        let adoption = try begun(repository)
        isRepairing = true
        if try repository.presentStanding == .ahead { return try complete(adoption, memory, repository) }
        guard let name = try adoption.commitName(at: address) else {
            return .missing([address], place: "the head")
        }
        let missing = try adoption.missing(for: [name])
        if !missing.isEmpty { return try ask(for: missing, repository) }
        let seen = memory.head
        var memory = memory
        var required = seen.map { [$0] } ?? []
        var requiredDots: [Dot] = []
        var neverHere = false
        if let seen, try !adoption.contains(seen) {
            // What another device told of at pairing has to be there (R7), unless a compaction removed it meanwhile, as it may
            // have what was here before: then the head has seen its number, and that record.
            guard let dot = memory.headDot else {
                let heads = SyncError.Heads(seen: seen, shown: name)
                throw SyncError(.headRolledBack, at: "commit \(seen)", heads: heads)
            }
            (required, requiredDots) = ([], [dot])
            neverHere = try !repository.hasRemoved(dot)
        }
        memory.head = name
        let dot = try adoption.dot(ofCommit: name)
        memory.headDot = dot
        self.adoption = nil
        waiting = []
        isRepairing = false
        let report: AdoptionReport
        var stated: [UncheckedHead] = []
        do throws(StorageError) {
            report = try adoption.adopt(
                [name], signers: signers, time: now(), required: required, requiredDots: requiredDots,
                revocation: neverHere ? revocationSinceJoining : nil
            ) { areRemovalsDue, statements in
                if areRemovalsDue { memory.areRemovalsDue = true }
                stated = self.opener?.heads(of: statements) ?? []
                memory.take(stated)
                return memory.encode()
            }
        } catch {
            // A head of the past, which a compaction has removed here.
            if error.code == .historyUnrelated, let dot, try repository.hasRemoved(dot) { return .judged(.older(name)) }
            guard error.code == .historyUnrelated, let seen else { throw error }
            throw SyncError(
                neverHere ? .headRolledBack : .headForked, at: neverHere ? "commit \(seen)" : error.place,
                heads: SyncError.Heads(seen: seen, shown: name), cause: error)
        }
        return .adopted(
            SyncAdoption(
                head: name, localHead: report.newHead, newCommitCount: report.newCommitCount,
                mergeCount: report.mergeCount, quarantinedCount: report.quarantined.count + report.revoked.count,
                setAsideCount: report.setAsideCount, removals: report.removals,
                areRemovalsDue: report.areRemovalsDue, stated: stated))
    }

    private func ask(for missing: [BlobName], _ repository: VaultRepository) throws(StorageError) -> VaultReply {
        var addresses: [BlobAddress] = []
        for name in missing where addresses.count < Self.addressCountMax {
            addresses += try repository.addresses(of: name)
        }
        return .missing(addresses, place: missing.first.map { "\($0)" } ?? "")
    }

    /// Takes the present that was told at pairing, if it is there and in order.
    private func beginWithPresent(_ memory: SyncMemory, _ repository: VaultRepository) throws -> VaultReply {
        guard try repository.presentStanding == .told else { return .presentNotTaken }
        let adoption = try begun(repository)
        isRepairing = true
        let missing = try adoption.missingOfPresent()
        if !missing.isEmpty { return try ask(for: missing, repository) }
        self.adoption = nil
        waiting = []
        isRepairing = false
        do throws(StorageError) {
            _ = try adoption.beginWithPresent(signers: signers, note: memory.encode())
            return .presentHere
        } catch {
            // Whoever told it or the server lies: the whole history says who.
            guard Self.translate(error).code != .vaultFailed else { throw error }
            return .presentNotTaken
        }
    }

    /// Verifies all that leads to the own head, with which this device began.
    private func complete(
        _ adoption: Adoption, _ memory: SyncMemory, _ repository: VaultRepository
    ) throws -> VaultReply {
        let missing = try adoption.missingOfHistory()
        if !missing.isEmpty { return try ask(for: missing, repository) }
        self.adoption = nil
        waiting = []
        isRepairing = false
        var memory = memory
        var stated: [UncheckedHead] = []
        let arrival = try adoption.completeHistory(signers: signers) { areRemovalsDue, statements in
            if areRemovalsDue { memory.areRemovalsDue = true }
            stated = self.opener?.heads(of: statements) ?? []
            memory.take(stated)
            return memory.encode()
        }
        return .historyHere(
            newCommitCount: arrival.newCommitCount, areRemovalsDue: arrival.areRemovalsDue, stated: stated)
    }

    private func export(from known: BlobName?, withAllFiles: Bool) throws(StorageError) -> VaultReply {
        // Nobody could take what stands on a history that is not here yet.
        try repository.requireHistory()
        var files: [UniqueID] = []
        var seen: Set<UniqueID> = []
        let contents = try repository.contents(
            from: known.map { [$0] } ?? [], visiting: .only(EntityKind.attachment)
        ) { (fact) throws(StorageError) in
            if let file = try NamedFile(fact), seen.insert(file.fileID).inserted { files.append(file.fileID) }
        }
        // Where nothing is there that is known here, a file that was attached before history was dropped is named by no commit.
        let isFromNothing =
            try known.map { (name) throws(StorageError) in try repository.dot(ofCommit: name) == nil } ?? true
        if withAllFiles || isFromNothing {
            try repository.present.forEachFact(withPrefix: [EntityKind.attachment]) { (fact) throws(StorageError) in
                if let file = try NamedFile(fact), seen.insert(file.fileID).inserted { files.append(file.fileID) }
            }
        }
        pending = contents.names[...]
        let head = repository.headNames.first
        let address = try head.map { (name) throws(StorageError) in try repository.addresses(of: name)[0] }
        let base = try known.map { (name) throws(StorageError) in try repository.addresses(of: name)[0] }
        return .exported(
            SyncExport(
                head: head, address: address, base: base, epoch: repository.currentEpoch,
                commitCount: contents.commitCount, blobCount: contents.names.count, files: files,
                sweep: known == nil ? nil : contents.compaction.map { DueSweep(compaction: $0, since: now()) }))
    }

    private func nextPart(_ byteCountMax: Int) throws(StorageError) -> VaultReply {
        var objects: [ZoneObject] = []
        var byteCount = 0
        while let name = pending.first {
            let blob = try repository.sealedBlob(name)
            if !objects.isEmpty, byteCount + blob.bytes.count > byteCountMax { break }
            pending.removeFirst()
            byteCount += blob.bytes.count
            objects.append(ZoneObject(address: blob.address.bytes, ciphertext: blob.bytes))
            if objects.count == ServerLimits.pushObjectCountMax { break }
        }
        return .part(objects, isLast: pending.isEmpty)
    }

    /// What a failure of the vault's verification says of the server.
    static func translate(_ error: StorageError) -> SyncError {
        switch error.code {
        case .historyForked, .historyUnrelated: SyncError(.headForked, at: error.place, cause: error)
        case .historyBroken, .blobMissing: SyncError(.chainBroken, at: error.place, cause: error)
        case .historyLocalRollback: SyncError(.storeRolledBack, at: error.place, cause: error)
        case .commitRevokedSigner: SyncError(.headRevoked, at: error.place, cause: error)
        case .commitMalformed, .commitAuthenticationFailed, .commitWrongVault, .commitUnknownSigner,
            .commitUnsupportedFormat, .commitStaleEpoch, .commitChainHeadsBehind, .treeRootMismatch,
            .treeMalformedNode, .factMalformedValue, .blobAuthenticationFailed:
            SyncError(.headRefused, at: error.place, cause: error)
        default: SyncError(.vaultFailed, at: error.code.rawValue, cause: error)
        }
    }
}
