// One client's conversation with the agent, as a state machine. Invariant: it does no I/O and holds no key; it says
// what is to be done, and remembers to which hosts the client has bound the connection.

internal import CoffretBase

/// The agent's side of one connection.
package struct SSHAgentSession: Sendable {
    /// The work that a message asks for.
    package enum Step: Equatable, Sendable {
        case answer(SSHAgentResponse)
        /// Answer with the keys there are.
        case list
        /// Sign, if the key is there and its owner agrees.
        case sign(SSHSignRequest)
    }

    /// OpenSSH's agent takes as many.
    package static let bindingCountMax = 16

    /// The hosts on the way, the nearest first; each has proved that it holds its key.
    package private(set) var bindings: [SSHSessionBinding] = []

    package init() {}

    /// Takes one message, without its length.
    package mutating func receive(_ message: [UInt8]) -> Step {
        let request: SSHAgentRequest
        do throws(SSHError) {
            request = try SSHAgentRequest(message)
        } catch {
            return .answer(.failure)
        }
        switch request {
        case .identities: return .list
        case .sign(let blob, let data, let flags):
            return .sign(SSHSignRequest(blob: blob, data: data, flags: flags, bindings: bindings))
        case .manage, .unknown, .unknownExtension: return .answer(.failure)
        case .query: return .answer(.extensions(SSHAgentRequest.extensions))
        case .sessionBind(let binding): return .answer(bind(binding) ? .success : .extensionFailure)
        }
    }

    /// Remembers a binding if the host's signature over the session's id is good, and if nothing before forbids it:
    /// once a connection is for authentication, and not for forwarding, no further host may follow.
    private mutating func bind(_ binding: SSHSessionBinding) -> Bool {
        guard let host = try? SSHPublicKey(blob: binding.hostKey),
            host.isValid(binding.signature, of: binding.sessionID)
        else { return false }
        if bindings.contains(where: { $0.sessionID == binding.sessionID && $0.hostKey == binding.hostKey }) {
            return true
        }
        guard bindings.count < Self.bindingCountMax, bindings.last?.isForwarding ?? true,
            !bindings.contains(where: { $0.sessionID == binding.sessionID })
        else { return false }
        bindings.append(binding)
        return true
    }
}

/// A request for a signature, with what is known of who wants it.
package struct SSHSignRequest: Equatable, Sendable {
    package let blob: [UInt8]
    package let data: [UInt8]
    package let flags: UInt32
    package let bindings: [SSHSessionBinding]

    package init(blob: [UInt8], data: [UInt8], flags: UInt32, bindings: [SSHSessionBinding]) {
        self.blob = blob
        self.data = data
        self.flags = flags
        self.bindings = bindings
    }

    /// The fingerprint of the host that the connection was last bound to.
    package var hostFingerprint: String? { bindings.last.map { SSHPublicKey.fingerprint(ofBlob: $0.hostKey) } }

    /// Whether the request came through a host to which the agent was lent.
    package var isForwarded: Bool { bindings.contains(where: \.isForwarding) }
}
