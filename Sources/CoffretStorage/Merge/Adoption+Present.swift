// The present before its history: taken as another device vouched for it, and compared when the history is here. The one
// thing to keep true: what was vouched for is one commit, its tree, and what it has seen; all else is verified before it counts.

internal import CoffretBase
internal import CoffretCrypto

/// What came of the history of a present that was here before.
package struct HistoryArrival: Equatable, Sendable {
    /// Commits that are here now and were not before.
    package let newCommitCount: Int
    /// Compactions are among them: what they removed may have come along.
    package let areRemovalsDue: Bool
    /// What trusted devices state in those commits of other vaults, parents before children.
    package let statements: [CommitStatement]
}

extension Adoption {
    /// What the present that was told needs, and what was neither offered nor is here; inner nodes first come, first asked for.
    package func missingOfPresent() throws(StorageError) -> [BlobName] {
        guard try repository.presentStanding == .told, let told = try annotation().present else { return [] }
        return try MissingBlobs(adoption: self).find(treeOf: told.head)
    }

    /// Goes on from the present that was told, and makes it durable; ends the adoption.
    ///
    /// - Parameter note: what to keep with it for who syncs.
    /// - Throws: `.unusable` where nothing was told or something was written; what verification throws. Then nothing has changed.
    package func beginWithPresent(
        signers: any CommitSignerDirectory, note: [UInt8]
    ) throws(StorageError) -> BlobName {
        do throws(StorageError) {
            guard try repository.presentStanding == .told, let told = try annotation().present else {
                throw StorageError(.unusable)
            }
            let commit = try checkPresent(told, signers)
            try keepPresent(commit, told.versions)
            var state = repository.backend.state
            state.heads = [commit.name]
            state.checkpoint = RepositoryState.Checkpoint(commit: commit.name, root: commit.commit.root)
            state.previousCheckpoint = nil
            state.tailCommits = []
            try state.annotate { annotation in
                annotation.checkpointVersions = told.versions
                annotation.isHistoryPartial = true
                annotation.note = note
            }
            try transaction.commit(state: state, isCheckpoint: true)
            repository.forget()
            return commit.name
        } catch {
            transaction.cancel()
            repository.forget()
            throw error
        }
    }

    /// The signature, and the bounds of what the commit is said to have seen.
    private func checkPresent(
        _ told: PresentMark, _ signers: any CommitSignerDirectory
    ) throws(StorageError) -> CommitSummary {
        let (unverified, commit, _) = try history.unverified(told.head)
        let verifier = CommitVerifier(vaultID: repository.keys.vaultID.bytes, signers: signers)
        _ = try verifier.verify(unverified, context: commit.context)
        guard told.versions[commit.instance] == commit.sequence, told.versions[author.instanceID] == 0,
            commit.commit.versionVector ?? told.versions == told.versions
        else { throw StorageError(.commitMalformed, place: "commit \(told.head)") }
        return commit
    }

    /// Takes the commit, its context and its tree.
    private func keepPresent(_ commit: CommitSummary, _ versions: VersionVector) throws(StorageError) {
        let tree = ReachableBlobs(history: history, nodes: nodes, kinds: .all)
        let names = try tree.namesOfTree(commit.commit.root) { (fact) throws(StorageError) in
            guard versions.covers(fact.dot) else {
                throw StorageError(.commitMalformed, place: "commit \(commit.name)")
            }
        }
        for name in names { try incoming.keep(name) }
        try incoming.keep(commit.commit.context)
        try incoming.keep(commit.name)
    }

    /// What the history of the present needs, and what was neither offered nor is here.
    package func missingOfHistory() throws(StorageError) -> [BlobName] {
        let none = try nothingKnown()
        return try MissingBlobs(adoption: self).find(
            repository.headNames, known: none, beginnings: beginningsOfHistory(none))
    }

