// Pairing a browser, in a process without keys. Invariant: the record is written once the person has typed the digits that both sides
// computed and the extension says that it keeps its key; in any other case nothing is kept.

internal import CoffretApp
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretWire

/// A message of a pairing: the members that its step has. Spec: Spec/bridge.md section 3.
struct PairingMessage: Record {
    static let recordName = "pairing-message"

    var name: String?
    var commitment: String?
    var challenge: String?
    var reveal: String?
    var id: String?
    var key: String?
    var isKept: Bool?
    var isDone: Bool?

    init() {}
    static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "of the browser"), RecordField("commitment", \.commitment, "64 hexadecimal digits"),
        RecordField("challenge", \.challenge, "64 hexadecimal digits"),
        RecordField("reveal", \.reveal, "64 hexadecimal digits"), RecordField("id", \.id, "16 hexadecimal digits"),
        RecordField("key", \.key, "64 hexadecimal digits"), RecordField("kept", \.isKept, "the key is stored"),
        RecordField("done", \.isDone, "the browser is paired"))
}

/// One attempt. Spec: Spec/bridge.md section 3.
struct BrowserPairing {
    /// From the handshake to the digits.
    private static let durationMax = Duration.seconds(120)
    private static let messageDurationMax = Duration.seconds(20)

    let connection: UnixConnection
    let store: String
    let records: any ProtectedRecords
    /// The agent's own variables that say where the person is.
    let places: [String: String]
    let askingProcess: Int32
    /// Asks the agent whether the person may be asked once more.
    let mayAsk: () -> Bool

    /// - Returns: the exit code of the process.
    func serve() -> Int32 {
        let inbox = BridgeInbox(connection)
        var open: BridgeChannel?
        do {
            try connection.send(AgentResponse.done.encoded())
            guard let first = try inbox.next(within: Self.messageDurationMax),
                case .pairing(let handshake) = try BridgeOpening(first)
            else { return 1 }
            let (channel, reply) = try BridgeChannel.openPairing(handshake)
            open = channel
            try connection.send(reply)
            try pair(Exchange(connection: connection, inbox: inbox, channel: channel))
            return 0
        } catch {
            // A channel that broke says no more.
            if let channel = open {
                let failure = BridgeFailure(code: FailureCode.of(error), message: FailureCode.words(for: error))
                if let sealed = try? channel.seal(BridgeReply.failure(failure)) { try? connection.send(sealed) }
            }
            return 1
        }
    }

    private func pair(_ exchange: Exchange) throws {
        let start = BootClock.now
        let first = try exchange.receive(within: Self.messageDurationMax)
        guard let name = first.name, name.utf8.count <= 200, let commitment = Self.bytes(first.commitment) else {
            throw BridgeError(.messageInvalid)
        }
        let digits = try PairingDigits(
            hash: exchange.channel.handshakeHash, commitment: commitment, name: name, random: SystemRandomSource())
        var challenge = PairingMessage()
        challenge.challenge = Hex.encode(digits.challenge)
        try exchange.send(challenge)
        guard let revealed = Self.bytes(try exchange.receive(within: Self.messageDurationMax).reveal) else {
            throw BridgeError(.messageInvalid)
        }
        let expected = try digits.digits(revealed: revealed)
        guard mayAsk() else { throw BridgeError(.pairingPausing) }
        let typed = try ask(Pairings.cleaned(name))
        guard start.duration(to: BootClock.now) <= Self.durationMax else { throw BridgeError(.pairingExpired) }
        guard ConstantTime.isEqual(typed, Array(expected.utf8)) else { throw BridgeError(.pairingMismatch) }
        try keep(name, exchange)
    }

    /// Hands the key out, and writes the record once the extension has it.
    private func keep(_ name: String, _ exchange: Exchange) throws {
        let summary = try KeyringSummary.read(at: StoreLayout(store).keyringPath, fileSystem: PosixFileSystem())
        try BrowserRecords(records, store: summary.storeID).change { pairings in
            let pairing = try pairings.add(
                wanted: name, program: AskingProgram.starter(of: askingProcess), now: SystemWallClock().now,
                random: SystemRandomSource())
            var message = PairingMessage()
            (message.id, message.name) = (Hex.encode(pairing.id), pairing.name)
            // EXPOSE: to the extension, through the channel whose digits the person has compared.
            message.key = unsafe pairing.key.withUnsafeBytes { unsafe Hex.encode([UInt8]($0)) }
            try exchange.send(message)
            guard try exchange.receive(within: Self.messageDurationMax).isKept == true else {
                throw BridgeError(.messageInvalid)
            }
        }
        var message = PairingMessage()
        message.isDone = true
        try exchange.send(message)
    }

    private func ask(_ name: String) throws -> [UInt8] {
        let pinentry = try Pinentry.start(places)
        let question = """
            \(AskingProgram.words(askingProcess)) wants to fill in logins of
            \(store)
            If you have just connected \(name), type the six digits that it shows.
            """
        let typed = try pinentry.ask(question, complaint: nil, prompt: "Six digits:")
        // EXPOSE: digits that are of no use a second time.
        return unsafe typed.withUnsafeBytes { unsafe [UInt8]($0) }.filter { $0 != 0x20 }
    }

    private static func bytes(_ text: String?) -> [UInt8]? {
        guard let text, text.utf8.count == 64 else { return nil }
        return try? Hex.decode(text)
    }

    /// Messages of one attempt, sealed.
    private struct Exchange {
        let connection: UnixConnection
        let inbox: BridgeInbox
        let channel: BridgeChannel

        func send(_ message: PairingMessage) throws {
            var bytes = BridgeReply.answer(message)
            defer { bytes.zero() }
            try connection.send(channel.seal(bytes))
        }

        func receive(within duration: Duration) throws -> PairingMessage {
            guard let sealed = try inbox.next(within: duration) else { throw BridgeError(.pairingExpired) }
            let plain = try channel.open(sealed)
            guard let value = try? JSONValue(parsing: plain), let message = try? PairingMessage(json: value) else {
                throw BridgeError(.messageInvalid)
            }
            return message
        }
    }
}
