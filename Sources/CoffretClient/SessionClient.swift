// A program's side of a session. Invariant: requests and replies of one session take turns, so that a reply is never taken for
// another one's.

internal import CoffretBase
internal import CoffretNet
package import CoffretTerminal
package import CoffretWire

/// A store that another process has open, asked over a connection of its own.
package final class SessionClient {
    private let connection: UnixConnection
    private let isJSON: Bool

    private init(_ connection: UnixConnection, isJSON: Bool) {
        self.connection = connection
        self.isJSON = isJSON
    }

    /// Opens a session with a store that the agent has unlocked.
    ///
    /// - Parameter store: an absolute path without links.
    /// - Returns: nil if no agent runs.
    /// - Throws: `AgentRefused` with `agent.store.locked` if the store is locked; what else the agent refuses.
    package static func open(
        _ environment: ProcessEnvironment, store: String, isJSON: Bool = false
    ) throws -> SessionClient? {
        let session = AgentSession(store: store, isJSON: isJSON, environment: environment.travelling)
        for attempt in 1... {
            guard let client = try AgentClient.connect(environment) else { return nil }
            switch try client.ask(.session(session)) {
            case .done: return SessionClient(client.connection, isJSON: isJSON)
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
    /// - Throws: `OperationFailure` if it was refused; `NetError.closed` once the session is over, as after a lock.
    package func perform<Request: StoreOperation>(
        _ request: Request, by asker: Asker = .person
    ) throws -> Request.Answer {
        var bytes = try exchange(OperationRequest(request, by: asker, isJSON: isJSON).encoded)
        defer { bytes.zero() }
        switch try OperationReply<Request.Answer>(decoding: bytes, isJSON: isJSON) {
        case .answer(let answer): return answer
        case .failure(let failure): throw failure
        }
    }

    /// Sends a request that is encoded already, and waits for its reply.
    package func exchange(_ request: [UInt8]) throws -> [UInt8] {
        var request = request
        defer { request.zero() }
        try connection.send(request, byteCountMax: AgentSession.messageByteCountMax)
        guard let (message, _) = try connection.receive(byteCountMax: AgentSession.messageByteCountMax) else {
            throw NetError(.closed)
        }
        return message.bytes
    }
}
