// The program's side of the agent's protocol. The one thing to keep true: nothing is sent to a socket that is
// not this user's, and a secret that was sent is zeroed here.

internal import CoffretBase
internal import CoffretNet
internal import CoffretWire
internal import Glibc

/// One connection to the agent.
final class AgentClient {
    let connection: UnixConnection

    private init(_ connection: UnixConnection) {
        self.connection = connection
    }

    /// Connects to the agent of this user.
    ///
    /// - Returns: nil if none runs, or one of another version.
    /// - Throws: `NetError` `.directoryUntrusted`, `.peerUntrusted`: somebody else's hand is in between (R32).
    static func connect(_ environment: ProcessEnvironment) throws -> AgentClient? {
        guard environment.value(.agent) != "off", let folder = AgentLocation.folder(environment) else { return nil }
        let client: AgentClient
        do throws(NetError) {
            let path = PathText.join(folder, AgentLocation.socketName)
            client = AgentClient(try UnixConnection.connect(path: path, userID: geteuid()))
        } catch {
            guard error.code == .unreachable || error.code == .addressTooLong else { throw error }
            return nil
        }
        guard case .hello(AgentRequest.version) = try client.ask(.hello(version: AgentRequest.version)) else {
            return nil
        }
        return client
    }

    /// Sends a request and waits for its answer.
    func ask(_ request: AgentRequest, descriptors: [Int32] = []) throws -> AgentResponse {
        var bytes = request.encoded()
        defer { bytes.zero() }
        try connection.send(bytes, descriptors: descriptors)
        return try receive()
    }

    func receive() throws -> AgentResponse {
        guard let (message, _) = try connection.receive() else { throw NetError(.closed) }
        return try AgentResponse(decoding: message.bytes)
    }

    /// Sends a request that is done or refused.
    ///
    /// - Parameter terminal: where the agent may ask the person.
    func perform(_ request: AgentRequest, terminal: Int32? = nil) throws {
        switch try ask(request, descriptors: terminal.map { [$0] } ?? []) {
        case .done: return
        case .failed(let code, let waitSeconds): throw Self.failure(code, waitSeconds: waitSeconds)
        default: throw WireError(.unsupported)
        }
    }

    func status(of store: String?) throws -> [AgentStoreStatus] {
        guard case .status(let stores) = try ask(.status(store: store)) else { throw WireError(.unsupported) }
        return stores
    }

    /// What the agent refused, in the words of a person.
    static func failure(_ code: String, waitSeconds: UInt64?) -> CommandFailure {
        let meaning = FailureMeaning.find(code)
        var message = meaning.plainText
        if let waitSeconds {
            message += "; try again in \(NumberText.duration(milliseconds: Int(waitSeconds) * 1000))"
        }
        var failure = CommandFailure(meaning.exitCode, code: code, message, hint: meaning.hint)
        if let waitSeconds { failure.jsonFields.append(("waitSeconds", .integer(Int(waitSeconds)))) }
        return failure
    }
}
