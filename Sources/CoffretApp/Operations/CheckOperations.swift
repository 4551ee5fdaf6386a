// Operations that look after vaults.

internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
package import CoffretWire

extension VaultVerify: PerformedOperation {
    private static let problemCountMax = 1_000

    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        for record in try desk.records(vault) {
            let report = try desk.vault(record).check(signers: desk.store.signers()) { progress in
                try desk.work.step(progress.doneCount, of: progress.totalCount, stage: progress.phase.rawValue)
            }
            var message = VaultReportMessage()
            message.vault = record.vaultID.hex
            message.name = record.name
            message.isClean = report.isClean
            message.signatureCount = report.repository.signatureCount
            message.factCount = Int(report.repository.factCount)
            message.isHistoryPending = report.repository.isHistoryPending
            message.index = report.index?.rawValue
            message.removals = report.repository.removals.map { removal in
                var message = RemovalMessage()
                (message.commit, message.removedCount) = (
                    removal.commit.description, Int(removal.removedCommitCount)
                )
                return message
            }
            message.changeCount = report.repository.commitCount
            message.objectCount = report.repository.reachableBlobCount
            message.attachmentCount = report.attachmentCount
            message.absentCount = report.absentCount
            let problems: [any CodedError] = report.repository.allProblems + report.attachmentProblems
            message.problemCount = problems.count
            message.problems = problems.prefix(Self.problemCountMax).map { problem in
                var message = ProblemMessage()
                (message.code, message.place) = (problem.codeText, problem.placeText)
                return message
            }
            answer.vaults.append(message)
        }
        return answer
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
        let report = try desk.writing(record) { vault in
            try vault.compact(dropHistoryOlderThan: dropsBefore?.milliseconds)
        }
        answer.removedCount = report.repository.removedCommitCount
        answer.keptCount = report.repository.keptCommitCount
        answer.commit = report.repository.compactionCommit?.description
        answer.byteCountBefore = report.repository.blobs.byteCountBefore
        answer.byteCountAfter = report.repository.blobs.byteCountAfter
        (answer.removedFileCount, answer.removedFileByteCount) = (
            report.removedFileCount, report.removedFileByteCount
        )
        return answer
    }
}
