// The outcome of a sync, for people and for who decides when the next one is due. The one thing to keep true: all of it is
// values, and none of it is believed by a later sync.

package import CoffretBase
package import CoffretHistory
package import CoffretLogs
package import CoffretStorage
package import CoffretTrust

/// The wishes with which a vault is synced.
package struct SyncOptions: Sendable {
    /// Pushes again what a server lost that was put back to an older state; only when a person said so.
    package var acceptsRestoredServer = false
    /// Leaves a signed word for the other devices, and looks at theirs.
    package var acknowledges = true
    /// Leaves it even if nothing changed, because syncs before did not.
    package var acknowledgesAnew = false
    /// Tries again to send files that found no room before.
    package var triesWaitingFiles = true
    /// A checkpoint is wanted: before history is dropped, or because the vault comes to a server.
    package var writesCheckpoint = false
    /// Entities that a person deletes for good.
    package var purges: [EntityID] = []
    /// What a person wants of the vault's members.
    package var change: MemberChange?
    /// Whom it adds, as this device has followed that account.
    package var introduced: FollowedAccount?
    /// He was shown the links that lack confirmation, which the change takes or undoes (K8).
    package var shown: ShownLinks?
    /// A person waits: links that are due are written at once.
    package var hurries = false

    package init() {}
}

/// How far a sync is.
package struct SyncProgress: Equatable, Sendable {
    package var receivedCount = 0
    package var receivedByteCount = 0
    package var sentCount = 0
    package var sentByteCount = 0
    /// Of what is being sent; nil before that is known.
    package var sendCount: Int?
    /// The vault may be used; what comes now is older history.
    package var isPresentHere = false

    package init() {}
}

/// The standing of another device, by its word.
package struct SyncPeer: Equatable, Sendable {
    package enum Standing: Equatable, Sendable {
        /// It has what this device has.
        case upToDate
        /// It has not seen the newest yet.
        case behind
        /// It has seen an entry that is not here.
        case ahead
        /// It has for a day had an entry that the server does not deliver (R4).
        case withheld
        /// It has applied the same, and its state is another one.
        case differs
    }

    package let account: ChainID
    package let device: UniqueID
    package let standing: Standing
}

/// The outcome of collecting at the server what was dropped here.
package struct SweepTally: Equatable, Sendable {
    /// Objects and chunks that the server let go of, as it says, and their bytes.
    package var count = 0
    package var byteCount = 0
    /// Something that was dropped here lies at the server still.
    package var isDue = false
    /// No other device has said yet that it has what is left.
    package var waitsForOthers = false
    /// Why the server did not let go of it: it is tried again.
    package var problem: SyncError?

    package init() {}

    func followed(by next: SweepTally) -> SweepTally {
        var both = next
        both.count += count
        both.byteCount += byteCount
        return both
    }
}

