// Files of synced vaults on the command line. The one thing to keep true: what is wrong with one file is told, and
// keeps no other from coming.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretSync
internal import CoffretTerminal

/// Fetches files of attachments for commands.
enum SyncedFiles {
    /// The way to a vault's zone with the session of the account.
    static func transport(
        _ record: VaultRecord, _ account: Account, _ session: StoreSession
    ) throws -> HTTPZoneTransport {
        HTTPZoneTransport(
            client: account.connection.client, zone: record.vaultID.bytes,
            device: try session.store.keyring.deviceID().bytes,
            signingKey: try session.store.keyring.authorIdentity(for: record.vaultID).signingKey,
            fields: { account.connection.fields },
            renew: { (try? account.renewSession()) != nil })
    }

    /// All files of the present that are not here. The vault is free for others meanwhile.
    static func fetchAll(_ record: VaultRecord, _ account: Account, _ session: StoreSession) throws -> FileTally {
        let vault = try session.store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        // The small ones first, as far as there is room.
        let absent = try vault.absentAttachments().sorted { $0.byteCount < $1.byteCount }
        return try fetch(absent, in: vault, record, account, session, isAskedFor: false)
    }

    /// Some attachments, as far as their files are not here.
    static func fetch(
        _ attachments: [Attachment], in vault: Vault, _ record: VaultRecord, _ account: Account,
        _ session: StoreSession, isAskedFor: Bool = true
    ) throws -> FileTally {
        let room = DiskRoom(of: session.store.layout.path)
        let transport = try transport(record, account, session)
        let progress = FileProgressReporter(session.context)
        defer { progress.end() }
        do {
            return try session.store.fetchFiles(
                of: attachments, in: vault, through: transport, hasRoom: { room.has($0, isAskedFor: isAskedFor) },
                progress: progress.show)
        } catch let error as SyncError where error.code == .unreachable {
            throw transport.lastError ?? error
        }
    }

    static func json(_ files: FileTally) -> [JSONValue.Member] {
        [
            JSONValue.Member("receivedFiles", .integer(files.movedCount)),
            JSONValue.Member("receivedFileByteCount", .integer(files.movedByteCount)),
            JSONValue.Member("fileProblems", .strings(files.problems.map(\.code.rawValue))),
        ]
    }

    static func warn(_ files: FileTally, _ name: String, _ context: CommandContext) {
        let missing = files.problems.filter { $0.code == .fileMissing }.count
        if missing > 0 {
            context.warn(
                "\(name): \(NumberText.counted(missing, "file")) of attachments \(missing == 1 ? "is" : "are") not on the server (sync.file.missing)"
            )
        }
        let refused = files.problems.filter { $0.code == .fileRefused }.count
        if refused > 0 {
            context.warn(
                "\(name): what the server has in place of \(NumberText.counted(refused, "file")) is not what was attached; nothing of it was kept (sync.file.refused)"
            )
        }
    }
}

/// Shows how far files are, in files and bytes.
final class FileProgressReporter {
    private let reporter: ProgressReporter
    private var direction: FileProgress.Direction?

    init(_ context: CommandContext) { reporter = context.progress() }

    func show(_ state: FileProgress) {
        if direction != state.direction {
            direction = state.direction
            reporter.begin(state.direction == .sending ? "Sending files" : "Fetching files", unit: "byte")
        }
        reporter.update(done: state.doneByteCount, total: state.totalByteCount)
    }

    func end() { reporter.end() }
}
