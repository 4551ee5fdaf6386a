// The upgrade: the standard's own example, and every answer or request that is not quite one.

import CoffretBase
import CoffretNet
import CoffretTestSupport
import Testing

@Suite("WebSocket handshake")
struct WebSocketHandshakeTests {
    /// Gives the nonce of RFC 6455, section 1.3: "the sample nonce".
    struct SampleNonce: RandomSource {
        func fill(_ buffer: UnsafeMutableRawBufferPointer) {
            unsafe buffer.copyBytes(from: Array("the sample nonce".utf8).prefix(buffer.count))
        }
    }

    static let goodAnswer = """
        HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n
        """

    static func client() -> WebSocketClientHandshake {
        WebSocketClientHandshake(host: "server.example.com", path: "/chat", random: SampleNonce())
    }

    @Test("the example of RFC 6455, section 1.3, from both ends")
    func exampleOfTheStandard() throws {
        var client = Self.client()
        guard case .head(let head, let byteCount) = HTTPHead.parse(client.request) else {
            Issue.record("the request is no head")
            return
        }
        #expect(byteCount == client.request.count)
        #expect(head.single("sec-websocket-key") == "dGhlIHNhbXBsZSBub25jZQ==")
        let fields = try WebSocketServerHandshake.answer(head)
        #expect(fields.last?.value == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        let answer = HTTPHead(startLine: "HTTP/1.1 101 Switching Protocols", fields: fields).encoded
        for byte in answer.dropLast() { #expect(try client.receive([byte]) == nil) }
        #expect(try client.receive([10, 0x82, 0x00]) == [0x82, 0x00], "frames right behind the head are handed on")
    }

    @Test("a client goes on only with an answer to its own request")
    func answers() throws {
        func refusal(_ change: (String) -> String) -> WebSocketRefusal? {
            var client = Self.client()
            do throws(WebSocketRefusal) {
                _ = try client.receive(Array(change(Self.goodAnswer).utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal { $0 } == nil)
        #expect(refusal { $0.replacing("101 Switching Protocols", with: "401 Unauthorized") } == .status(401))
        #expect(refusal { $0.replacing("HTTP/1.1", with: "HTTP/1.0") } == .malformed)
        #expect(refusal { $0.replacing("s3pP", with: "S3pP") } == .notAccepted)
        #expect(refusal { $0.replacing("Upgrade: websocket", with: "Upgrade: h2c") } == .notAccepted)
        #expect(refusal { $0.replacing("Connection: Upgrade", with: "Connection: close") } == .notAccepted)
        #expect(
            refusal { $0.replacing("Connection:", with: "Sec-WebSocket-Extensions: x\r\nConnection:") } == .notAccepted)
        #expect(
            refusal { $0.replacing("Connection:", with: "Sec-WebSocket-Protocol: x\r\nConnection:") } == .notAccepted)
        #expect(refusal { $0.replacing("Upgrade: websocket", with: "Upgrade : websocket") } == .malformed)
        #expect(refusal { $0.replacing("Upgrade: websocket\r\n", with: "Upgrade: websocket\n") } == .malformed)
        #expect(refusal { _ in String(repeating: "a", count: HTTPHead.byteCountMax) } == .malformed)
    }

    @Test("a server answers handshakes of version 13 only")
    func requests() throws {
        let fields = [
            ("Host", "a"), ("Upgrade", "WebSocket"), ("Connection", "keep-alive, Upgrade"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"),
        ]
        #expect(try WebSocketServerHandshake.answer(HTTPHead(startLine: "GET / HTTP/1.1", fields: fields)).count == 3)
        for index in fields.indices {
            var fewer = fields
            fewer.remove(at: index)
            #expect(throws: WebSocketRefusal.malformed) {
                try WebSocketServerHandshake.answer(HTTPHead(startLine: "GET / HTTP/1.1", fields: fewer))
            }
        }
        for line in ["POST / HTTP/1.1", "GET / HTTP/1.0", "GET /"] {
            #expect(throws: WebSocketRefusal.malformed) {
                try WebSocketServerHandshake.answer(HTTPHead(startLine: line, fields: fields))
            }
        }
        for (index, value) in [(3, "short"), (4, "8"), (2, "Upgraded")] {
            var other = fields
            other[index].1 = value
            #expect(throws: WebSocketRefusal.malformed) {
                try WebSocketServerHandshake.answer(HTTPHead(startLine: "GET / HTTP/1.1", fields: other))
            }
        }
    }

    @Test("fuzz: heads of any bytes are refused or read, and what is read is written again")
    func fuzzHeads() {
        fuzz([Array(Self.goodAnswer.utf8), Self.client().request]) { bytes in
            guard case .head(let head, _) = HTTPHead.parse(bytes) else { return }
            guard case .head(let again, _) = HTTPHead.parse(head.encoded) else {
                Issue.record("a head that was read is refused when it is written")
                return
            }
            #expect(again == head)
        }
    }
}