    /// Verifies all that leads to the own head, as if nothing of it were here, and makes it durable with all that was
    /// offered besides; ends the adoption.
    ///
    /// - Parameter note: as in `adopt`.
    /// - Throws: as `adopt`. Then nothing has changed, but that the two commits of a fork are kept as evidence.
    package func completeHistory(
        signers: any CommitSignerDirectory, note: (_ areRemovalsDue: Bool, _ statements: [CommitStatement]) -> [UInt8]
    ) throws(StorageError) -> HistoryArrival {
        do throws(StorageError) {
            return try complete(signers, note)
        } catch {
            giveUp(after: error)
            throw error
        }
    }

    private func complete(
        _ signers: any CommitSignerDirectory, _ note: (Bool, [CommitStatement]) -> [UInt8]
    ) throws(StorageError) -> HistoryArrival {
        guard let present = try repository.pendingPresent(), let head = repository.headNames.first else {
            throw StorageError(.unusable)
        }
        let none = try nothingKnown()
        // Neither the own head nor its tree stands for anything here: both follow from what came.
        var foreign = ForeignHistory(
            graph: graph, loader: loader, vaultID: repository.keys.vaultID.bytes,
            signers: UnrevokedSigners(signers: signers), ownInstance: author.instanceID, localHead: nil,
            localTree: { () throws(StorageError) in throw StorageError(.unusable) }, knownEpochs: [], known: none,
            beginnings: try beginningsOfHistory(none))
        incoming.wholeTrees = foreign.beginnings.trees
        // Nobody is revoked for these, so that all records count.
        guard try foreign.check([head]).isEmpty else {
            throw StorageError(.historyBroken, place: "commit \(head)")
        }
        guard try graph.versions(of: present.head) == present.versions else {
            throw StorageError(.commitMalformed, place: "commit \(present.head)")
        }
        var epochs: [BlobName] = []
        var removed = VersionVector()
        var hasRecords = false
        var newCount = 0
        for name in foreign.order {
            guard let commit = foreign.commits[name]?.summary else { continue }
            if !present.versions.covers(commit.dot) { continue }
            newCount += 1
            try keep(commit)
            if foreign.beginnings.roots.contains(name) { try keepTree(of: commit) }
            if commit.flags.contains(.epoch) { epochs.append(name) }
            if let record = commit.commit.compaction {
                hasRecords = true
                removed.merge(record.removedVersions)
            }
        }
        let statements = foreign.statements(besides: author.deviceID, signers)
        // What leads beyond it comes next.
        try incoming.keepAllButInnerNodes()
        var state = repository.backend.state
        try state.annotate { annotation in
            annotation.isHistoryPartial = false
            annotation.present = nil
            annotation.removedVersions = removed
            annotation.epochs = RepositoryAnnotation.bounded(Set(annotation.epochs + epochs))
            annotation.note = note(hasRecords, statements)
        }
        try transaction.commit(state: state, isCheckpoint: true)
        repository.forget()
        return HistoryArrival(newCommitCount: newCount, areRemovalsDue: hasRecords, statements: statements)
    }

    private func annotation() throws(StorageError) -> RepositoryAnnotation {
        try RepositoryAnnotation.decode(repository.backend.state.annotation)
    }

    /// What was written on top is not trusted either: it is verified with what it stands on.
    private func nothingKnown() throws(StorageError) -> KnownCommits {
        KnownCommits(
            graph: graph, backend: repository.backend, evidence: Set(try annotation().evidence),
            versions: VersionVector(), removed: VersionVector())
    }

    private func beginningsOfHistory(_ none: KnownCommits) throws(StorageError) -> HistoryBeginnings {
        try HistoryBeginnings(repository.headNames, incoming: incoming, known: none, recorded: graph.recorded)
    }
}

/// What led to the present counted where this comes from. A revocation that takes some of it out is judged when its cut comes,
/// as in a vault that was here before.
private struct UnrevokedSigners: CommitSignerDirectory {
    let signers: any CommitSignerDirectory

    func verifyingKey(for context: CommitContext) -> VerifyingKey? { signers.verifyingKey(for: context) }
    func areHeads(of later: CommitContext, atOrAfter earlier: CommitContext) -> Bool {
        signers.areHeads(of: later, atOrAfter: earlier)
    }
    func revocation(ofAuthorOf context: CommitContext) -> UInt64? { nil }
    func chainPosition(of context: CommitContext) -> UInt64? { signers.chainPosition(of: context) }
}
