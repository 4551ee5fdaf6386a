// Files of attachments, fetched while nothing else is to be done. The one thing to keep true: a change, here or there, waits
// for no file, and a file never takes the last of a disk.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync

extension SyncRound {
    /// Fetches what is not here of a vault's files until there is something else to do.
    ///
    /// - Parameter until: when the next step is due; nil for never.
    func fetchFiles(_ id: String, until: Int64?) {
        guard !records.areFilesAsked(id) else {
            records.noteFiles(id, problem: nil)
            return files.done(id)
        }
        guard let sync = openedSync(), let record = record(id) else { return files.done(id) }
        beganAt = now
        refusedByteCounts[id] = nil
        defer {
            usedAt = now
            if case .moving? = state { show(.connected) }
        }
        do {
            let tally = try sync.fetchFiles(
                of: record,
                hasRoom: { [self] byteCount in
                    let hasRoom = room.has(byteCount)
                    if !hasRoom { refusedByteCounts[id] = byteCount }
                    return hasRoom
                },
                mayGoOn: { [self] in
                    (until.map { now < $0 } ?? true) && !waiter.isSomethingThere(socket: socket?.descriptor)
                },
                progress: { self.tell(AgentSyncWork($0, vault: id)) })
            if let problem = tally.problems.first {
                failed(id, problem, isTransient: true)
            } else {
                records.noteFiles(id, problem: nil)
                files.done(id)
            }
        } catch let error as SyncError where error.code == .fileInterrupted {
            files.interrupted(id, at: now)
        } catch {
            failed(id, error, isTransient: SyncTrouble.isTransient(error))
        }
    }

    /// Looks whether there is room where there was none: whenever this process is awake, which costs one call to the system, and
    /// no waking up. The server is heard of once a minute at least, so a file comes soon after somebody made room.
    func lookForRoom() {
        for (id, byteCount) in refusedByteCounts where room.has(byteCount) { files.eased(id) }
        for id in crowdedVaults where room.has(Self.changesByteCount, isAskedFor: true) { schedule.eased(id) }
    }

    private func failed(_ id: String, _ error: any Error, isTransient: Bool) {
        // Where the disk itself refused, any room is worth a try.
        refusedByteCounts[id] = SyncTrouble.isDiskFull(error) ? refusedByteCounts[id] ?? 0 : nil
        // A network that is away is told of by the line to the server.
        if (error as? SyncError)?.code != .unreachable { records.noteFiles(id, problem: FailureCode.of(error)) }
        files.failed(id, isTransient: isTransient, at: now)
    }
}
