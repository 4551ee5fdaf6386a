// What this machine remembers of syncing for a person to read, and whether the agent is to sync. The one thing to keep
// true: nothing here is believed; what a sync goes by lies in the vault.

package import CoffretBase

/// The last sync of a vault.
package struct LastSync: Equatable, Sendable {
    /// Milliseconds since 1970; nil if none succeeded yet.
    package var succeededAt: Milliseconds?
    package var triedAt: Milliseconds
    /// The code of what went wrong the last time; nil if nothing did.
    package var problem: String?

    package init(succeededAt: Milliseconds?, triedAt: Milliseconds, problem: String?) {
        self.succeededAt = succeededAt
        self.triedAt = triedAt
        self.problem = problem
    }
}

/// What the agent's sync does at the moment.
package enum AgentSyncState: Equatable, Sendable {
    /// Switched off by the person.
    case off
    /// There is nothing to sync: no server, or no synced vault.
    case idle
    /// It hears of every change.
    case connected
    /// It could not reach the server; the code says why. Milliseconds since 1970.
    case waiting(problem: String, until: Milliseconds)
    /// Connected, and something is on its way that takes longer than a moment.
    case moving(AgentSyncWork)
}

/// What is on its way between a vault and the server.
package struct AgentSyncWork: Equatable, Sendable {
    /// In hex.
    package var vault: String
    package var isSending: Bool
    package var doneCount: Int
    /// Nil while it is not known.
    package var totalCount: Int?
    package var byteCount: Int
    /// Of files only, whose size is known before.
    package var totalByteCount: Int?

    package init(
        vault: String, isSending: Bool, doneCount: Int, totalCount: Int?, byteCount: Int, totalByteCount: Int? = nil
    ) {
        self.vault = vault
        self.isSending = isSending
        self.doneCount = doneCount
        self.totalCount = totalCount
        self.byteCount = byteCount
        self.totalByteCount = totalByteCount
    }

    package init(_ progress: SyncProgress, vault: String) {
        let isSending = progress.sendCount != nil
        self.init(
            vault: vault, isSending: isSending, doneCount: isSending ? progress.sentCount : progress.receivedCount,
            totalCount: progress.sendCount, byteCount: isSending ? progress.sentByteCount : progress.receivedByteCount)
    }

    package init(_ progress: FileProgress, vault: String) {
        self.init(
            vault: vault, isSending: progress.direction == .sending, doneCount: progress.doneCount,
            totalCount: progress.totalCount, byteCount: progress.doneByteCount,
            totalByteCount: progress.totalByteCount)
    }
}

