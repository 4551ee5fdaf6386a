// The upgrade from HTTP to WebSocket, for both ends. Invariant: a client goes on only with a server that computed its
// key, and neither end agrees to anything that it did not ask for.

package import CoffretBase
internal import CoffretCrypto

/// Why there is no WebSocket.
package enum WebSocketRefusal: Error, Equatable, Sendable {
    /// Not HTTP/1.1, or no handshake of RFC 6455.
    case malformed
    /// The server answered with another status than 101.
    case status(Int)
    /// The server's answer does not fit the request: a cache's, or another protocol's.
    case notAccepted
}

/// The client's side: send `request`, feed what comes to `receive`.
///
/// Source: RFC 6455 section 4.1.
package struct WebSocketClientHandshake: Sendable {
    package let request: [UInt8]
    private let accept: String
    private var buffer: [UInt8] = []

    /// - Parameter fields: further fields of the request, such as `Authorization`.
    package init(
        host: String, path: String, fields: [(name: String, value: String)] = [], random: any RandomSource
    ) {
        let key = Base64.standard.encode(random.bytes(count: 16))
        accept = WebSocketServerHandshake.accept(key: key)
        request =
            HTTPHead(
                startLine: "GET \(path) HTTP/1.1",
                fields: [
                    ("Host", host), ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key),
                    ("Sec-WebSocket-Version", "13"),
                ] + fields
            ).encoded
    }

    /// Takes bytes of the answer.
    ///
    /// - Returns: nil until the head is whole; then what came after it and belongs to the machine.
    package mutating func receive(_ bytes: [UInt8]) throws(WebSocketRefusal) -> [UInt8]? {
        buffer += bytes
        switch HTTPHead.parse(buffer) {
        case .needsMore: return nil
        case .invalid: throw .malformed
        case .head(let head, let byteCount):
            let words = head.startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard words.count >= 2, words[0] == "HTTP/1.1", words[1].utf8.count == 3, let status = Int(words[1]) else {
                throw .malformed
            }
            guard status == 101 else { throw .status(status) }
            guard head.single("upgrade")?.lowercased() == "websocket", head.has("upgrade", in: "connection"),
                head.single("sec-websocket-accept") == accept,
                !head.fields.contains(where: {
                    $0.name == "sec-websocket-extensions" || $0.name == "sec-websocket-protocol"
                })
            else { throw .notAccepted }
            return Array(buffer[byteCount...])
        }
    }
}

/// The server's side of the upgrade.
///
/// Source: RFC 6455 section 4.2.
package enum WebSocketServerHandshake {
    /// Checks a request's head.
    ///
    /// - Returns: the fields of the 101 response, in order.
    package static func answer(_ request: HTTPHead) throws(WebSocketRefusal) -> [(name: String, value: String)] {
        let words = request.startLine.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == "GET", words[2] == "HTTP/1.1", request.single("host") != nil,
            request.has("websocket", in: "upgrade"), request.has("upgrade", in: "connection"),
            request.single("sec-websocket-version") == "13", let key = request.single("sec-websocket-key"),
            key.utf8.count == 24, (try? Base64.standard.decode(key))?.count == 16
        else { throw .malformed }
        return [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept(key: key))]
    }

    /// The proof that a server read the key: base64 of SHA-1 over key and the protocol's constant.
    static func accept(key: String) -> String {
        let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Base64.standard.encode(unsafe HashAlgorithm.sha1.hash(bytes.span.bytes))
    }
}
