// The agent's protocol as a state machine: what is asked for, what is refused, and what a host must prove.

import CoffretBase
import CoffretSSH
import CoffretTestSupport
import Testing

/// Messages to the agent; whatever they are, there is a step.
func fuzzSSHAgentMessages(_ bytes: [UInt8]) -> Bool {
    var session = SSHAgentSession()
    if case .answer(.failure) = session.receive(bytes) { return false }
    return true
}

@Suite("SSH agent's protocol")
struct AgentSessionTests {
    static let random = SeededGenerator.fromEnvironment()

    static func signRequest(_ key: SSHPublicKey, _ data: [UInt8], flags: UInt32 = 0) -> [UInt8] {
        var writer = SSHWriter()
        writer.byte(13)
        writer.string(key.blob)
        writer.string(data)
        writer.uint32(flags)
        return writer.bytes
    }

    static func bind(
        _ host: SSHPrivateKey, _ session: [UInt8], isForwarding: Bool = false, signed: [UInt8]? = nil
    ) throws -> [UInt8] {
        var writer = SSHWriter()
        writer.byte(27)
        writer.text("session-bind@openssh.com")
        writer.string(host.publicKey.blob)
        writer.string(session)
        writer.string(try host.signature(of: signed ?? session, host.algorithm(flags: 2)))
        writer.byte(isForwarding ? 1 : 0)
        return writer.bytes
    }

    @Test("listing and signing are handed on, everything else is answered at once")
    func steps() throws {
        var session = SSHAgentSession()
        #expect(session.receive([11]) == .list)
        let key = SSHPrivateKey.generate(from: Self.random).publicKey
        let wanted = SSHSignRequest(blob: key.blob, data: [1, 2], flags: 4, bindings: [])
        #expect(session.receive(Self.signRequest(key, [1, 2], flags: 4)) == .sign(wanted))
        // Adding, removing, locking: the vault does that. Unknown kinds and extensions: OpenSSH goes on without.
        for kind in [0, 1, 5, 17, 18, 19, 20, 21, 22, 23, 25, 26, 200, 255] as [UInt8] {
            #expect(session.receive([kind, 1, 2, 3]) == .answer(.failure))
        }
        var unknown = SSHWriter()
        unknown.byte(27)
        unknown.text("hostkeys@example.org")
        #expect(session.receive(unknown.bytes) == .answer(.failure))
        #expect(session.receive([]) == .answer(.failure))
        #expect(session.receive([11, 0]) == .answer(.failure))
        #expect(session.receive([13] + [UInt8](repeating: 0, count: SSHAgentRequest.byteCountMax)) == .answer(.failure))
        var query = SSHWriter()
        query.byte(27)
        query.text("query")
        guard case .answer(.extensions(let names)) = session.receive(query.bytes) else {
            Issue.record("the query was not answered")
            return
        }
        #expect(names.contains("session-bind@openssh.com"))
    }

    @Test("a host has to prove that it holds its key; behind a host that only authenticates no other may follow")
    func binding() throws {
        let near = SSHPrivateKey.generate(from: Self.random)
        let far = SSHPrivateKey.generate(from: Self.random)
        var session = SSHAgentSession()
        #expect(try session.receive(Self.bind(near, [1], signed: [2])) == .answer(.extensionFailure))
        #expect(session.bindings.isEmpty)
        #expect(try session.receive(Self.bind(near, [1], isForwarding: true)) == .answer(.success))
        #expect(try session.receive(Self.bind(far, [2])) == .answer(.success))
        // The same again is no news; another session of another host is one too many.
        #expect(try session.receive(Self.bind(far, [2])) == .answer(.success))
        #expect(try session.receive(Self.bind(near, [3])) == .answer(.extensionFailure))
        #expect(session.bindings.count == 2)
        let key = SSHPrivateKey.generate(from: Self.random).publicKey
        guard case .sign(let request) = session.receive(Self.signRequest(key, [9])) else {
            Issue.record("no request to sign")
            return
        }
        #expect(request.isForwarded)
        #expect(request.hostFingerprint == far.publicKey.fingerprint)
    }

    @Test("answers are encoded as the protocol says")
    func answers() {
        #expect(SSHAgentResponse.failure.encoded == [5])
        #expect(SSHAgentResponse.success.encoded == [6])
        #expect(SSHAgentResponse.extensionFailure.encoded == [28])
        #expect(SSHAgentResponse.signature([7, 8]).encoded == [14, 0, 0, 0, 2, 7, 8])
        #expect(
            SSHAgentResponse.identities([.init(blob: [1], comment: "c")]).encoded
                == [12, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0x63])
    }

    @Test("no message makes the agent crash")
    func fuzzed() throws {
        let host = SSHPrivateKey.generate(from: Self.random)
        let samples = try [Self.bind(host, [1, 2, 3]), Self.signRequest(host.publicKey, [1]), [11]]
        #expect(samples.allSatisfy(fuzzSSHAgentMessages))
        fuzz(samples) { _ = fuzzSSHAgentMessages($0) }
    }
}
