// How a sync says what is new here, and what becomes of a head that nobody can take. The one thing to keep true: a head
// is pushed over only where the server's own word for it is that a revoked device set it.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretWire

extension SyncEngine {
    mutating func exported(_ export: SyncExport) -> [Action] {
        self.export = export
        report.head = export.head
        if serverHead == nil { serverHead = export.base }
        isPushDue = export.head != nil && (export.head != memory.head || voidHead != nil)
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
    mutating func filesSent(_ tally: FileTally) -> [Action] {
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

    mutating func nextPart() -> [Action] {
        phase = .preparing
        return [.vault(.nextPart(byteCountMax: options.partByteCountMax))]
    }

    mutating func push(_ objects: [ZoneObject], isLast: Bool) -> [Action] {
        guard let export, let address = export.address else { return fail(SyncError(.answerMalformed)) }
        partIsLast = isLast
        partByteCount = objects.reduce(0) { $0 + $1.ciphertext.count }
        report.progress.sentCount += objects.count
        let expected = (voidHead ?? serverHead)?.bytes
        let push = ZonePush(
            expectedHead: expected, newHead: isLast ? address.bytes : expected, epoch: export.epoch, objects: objects)
        return ask(.push(push), .pushing)
    }

    // MARK: A head that nobody can take

    /// Ends with an error; but a head that cannot be taken may be one that a device set which is revoked now.
    mutating func doubtHead(_ error: SyncError) -> [Action] {
        let mayBeVoid = error.code == .chainBroken || error.code == .headRefused
        guard mayBeVoid, !hasVoided, present == .whole, serverHead != nil, !options.revokedDevices.isEmpty else {
            return fail(error)
        }
        hasVoided = true
        doubt = error
        return ask(.head, .askingSetter)
    }

    /// Goes on from the head that another device set before, or from the own one.
    mutating func passOver(_ head: ZoneHead) -> [Action] {
        guard let serverHead, head.address == serverHead.bytes, let setter = head.setter,
            options.revokedDevices.contains(setter.bytes)
        else { return fail(doubt ?? SyncError(.answerMalformed)) }
        voidHead = serverHead
        (fetchRounds, hasRestarted, unstagedByteCount) = (0, false, 0)
        guard let before = head.headBefore.flatMap({ BlobAddress(bytes: $0) }) else {
            return prepare(from: memory.head)
        }
        self.serverHead = before
        return judge(before)
    }
}
