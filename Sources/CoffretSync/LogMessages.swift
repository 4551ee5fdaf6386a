// Requests of a sync to the server, and the replies. The one thing to keep true: all of it is values, so that a
// simulator, a test and the real program drive the same sync.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust
package import CoffretWire

/// A request about one vault; each has one reply, and those for objects have pages before it.
package enum LogRequest: Equatable, Sendable {
    case chains(ChainUpdateRequest)
    case head
    /// All objects since a cursor; empty for the beginning.
    case changes(since: [UInt8])
    case fetch([BlobAddress])
    case push(ZonePush)
    case links(LinkPost)
    /// A link of a vault that several people have, with letters.
    case members(MemberPost)
    /// The newest key of the vault, as far as the server has anything of it.
    case keys
    case letters(LetterPost)
    /// The own letter with the key of an epoch was opened.
    case letterOpened(epoch: UInt32)
    /// Signed collections, from a place on.
    case collections(after: [UInt8])
    case sweep(ZoneSweep)
    case acknowledgements
    case acknowledge([UInt8])
}

/// Objects up to a mark of the stream.
package struct LogPage: Equatable, Sendable {
    package let objects: [ZoneObject]
    /// Behind all of them.
    package let cursor: [UInt8]
    package let hasMore: Bool

    package init(objects: [ZoneObject], cursor: [UInt8], hasMore: Bool) {
        self.objects = objects
        self.cursor = cursor
        self.hasMore = hasMore
    }
}

package enum LogReply: Equatable, Sendable {
    case chains(ChainUpdates)
    case head(LogHead)
    case page(LogPage)
    /// The objects ended in good order.
    case end
    case pushed(PushReceipt)
    /// Another head is there (412).
    case moved(LogHead)
    case links(LinkReceipt)
    /// Another link is there (409).
    case conflict(LinkConflict)
    case keys(ZoneKeys)
    case collections(CollectionRecords)
    case swept(SweepReceipt)
    case acknowledgements([Acknowledgements.Entry])
    case acknowledged
    /// An error with the server's code.
    case refused(code: String)
    /// No answer, or half of one.
    case unreachable
}

/// A link of a device that is not trusted any more, which waits for a word of its account.
package struct WaitingLink: Equatable, Sendable {
    package let link: Int
    package let account: ChainID
    package let speaker: Speaker

    /// Who can confirm it for all.
    package enum Speaker: Sendable {
        /// Whose device signed it; or an owner for him.
        case account
        /// That account is no member any more.
        case earlierOwner
        /// K8a: nobody of these is a member any more; each person says it for his own devices.
        case nobody
    }
}

/// The result of a sync.
package struct LogReport: Equatable, Sendable {
    package var receivedCount = 0
    package var receivedByteCount = 0
    package var sentCount = 0
    package var sentByteCount = 0
    package var requestCount = 0
    /// Objects that are no entry of a device that may write; nothing follows from them.
    package var refusedCount = 0
    /// Links that this sync wrote.
    package var linkCount = 0
    /// The link that made the wanted change.
    package var changeNumber: Int?
    /// What the own account may do by the newest link that was taken; nil: it is no member.
    package var role: MemberRole?
    /// It was added, and has not accepted.
    package var isInvited = false
    package var memberCount = 0
    /// The server takes no more such changes from this account for now.
    package var isOverLimit = false
    /// Links of the vault that were taken, and whether some came, or links of its people's devices.
    package var (takenLinkCount, hasNewChains) = (0, false)
    /// The newest key did not come to this account (`sharing.key.awaited`).
    package var awaitsKey = false
    /// Older keys that the history object has, and that are others than the chain says (`keys.history.differs`).
    package var wrongOlderKeys: [UInt32] = []
    /// A letter came that does not open, or has another key than the chain says.
    package var hasBadLetter = false
    /// Letters that this sync sent.
    package var letterCount = 0
    /// The first link that lacks its account's confirmation, and who signed it (`trust.member.unconfirmed`).
    package var waitsForWord: WaitingLink?
    /// Why a link that was due was not written.
    package var obstacle: LinkObstacle?
    /// I2: another copy of this store writes its log, too (`sync.store.rolled-back`); a person is told once.
    package var isCopy = false
    /// I4: own entries that were written again.
    package var writtenAgainCount = 0
    /// P3: links whose purge waits for an objection.
    package var waitingPurges: [Int] = []
    /// P3: entries were deleted for good here.
    package var hasPurged = false
    /// The link that this sync wrote to delete for good what was asked for.
    package var purgeLink: Int?
    /// K8: links for which this account's person has to speak.
    package var unconfirmed: [Int] = []
    /// The chain ends here for now; nil: all links hold.
    package var waitingLinks: MemberError?
    /// What members or the server did that stops nothing, and that a person is told.
    package var findings: [SyncFinding] = []
    /// F5, F6: a head that was replaced, and whose it was; nil: whose, nobody can tell.
    package var refusedHead: RefusedHead?
    /// F3: what a head named and never came (`sync.entry.missing`).
    package var missing: [InstanceID: EntryNumber] = [:]
    /// Keys came or went: the vault is opened anew before the next sync.
    package var changedKeys = false
    /// A revocation waits for a key that this device has not; nothing was pushed (`sharing.epoch.stale`).
    package var isEpochStale = false
    /// The tree of a checkpoint is not at the server.
    package var lacksTree = false
    /// Entries of before are still to come.
    package var hasPast = false
    /// The state may be used; what comes now is older.
    package var isPresentHere = false
    /// The head that the server shows at the end, by address.
    package var serverHead: [UInt8]?
    /// Checkpoints of the server's log in entries of others that came, with the times of these; nobody has looked at them.
    package var keyLogNotes: [[UInt8]: Milliseconds] = [:]

    package init() {}
}
