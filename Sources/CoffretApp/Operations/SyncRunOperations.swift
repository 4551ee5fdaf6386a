// Operations that sync now, and that wait for a change. Invariant: the account's devices are followed before anything that one of
// them wrote is looked at.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
package import CoffretWire
internal import Glibc

extension SyncRun: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let wanted = try vault.map(desk.record)
        if let wanted, wanted.kind != .synced { throw CommandFailure.notSynced(wanted) }
        let (random, clock) = (desk.surroundings.random, desk.surroundings.clock)
        let account = try Account(desk.store, random: random, clock: clock)
        let sync = AccountSync(account, records: desk.deviceRecords, random: random, clock: clock)
        defer { account.connection.logOut() }
        _ = try account.follow()
        let added = try sync.receiveKeys().added
        var answer = Answer()
        for record in try wanted.map({ [$0] }) ?? sync.vaults {
            try desk.work.checkCancelled()
            var result = VaultSyncResult()
            (result.id, result.name, result.isNew) = (
                record.vaultID.hex, record.name, added.contains(record.vaultID)
            )
            do {
                let report = try Self.sync(record, sync, desk.work)
                sync.note(record, nil)
                result.take(report)
            } catch {
                sync.note(record, error)
                let failure = FailureTranslation.failure(from: error)
                (result.problem, result.message) = (failure.code, failure.message)
            }
            answer.vaults.append(result)
        }
        return answer
    }

    private static func sync(_ record: VaultRecord, _ sync: AccountSync, _ work: OperationWork) throws -> SyncReport {
        var options = SyncEngine.Options()
        // The person who asks is there: the others are told, so that silence means something (R4).
        options.acknowledgesAnew = true
        return try sync.sync(
            record, options,
            progress: { progress in
                let total = progress.sendCount.map { $0 + progress.receivedCount }
                work.report(
                    OperationProgress(
                        done: progress.receivedCount + progress.sentCount, total: total, stage: "changes",
                        byteCount: progress.receivedByteCount + progress.sentByteCount))
            },
            fileProgress: { progress in
                work.report(
                    OperationProgress(
                        done: progress.doneCount, total: progress.totalCount, stage: "files",
                        byteCount: progress.doneByteCount))
            })
    }
}

extension VaultSyncResult {
    fileprivate mutating func take(_ report: SyncReport) {
        (receivedCount, sentCount) = (report.receivedCommitCount, report.sentCommitCount)
        (sentFileCount, conflictedItemCount) = (report.sentFileCount, report.conflictedItemCount)
        (removedCount, version) = (report.removedCommitCount, report.head?.description)
    }
}

extension ChangeWait: PerformedOperation {
    /// How often the files are looked at.
    private static let lookMilliseconds: UInt32 = 200

    package func perform(on desk: StoreDesk) throws -> Answer {
        let seconds = min(max(0, seconds ?? Self.secondsMax), Self.secondsMax)
        let end = ContinuousClock.now.advanced(by: .seconds(seconds))
        let before = after.map(StorePosition.init)
        while true {
            let now = try StorePosition(desk)
            if let before, now == before, ContinuousClock.now < end {
                try desk.work.checkCancelled()
                usleep(Self.lookMilliseconds * 1_000)
                continue
            }
            var answer = Answer()
            answer.position = now.text
            guard let before else { return answer }
            let changed =
                now.parts.filter { before.parts[$0.key] != $0.value }.map(\.key)
                + before.parts.keys.filter { now.parts[$0] == nil }
            answer.isSyncChanged = changed.contains(StorePosition.sync)
            answer.isKeyringChanged = changed.contains(StorePosition.keyring)
            answer.vaults = changed.filter { ![StorePosition.sync, StorePosition.keyring].contains($0) }.sorted()
            return answer
        }
    }
}

/// How the files of a store stand that others write: a short hash for each part.
private struct StorePosition: Equatable {
    static let (keyring, sync) = ("keyring", "sync")

    let parts: [String: String]

    init(_ desk: StoreDesk) throws {
        let layout = desk.store.layout
        var parts = [Self.keyring: Self.hash([layout.keyringPath])]
        parts[Self.sync] = Self.hash(Self.files(of: desk.deviceRecords.folder))
        for record in try desk.vaultRecords {
            parts[record.vaultID.hex] = Self.hash(
                Self.files(of: PathText.join(layout.vaultPath(record.vaultID), "journal")))
        }
        self.parts = parts
    }

    /// - Parameter text: as `text` gave it; of any other everything has changed.
    init(_ text: String) {
        parts = text.split(separator: " ").reduce(into: [:]) { parts, part in
            let words = part.split(separator: "=")
            if words.count == 2 { parts[String(words[0])] = String(words[1]) }
        }
    }

    var text: String { parts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ") }

    private static func files(of folder: String) -> [String] {
        let names = ((try? PosixFileSystem().list(folder)) ?? []).map(\.name).sorted()
        return names.map { PathText.join(folder, $0) }
    }

    private static func hash(_ paths: [String]) -> String {
        var text = ""
        for path in paths {
            var information = stat()
            guard unsafe stat(path, &information) == 0 else { continue }
            let time = information.st_mtim
            text += "\(path) \(information.st_ino) \(information.st_size) \(time.tv_sec).\(time.tv_nsec)\n"
        }
        return Hex.encode(BLAKE2b.hash(Array(text.utf8), byteCount: 16).prefix(6))
    }
}
