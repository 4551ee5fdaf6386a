// What the engine asks of the server and of the vault, and what they answer. The one thing to keep true: all of it
// is values, so that a simulator, a test and the real program drive the same engine.

package import CoffretBase
package import CoffretStorage
package import CoffretWire

/// A request to the server about one zone; each has one reply, streams have frames before it.
package enum ServerRequest: Equatable, Sendable {
    case head
    /// Everything since a cursor; empty for the beginning.
    case changes(since: [UInt8])
    case fetch([BlobAddress])
    case push(ZonePush)
    case acknowledge([UInt8])
    case acknowledgements
}

/// What came of a request.
package enum ServerReply: Equatable, Sendable {
    case head(ZoneHead)
    case frame(ChangeFrame)
    /// The stream ended in good order.
    case streamEnd
    case pushed(PushReceipt)
    /// Somebody else moved the head before (412).
    case headMoved(ZoneHead)
    case acknowledged
    case acknowledgements([Acknowledgements.Entry])
    /// An error with the server's code.
    case refused(code: String)
    /// No answer, or half of one.
    case unreachable
}

/// A request to the vault; each has one reply.
package enum VaultRequest: Equatable, Sendable {
    /// How the head at an address stands to what is here and what was seen before.
    case judge(BlobAddress, remembered: BlobName?)
    /// Goes on from the present that was told at pairing, once all of it came; the history follows.
    case present(SyncMemory)
    /// Takes a blob that came; it counts once it was adopted or staged.
    case offer(SealedBlob)
    /// Makes what was offered durable, with the memory, so that it need not come again.
    case stage(SyncMemory)
    /// Verifies the head at an address with all that leads to it, and merges it with the own head.
    case adopt(BlobAddress, SyncMemory)
    /// Prepares what leads from a head that the server has to the own one; its files are those that the commits on the
    /// way name, or all of the present as well.
    case export(from: BlobName?, withAllFiles: Bool = false)
    /// The next of what was prepared, of about so many bytes.
    case nextPart(byteCountMax: Int)
    /// Makes the memory durable.
    case remember(SyncMemory)
    /// This device's acknowledgement of the remembered head, signed and sealed.
    case acknowledgement(SyncMemory)
    /// Looks at what other devices acknowledged.
    case inspect([Acknowledgements.Entry], SyncMemory)
}

/// How a head that a server shows stands to the one that it showed before.
package enum HeadStanding: Equatable, Sendable {
    /// It is not here.
    case unknown
    case same
    /// It is here, and has seen the remembered one.
    case newer(BlobName)
    /// The remembered one has seen it.
    case older(BlobName)
    case unrelated(BlobName)
}

package enum VaultReply: Equatable, Sendable {
    case judged(HeadStanding)
    /// The vault has the present that was told, and may be used.
    case presentHere
    /// Nothing was told, or what was told is not in order: the whole history decides.
    case presentNotTaken
    /// All that leads to the present is here and verified.
    case historyHere(newCommitCount: Int, areRemovalsDue: Bool, stated: [UncheckedHead])
    /// Whether the blob verified.
    case offered(Bool)
    /// - Parameter areRemovalsDue: something came that a compaction has removed here.
    case staged(areRemovalsDue: Bool)
    /// The head is part of the vault now.
    case adopted(SyncAdoption)
    /// Blobs that the head needs and that did not come, under all addresses that they may have.
    case missing([BlobAddress], place: String)
    case exported(SyncExport)
    case part([ZoneObject], isLast: Bool)
    case remembered
    case acknowledgement([UInt8])
    case inspected(SyncMemory, SyncAudit)
    case failed(SyncError)
}

/// What taking a head came to.
package struct SyncAdoption: Equatable, Sendable {
    /// The server's head.
    package let head: BlobName
    /// This device's head afterwards; another one if it has more, nil if the server's is set aside and there is none.
    package let localHead: BlobName?
    package let newCommitCount: Int
    package let mergeCount: Int
    /// Heads of the server that are kept and not merged.
    package let quarantinedCount: Int
    /// Commits of the own head that count no more, since a revocation took effect.
    package let setAsideCount: Int
    /// New commits that say what a compaction removed.
    package let removals: [BlobName]
    /// What was removed elsewhere, or here and came again, is to be removed here.
    package let areRemovalsDue: Bool
    /// What other devices state of other vaults in the new commits.
    package let stated: [UncheckedHead]

    package init(
        head: BlobName, localHead: BlobName?, newCommitCount: Int, mergeCount: Int, quarantinedCount: Int,
        setAsideCount: Int, removals: [BlobName] = [], areRemovalsDue: Bool = false, stated: [UncheckedHead] = []
    ) {
        self.stated = stated
        self.head = head
        self.localHead = localHead
        self.newCommitCount = newCommitCount
        self.mergeCount = mergeCount
        self.quarantinedCount = quarantinedCount
        self.setAsideCount = setAsideCount
        self.removals = removals
        self.areRemovalsDue = areRemovalsDue
    }
}

