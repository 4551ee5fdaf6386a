// WebSocket framing: the cases that Autobahn's suite made known, and every violation answered with its code.

import CoffretBase
import CoffretNet
import CoffretTestSupport
import Testing

@Suite("WebSocket machine")
struct WebSocketMachineTests {
    static func machine(_ role: WebSocketRole, messageByteCountMax: Int = 1 << 20) -> WebSocketMachine {
        WebSocketMachine(role: role, messageByteCountMax: messageByteCountMax, random: SystemRandomSource())
    }

    /// A frame as a client sends it, with a mask of our choice.
    static func masked(_ first: UInt8, _ payload: [UInt8], lengthBytes: [UInt8]? = nil) -> [UInt8] {
        let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        let length = lengthBytes ?? Self.length(payload.count)
        return [first, length[0] | 0x80] + length.dropFirst() + mask
            + payload.enumerated().map { $0.element ^ mask[$0.offset & 3] }
    }

    static func length(_ count: Int) -> [UInt8] {
        count <= 125
            ? [UInt8(count)]
            : count <= 0xFFFF ? [126] + UInt16(count).bigEndianBytes : [127] + UInt64(count).bigEndianBytes
    }

    /// The code of the close frame that a server machine has to send; nil without one.
    static func closeCode(_ output: [UInt8]) -> UInt16? {
        guard output.count >= 4, output[0] == 0x88 else { return nil }
        return UInt16(output[2]) << 8 | UInt16(output[3])
    }