/// The outcome of a sync.
package struct SyncReport: Equatable, Sendable {
    /// The state here, in hexadecimal digits; nil in a vault in which nothing was written.
    package var version: String?
    /// The head that the server shows, by address.
    package var serverHead: [UInt8]?
    package var receivedEntryCount = 0
    package var sentEntryCount = 0
    package var receivedByteCount = 0
    package var sentByteCount = 0
    /// Items that this sync left with values between which a person has to choose.
    package var conflictedItemCount = 0
    /// Objects of nobody who may write; nothing follows from them.
    package var refusedCount = 0
    /// Items as closed or ended logs have them, of which no person decided yet: where these are more than a sync before
    /// named; else 0.
    package var setAsideCount = 0
    /// Heads that could not be taken, and that the own one replaced.
    package var replacedHeadCount = 0
    /// Logs of which the server's head names entries that it does not give.
    package var missingLogCount = 0
    /// This store was copied: what it wrote alone was written again.
    package var isCopy = false
    package var writtenAgainCount = 0
    package var peers: [SyncPeer] = []
    /// Files that went to the server, and their sealed bytes.
    package var sentFileCount = 0
    package var sentFileByteCount = 0
    /// Files that this device should have sent and does not have.
    package var absentFileCount = 0
    /// Links of the vault's member chain that this device wrote.
    package var linkCount = 0
    package var sweep = SweepTally()
    /// The link that deleted for good what was asked for, in hex digits, and the files that went with it; nil: none was
    /// written.
    package var purge: (link: String, fileCount: Int)? { purgeLink.map { ($0, purgedFileCount) } }
    var purgeLink: String?
    var purgedFileCount = 0
    /// Why no link was written that was due, as errors say it.
    package var obstacle: String?
    /// Files that are here, and that the server has no room for or that cannot be read.
    package var waitingFiles: [WaitingFile] = []
    /// The waiting files as a problem, all else having been synced; nil if there are none.
    package var waitingProblem: SyncError? {
        guard !waitingFiles.isEmpty else { return nil }
        return SyncError(waitingFiles.contains { $0.reason == .noRoom } ? .fileNoRoom : .fileUnreadable)
    }
    /// No other device has been heard of for 14 days (R4).
    package var isStale = false
    /// Devices of which the server shows an older word than before.
    package var olderWords: [MemberDevice] = []
    /// What members or the server did that stopped nothing.
    package var findings: [SyncFinding] = []
    package var requestCount = 0
    /// The link that made the wanted change.
    package var changeNumber: Int?
    /// The right of the own account; nil: it is no member.
    package var role: MemberRole?
    /// The own account was added, and has not accepted.
    package var isInvited = false
    /// Members of the vault, added ones counted.
    package var memberCount = 1
    /// Links of the vault that were taken, and whether some came, or links of its people's devices.
    package var (takenLinkCount, hasNewChains) = (0, false)
    package var letterCount = 0
    /// Words that this device left for the others.
    package var wordCount = 0
    /// Older keys that came and are not the vault's.
    package var wrongOlderKeys: [UInt32] = []
    package var waitsForWord: WaitingLink?
    /// K8: links for which this account's person has to speak.
    package var unconfirmed: [Int] = []
    /// P3: links of others that delete something for good, and wait for a word of this device's person.
    package var waitingPurges: [Int] = []
    /// Checkpoints of the server's log in entries of others that came, with the times of these; nobody has looked at them.
    package var keyLogNotes: [[UInt8]: Milliseconds] = [:]

    package init() {}

    /// Both as one.
    package func followed(by next: SyncReport) -> SyncReport {
        var both = next
        both.receivedEntryCount += receivedEntryCount
        both.sentEntryCount += sentEntryCount
        both.receivedByteCount += receivedByteCount
        both.sentByteCount += sentByteCount
        both.conflictedItemCount = max(conflictedItemCount, next.conflictedItemCount)
        both.refusedCount += refusedCount
        both.replacedHeadCount += replacedHeadCount
        both.isCopy = isCopy || next.isCopy
        both.writtenAgainCount += writtenAgainCount
        both.sentFileCount += sentFileCount
        both.sentFileByteCount += sentFileByteCount
        both.absentFileCount = max(absentFileCount, next.absentFileCount)
        both.linkCount += linkCount
        both.letterCount += letterCount
        both.wordCount += wordCount
        both.changeNumber = next.changeNumber ?? changeNumber
        both.sweep = sweep.followed(by: next.sweep)
        both.olderWords += olderWords.filter { !next.olderWords.contains($0) }
        both.findings += findings.filter { !next.findings.contains($0) }
        both.requestCount += requestCount
        return both
    }

    mutating func take(_ logs: LogReport) {
        serverHead = logs.serverHead
        changeNumber = logs.changeNumber ?? changeNumber
        (role, memberCount, waitsForWord) = (logs.role, logs.memberCount, logs.waitsForWord)
        isInvited = logs.isInvited
        (takenLinkCount, hasNewChains) = (logs.takenLinkCount, hasNewChains || logs.hasNewChains)
        (letterCount, unconfirmed) = (letterCount + logs.letterCount, logs.unconfirmed)
        wrongOlderKeys += logs.wrongOlderKeys
        waitingPurges = logs.waitingPurges
        keyLogNotes.merge(logs.keyLogNotes) { max($0, $1) }
        findings += logs.findings.filter { !findings.contains($0) }
        receivedEntryCount += logs.receivedCount
        sentEntryCount += logs.sentCount
        receivedByteCount += logs.receivedByteCount
        sentByteCount += logs.sentByteCount
        refusedCount += logs.refusedCount
        replacedHeadCount += logs.refusedHead == nil ? 0 : 1
        missingLogCount = logs.missing.count
        isCopy = isCopy || logs.isCopy
        writtenAgainCount += logs.writtenAgainCount
        linkCount += logs.linkCount
        obstacle = logs.obstacle?.name
        requestCount += logs.requestCount
    }
}
