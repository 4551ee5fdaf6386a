// Operations that look after vaults.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
package import CoffretWire

extension VaultVerify: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        // The account's own vault is looked at with all others, and told of where it is damaged.
        let isAll = vault == nil && desk.grant.access == .control && desk.grant.vaults == nil
        let records = try desk.records(vault) + (isAll ? desk.store.accountVaults : [])
        for record in records {
            var message = VaultReportMessage()
            message.vault = record.vaultID.hex
            message.name = record.shownName
            let report: VaultCheck
            do {
                report = try desk.vault(record).check { progress in
                    try desk.work.step(progress.doneCount, of: progress.totalCount, stage: progress.phase.rawValue)
                }
            } catch let error as CoreError where records.count > 1 {
                // A vault that cannot be read at all hides nothing of the others.
                message.add([error.code == .storage ? error.chain.last ?? error : error])
                answer.vaults.append(message)
                continue
            }
            if record.isAccountVault && report.isClean { continue }
            message.isClean = report.isClean
            message.signatureCount = report.repository.signatureCount
            message.factCount = Int(report.repository.factCount)
            message.isHistoryPending = report.isHistoryPending
            message.index = report.index?.rawValue
            if let removal = report.removal {
                var dropped = RemovalMessage()
                (dropped.commit, dropped.removedCount) = (removal.link, removal.count)
                message.removals = [dropped]
            }
            message.changeCount = report.repository.entryCount
            message.objectCount = report.repository.reachableBlobCount
            message.attachmentCount = report.attachmentCount
            message.absentCount = report.absentCount
            message.add(
                (report.repository.allProblems + report.attachmentProblems).compactMap { $0 as? any CodedError })
            answer.vaults.append(message)
        }
        return answer
    }
}

extension VaultReportMessage {
    private static let listedCountMax = 1_000

    fileprivate mutating func add(_ found: [any CodedError]) {
        problemCount += found.count
        problems += found.prefix(Self.listedCountMax).map { problem in
            var message = ProblemMessage()
            (message.code, message.place) = (problem.codeText, problem.placeText)
            return message
        }
    }
}

extension VaultCompact: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        var answer = Answer()
        if isTrial == true {
            let vault = try desk.vault(record)
            let entries = try vault.log()
            if let dropsBefore { answer.removedCount = entries.count { $0.time < dropsBefore.milliseconds } }
            answer.keptCount = entries.count - answer.removedCount
            // Devices that have less than everything write on top of commits that go here.
            answer.behindCount = try desk.store.standing(of: vault).peers.count { !$0.hasEverything }
            return answer
        }
        let report =
            if let dropsBefore, record.kind != .local {
                try drop(before: dropsBefore.milliseconds, record, desk)
            } else {
                try desk.writing(record) { vault in
                    try vault.compact(dropHistoryOlderThan: dropsBefore?.milliseconds)
                }
            }
        answer.removedCount = report.removedCount
        answer.keptCount = report.keptCount
        answer.commit = report.link
        answer.byteCountBefore = report.blobs?.byteCountBefore
        answer.byteCountAfter = report.blobs?.byteCountAfter
        (answer.removedFileCount, answer.removedFileByteCount) = (
            report.removedFileCount, report.removedFileByteCount
        )
        return answer
    }

    /// History of a vault of several devices goes below a checkpoint that they all have, and at the server too.
    private func drop(
        before time: Milliseconds, _ record: VaultRecord, _ desk: StoreDesk
    ) throws -> VaultCompaction {
        var options = SyncOptions()
        options.writesCheckpoint = true
        try desk.syncNow(record, options)
        let report = try desk.writing(record) { vault in
            let repository = vault.repository
            if let link = try vault.checkpoint(asOldAs: time) {
                try LogCollector.request(below: link, in: repository)
            }
            let unacknowledged = try ServedLogs(LogMemory(of: repository), in: repository)
                .unacknowledged(in: repository)
            return try vault.drop(olderThan: time, unacknowledged: unacknowledged)
        }
        // The server collects, and then this device makes room.
        try desk.syncNow(record, SyncOptions())
        return report
    }
}

extension StoreDesk {
    /// Syncs one vault now, with what a person asked for.
    @discardableResult
    func syncNow(_ record: VaultRecord, _ options: SyncOptions) throws -> SyncReport {
        let account = try account()
        let sync = sync(account)
        try follow(account)
        _ = try sync.receiveKeys()
        return try sync.sync(record, options)
    }
}
