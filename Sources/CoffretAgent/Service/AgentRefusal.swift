// What the agent itself refuses, on its way to the client.

internal import CoffretWire

/// A request that was not carried out.
struct AgentRefusal: Error {
    let code: AgentErrorCode

    init(_ code: AgentErrorCode) { self.code = code }
}
