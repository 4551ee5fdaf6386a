// Messages between client and agent: one encoding each, nothing believed that is not exactly one.

import CoffretTestSupport
import CoffretWire
import Testing

@Suite("Agent messages")
struct AgentMessageTests {
    static let requests: [AgentRequest] = [
        .hello(version: 1), .hello(version: .max),
        .unlock(secret(.passphrase, "correct horse"), seconds: nil), .unlock(secret(.pin, ""), seconds: 900),
        .unlock(secret(.asked, ""), seconds: nil), .lock(store: nil), .lock(store: "/s"), .status(store: nil), .stop,
        .sessions(store: nil), .sessions(store: "/s"), .endSession(processID: 4_711),
        .settings(secret(.passphrase, "battery"), idleSeconds: 600, absoluteSeconds: nil),
        .settings(secret(.recoveryKey, "ABCD"), idleSeconds: nil, absoluteSeconds: 3600),
        .renewed(store: "/s", sealedKey: nil),
        .renewed(store: "/home/a b/coffret", sealedKey: [1, 2, 3]),
        .session(AgentSession(store: "/s", isJSON: true, environment: ["HOME": "/home/a"])),
        .session(AgentSession(store: "/home/a b", isJSON: false, environment: [:])),
        .session(AgentSession(store: "/s", isJSON: false, environment: [:], token: "coffret_abc")),
        .session(AgentSession(store: "/s", environment: ["A": "1"], isUse: true)),
        .session(AgentSession(store: "/s", environment: [:], isUse: false)),
        .session(AgentSession(store: "/s", environment: ["A": "1"], .bridge)),
        .session(AgentSession(store: "/s", environment: [:], .pairing)),
        .session(AgentSession(store: "/s", environment: [:], .authenticator)),
    ]

    static func secret(_ kind: AgentSecretKind, _ text: String) -> AgentSecret {
        AgentSecret(store: "/s", kind: kind, bytes: Array(text.utf8), environment: ["HOME": "/home/a"])
    }

    static let responses: [AgentResponse] = [
        .hello(version: 1), .locked(reason: "idle"), .status([]),
        .status([
            AgentStoreStatus(
                store: "/s", isUnlocked: true, lockReason: "", secondsLeft: 599, idleSeconds: 600,
                absoluteSeconds: 43_200),
            AgentStoreStatus(
                store: "/t", isUnlocked: false, lockReason: "sleep", secondsLeft: nil, idleSeconds: 60,
                absoluteSeconds: 900),
        ]),
        .failed(code: "keys.secret.wrong", waitSeconds: nil), .failed(code: "agent.paused", waitSeconds: 40), .done,
        .sessions([]),
        .sessions([
            AgentSessionStatus(
                processID: 4_711, store: "/s", program: "/usr/bin/coffret-desktop (process 12)", kind: .program,
                secondsOpen: 90, secondsSinceUse: nil),
            AgentSessionStatus(
                processID: .max, store: "/t", program: "", kind: .token, secondsOpen: 0, secondsSinceUse: 3),
        ]),
    ]

    @Test("what is encoded is decoded to the same, and encodes to the same bytes")
    func roundTrip() throws {
        for request in Self.requests {
            let bytes = request.encoded()
            let decoded = try AgentRequest(decoding: bytes)
            #expect(decoded == request)
            #expect(decoded.encoded() == bytes)
        }
        for response in Self.responses {
            let bytes = response.encoded()
            let decoded = try AgentResponse(decoding: bytes)
            #expect(decoded == response)
            #expect(decoded.encoded() == bytes)
        }
    }

    @Test("a message cut short or with a byte too many is refused")
    func truncated() {
        for bytes in Self.requests.map({ $0.encoded() }) {
            for count in 0..<bytes.count {
                #expect(throws: WireError(.malformed)) { try AgentRequest(decoding: Array(bytes.prefix(count))) }
            }
            #expect(throws: WireError(.malformed)) { try AgentRequest(decoding: bytes + [0]) }
        }
    }

    @Test("an unknown kind of message is told apart from a broken one")
    func unknownKind() {
        #expect(throws: WireError(.unsupported)) { try AgentRequest(decoding: [0x82, 0x18, 0x63, 0x01]) }
        #expect(throws: WireError(.unsupported)) { try AgentResponse(decoding: [0x81, 0x18, 0x63]) }
        #expect(throws: WireError(.unsupported)) {
            try AgentRequest(decoding: [0x86, 0x03, 0x61, 0x73, 0x09, 0x40, 0xA0, 0xF6])
        }
    }

    @Test("what the agent may know of a request is in its head; what is behind that is not looked at")
    func heads() throws {
        func head(_ bytes: [UInt8]) throws -> AgentRequest.Head {
            try unsafe bytes.withUnsafeBytes { try unsafe AgentRequest.head(of: $0) }
        }
        for request in Self.requests {
            let expected: AgentRequest.Head =
                switch request {
                case .unlock(let secret, let seconds):
                    .secret(AgentSecretHead(store: secret.store, kind: secret.kind, wanted: .unlock(seconds: seconds)))
                case .settings(let secret, let idle, let absolute):
                    .secret(
                        AgentSecretHead(
                            store: secret.store, kind: secret.kind, wanted: .settings(idle: idle, absolute: absolute)))
                case .session(let session): .session(store: session.store, session.manner)
                default: .open
                }
            #expect(try head(request.encoded()) == expected)
        }
        // Broken behind the head: the process that works for the client finds out.
        #expect(try head([0x84, 0x0C, 0x61, 0x73, 0xFF, 0xFF]) == .session(store: "s", .program))
        for broken: [UInt8] in [
            [], [0x84], [0x84, 0x0C, 0x66, 0x73, 0, 0], [0x84, 0x0C, 0x41, 0x73, 0, 0],
        ] {
            #expect(throws: WireError(.malformed)) { try head(broken) }
        }
    }

    @Test("fuzz: whatever bytes come, what is accepted encodes to the same bytes")
    func fuzzMessages() {
        fuzz(Self.requests.map { $0.encoded() }) { bytes in
            guard let request = try? AgentRequest(decoding: bytes) else { return }
            #expect(request.encoded() == bytes)
        }
        fuzz(Self.responses.map { $0.encoded() }) { bytes in
            guard let response = try? AgentResponse(decoding: bytes) else { return }
            #expect(response.encoded() == bytes)
        }
    }
}
