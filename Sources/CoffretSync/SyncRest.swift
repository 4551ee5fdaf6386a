// Whether a sync left anything to do. The one thing to keep true: what waits for time, for others or for a person is looked at by
// the next sync as a whole.

internal import CoffretCore
internal import CoffretStorage

extension VaultSyncer {
    /// The zone's newest position as this device has it, where a sync left nothing to do; nil where the next one has work.
    ///
    /// - Parameter report: of the sync.
    /// - Complexity: looks for files that are not here.
    package func restingCursor(behind report: SyncReport) throws -> [UInt8]? {
        guard report.isAtRest, try !hasUnsent else { return nil }
        let memory = LogMemory(of: vault.repository)
        guard memory.isAtRest, memory.server == server, try vault.absentAttachments().isEmpty else { return nil }
        return memory.cursor
    }
}

extension SyncReport {
    fileprivate var isAtRest: Bool {
        findings.isEmpty && olderWords.isEmpty && waitingFiles.isEmpty && !isStale && !isCopy && setAsideCount == 0
            && replacedHeadCount == 0 && missingLogCount == 0 && !sweep.isDue && sweep.problem == nil && obstacle == nil
            && role != nil && !isInvited && waitsForWord == nil && unconfirmed.isEmpty && wrongOlderKeys.isEmpty
            && peers.allSatisfy { $0.standing == .upToDate || $0.standing == .behind }
    }
}

extension LogMemory {
    fileprivate var isAtRest: Bool {
        left == nil && past == nil && told == nil && unchecked.isEmpty && stated.isEmpty && copied.isEmpty
            && collects == nil && !isUnjudged && linkAt == nil && !hasUnreadable && waitingFiles.isEmpty
            && !hasMoreWaitingFiles && failedAuditCount == 0 && withheld.isEmpty
            && others.values.allSatisfy { $0.ahead == nil }
    }
}
