// A session of the extension: one channel, one request after the other. Invariant: the store is opened for a browser that has shown its
// key, and is asked for nothing but what `BridgeRequest` lists.

internal import CPlatform
internal import CoffretBase
package import CoffretBridge
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
package import CoffretNet
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// How a session of the extension was opened.
package struct BridgeTerms {
    /// The program that opened it, in words for the log.
    package var program: String
    /// The browsers that are paired with the store.
    package var pairings: () throws -> Pairings
    package var agent: Agent

    /// The agent's part in the answers.
    package struct Agent {
        /// Asks whether the browser may have one more value.
        package var mayFill: () -> Bool
        /// Asks whether this challenge was not answered before.
        package var isFresh: (_ challenge: [UInt8]) -> Bool
        /// Has the person show to be there; the code of a refusal, nil for a yes.
        package var verify: (_ reason: String) -> String?
        /// Tells the person, who wants to know, that a browser was given something of this host.
        package var tell: (_ browser: String, _ host: String) -> Void

        package init(
            mayFill: @escaping () -> Bool, isFresh: @escaping (_ challenge: [UInt8]) -> Bool,
            verify: @escaping (_ reason: String) -> String?, tell: @escaping (_ browser: String, _ host: String) -> Void
        ) {
            (self.mayFill, self.isFresh, self.verify, self.tell) = (mayFill, isFresh, verify, tell)
        }
    }

    package init(program: String, pairings: @escaping () throws -> Pairings, agent: Agent) {
        self.program = program
        self.pairings = pairings
        self.agent = agent
    }
}

/// Serves one browser through its host. Spec: Spec/bridge.md.
package final class BridgeSession {
    /// A popup that is open asks at once; one that says nothing for so long is forgotten.
    private static let silenceMax = Duration.seconds(60)

    private let inbox: BridgeInbox
    private let channel: BridgeChannel
    private let desk: StoreDesk
    private let bridge: BridgeDesk
    private let log: AccessLog
    private let session: String
    private let pairing: Pairing
    private let program: String
    private var hasFilled = false

    /// Says `done`, and answers until the host goes away.
    ///
    /// - Returns: the exit code of the process.
    package static func serve(
        _ connection: UnixConnection, _ terms: BridgeTerms, _ hosted: HostedStore, _ reports: SessionReports
    ) -> Int32 {
        SignalMask.block([SIGTERM])
        let inbox = BridgeInbox(connection, signals: unsafe coffret_signal_descriptor([SIGTERM], 1))
        do {
            reports.used()
            try connection.send(AgentResponse.done.encoded())
            guard let first = try inbox.next(within: silenceMax),
                case .session(let id, let handshake) = try BridgeOpening(first),
                case let pairings = try terms.pairings(), let pairing = pairings.find(id)
            else { return 1 }
            var terms = terms
            if !pairings.tellsOfValues { terms.agent.tell = { _, _ in } }
            let (channel, reply) = try BridgeChannel.open(handshake, with: pairing)
            try connection.send(reply)
            let session = try BridgeSession(inbox, channel, pairing, terms, hosted)
            session.note(.opened)
            defer { session.note(.ended) }
            while let message = try inbox.next(within: silenceMax) { try session.serve(message, connection) }
            return 0
        } catch {
            // The channel has broken, or the store does not open: the host sees its end.
            return 1
        }
    }

    private init(
        _ inbox: BridgeInbox, _ channel: BridgeChannel, _ pairing: Pairing, _ terms: BridgeTerms, _ hosted: HostedStore
    ) throws {
        let environment = try hosted.environment()
        let store = try hosted.open(environment)
        self.inbox = inbox
        self.channel = channel
        self.pairing = pairing
        program = terms.program
        desk = StoreDesk(store, DeskSurroundings(stateDirectory: environment.stateDirectory))
        bridge = BridgeDesk(desk, browser: pairing.name, terms.agent)
        log = try AccessLog(store)
        session = Hex.encode(store.environment.random.bytes(count: 4))
    }

    private func serve(_ message: [UInt8], _ connection: UnixConnection) throws {
        var plain = try channel.open(message)
        defer { plain.zero() }
        desk.subject = nil
        var reply: [UInt8]
        do {
            let request = try BridgeRequest(parsing: plain)
            do {
                reply = BridgeReply.answer(try bridge.answer(request))
                note(.asked, request.kind)
            } catch {
                reply = Self.refusal(error)
                note(.refused, request.kind, code: FailureCode.of(error))
            }
        } catch {
            reply = Self.refusal(error)
            note(.refused, code: FailureCode.of(error))
        }
        defer { reply.zero() }
        try connection.send(channel.seal(reply))
        desk.catchUp()
    }

    private static func refusal(_ error: any Error) -> [UInt8] {
        BridgeReply.failure(BridgeFailure(code: FailureCode.of(error), message: FailureCode.words(for: error)))
    }

    private func note(_ event: AccessEntry.Event, _ kind: BridgeRequest.Kind? = nil, code: String? = nil) {
        // Looking says nothing that a person would look up later.
        if event == .asked, [.state, .find, .generate, .passkeyFind].contains(kind) { return }
        var entry = AccessEntry()
        entry.time = WireMoment(desk.store.environment.clock.now)
        (entry.event, entry.session, entry.browser) = (event, session, pairing.name)
        if event == .opened { entry.program = program }
        entry.operation = kind.map { "bridge.\($0.rawValue)" }
        entry.code = code
        entry.vault = desk.subject?.vault.hex
        entry.item = desk.subject?.item?.uuid.hex
        log.add(entry)
    }
}

/// Messages of the host, one at a time.
package final class BridgeInbox {
    /// The longest message of Noise.
    private static let byteCountMax = 65_535

    private let connection: UnixConnection
    private let receiver = MessageReceiver(byteCountMax: byteCountMax)
    /// Readable once the agent wants this process to end; -1 for none.
    private let signals: Int32

    package init(_ connection: UnixConnection, signals: Int32 = -1) {
        self.connection = connection
        self.signals = signals
    }

    /// Waits for the next message.
    ///
    /// - Returns: nil once the host is gone, the agent wants an end, or the time is over.
    /// - Throws: `NetError` for a connection that broke off in the middle of a message, or a message that is too long.
    package func next(within duration: Duration) throws(NetError) -> [UInt8]? {
        let end = BootClock.now.advanced(by: duration)
        while true {
            let left = BootClock.now.duration(to: end)
            guard left > .zero else { return nil }
            var polled = [connection.descriptor, signals].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let milliseconds = Int32(left.components.seconds) * 1000 + 1000
            guard unsafe poll(&polled, 2, milliseconds) > 0 else { continue }
            if polled[1].revents != 0 { return nil }
            switch try receiver.receive(from: connection) {
            case .message(let message, _): return message.bytes
            case .pending: continue
            case .closed: return nil
            }
        }
    }
}
