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
    private enum Phase: Equatable {
        case idle, askingHead, presenting, judging, pulling, fetching, adopting, exporting, sendingFiles, noting,
            preparing, pushing
        case remembering, acknowledging, reading, inspecting, done
    }

    /// Lost races until the sync gives up for now.
    package static let attemptCountMax = 24
    /// Rounds of asking for single blobs before everything is read from the beginning.
    static let fetchRoundCountMax = 64

    private let options: Options
    private let knownEpoch: UInt32
    private var memory: SyncMemory
    /// Until the history of the present is here, nothing is said to the server.
    private var present: PresentStanding
    private var phase = Phase.idle
    private var report = SyncReport()
    private var serverHead: BlobAddress?
    private var export: SyncExport?
    private var partIsLast = false
    private var partByteCount = 0
    private var attempts = 0
    private var fetchRounds = 0
    private var unstagedByteCount = 0
    private var newBlobCount = 0
    private var hasMark = false
    private var hasMore = false
    private var hasRestarted = false
    private var hasJudged = false
    /// This device has something to say, once the number of its word is durable.
    private var isWordDue = false
    /// The own head is not the server's.
    private var isPushDue = false
    private var missingPlace: String?
    /// What the sync ends with once what was seen of the other devices is durable.
    private var finding: SyncError?
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
        case .vault(.failed(let error)): return fail(error)
        case .vault(let reply): return vault(reply)
        case .filesSent(let tally) where phase == .sendingFiles:
            report.sentFileCount += tally.movedCount
            report.sentFileByteCount += tally.movedByteCount
            report.absentFileCount = tally.absentCount
            return filesSent(tally)
        case .begin, .filesSent: return fail(SyncError(.answerMalformed))
        }
    }

    private mutating func begin() -> [Action] {
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

    private mutating func server(_ reply: ServerReply) -> [Action] {
        switch (phase, reply) {
        case (.askingHead, .head(let head)): return consider(head)
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
    private mutating func endOfAudit(_ error: SyncError) -> [Action] {
        guard phase == .acknowledging || phase == .reading else { return fail(error) }
        isWordDue = false
        memory.failedAuditCount += 1
        let isAgain = memory.failedAuditCount >= Self.failedAuditCountMax
        finding = finding ?? (isAgain ? SyncError(.auditFailed, cause: error) : error)
        phase = .inspecting
        return [.vault(.remember(memory))]
    }

    private mutating func inspected(_ memory: SyncMemory, _ audit: SyncAudit) -> [Action] {
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
    private mutating func inspectionKept() -> [Action] {
        guard isWordDue else { return finish() }
        isWordDue = false
        phase = .acknowledging
        return [.vault(.acknowledgement(memory))]
    }

    private mutating func consider(_ head: ZoneHead) -> [Action] {
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

    private mutating func judge(_ address: BlobAddress) -> [Action] {
        phase = .judging
        return [.vault(.judge(address, remembered: memory.head))]
    }

    private mutating func askPresent() -> [Action] {
        phase = .presenting
        return [.vault(.present(memory))]
    }

    /// The whole history then tells the present, as without.
    private mutating func leavePresent() -> [Action] {
        guard let serverHead else { return fail(SyncError(.answerMalformed)) }
        present = .whole
        fetchRounds = 0
        return judge(serverHead)
    }

    private mutating func take(_ frame: ChangeFrame) -> [Action] {
        switch frame {
        case .object(let object, _):
            guard let address = BlobAddress(bytes: object.address) else { return fail(SyncError(.answerMalformed)) }
            report.progress.receivedCount += 1
            report.progress.receivedByteCount += object.ciphertext.count
            unstagedByteCount += object.ciphertext.count
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
                serverHead = address
            }
            guard unstagedByteCount >= options.stagedByteCountMax else { return [.progress(report.progress)] }
            unstagedByteCount = 0
            return [.progress(report.progress), .vault(.stage(memory))]
        }
    }

    private mutating func endOfChanges() -> [Action] {
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

    private mutating func endOfFetch() -> [Action] {
        if newBlobCount > 0, fetchRounds < Self.fetchRoundCountMax { return present == .told ? askPresent() : adopt() }
        if present == .told { return leavePresent() }
        // Perhaps the cursor came from elsewhere: once, everything from the beginning.
        guard !hasRestarted else { return fail(SyncError(.chainBroken, at: missingPlace)) }
        hasRestarted = true
        fetchRounds = 0
        memory.cursor = []
        hasMark = false
        return ask(.changes(since: []), .pulling)
    }

    private mutating func adopt() -> [Action] {
        guard let serverHead else { return fail(SyncError(.answerMalformed)) }
        phase = .adopting
        return [.vault(.adopt(serverHead, memory))]
    }

    private mutating func pushed(_ receipt: PushReceipt) -> [Action] {
        report.progress.sentByteCount += partByteCount
        guard partIsLast else { return [.progress(report.progress)] + nextPart() }
        memory.cursor = receipt.cursor
        memory.head = export?.head
        memory.sweep = export?.sweep ?? memory.sweep
        memory.epoch = max(memory.epoch, export?.epoch ?? 0)
        report.sentCommitCount += export?.commitCount ?? 0
        serverHead = export?.address
        return [.progress(report.progress)] + remember()
    }

    // MARK: The vault's replies

    private mutating func vault(_ reply: VaultReply) -> [Action] {
        switch (phase, reply) {
        case (.judging, .judged(let standing)): return judged(standing)
        case (.pulling, .offered): return []
        case (.pulling, .staged(let areRemovalsDue)):
            if areRemovalsDue { memory.areRemovalsDue = true }
            return []
        case (.fetching, .offered(let isGood)):
            if isGood { newBlobCount += 1 }
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

    private mutating func judged(_ standing: HeadStanding) -> [Action] {
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

    private mutating func adopted(_ adoption: SyncAdoption) -> [Action] {
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
        if adoption.localHead == adoption.head, !triesFiles, !options.acceptsRestoredServer, !memory.areRemovalsDue {
            return acknowledge()
        }
        return prepare(from: adoption.head)
    }

    private mutating func prepare(from head: BlobName?) -> [Action] {
        // What was removed goes here first, so that what says so of own commits is pushed with them: alone, what was built on
        // what is gone could not be taken.
        guard !memory.areRemovalsDue else { return finish() }
        phase = .exporting
        let withAllFiles = options.acceptsRestoredServer || options.triesWaitingFiles && memory.hasMoreWaitingFiles
        return [.vault(.export(from: head, withAllFiles: withAllFiles))]
    }

    private mutating func exported(_ export: SyncExport) -> [Action] {
        self.export = export
        report.head = export.head
        if serverHead == nil { serverHead = export.base }
        isPushDue = export.head != nil && export.head != memory.head
        // A server that came back from a backup may lack files though it has the head.
        let sendsFiles = isPushDue || memory.hasMoreWaitingFiles || options.acceptsRestoredServer
        var files = sendsFiles ? export.files : []
        let waiting = options.triesWaitingFiles ? memory.waitingFiles : []
        files += waiting.map(\.fileID).filter { !files.contains($0) }
        if isPushDue { report.progress.sendCount = export.blobCount }
        guard !files.isEmpty else {
            if options.triesWaitingFiles { memory.hasMoreWaitingFiles = false }
            return isPushDue ? nextPart() : remember()
        }
        phase = .sendingFiles
        return [.sendFiles(files, known: waiting)]
    }

    /// Files that found no room are noted, durably, before a head that names them is pushed: a later sync goes by that.
    private mutating func filesSent(_ tally: FileTally) -> [Action] {
        let untried = options.triesWaitingFiles ? [] : memory.waitingFiles
        let tried = Set(tally.waiting.map(\.fileID))
        let before = memory
        let all = tally.waiting + untried.filter { !tried.contains($0.fileID) }
        memory.waitingFiles = Array(all.prefix(SyncMemory.waitingFileCountMax))
        memory.hasMoreWaitingFiles =
            all.count > SyncMemory.waitingFileCountMax
            || (!options.triesWaitingFiles && memory.hasMoreWaitingFiles)
        guard isPushDue else { return remember() }
        guard memory != before else { return nextPart() }
        phase = .noting
        return [.vault(.remember(memory))]
    }

    private mutating func nextPart() -> [Action] {
        phase = .preparing
        return [.vault(.nextPart(byteCountMax: options.partByteCountMax))]
    }

    private mutating func push(_ objects: [ZoneObject], isLast: Bool) -> [Action] {
        guard let export, let address = export.address else { return fail(SyncError(.answerMalformed)) }
        partIsLast = isLast
        partByteCount = objects.reduce(0) { $0 + $1.ciphertext.count }
        report.progress.sentCount += objects.count
        let push = ZonePush(
            expectedHead: serverHead?.bytes, newHead: isLast ? address.bytes : serverHead?.bytes, epoch: export.epoch,
            objects: objects)
        return ask(.push(push), .pushing)
    }

    private mutating func remember() -> [Action] {
        phase = .remembering
        return [.vault(.remember(memory))]
    }

    private mutating func acknowledge() -> [Action] {
        guard options.acknowledges, memory.head != nil || !memory.stated.isEmpty else { return finish() }
        return ask(.acknowledgements, .reading)
    }

    // MARK: Ends

    private mutating func finish() -> [Action] {
        if let finding { return fail(finding) }
        phase = .done
        report.serverHead = serverHead
        report.waitingFiles = memory.waitingFiles
        return [.finished(report, memory)]
    }

    private mutating func fail(_ error: SyncError) -> [Action] {
        phase = .done
        return [.failed(error)]
    }

    private mutating func ask(_ request: ServerRequest, _ phase: Phase) -> [Action] {
        self.phase = phase
        return [count(request)]
    }

    private mutating func count(_ request: ServerRequest) -> Action {
        report.requestCount += 1
        return .server(request)
    }
}