/// Files in `sync/STORE` below the state folder.
///
/// Layout, deterministic CBOR: `VAULT` = [1, succeeded at or null, tried at, code or null]; `agent` = [1, kind (0 off, 1
/// idle, 2 connected, 3 waiting, 4 moving), code or null, until or null], with kind 4 instead [1, 4, vault in hex, 0
/// receiving or 1 sending, items done, of how many or null, bytes, of files of how many or null], locked (flock) by the
/// process that syncs, so that one that was ended does not seem to go on; `settings/off`, empty: the agent does not sync;
/// `files-VAULT` = [1, code], why files do not come; `settings/asked-VAULT`, empty: they stay at the server until somebody
/// asks for them; `settings/uses-VAULT`: words for what programs may use another person's vault; `people`, `told`
/// and `members-VAULT` (SyncRecords+People.swift). Spec: Spec/sync.md.
package struct SyncRecords: Sendable {
    static let byteCountMax = 4_096
    private static let codeByteCountMax = 256

    package let folder: String
    let fileSystem: any FileSystem

    /// - Parameter stateDirectory: as in `StoreEnvironment`.
    package init(stateDirectory: String, storeID: UniqueID, fileSystem: any FileSystem) {
        folder = PathText.join(PathText.join(stateDirectory, "sync"), storeID.hex)
        self.fileSystem = fileSystem
    }

    func path(_ name: String) -> String { PathText.join(folder, name) }

    package func makeFolder() throws(FileSystemError) { try fileSystem.makeDirectories(settingsFolder) }

    // MARK: The last sync

    package func last(_ vaultHex: String) -> LastSync? {
        guard let bytes = try? fileSystem.readFile(path(vaultHex), byteCountMax: Self.byteCountMax) else { return nil }
        return try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 4)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let succeededAt = try Self.read(from: &decoder) { (decoder) throws(CBORError) in try decoder.readSigned() }
            let triedAt = try decoder.readSigned()
            return LastSync(succeededAt: succeededAt, triedAt: triedAt, problem: try Self.readCode(from: &decoder))
        }
    }

    /// Notes how a sync went; a failure to write it is no failure of the sync.
    package func note(_ vaultHex: String, problem: String?, at now: Milliseconds) {
        let succeededAt = problem == nil ? now : last(vaultHex)?.succeededAt
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 1)
            if let succeededAt { encoder.encode(signed: succeededAt) } else { encoder.encodeNull() }
            encoder.encode(signed: now)
            if let problem { encoder.encode(text: problem) } else { encoder.encodeNull() }
        }
        write(bytes, to: path(vaultHex))
    }

    /// In place and without a sync where the file keeps its length: a sync of many vaults notes each of them each time, and a time
    /// that a crash tears is a wrong time for people to read until the next sync.
    private func write(_ bytes: [UInt8], to path: String) {
        do throws(FileSystemError) {
            let file = try fileSystem.open(path, .readWrite)
            if try file.byteCount() == bytes.count { return try file.write(bytes, at: 0) }
        } catch {}
        try? makeFolder()
        try? fileSystem.replaceFile(path, with: bytes)
    }

    // MARK: Files

    private func filesPath(_ vaultHex: String) -> String { path("files-" + vaultHex) }
    private func askedPath(_ vaultHex: String) -> String { PathText.join(settingsFolder, "asked-" + vaultHex) }

    /// Why files of a vault that are not here do not come at the moment; nil if nothing is wrong.
    package func fileProblem(_ vaultHex: String) -> String? {
        guard let bytes = try? fileSystem.readFile(filesPath(vaultHex), byteCountMax: Self.byteCountMax) else {
            return nil
        }
        return try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            return try decoder.readText(byteCountMax: Self.codeByteCountMax)
        }
    }

    /// Notes why; nil once it is over.
    package func noteFiles(_ vaultHex: String, problem: String?) {
        guard let problem else {
            if fileProblem(vaultHex) != nil { try? fileSystem.remove(filesPath(vaultHex)) }
            return
        }
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 1)
            encoder.encode(text: problem)
        }
        try? makeFolder()
        try? fileSystem.replaceFile(filesPath(vaultHex), with: bytes)
    }

    /// Whether files of a vault stay at the server until somebody asks for them.
    package func areFilesAsked(_ vaultHex: String) -> Bool {
        ((try? fileSystem.exists(askedPath(vaultHex))) ?? false) == true
    }

    package func setFilesAsked(_ vaultHex: String, _ areAsked: Bool) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        if areAsked {
            try fileSystem.replaceFile(askedPath(vaultHex), with: [])
        } else if areFilesAsked(vaultHex) {
            try fileSystem.remove(askedPath(vaultHex))
        }
    }

    // MARK: The agent

    /// Held open by the process that syncs, and written whenever that is something else.
    package var agentPath: String { path("agent") }

    /// The folder of what a person set; the agent watches it.
    package var settingsFolder: String { path("settings") }
    private var offPath: String { PathText.join(settingsFolder, "off") }

    package var isOff: Bool { ((try? fileSystem.exists(offPath)) ?? false) == true }

    package func setOff(_ isOff: Bool) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        if isOff {
            try fileSystem.replaceFile(offPath, with: [])
        } else if self.isOff {
            try fileSystem.remove(offPath)
        }
    }

    private func printedPath(_ slotHex: String) -> String { PathText.join(settingsFolder, "printed-" + slotHex) }

    /// Whether a recovery key was printed here without being asked back.
    package func isOnlyPrinted(_ slotHex: String) -> Bool { (try? fileSystem.exists(printedPath(slotHex))) == true }

    package func setOnlyPrinted(_ slotHex: String) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        try fileSystem.replaceFile(printedPath(slotHex), with: [])
    }

    private var defaultVaultPath: String { PathText.join(settingsFolder, "vault") }

    /// The id in hex of the vault that is meant on this device where none is named; nil if nobody chose one.
    package var defaultVault: String? {
        (try? fileSystem.readFile(defaultVaultPath, byteCountMax: 64)).map { String(decoding: $0, as: UTF8.self) }
    }

    package func setDefaultVault(_ vaultHex: String) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        try fileSystem.replaceFile(defaultVaultPath, with: Array(vaultHex.utf8))
    }

    private func usesPath(_ vaultHex: String) -> String { PathText.join(settingsFolder, "uses-" + vaultHex) }

    /// The words for what programs may use another person's vault; none if nobody allowed anything.
    package func guestUses(_ vaultHex: String) -> [String] {
        let bytes = try? fileSystem.readFile(usesPath(vaultHex), byteCountMax: Self.codeByteCountMax)
        return bytes.map { String(decoding: $0, as: UTF8.self).split(separator: " ").map(String.init) } ?? []
    }

    package func setGuestUses(_ vaultHex: String, _ words: [String]) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        try fileSystem.replaceFile(usesPath(vaultHex), with: Array(words.joined(separator: " ").utf8))
    }

    private var lookPath: String { PathText.join(settingsFolder, "look") }

    /// How the page looks on this device, as a word; nil if nobody chose.
    package var look: String? {
        (try? fileSystem.readFile(lookPath, byteCountMax: 64)).map { String(decoding: $0, as: UTF8.self) }
    }

    package func setLook(_ word: String) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        try fileSystem.replaceFile(lookPath, with: Array(word.utf8))
    }

    private var askedPath: String { PathText.join(settingsFolder, "asked") }

    /// Whether a typed passphrase opens the store for one command only, unless `unlock` is asked for.
    package var opensWhenAsked: Bool { ((try? fileSystem.exists(askedPath)) ?? false) == true }

    package func setOpensWhenAsked(_ isAsked: Bool) throws(FileSystemError) {
        try fileSystem.makeDirectories(settingsFolder)
        if isAsked {
            try fileSystem.replaceFile(askedPath, with: [])
        } else if opensWhenAsked {
            try fileSystem.remove(askedPath)
        }
    }

    /// The file that says what the agent's sync does; it counts as long as this object lives.
    package func beginAgentState() throws(FileSystemError) -> AgentSyncFile {
        try makeFolder()
        let file = try fileSystem.open(agentPath, .createIfAbsent)
        try file.lock(.exclusive, waits: false)
        return AgentSyncFile(file: file)
    }

    /// What the agent's sync does; nil if none runs.
    package func agentState() -> AgentSyncState? {
        guard let file = try? fileSystem.open(path("agent"), .read) else { return nil }
        do throws(FileSystemError) {
            try file.lock(.shared, waits: false)
            try? file.unlock()
            return nil
        } catch {
            guard error.code == .wouldBlock else { return nil }
        }
        guard let bytes = try? fileSystem.readFile(agentPath, byteCountMax: Self.byteCountMax) else { return nil }
        return try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let kind = try decoder.readUnsigned()
            if kind == 4, count == 8 { return .moving(try AgentSyncWork(from: &decoder)) }
            guard count == 4 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let code = try Self.readCode(from: &decoder)
            let until = try Self.read(from: &decoder) { (decoder) throws(CBORError) in try decoder.readSigned() }
            switch (kind, code, until) {
            case (0, nil, nil): return .off
            case (1, nil, nil): return .idle
            case (2, nil, nil): return .connected
            case (3, let code?, let until?): return .waiting(problem: code, until: until)
            default: throw CBORError(.unexpectedItem, byteOffset: 0)
            }
        }
    }

    private static func read<Value>(
        from decoder: inout CBORDecoder, _ body: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws(CBORError) -> Value? {
        guard decoder.isNextNull else { return try body(&decoder) }
        try decoder.readNull()
        return nil
    }

    private static func readCode(from decoder: inout CBORDecoder) throws(CBORError) -> String? {
        try read(from: &decoder) { (decoder) throws(CBORError) in
            try decoder.readText(byteCountMax: codeByteCountMax)
        }
    }
}

