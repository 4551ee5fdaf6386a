// Operations that look after vaults.

internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
package import CoffretWire

extension VaultVerify: PerformedOperation {
    private static let problemCountMax = 100

    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        for record in try desk.records(vault) {
            let report = try desk.vault(record).check(signers: desk.store.signers()) { progress in
                try desk.work.step(progress.doneCount, of: progress.totalCount, stage: progress.phase.rawValue)
            }
            var message = VaultReportMessage()
            message.vault = record.vaultID.hex
            message.isClean = report.isClean
            message.changeCount = report.repository.commitCount
            message.objectCount = report.repository.reachableBlobCount
            message.attachmentCount = report.attachmentCount
            message.absentCount = report.absentCount
            let problems: [any CodedError] = report.repository.allProblems + report.attachmentProblems
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
