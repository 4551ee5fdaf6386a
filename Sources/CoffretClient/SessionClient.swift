// A program's side of a session. Invariant: requests and replies of one session take turns, so that a reply is never taken for
// another one's.

internal import CoffretBase
internal import CoffretNet
package import CoffretTerminal
package import CoffretWire

/// A store that another process has open, asked over a connection of its own.
package final class SessionClient {
    /// Opens another connection, if an agent runs.
    private let reconnect: () throws -> UnixConnection?
    private var connection: UnixConnection
    private let isJSON: Bool

    private init(_ connection: UnixConnection, isJSON: Bool, reconnect: @escaping () throws -> UnixConnection?) {
        self.connection = connection
        self.isJSON = isJSON
        self.reconnect = reconnect
    }

    /// Opens a session with a store that the agent has unlocked.
    ///
    /// - Parameters:
    ///   - store: an absolute path without links.
    ///   - token: the secret of a token that narrows the session down.
    /// - Returns: nil if no agent runs.
    /// - Throws: `AgentRefused` with `agent.store.locked` if the store is locked, `token.invalid`; what else the agent refuses.
    package static func open(
        _ environment: ProcessEnvironment, store: String, isJSON: Bool = false, token: String? = nil
    ) throws -> SessionClient? {
        let session = AgentSession(store: store, isJSON: isJSON, environment: environment.travelling, token: token)
        let connect: () throws -> UnixConnection? = { try Self.connect(environment, session) }
        return try connect().map { SessionClient($0, isJSON: isJSON, reconnect: connect) }
    }

    private static func connect(_ environment: ProcessEnvironment, _ session: AgentSession) throws -> UnixConnection? {
        for attempt in 1... {
            var client = try AgentClient.connect(environment)
            // In a container there may be no other way in.
            if client == nil, session.token != nil {
                client = try AgentClient.connect(environment, forPrograms: true)
            }
            guard let client else { return nil }
            switch try client.ask(.session(session)) {
            case .done: return client.connection
            // The keys were replaced while the session began.
            case .locked(AgentResponse.reasonToRunAgain) where attempt < 4: continue
            case .locked: throw AgentRefused(code: AgentErrorCode.storeLocked.rawValue)
            case .failed(let code, let waitSeconds): throw AgentRefused(code: code, waitSeconds: waitSeconds)
            default: throw WireError(.unsupported)
            }
        }
        return nil
    }

    /// Performs an operation.
    ///
    /// - Parameters:
    ///   - descriptors: travel with the request, at most four; they stay the caller's.
    ///   - progress: is told meanwhile how far the operation has come; without it the session says nothing until the end.
    /// - Throws: `OperationFailure` if it was refused, with `operation.cancelled` after `cancel`; `NetError.closed` once the
    ///   session is over, as after a lock.
    package func perform<Request: StoreOperation>(
        _ request: Request, by asker: Asker = .person, descriptors: [Int32] = [],
        progress: ((OperationProgress) throws -> Void)? = nil
    ) throws -> Request.Answer {
        let message = OperationRequest(request, by: asker, wantsProgress: progress != nil, isJSON: isJSON)
        var bytes = try exchange(message.encoded, descriptors: descriptors)
        defer { bytes.zero() }
        if SessionEnd(message: bytes, isJSON: isJSON) != nil {
            // The request crossed the end, and was not looked at.
            guard let next = try reconnect() else { throw NetError(.closed) }
            connection = next
            bytes = try exchange(message.encoded, descriptors: descriptors)
        }
        while let progress, let step = OperationProgress(message: bytes, isJSON: isJSON) {
            try progress(step)
            bytes = try receive()
        }
        switch try OperationReply<Request.Answer>(decoding: bytes, isJSON: isJSON) {
        case .answer(let answer): return answer
        case .failure(let failure): throw failure
        }
    }

    /// Says that the running request is not wanted any more, as from a handler of progress or from another thread. Its reply
    /// says what came of it.
    package func cancel() throws {
        try connection.send(SessionClientMessage.encodedCancel(isJSON: isJSON))
    }

    /// Sends a request that is encoded already, and waits for the next message: its reply, or its progress.
    package func exchange(_ request: [UInt8], descriptors: [Int32] = []) throws -> [UInt8] {
        do {
            try send(request, descriptors: descriptors)
        } catch let error as NetError where error.code == .closed {
            // A session that ended by itself has said so before.
        }
        return try receive()
    }

    /// Sends a message that is encoded already.
    package func send(_ message: [UInt8], descriptors: [Int32] = []) throws {
        var message = message
        defer { message.zero() }
        try connection.send(message, descriptors: descriptors, byteCountMax: AgentSession.messageByteCountMax)
    }

    /// Waits for the next message of the session.
    package func receive() throws -> [UInt8] {
        guard let (message, _) = try connection.receive(byteCountMax: AgentSession.messageByteCountMax) else {
            throw NetError(.closed)
        }
        return message.bytes
    }
}
