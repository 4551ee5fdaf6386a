// Brings one vault and one zone together. The one thing to keep true: nothing that the server says is believed
// before the vault has verified it, and a head that has not seen what was seen before ends the sync.

internal import CoffretBase
package import CoffretStorage
internal import CoffretWire

/// The sync of one zone, from asking for the head to the push that the server took.
///
/// Pure: events in, actions out; whoever drives it does the asking. Actions are done in order; each request gets its
/// reply before the next event. After `finished` or `failed` the engine is spent.
package struct SyncEngine {
    enum Phase: Equatable {
        case idle, askingHead, askingSetter, presenting, judging, pulling, fetching, adopting, exporting, sendingFiles,
            noting,
            preparing, pushing
        case remembering, acknowledging, reading, inspecting, done
    }

    /// Lost races until the sync gives up for now.
    package static let attemptCountMax = 24
    /// Rounds of asking for single blobs before everything is read from the beginning.
    static let fetchRoundCountMax = 64

    let options: Options
    let knownEpoch: UInt32
    var memory: SyncMemory
    /// Until the history of the present is here, nothing is said to the server.
    var present: PresentStanding
    var phase = Phase.idle
    var report = SyncReport()
    var serverHead: BlobAddress?
    var export: SyncExport?
    var partIsLast = false
    var partByteCount = 0
    var attempts = 0
    var fetchRounds = 0
    var unstagedByteCount = 0
    /// What was asked for by its address and has not come.
    var wanted: Set<BlobAddress> = []
    var offered: BlobAddress?
    /// A head that could not be taken and was set by a device that is revoked now: the own one goes in its place.
    var voidHead: BlobAddress?
    var hasVoided = false
    /// What the sync ends with unless the head turns out to be such a one.
    var doubt: SyncError?
    var newBlobCount = 0
    var hasMark = false
    var hasMore = false
    var hasRestarted = false
    var hasJudged = false
    /// This device has something to say, once the number of its word is durable.
    var isWordDue = false
    /// The own head is not the server's.
    var isPushDue = false
    var missingPlace: String?
    /// What the sync ends with once what was seen of the other devices is durable.
    var finding: SyncError?
    /// Audits that failed in a row until that is an error of its own (R8).
    static let failedAuditCountMax: UInt64 = 3

    /// - Parameters:
    ///   - knownEpoch: the newest key epoch that this device has.
    ///   - present: what is here of what was told at pairing.
    package init(
        memory: SyncMemory, knownEpoch: UInt32, present: PresentStanding = .whole, options: Options = Options()
    ) {
        self.memory = memory
        self.present = present
        report.progress.isPresentHere = present == .ahead
        self.knownEpoch = knownEpoch
        self.options = options
    }

    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .begin where phase == .idle: return begin()
        case .server(.unreachable): return endOfAudit(SyncError(.unreachable))
        case .server(.refused(let code)): return endOfAudit(SyncError(refusal: code))
        case .server(let reply): return server(reply)
        case .vault(.failed(let error)): return doubtHead(error)
        case .vault(let reply): return vault(reply)
        case .filesSent(let tally) where phase == .sendingFiles:
            report.sentFileCount += tally.movedCount
            report.sentFileByteCount += tally.movedByteCount
            report.absentFileCount = tally.absentCount
            return filesSent(tally)
        case .begin, .filesSent: return fail(SyncError(.answerMalformed))
        }
    }

    mutating func begin() -> [Action] {
        // Words that were put back with the server are no lies.
        if options.acceptsRestoredServer {
            memory.others = [:]
            memory.stated = [:]
        }
        guard present == .whole else { return ask(.head, .askingHead) }
        switch options.beginning {
        case .push where memory.head != nil: return prepare(from: memory.head)
        case .changes where memory.head != nil: return ask(.changes(since: memory.cursor), .pulling)
        default: return ask(.head, .askingHead)
        }
    }

    // MARK: The server's replies

    mutating func server(_ reply: ServerReply) -> [Action] {
        switch (phase, reply) {
        case (.askingHead, .head(let head)): return consider(head)
        case (.askingSetter, .head(let head)): return passOver(head)
        case (.pulling, .frame(let frame)), (.fetching, .frame(let frame)): return take(frame)
        case (.pulling, .streamEnd): return endOfChanges()
        case (.fetching, .streamEnd): return endOfFetch()
        case (.pushing, .pushed(let receipt)): return pushed(receipt)
        case (.pushing, .headMoved(let head)):
            attempts += 1
            guard attempts < Self.attemptCountMax else { return fail(SyncError(.contended)) }
            return consider(head)
        case (.acknowledging, .acknowledged): return finish()
        case (.reading, .acknowledgements(let list)):
            phase = .inspecting
            return [.vault(.inspect(list, memory))]
        default: return endOfAudit(SyncError(.answerMalformed))
        }
    }

    /// An error; among the words of the other devices it is counted, since who hides those may hide more.
    mutating func endOfAudit(_ error: SyncError) -> [Action] {
        guard phase == .acknowledging || phase == .reading else { return fail(error) }
        isWordDue = false
        memory.failedAuditCount += 1
        let isAgain = memory.failedAuditCount >= Self.failedAuditCountMax
        finding = finding ?? (isAgain ? SyncError(.auditFailed, cause: error) : error)
        phase = .inspecting
        return [.vault(.remember(memory))]
    }

    mutating func inspected(_ memory: SyncMemory, _ audit: SyncAudit) -> [Action] {
        report.peers = audit.peers
        report.isStale = audit.isStale
        report.olderWords = audit.olderWords
        var memory = memory
        memory.failedAuditCount = audit.silentDevices.isEmpty ? 0 : self.memory.failedAuditCount + 1
        if let contradiction = audit.contradiction {
            finding = contradiction
        } else if let withheld = audit.peers.first(where: { $0.standing == .withheld }) {
            finding = SyncError(.commitWithheld, at: UniqueID(bytes: withheld.device)?.hex)
        } else if memory.failedAuditCount >= Self.failedAuditCountMax {
            finding = SyncError(.auditFailed, at: audit.silentDevices.first?.hex)
        }
        // What it would say is there already, or there is nothing to say.
        let isSaid = audit.isOwnShown && !options.acknowledgesAnew
        if memory.head != nil, !isSaid, finding?.code != .storeRolledBack {
            isWordDue = true
            memory.counter += 1
        }
        guard memory != self.memory else { return finish() }
        self.memory = memory
        phase = .inspecting
        return [.vault(.remember(memory))]
    }

    /// The number of a word is durable before it is said: else this device would take its own word for a newer copy's.
    mutating func inspectionKept() -> [Action] {
        guard isWordDue else { return finish() }
        isWordDue = false
        phase = .acknowledging
        return [.vault(.acknowledgement(memory))]
    }

    mutating func consider(_ head: ZoneHead) -> [Action] {
        voidHead = nil
        guard head.epoch <= knownEpoch else { return fail(SyncError(.epochStale)) }
        memory.epoch = max(memory.epoch, head.epoch)
        guard let bytes = head.address else {
            serverHead = nil
            // A server that has nothing where it had something has lost it, or lies (R7).
            if memory.head != nil || present == .ahead {
                guard options.acceptsRestoredServer, present != .ahead else {
                    return fail(SyncError(.headRolledBack, seen: memory.head, shown: nil))
                }
                memory.head = nil
                memory.cursor = []
            }
            return prepare(from: nil)
        }
        guard let address = BlobAddress(bytes: bytes) else { return fail(SyncError(.answerMalformed)) }
        serverHead = address
        switch present {
        case .told: return askPresent()
        case .ahead: return ask(.changes(since: memory.cursor), .pulling)
        case .whole: return judge(address)
        }
    }

    mutating func judge(_ address: BlobAddress) -> [Action] {
        phase = .judging
        return [.vault(.judge(address, remembered: memory.head))]
    }

    mutating func askPresent() -> [Action] {
        phase = .presenting
        return [.vault(.present(memory))]
    }

    /// The whole history then tells the present, as without.
    mutating func leavePresent() -> [Action] {
        guard let serverHead else { return fail(SyncError(.answerMalformed)) }
        present = .whole
        fetchRounds = 0
        return judge(serverHead)
    }

    mutating func take(_ frame: ChangeFrame) -> [Action] {
        switch frame {
        case .object(let object, _):
            guard let address = BlobAddress(bytes: object.address) else { return fail(SyncError(.answerMalformed)) }
            // Each once, however often it is sent.
            if phase == .fetching, !wanted.contains(address) { return [] }
            offered = address
            report.progress.receivedCount += 1
            report.progress.receivedByteCount += object.ciphertext.count
            unstagedByteCount += object.ciphertext.count
            // A mark comes after each mebibyte; who sends none fills the memory here.
            if phase == .pulling, unstagedByteCount > options.unmarkedByteCountMax {
                return fail(SyncError(.answerMalformed))
            }
            return [.vault(.offer(SealedBlob(address: address, bytes: object.ciphertext)))]
        case .mark(let head, let cursor, let more):
            if phase == .fetching { return [] }
            memory.cursor = cursor
            hasMark = true
            hasMore = more
            if !more {
                guard let head, let address = BlobAddress(bytes: head) else {
                    return fail(SyncError(.headRolledBack, seen: memory.head, shown: nil))
                }
                // Passed over, it is still what the server shows.
                if address != voidHead {
                    serverHead = address
                    voidHead = nil
                }
            }
            guard unstagedByteCount >= options.stagedByteCountMax else { return [.progress(report.progress)] }
            unstagedByteCount = 0
            return [.progress(report.progress), .vault(.stage(memory))]
        }
    }

    mutating func endOfChanges() -> [Action] {
        guard hasMark else { return fail(SyncError(.unreachable)) }
        if hasMore {
            hasMark = false
            return ask(.changes(since: memory.cursor), .pulling)
        }
        // Somebody may have read this before.
        if options.beginning == .changes, report.progress.receivedCount == 0, !hasJudged, let serverHead {
            return judge(serverHead)
        }
        return adopt()
    }

    mutating func endOfFetch() -> [Action] {
        if newBlobCount > 0, fetchRounds < Self.fetchRoundCountMax { return present == .told ? askPresent() : adopt() }
        if present == .told { return leavePresent() }
        // Perhaps the cursor came from elsewhere: once, everything from the beginning.
        guard !hasRestarted else { return doubtHead(SyncError(.chainBroken, at: missingPlace)) }
        hasRestarted = true
        fetchRounds = 0
        memory.cursor = []
        hasMark = false
        return ask(.changes(since: []), .pulling)
    }

    mutating func adopt() -> [Action] {
        guard let serverHead else { return fail(SyncError(.answerMalformed)) }
        phase = .adopting
        return [.vault(.adopt(serverHead, memory))]
    }

    mutating func pushed(_ receipt: PushReceipt) -> [Action] {
        report.progress.sentByteCount += partByteCount
        guard partIsLast else { return [.progress(report.progress)] + nextPart() }
        memory.cursor = receipt.cursor
        memory.head = export?.head
        memory.sweep = export?.sweep ?? memory.sweep
        memory.epoch = max(memory.epoch, export?.epoch ?? 0)
        report.sentCommitCount += export?.commitCount ?? 0
        serverHead = export?.address
        if voidHead != nil { report.replacedHeadCount += 1 }
        voidHead = nil
        return [.progress(report.progress)] + remember()
    }

    // MARK: The vault's replies

    mutating func vault(_ reply: VaultReply) -> [Action] {
        switch (phase, reply) {
        case (.judging, .judged(let standing)): return judged(standing)
        case (.pulling, .offered): return []
        case (.pulling, .staged(let areRemovalsDue)):
            if areRemovalsDue { memory.areRemovalsDue = true }
            return []
        case (.fetching, .offered(let isGood)):
            if isGood {
                newBlobCount += 1
                if let offered { wanted.remove(offered) }
            }
            return []
        case (.presenting, .presentHere):
            present = .ahead
            (fetchRounds, unstagedByteCount) = (0, 0)
            report.progress.isPresentHere = true
            return [.progress(report.progress)] + ask(.changes(since: memory.cursor), .pulling)
        case (.presenting, .presentNotTaken): return leavePresent()
        case (.adopting, .historyHere(let count, let areRemovalsDue, let stated)):
            guard let serverHead else { return fail(SyncError(.answerMalformed)) }
            present = .whole
            fetchRounds = 0
            report.receivedCommitCount += count
            memory.take(stated)
            if areRemovalsDue { memory.areRemovalsDue = true }
            return judge(serverHead)
        case (.presenting, .missing(let addresses, let place)), (.adopting, .missing(let addresses, let place)):
            missingPlace = place
            fetchRounds += 1
            newBlobCount = 0
            wanted = Set(addresses)
            return ask(.fetch(addresses), .fetching)
        case (.adopting, .adopted(let adoption)): return adopted(adoption)
        case (.adopting, .judged(.older(let head))): return judged(.older(head))
        case (.exporting, .exported(let export)): return exported(export)
        case (.noting, .remembered): return nextPart()
        case (.preparing, .part(let objects, let isLast)): return push(objects, isLast: isLast)
        case (.remembering, .remembered): return acknowledge()
        case (.acknowledging, .acknowledgement(let bytes)): return [count(.acknowledge(bytes))]
        case (.inspecting, .inspected(let memory, let audit)): return inspected(memory, audit)
        case (.inspecting, .remembered): return inspectionKept()
        default: return fail(SyncError(.answerMalformed))
        }
    }

    mutating func judged(_ standing: HeadStanding) -> [Action] {
        hasJudged = true
        switch standing {
        case .unknown:
            hasMark = false
            unstagedByteCount = 0
            return ask(.changes(since: memory.cursor), .pulling)
        case .same: return prepare(from: memory.head)
        case .newer(let head):
            memory.head = head
            return prepare(from: head)
        // What was set before it was behind what this device has seen: that counts.
        case .older where voidHead != nil: return prepare(from: memory.head)
        case .older(let head):
            guard options.acceptsRestoredServer else {
                return fail(SyncError(.headRolledBack, seen: memory.head, shown: head))
            }
            memory.head = head
            memory.cursor = []
            return prepare(from: head)
        case .unrelated(let head): return fail(SyncError(.headForked, seen: memory.head, shown: head))
        }
    }

    mutating func adopted(_ adoption: SyncAdoption) -> [Action] {
        memory.head = adoption.head
        report.receivedCommitCount += adoption.newCommitCount
        report.mergeCount += adoption.mergeCount
        report.quarantinedCount += adoption.quarantinedCount
        report.setAsideCount += adoption.setAsideCount
        report.removals += adoption.removals
        report.head = adoption.localHead
        if adoption.areRemovalsDue { memory.areRemovalsDue = true }
        memory.take(adoption.stated)
        let triesFiles = options.triesWaitingFiles && (!memory.waitingFiles.isEmpty || memory.hasMoreWaitingFiles)
        if adoption.localHead == adoption.head, voidHead == nil, !triesFiles, !options.acceptsRestoredServer,
            !memory.areRemovalsDue
        {
            return acknowledge()
        }
        return prepare(from: adoption.head)
    }

    mutating func prepare(from head: BlobName?) -> [Action] {
        // What was removed goes here first, so that what says so of own commits is pushed with them: alone, what was built on
        // what is gone could not be taken.
        guard !memory.areRemovalsDue else { return finish() }
        phase = .exporting
        let withAllFiles = options.acceptsRestoredServer || options.triesWaitingFiles && memory.hasMoreWaitingFiles
        return [.vault(.export(from: head, withAllFiles: withAllFiles))]
    }

    mutating func remember() -> [Action] {
        phase = .remembering
        return [.vault(.remember(memory))]
    }

    mutating func acknowledge() -> [Action] {
        guard options.acknowledges, memory.head != nil || !memory.stated.isEmpty else { return finish() }
        return ask(.acknowledgements, .reading)
    }

    // MARK: Ends

    mutating func finish() -> [Action] {
        if let finding { return fail(finding) }
        phase = .done
        report.serverHead = serverHead
        report.waitingFiles = memory.waitingFiles
        return [.finished(report, memory)]
    }

    mutating func fail(_ error: SyncError) -> [Action] {
        phase = .done
        return [.failed(error)]
    }

    mutating func ask(_ request: ServerRequest, _ phase: Phase) -> [Action] {
        self.phase = phase
        return [count(request)]
    }

    mutating func count(_ request: ServerRequest) -> Action {
        report.requestCount += 1
        return .server(request)
    }
}
