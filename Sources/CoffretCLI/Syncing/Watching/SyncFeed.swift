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

/// Lets the agent look: each time in a process of its own, which ends before the next event.
final class AgentFeed: SyncFeed {
    private static let byteCountMax = 16 << 20

    private let client: AgentClient
    private let command: AgentCommand
    private let context: CommandContext

    private init(_ client: AgentClient, _ command: AgentCommand, _ context: CommandContext) {
        self.client = client
        self.command = command
        self.context = context
    }

    /// - Returns: nil if no agent runs, or the store is to be opened without it.
    static func open(_ context: CommandContext) throws -> AgentFeed? {
        let path = try StoreAccess.path(context)
        guard AgentHandover.isPossible(context), let store = AgentLocation.canonical(path),
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
        var words = ["sync", "--status", "--json", "--store", store]
        if let vault = context.arguments.value(GlobalOptions.vault) { words += ["--vault", vault] }
        let command = AgentCommand(
            store: store, arguments: words, workingDirectory: "/", environment: context.environment.travelling)
        return AgentFeed(client, command, context)
    }

    /// What the agent says by itself is that it ended.
    var descriptor: Int32 { client.connection.descriptor }
    var lookAt: Milliseconds? { nil }

    func close() { client.connection.shutDown() }

    func look() throws -> SyncOverview {
        let answer = coffret_memory_file()
        guard answer >= 0 else { throw SystemFailure.last }
        defer { Glibc.close(answer) }
        let null = try OwnedDescriptor.open("/dev/null", O_RDONLY)
        let response: AgentResponse
        do throws(NetError) {
            var next = try ask([null.number, answer, STDERR_FILENO])
            // It met a change of the keys, and said nothing yet.
            while case .locked(AgentResponse.reasonToRunAgain) = next {
                next = try ask([null.number, answer, STDERR_FILENO])
            }
            response = next
        } catch {
            throw AgentRefused(code: CLIErrorCode.agentGone.rawValue)
        }
        switch response {
        case .exited(0): break
        // It has said why.
        case .exited(let code): throw CommandExit(code: Int32(code))
        case .locked: throw AgentRefused(code: AgentErrorCode.commandLocked.rawValue)
        case .failed(let code, let waitSeconds): throw AgentRefused(code: code, waitSeconds: waitSeconds)
        default: throw WireError(.unsupported)
        }
        lseek(answer, 0, SEEK_SET)
        guard let bytes = try DescriptorIO.readAll(from: answer, byteCountMax: Self.byteCountMax),
            let value = try? JSONValue(parsing: bytes),
            let overview = try? SyncOverview(json: value)
        else { throw WireError(.malformed) }
        return overview
    }

    private func ask(_ descriptors: [Int32]) throws(NetError) -> AgentResponse {
        try client.connection.send(AgentRequest.look(command).encoded(), descriptors: descriptors)
        guard let (message, _) = try client.connection.receive(),
            let response = try? AgentResponse(decoding: message.bytes)
        else { throw NetError(.closed) }
        return response
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
        let account = try Account(session.store, random: SystemRandomSource(), clock: SystemWallClock())
        let connection = account.connection
        self.connection = connection
        // Events first: what happens from now on is heard, what happened before is looked for.
        let socket = try WebSocketConnection(
            connection.settings, path: "/v1/events", fields: connection.fields,
            messageByteCountMax: ServerLimits.eventByteCountMax, random: SystemRandomSource())
        try socket.awaitAnswer()
        heads = [:]
        for record in try session.store.vaults where record.kind == .synced {
            let transport = try SyncedFiles.transport(record, account, session)
            switch transport.send(.head, frame: { _ in }) {
            case .head(let head): heads[record.vaultID.hex] = head.address
            // A vault that was never sent.
            case .refused(code: "server.zone.unknown"): break
            case .refused(let code): throw AccountError(.refused, at: code)
            default: throw transport.lastError ?? HTTPError(.failed)
            }
        }
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
