// Giving room back and checking everything. Invariant: a file is removed only if neither the present nor any kept
// state of the past names it.

package import CoffretBase
internal import CoffretSearch
package import CoffretStorage

/// The result of a compaction of a vault.
package struct VaultCompaction: Sendable {
    package let repository: CompactionReport
    /// Files of attachments that nothing names any more.
    package let removedFileCount: Int
    package let removedFileByteCount: Int
}

/// The result of a check of a vault.
package struct VaultCheck: Sendable {
    package let repository: FsckReport
    /// Attachments of the current state, read and verified to their last byte.
    package let attachmentCount: Int
    /// Their faults: each names the item and the file.
    package let attachmentProblems: [CoreError]
    /// Attachments of a synced vault whose files have not been fetched from the server.
    package let absentCount: Int
    /// The search index, which is derived: damage of it is no problem of the vault. Nil if there is none to look at.
    package let index: IndexCheck?

    package var isClean: Bool { repository.isClean && attachmentProblems.isEmpty }
}

extension Vault {
    /// Rewrites what is live, forgets history from before a time if asked for, and removes files that nothing names.
    ///
    /// - Parameter time: commits older than this go; the present never does. Nil keeps all history.
    /// - Parameter commit: all commits that this one was made from go too.
    package func compact(
        dropHistoryOlderThan time: Milliseconds? = nil, droppingParentsOf commit: BlobName? = nil
    ) throws -> VaultCompaction {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        let store = try contents()
        var files: Set<UniqueID> = []
        let report = try inStorage { () throws(StorageError) in
            try repository.compact(
                dropHistoryOlderThan: time, droppingParentsOf: commit, timeMilliseconds: clock.now,
                visiting: .only(EntityKind.attachment)
            ) {
                (fact) throws(StorageError) in
                // A reference that cannot be read might name any file: nothing is removed then.
                if let file = try NamedFile(fact) { files.insert(file.fileID) }
            }
        }
        let removed = try inStorage(store.removeAll(except: files))
        // The words of removed texts lie, sealed, in old segments of the index until it is rewritten. The vault is
        // compacted already: an index that cannot be used now is made anew when it is next needed.
        try? forgetWords()
        return VaultCompaction(
            repository: report, removedFileCount: removed.count, removedFileByteCount: removed.byteCount)
    }

    /// Removes what compactions of other devices removed, as their signed commits say.
    ///
    /// - Returns: nil if all of that is gone here already.
    package func followRemovals() throws -> VaultCompaction? {
        let recorded = try inStorage(repository.recordedRemovals())
        return recorded.isEmpty ? nil : try compact()
    }

    /// Checks all of the vault: files, commits, signatures, trees and values, and every attachment of the current state.
    ///
    /// - Parameter signers: the devices whose signatures count; nil for the own device alone.
    /// - Parameter progress: an error that it throws ends the check, and is thrown.
    /// - Throws: `CoreError` if the vault cannot be read at all.
    /// - Complexity: reads everything.
    package func check(
        signers: (any CommitSignerDirectory)? = nil, progress: (FsckProgress) throws -> Void = { _ in }
    ) throws -> VaultCheck {
        let report = try repository.fsck(signers: signers, progress: progress)
        var check = AttachmentCheck()
        if let attachmentStore, report.isClean {
            // Devices of a synced vault may leave files at the server; anywhere else a file that is not there is lost.
            check.isSynced = try inStorage(!repository.syncNote().isEmpty)
            var items: [Item] = []
            try whole.forEachItem { item in
                guard !item.attachments.isEmpty || item.lock?.files.isEmpty == false else { return }
                var item = item
                // Texts are not looked at here, and may be long.
                item.text = ""
                items.append(item)
            }
            for (index, item) in items.enumerated() {
                try progress(FsckProgress(phase: .attachments, doneCount: index, totalCount: items.count))
                try checkFiles(of: item, in: attachmentStore, &check)
            }
        }
        return VaultCheck(
            repository: report, attachmentCount: check.count, attachmentProblems: check.problems,
            absentCount: check.absentCount, index: report.isClean ? try checkIndex() : nil)
    }

    private struct AttachmentCheck {
        var isSynced = false
        var count = 0
        var absentCount = 0
        var problems: [CoreError] = []
    }

    private func checkFiles(
        of item: Item, in store: AttachmentStore, _ check: inout AttachmentCheck
    ) throws {
        // Without a passphrase all that can be said of a locked note's file is that it is there.
        for file in item.lock?.files ?? [] {
            check.count += 1
            let isThere = try inStorage(store.containsFile(file.fileID))
            if isThere { continue }
            if check.isSynced {
                check.absentCount += 1
            } else {
                check.problems.append(
                    CoreError(.storage, at: "a file of locked \(item.id.uuid.hex): \(AttachmentFault.missing.words)"))
            }
        }
        for attachment in item.attachments {
            check.count += 1
            do {
                try unsafe read(attachment) { _ in }
            } catch let error as CoreError {
                if check.isSynced, (error.cause as? StorageError)?.code == .attachmentMissing {
                    check.absentCount += 1
                    continue
                }
                let words = AttachmentFault(error).map { ": \($0.words)" } ?? ""
                check.problems.append(
                    CoreError(error.code, at: "\(attachment.name) of \(item.id.uuid.hex)\(words)", cause: error.cause))
            }
        }
    }
}