/// The agent's own file of its state.
package struct AgentSyncFile {
    fileprivate let file: any OpenFile

    /// Written in place: it is for reading now, and not for after a crash.
    package func write(_ state: AgentSyncState) {
        let bytes = CBOREncoder.encode { encoder in
            if case .moving(let work) = state { return work.encode(to: &encoder) }
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 1)
            switch state {
            case .off: encoder.encode(unsigned: 0)
            case .idle: encoder.encode(unsigned: 1)
            case .connected, .moving: encoder.encode(unsigned: 2)
            case .waiting: encoder.encode(unsigned: 3)
            }
            if case .waiting(let problem, let until) = state {
                encoder.encode(text: problem)
                encoder.encode(signed: until)
            } else {
                encoder.encodeNull()
                encoder.encodeNull()
            }
        }
        try? file.write(bytes, at: 0)
        try? file.truncate(to: bytes.count)
    }
}

extension AgentSyncWork {
    fileprivate func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 8)
        encoder.encode(unsigned: 1)
        encoder.encode(unsigned: 4)
        encoder.encode(text: vault)
        encoder.encode(unsigned: isSending ? 1 : 0)
        encoder.encode(unsigned: UInt64(clamping: doneCount))
        if let totalCount { encoder.encode(unsigned: UInt64(clamping: totalCount)) } else { encoder.encodeNull() }
        encoder.encode(unsigned: UInt64(clamping: byteCount))
        if let totalByteCount {
            encoder.encode(unsigned: UInt64(clamping: totalByteCount))
        } else {
            encoder.encodeNull()
        }
    }

    /// Reads what follows the kind.
    fileprivate init(from decoder: inout CBORDecoder) throws(CBORError) {
        vault = try decoder.readText(byteCountMax: 64)
        isSending = try decoder.readUnsigned() == 1
        doneCount = Int(clamping: try decoder.readUnsigned())
        if decoder.isNextNull {
            try decoder.readNull()
            totalCount = nil
        } else {
            totalCount = Int(clamping: try decoder.readUnsigned())
        }
        byteCount = Int(clamping: try decoder.readUnsigned())
        if decoder.isNextNull {
            try decoder.readNull()
        } else {
            totalByteCount = Int(clamping: try decoder.readUnsigned())
        }
    }
}
