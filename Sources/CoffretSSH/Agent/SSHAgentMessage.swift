// Messages between an SSH client and an agent (draft-ietf-sshm-ssh-agent). Invariant: what is not understood is
// answered with a failure, never with silence, so that a client goes on without us.

internal import CoffretBase

/// A client's request.
package enum SSHAgentRequest: Equatable, Sendable {
    case identities
    case sign(blob: [UInt8], data: [UInt8], flags: UInt32)
    /// Adding or removing keys, locking or unlocking: the vault does that, not the client.
    case manage
    case sessionBind(SSHSessionBinding)
    /// Which extensions there are.
    case query
    case unknownExtension
    /// A kind of message that is not known.
    case unknown(UInt8)

    /// The longest message that is read.
    package static let byteCountMax = 256 << 10

    private static let queryName = "query"
    private static let sessionBindName = "session-bind@openssh.com"
    /// The extensions that are understood.
    static let extensions = [queryName, sessionBindName]

    /// Reads a message without its length.
    package init(_ message: [UInt8]) throws(SSHError) {
        guard message.count <= Self.byteCountMax else { throw SSHError(.malformed, at: "size of a message") }
        var reader = SSHReader(message)
        switch try reader.byte() {
        case 11: self = .identities
        case 13:
            self = .sign(blob: try reader.string(), data: try reader.string(), flags: try reader.uint32())
        case 17, 18, 19, 20, 21, 22, 23, 25, 26:
            // The rest may hold secrets; it is not even read.
            self = .manage
            return
        case 27:
            switch try reader.text() {
            case Self.queryName: self = .query
            case Self.sessionBindName:
                self = .sessionBind(
                    SSHSessionBinding(
                        hostKey: try reader.string(), sessionID: try reader.string(), signature: try reader.string(),
                        isForwarding: try reader.bool()))
            default:
                self = .unknownExtension
                return
            }
        case let other:
            self = .unknown(other)
            return
        }
        try reader.finish()
    }
}

/// Which connection the client says a request is for, signed by the host.
package struct SSHSessionBinding: Equatable, Sendable {
    package let hostKey: [UInt8]
    package let sessionID: [UInt8]
    package let signature: [UInt8]
    /// Whether the agent is being lent to that host.
    package let isForwarding: Bool

    package init(hostKey: [UInt8], sessionID: [UInt8], signature: [UInt8], isForwarding: Bool) {
        self.hostKey = hostKey
        self.sessionID = sessionID
        self.signature = signature
        self.isForwarding = isForwarding
    }
}

/// An agent's answer.
package enum SSHAgentResponse: Equatable, Sendable {
    case success
    case failure
    case extensionFailure
    case identities([SSHIdentity])
    case signature([UInt8])
    case extensions([String])

    /// The message without its length.
    package var encoded: [UInt8] {
        var writer = SSHWriter()
        switch self {
        case .failure: writer.byte(5)
        case .success: writer.byte(6)
        case .extensionFailure: writer.byte(28)
        case .identities(let identities):
            writer.byte(12)
            writer.uint32(UInt32(identities.count))
            for identity in identities {
                writer.string(identity.blob)
                writer.text(identity.comment)
            }
        case .signature(let signature):
            writer.byte(14)
            writer.string(signature)
        case .extensions(let names):
            writer.byte(29)
            writer.text("query")
            for name in names { writer.text(name) }
        }
        return writer.bytes
    }
}

/// A key that an agent offers.
package struct SSHIdentity: Equatable, Sendable {
    package let blob: [UInt8]
    package let comment: String

    package init(blob: [UInt8], comment: String) {
        self.blob = blob
        self.comment = comment
    }
}
