// Giving room back and checking everything. Invariant: a file is removed only if neither the present nor any kept
// state of the past names it.

package import CoffretBase
internal import CoffretHistory
package import CoffretLogs
internal import CoffretSearch
package import CoffretStorage

/// The result of a compaction of a vault.
package struct VaultCompaction: Sendable {
    /// Nil where the room is made later.
    package let blobs: BlobCompaction?
    /// Entries that went, and those that stay.
    package let removedCount: Int
    package let keptCount: Int
    /// The link below which history went, in hex digits; nil: none did.
    package let link: String?
    /// Files of attachments that nothing names any more.
    package let removedFileCount: Int
    package let removedFileByteCount: Int
}

/// The result of a check of a vault.
package struct VaultCheck: Sendable {
    package let repository: LogFsckReport
    /// Entries of before the state that this device was given have not arrived yet, and were not checked.
    package let isHistoryPending: Bool
    /// The checkpoint below which history was dropped here, and how many entries went.
    package let removal: (link: String, count: Int)?
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
    /// A vault of this device alone gets a checkpoint of that time. In one of several devices history goes below the newest
    /// checkpoint that is as old, if there is one; the link below which it went tells.
    /// - Parameters:
    ///   - time: entries older than this go; the present never does. Nil keeps all history.
    ///   - unacknowledged: own entries that a server has not acknowledged: they stay.
    @discardableResult
    package func compact(
        dropHistoryOlderThan time: Milliseconds? = nil, unacknowledged: Set<BlobName> = []
    ) throws -> VaultCompaction {
        let before = try inStorage(repository.entryCount())
        let link = try time.flatMap { try drop(at: $0, unacknowledged: unacknowledged) }
        return try compacted(from: before, link: link)
    }

    /// Drops history as `compact` does, and makes no room yet: first a server that has it is asked to collect it.
    package func drop(olderThan time: Milliseconds, unacknowledged: Set<BlobName>) throws -> VaultCompaction {
        let before = try inStorage(repository.entryCount())
        let link = try drop(at: time, unacknowledged: unacknowledged)
        let kept = try inStorage(repository.entryCount())
        return VaultCompaction(
            blobs: nil, removedCount: max(0, before - kept), keptCount: kept,
            link: link.map { repository.chains.members.links[$0].hash.hex }, removedFileCount: 0,
            removedFileByteCount: 0)
    }

    private func drop(at time: Milliseconds, unacknowledged: Set<BlobName>) throws -> Int? {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        guard let link = try checkpoint(at: time) else { return nil }
        return try inStorage { () throws(StorageError) in
            guard let plan = try repository.droppingPlan(below: link, unacknowledged: unacknowledged) else {
                return nil
            }
            return try repository.drop(plan, unacknowledged: unacknowledged) == nil ? link : nil
        }
    }

    /// The checkpoint below which history from before a time may go; nil: there is none, or nothing is older.
    private func checkpoint(at time: Milliseconds) throws -> Int? {
        guard let writeCheckpoint else { return try checkpoint(asOldAs: time) }
        let frontier = try inStorage(repository.frontier(at: time))
        guard try inStorage(repository.hasEntries(below: frontier)) else { return nil }
        return try writeCheckpoint([], frontier)
    }

    /// The newest checkpoint of a time or before; nil: there is none.
    package func checkpoint(asOldAs time: Milliseconds) throws -> Int? {
        let now = clock.now
        let age = now - min(time, now)
        return try inStorage(
            repository.step { (machine) throws(StorageError) in
                machine.checkpoint(olderThan: age, isSetting: false, now: now)
            })
    }

    func compacted(from before: Int, link: Int?) throws -> VaultCompaction {
        let store = try contents()
        let blobs = try inStorage(repository.compact())
        let kept = try inStorage(repository.entryCount())
        let named = try namedFiles(withPast: true)
        let removed = try inStorage(store.removeAll(except: named))
        // The words of removed texts lie, sealed, in old segments of the index until it is rewritten. The vault is
        // compacted already: an index that cannot be used now is made anew when it is next needed.
        try? forgetWords()
        return VaultCompaction(
            blobs: blobs, removedCount: max(0, before - kept), keptCount: kept,
            link: link.map { repository.chains.members.links[$0].hash.hex },
            removedFileCount: removed.count, removedFileByteCount: removed.byteCount)
    }

    /// The files that facts of this state name, or also those that anything names that is kept.
    ///
    /// - Throws: `CoreError.storage` where a reference cannot be read: it might name any file.
    package func namedFiles(withPast: Bool = false) throws -> Set<UniqueID> {
        var files: Set<UniqueID> = []
        try inStorage { () throws(StorageError) in
            let present = try repository.present()
            try present.forEachFact(withPrefix: [EntityKind.attachment]) { (fact) throws(StorageError) in
                if NamedFile.isNamed(by: fact.key), let file = try NamedFile(fact.key, present.value(of: fact)) {
                    files.insert(file.fileID)
                }
            }
            guard withPast else { return }
            try repository.forEachKeptValue(withPrefix: [EntityKind.attachment], where: NamedFile.isNamed) {
                (key, value) throws(StorageError) in
                if let file = try NamedFile(key, value) { files.insert(file.fileID) }
            }
        }
        return files
    }

    /// A name of the state, the same wherever the same facts stand; nil before anything was written.
    package var stateVersion: String? {
        get throws {
            let mark = try presentMark()
            return mark.isEmpty ? nil : mark.digest.description
        }
    }

    /// Checks all of the vault: files, entries, signatures, trees and values, and every attachment of the current state.
    ///
    /// - Parameter progress: an error that it throws ends the check, and is thrown.
    /// - Throws: `CoreError` if the vault cannot be read at all.
    /// - Complexity: reads everything.
    package func check(
        progress: (FsckProgress) throws -> Void = { _ in }
    ) throws -> VaultCheck {
        let report = try repository.fsck(progress: progress)
        var check = AttachmentCheck()
        if let attachmentStore, report.isClean {
            // Devices of a synced vault may leave files at the server; anywhere else a file that is not there is lost.
            check.isSynced = !repository.syncMemory.isEmpty
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
            repository: report, isHistoryPending: report.isClean ? try isHistoryPending : false,
            removal: report.isClean ? try inStorage(repository.dropping()).map { ($0.link.hex, $0.count) } : nil,
            attachmentCount: check.count, attachmentProblems: check.problems,
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