    static func expectFailure(
        _ bytes: [UInt8], _ code: UInt16, _ note: String, messageByteCountMax: Int = 1 << 20,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for pieceByteCount in [1, bytes.count] {
            var machine = machine(.server, messageByteCountMax: messageByteCountMax)
            var events: [WebSocketMachine.Event] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                events += machine.receive(Array(rest.prefix(pieceByteCount)))
                rest = rest.dropFirst(pieceByteCount)
            }
            #expect(events.last == .failed(code: code), "\(note)", sourceLocation: sourceLocation)
            #expect(closeCode(machine.takeOutput()) == code, "\(note)", sourceLocation: sourceLocation)
            #expect(machine.isClosed)
            #expect(machine.receive(masked(0x82, [1])) == [], "nothing has an effect after a violation")
        }
    }

    @Test("the examples of RFC 6455, section 5.7")
    func examplesOfTheStandard() {
        var client = Self.machine(.client)
        #expect(client.receive([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [.message(.text("Hello"))])
        #expect(client.receive([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]) == [.message(.text("Hello"))])
        var server = Self.machine(.server)
        let maskedHello: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(server.receive(maskedHello) == [.message(.text("Hello"))])
        #expect(client.receive([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [])
        let pong = client.takeOutput()
        #expect(server.receive(pong) == [.pong(Array("Hello".utf8))])
        let binary = [UInt8](repeating: 9, count: 256)
        #expect(client.receive([0x82, 0x7E, 0x01, 0x00] + binary) == [.message(.binary(binary))])
        let large = [UInt8](repeating: 8, count: 65_536)
        #expect(client.receive([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large) == [.message(.binary(large))])
    }

    @Test("messages of every length class reach the other end, however they are cut")
    func roundTrip() {
        for byteCount in [0, 1, 125, 126, 127, 128, 65_535, 65_536, 70_000] {
            let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
            for (from, to) in [(WebSocketRole.client, WebSocketRole.server), (.server, .client)] {
                var (sender, receiver) = (Self.machine(from), Self.machine(to))
                sender.send(.binary(bytes))
                var rest = sender.takeOutput()[...]
                var events: [WebSocketMachine.Event] = []
                while !rest.isEmpty {
                    events += receiver.receive(Array(rest.prefix(997)))
                    rest = rest.dropFirst(997)
                }
                #expect(events == [.message(.binary(bytes))])
            }
        }
    }

    @Test("a client masks every frame anew, a server never")
    func masking() {
        var client = Self.machine(.client)
        client.send(.binary([0, 0, 0, 0]))
        client.send(.binary([0, 0, 0, 0]))
        let output = client.takeOutput()
        #expect(output.count == 20)
        #expect(output[1] == 0x84 && output[11] == 0x84)
        #expect(output[2..<6] != output[12..<16], "masks repeat once in four thousand million")
        var server = Self.machine(.server)
        server.send(.binary([1, 2]))
        #expect(server.takeOutput() == [0x82, 2, 1, 2])
    }

    @Test("frames that break a rule end the connection with 1002")
    func protocolErrors() {
        let error = WebSocketCloseCode.protocolError
        for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8] {
            Self.expectFailure(Self.masked(0x80 | opcode, []), error, "reserved opcode \(opcode)")
        }
        for bit in [0x40, 0x20, 0x10] as [UInt8] {
            Self.expectFailure(Self.masked(0x82 | bit, [1]), error, "reserved bit")
        }
        Self.expectFailure([0x82, 0x01, 0x00], error, "a client's frame without a mask")
        Self.expectFailure(Self.masked(0x09, []), error, "a ping in two frames")
        Self.expectFailure(Self.masked(0x89, [UInt8](repeating: 0, count: 126)), error, "a ping of 126 bytes")
        Self.expectFailure(Self.masked(0x80, [1]), error, "a continuation of nothing")
        Self.expectFailure(Self.masked(0x02, [1]) + Self.masked(0x82, [2]), error, "a message inside a message")
        Self.expectFailure(Self.masked(0x82, [1], lengthBytes: [126, 0, 1]), error, "a length in two bytes too many")
        Self.expectFailure(
            Self.masked(0x82, [1], lengthBytes: [127, 0, 0, 0, 0, 0, 0, 0, 1]), error,
            "a length in eight bytes too many")
        Self.expectFailure(
            Self.masked(0x82, [1], lengthBytes: [127, 0x80, 0, 0, 0, 0, 0, 0, 0]), error, "a negative length")
        Self.expectFailure(Self.masked(0x88, [3]), error, "half a close code")
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16] {
            Self.expectFailure(Self.masked(0x88, code.bigEndianBytes), error, "close code \(code)")
        }
        var client = Self.machine(.client)
        #expect(client.receive(Self.masked(0x82, [1])) == [.failed(code: error)], "a server's frame with a mask")
    }

    @Test("a message above the limit is refused by its length, and by the sum of its frames, with 1009 (R47)")
    func tooLarge() {
        let error = WebSocketCloseCode.messageTooLarge
        Self.expectFailure(
            Self.masked(0x82, [], lengthBytes: [127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), error, "stated")
        Self.expectFailure(
            Self.masked(0x02, [1, 2, 3]) + Self.masked(0x00, [4]) + Self.masked(0x80, [5]), error, "summed",
            messageByteCountMax: 4)
    }

    @Test("text that is not UTF-8 ends the connection with 1007, as early as it shows")
    func invalidText() {
        let error = WebSocketCloseCode.invalidText
        let bad: [[UInt8]] = [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5], [0xFF], [0xC3], [0x61, 0xE2, 0x82], [0xCE, 0x41],
        ]
        for bytes in bad { Self.expectFailure(Self.masked(0x81, bytes), error, "\(bytes)") }
        // Before the message ends: the first frame already cannot be part of text.
        Self.expectFailure(Self.masked(0x01, [0xF4, 0x90]), error, "at once")
        Self.expectFailure(Self.masked(0x88, [0x03, 0xE8, 0xFF]), error, "a close reason")
        var server = Self.machine(.server)
        let text = "κόσμε € 𐍈 \u{10FFFF}"
        let bytes = Array(text.utf8)
        var frames = Self.masked(0x01, Array(bytes.prefix(1)))
        for byte in bytes.dropFirst().dropLast() { frames += Self.masked(0x00, [byte]) }
        frames += Self.masked(0x80, [bytes[bytes.count - 1]])
        #expect(server.receive(frames) == [.message(.text(text))], "characters may be cut by frames")
    }

    @Test("pings between the frames of a message are answered in order, and the message is whole")
    func interleavedControl() {
        var server = Self.machine(.server)
        let bytes =
            Self.masked(0x02, [1]) + Self.masked(0x89, [7]) + Self.masked(0x00, []) + Self.masked(0x89, [])
            + Self.masked(0x80, [2])
        #expect(server.receive(bytes) == [.message(.binary([1, 2]))])
        #expect(server.takeOutput() == [0x8A, 1, 7, 0x8A, 0])
    }

    @Test("a close is answered with its code, and nothing is sent after it")
    func closing() {
        var (client, server) = (Self.machine(.client), Self.machine(.server))
        client.close(code: WebSocketCloseCode.normal, reason: "done")
        client.send(.binary([1]))
        #expect(server.receive(client.takeOutput()) == [.closed(code: 1000, reason: "done")])
        server.send(.binary([1]))
        #expect(client.receive(server.takeOutput()) == [.closed(code: 1000, reason: "")])
        #expect(client.isClosed && server.isClosed)
        #expect(client.takeOutput() == [] && server.takeOutput() == [])

        var other = Self.machine(.server)
        #expect(other.receive(Self.masked(0x88, [])) == [.closed(code: nil, reason: "")])
        #expect(other.takeOutput() == [0x88, 0])
    }

    @Test("while we close, messages of the peer are dropped and its close is awaited")
    func crossingClose() {
        var server = Self.machine(.server)
        server.close(code: WebSocketCloseCode.goingAway, reason: String(repeating: "é", count: 100))
        let output = server.takeOutput()
        #expect(output.count == 2 + 2 + 122, "the reason is cut at a character")
        #expect(server.receive(Self.masked(0x82, [1])) == [])
        #expect(server.receive(Self.masked(0x88, [0x03, 0xE9])) == [.closed(code: 1001, reason: "")])
        #expect(server.takeOutput() == [])
    }

    @Test("fuzz: whatever a peer sends, the machine neither stops nor grows (R14)")
    func fuzzFrames() {
        let samples =
            [
                Self.masked(0x82, [UInt8](repeating: 5, count: 300)), Self.masked(0x01, Array("tomato".utf8)),
                Self.masked(0x80, Array("es".utf8)), Self.masked(0x89, [1, 2]), Self.masked(0x88, [3, 0xE8]),
            ].map { $0 } + [Self.masked(0x01, [0x61]) + Self.masked(0x80, [0x62])]
        fuzz(samples) { bytes in
            for role in [WebSocketRole.server, .client] {
                var whole = Self.machine(role, messageByteCountMax: 1_000)
                var pieces = Self.machine(role, messageByteCountMax: 1_000)
                let events = whole.receive(bytes)
                var inPieces: [WebSocketMachine.Event] = []
                for byte in bytes { inPieces += pieces.receive([byte]) }
                #expect(events == inPieces, "cuts make no difference")
            }
        }
    }
}
