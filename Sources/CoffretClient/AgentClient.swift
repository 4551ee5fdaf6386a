// The program's side of the agent's protocol. Invariant: nothing is sent to a socket that is not this user's, and a
// secret that was sent is zeroed here.

internal import CoffretBase
package import CoffretNet
package import CoffretTerminal
package import CoffretWire
internal import Glibc

/// A refusal of the agent.
package struct AgentRefused: Error, Equatable {
    /// As `Spec/errors.md` lists it.
    package let code: String
    /// Seconds until another try is possible, if that is why this one was not.
    package let waitSeconds: UInt64?

    package init(code: String, waitSeconds: UInt64? = nil) {
        self.code = code
        self.waitSeconds = waitSeconds
    }
}

/// One connection to the agent.
package final class AgentClient {
    package let connection: UnixConnection

    private init(_ connection: UnixConnection) {
        self.connection = connection
    }

    /// Connects to the agent of this user.
    ///
    /// - Parameter forPrograms: to where programs with tokens come in.
    /// - Returns: nil if none runs, or one of another version.
    /// - Throws: `NetError` `.directoryUntrusted`, `.peerUntrusted`: somebody else's hand is in between (R32).
    package static func connect(
        _ environment: ProcessEnvironment, forPrograms: Bool = false
    ) throws -> AgentClient? {
        guard environment.value(.agent) != "off", let folder = AgentLocation.folder(environment) else { return nil }
        let client: AgentClient
        do throws(NetError) {
            let path =
                forPrograms
                ? AgentLocation.programSocketPath(in: folder) : PathText.join(folder, AgentLocation.socketName)
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
    package func ask(_ request: AgentRequest, descriptors: [Int32] = []) throws -> AgentResponse {
        var bytes = request.encoded()
        defer { bytes.zero() }
        try connection.send(bytes, descriptors: descriptors)
        return try receive()
    }

    package func receive() throws -> AgentResponse {
        guard let (message, _) = try connection.receive() else { throw NetError(.closed) }
        return try AgentResponse(decoding: message.bytes)
    }

    /// Sends a request that is done or refused.
    ///
    /// - Parameter terminal: where the agent may ask the person.
    package func perform(_ request: AgentRequest, terminal: Int32? = nil) throws {
        switch try ask(request, descriptors: terminal.map { [$0] } ?? []) {
        case .done: return
        case .failed(let code, let waitSeconds): throw AgentRefused(code: code, waitSeconds: waitSeconds)
        default: throw WireError(.unsupported)
        }
    }

    /// Ends an agent that has no store unlocked, and waits until it is gone.
    ///
    /// - Returns: false if a store is unlocked; then nothing was done.
    package func endsWithoutLoss() throws -> Bool {
        guard try status(of: nil).allSatisfy({ !$0.isUnlocked }) else { return false }
        try perform(.stop)
        while (try? connection.receive()) != nil {}
        return true
    }

    package func status(of store: String?) throws -> [AgentStoreStatus] {
        guard case .status(let stores) = try ask(.status(store: store)) else { throw WireError(.unsupported) }
        return stores
    }

    package func sessions(of store: String?) throws -> [AgentSessionStatus] {
        guard case .sessions(let sessions) = try ask(.sessions(store: store)) else { throw WireError(.unsupported) }
        return sessions
    }
}