/// What a push will hold.
package struct SyncExport: Equatable, Sendable {
    /// The own head; nil in a vault without commits.
    package let head: BlobName?
    package let address: BlobAddress?
    /// Where the head lies that it builds on, by the newest epoch.
    package let base: BlobAddress?
    package let epoch: UInt32
    package let commitCount: Int
    package let blobCount: Int
    /// That the commits on the way name.
    package let files: [UniqueID]
    /// A commit on the way says what a compaction removed: after the push it can be swept.
    package let sweep: DueSweep?

    package init(
        head: BlobName?, address: BlobAddress?, base: BlobAddress? = nil, epoch: UInt32, commitCount: Int,
        blobCount: Int, files: [UniqueID] = [], sweep: DueSweep? = nil
    ) {
        self.sweep = sweep
        self.head = head
        self.address = address
        self.base = base
        self.epoch = epoch
        self.commitCount = commitCount
        self.blobCount = blobCount
        self.files = files
    }
}

/// What is known of another device by its acknowledgement.
package struct SyncPeer: Equatable, Sendable {
    package enum Standing: Equatable, Sendable {
        /// It has what this device has.
        case upToDate
        /// It has not seen the newest yet.
        case behind
        /// It has seen a commit that is not here.
        case ahead
        /// It has for a day had a commit that the server does not deliver (R4).
        case withheld
    }

    package let device: [UInt8]
    package let standing: Standing
    /// By its own clock; for show.
    package let time: Int64

    package init(device: [UInt8], standing: Standing, time: Int64) {
        self.device = device
        self.standing = standing
        self.time = time
    }
}

/// What the words of the other devices come to.
package struct SyncAudit: Equatable, Sendable {
    package var peers: [SyncPeer] = []
    /// Devices that have spoken before, and whose word the server does not show.
    package var silentDevices: [UniqueID] = []
    /// Devices of which the server shows an older word than before; silent ones, too.
    package var olderWords: [UniqueID] = []
    /// The server shows what this device said last, and it says what is so.
    package var isOwnShown = false
    /// No other device has said anything new for 14 days: W_STALE.
    package var isStale = false
    /// What a device stated of this vault in another one, and what is here, cannot both be true.
    package var contradiction: SyncError?
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
}

/// What a sync came to.
package struct SyncReport: Equatable, Sendable {
    /// Both heads are this one now.
    package var head: BlobName?
    /// Where it lies on the server, as far as the sync has seen.
    package var serverHead: BlobAddress?
    package var receivedCommitCount = 0
    package var sentCommitCount = 0
    package var mergeCount = 0
    package var quarantinedCount = 0
    /// Items that this sync left with values between which a person has to choose.
    package var conflictedItemCount = 0
    /// Commits of this device's past that a revocation took out; what this device wrote in them was written again.
    package var setAsideCount = 0
    /// Heads of revoked devices that could not be taken, and that the own one replaced.
    package var replacedHeadCount = 0
    package var peers: [SyncPeer] = []
    /// Received commits that say what a compaction removed.
    package var removals: [BlobName] = []
    /// Commits that were removed here because another device removed them.
    package var removedCommitCount = 0
    /// Files that went to the server, and their sealed bytes.
    package var sentFileCount = 0
    package var sentFileByteCount = 0
    /// Files that this device should have sent and does not have.
    package var absentFileCount = 0
    /// What the server let go of after a compaction.
    package var sweep = SweepTally()
    /// Files that are here, and that the server has no room for or that cannot be read.
    package var waitingFiles: [WaitingFile] = []
    /// What the waiting files are to people, all else having been synced; nil if there are none.
    package var waitingProblem: SyncError? {
        guard !waitingFiles.isEmpty else { return nil }
        return SyncError(waitingFiles.contains { $0.reason == .noRoom } ? .fileNoRoom : .fileUnreadable)
    }
    /// No other device has been heard of for 14 days (R4).
    package var isStale = false
    /// Devices of which the server shows an older word than before.
    package var olderWords: [UniqueID] = []
    package var progress = SyncProgress()
    /// Requests that were made.
    package var requestCount = 0
}
