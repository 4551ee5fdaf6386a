// Where a status that follows has its overview from, and what tells it to look again. The one thing to keep true: beside
// an agent it holds no key and is no use of the store, so that watching never keeps one unlocked.

internal import CPlatform
internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// Gives overviews, and says what to wait for between them.
protocol SyncFeed: AnyObject {
    func look() throws -> SyncOverview
    /// Becomes readable when something happened; -1 for none.
    var descriptor: Int32 { get }
    /// When to look again although nothing happened, in milliseconds since 1970; nil for never.
    var lookAt: Milliseconds? { get }
    func close()
}

// MARK: The agent

/// Looks by a session of the agent: each time by another one, which ends before the next event.
final class SessionFeed: SyncFeed {
    private let client: AgentClient
    private let request: SyncRead
    private let context: CommandContext

    private init(_ client: AgentClient, _ request: SyncRead, _ context: CommandContext) {
        self.client = client
        self.request = request
        self.context = context
    }

    /// - Returns: nil if no agent runs, or the store is to be opened without it.
    static func open(_ context: CommandContext) throws -> SessionFeed? {
        guard !context.arguments.isSet(GlobalOptions.passphraseDescriptor),
            let store = AgentLocation.canonical(try StoreAccess.path(context)),
            let client = try AgentClient.connect(context.environment)
        else { return nil }
        if try client.status(of: store).first?.isUnlocked != true {
            guard !PassphraseSource(context: context).isUnattended else { return nil }
            do {
                try AgentUnlocking.unlock(client, store: store, context: context, seconds: nil)
            } catch let refused as AgentRefused where refused.code == AgentErrorCode.pinentryMissing.rawValue {
                return nil
            }
        }
        var request = SyncRead()
        request.vault = context.arguments.value(GlobalOptions.vault) ?? context.environment.value(.vault)
        return SessionFeed(client, request, context)
    }

    /// What the agent says by itself is that it ended.
    var descriptor: Int32 { client.connection.descriptor }
    var lookAt: Milliseconds? { nil }

    func close() { client.connection.shutDown() }

    func look() throws -> SyncOverview {
        guard let store = try CommandStore.look(context) else {
            let isGone = try AgentClient.connect(context.environment) == nil
            throw AgentRefused(
                code: isGone ? CLIErrorCode.agentGone.rawValue : AgentErrorCode.commandLocked.rawValue)
        }
        return try store.perform(request, by: .program)
    }
}

// MARK: The server

/// Looks by itself into a store that this process has open, and listens to the server where no agent does.
final class ServerFeed: SyncFeed {
    private let session: StoreSession
    private let records: SyncRecords
    private let request: SyncRead
    private var connection: ServerConnection?
    private var socket: WebSocketConnection?
    /// The heads that the server says it has, by vault in hex.
    private var heads: [String: [UInt8]] = [:]
    private var backoff = SyncBackoff()
    private var line: SyncOverview.Line?
    private var heardAt: Milliseconds = 0
    private var readCount = 0
    /// The server pings after a minute of silence.
    private static let silenceMilliseconds: Milliseconds = 110_000

    init(_ session: StoreSession, _ records: SyncRecords) {
        self.session = session
        self.records = records
        var request = SyncRead()
        request.vault = session.namedVault
        self.request = request
    }

    private var now: Milliseconds { SystemWallClock().now }

    func close() {
        socket?.close()
        connection?.logOut()
    }

    var descriptor: Int32 { socket?.descriptor ?? -1 }

    var lookAt: Milliseconds? {
        if case .waiting(_, let until)? = line { return until }
        return socket == nil ? nil : heardAt + Self.silenceMilliseconds
    }

    func look() throws -> SyncOverview {
        switch records.agentState() {
        case nil, .off?: try listen()
        // An agent that syncs knows it all, and earlier.
        default:
            if socket != nil { close() }
            (socket, connection, line, heads) = (nil, nil, nil, [:])
        }
        var overview = try request.state(on: session.desk, heads: heads)
        overview.line = line
        return overview
    }

    private func listen() throws {
        if case .waiting(_, let until)? = line, until > now { return }
        do {
            if socket == nil { try connect() }
            try receive()
            line = .connected
        } catch {
            // A store without a server, and keys that are gone, are no matter of time.
            guard error is HTTPError || (error as? AccountError).map({ $0.code != .notJoined }) ?? false else {
                throw error
            }
            socket = nil
            let pause = backoff.next(SystemRandomSource())
            line = .waiting(problem: FailureCode.of(error), until: now + Milliseconds(pause))
        }
    }

    private func connect() throws {
        let sync = session.desk.sync(
            try Account(session.store, random: SystemRandomSource(), clock: SystemWallClock()))
        let connection = sync.account.connection
        self.connection = connection
        // Events first: what happens from now on is heard, what happened before is looked for.
        let socket = try WebSocketConnection(
            connection.settings, path: "/v1/events", fields: connection.fields,
            messageByteCountMax: ServerLimits.eventByteCountMax, random: SystemRandomSource())
        try socket.awaitAnswer()
        heads = [:]
        for record in try sync.vaults { heads[record.vaultID.hex] = try sync.serverHead(of: record) }
        self.socket = socket
        (heardAt, readCount) = (now, socket.readCount)
        backoff.reset()
    }

    private func receive() throws {
        guard let socket else { return }
        while let message = try socket.receive(within: .zero) {
            guard case .binary(let bytes) = message,
                case .zone(let id, let head, _)? = try? ServerEvent(decoding: bytes)
            else { continue }
            heads[Hex.encode(id)] = head
        }
        if socket.readCount != readCount { (heardAt, readCount) = (now, socket.readCount) }
        if now - heardAt >= Self.silenceMilliseconds { throw HTTPError(.timedOut) }
    }
}
