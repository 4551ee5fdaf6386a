// The client against a real server with a self-made certificate.

import CoffretBase
import CoffretHTTP
import CoffretNet
import CoffretTestSupport
import Foundation
import Testing

@Suite("HTTP client", .enabled(if: WebPeer.isAvailable, "needs python3 and openssl"))
struct HTTPClientTests {
    @Test("a pinned server is spoken to; its key is read on first contact and is what OpenSSL says")
    func pinned() throws {
        let peer = try WebPeer()
        let first = try HTTPClient(peer.settings())
        #expect(failure { try first.readPin(checksCertificate: true) } == .certificateUntrusted)
        #expect(try first.readPin(checksCertificate: false) == peer.pin)
        let client = try HTTPClient(peer.settings(pin: peer.pin))
        for _ in 0..<3 {
            let response = try client.send(HTTPRequest("GET", "/hello"))
            #expect(response.status == 200)
            #expect(response.body == Array("hello".utf8))
        }
        // The pin counts, not the name in the certificate.
        #expect(
            try HTTPClient(peer.settings(pin: peer.pin, host: "127.0.0.1")).send(HTTPRequest("GET", "/")).status == 200)
    }

    @Test("another key than the pinned one is refused, and nothing is sent")
    func wrongPin() throws {
        let peer = try WebPeer()
        let wrong = try #require(ServerPin(bytes: [UInt8](repeating: 7, count: 32)))
        #expect(failure { try HTTPClient(peer.settings(pin: wrong)).send(HTTPRequest("GET", "/hello")) } == .pinDiffers)
        #expect(
            failure {
                try WebSocketConnection(
                    peer.settings(pin: wrong), path: "/ws", messageByteCountMax: 100, random: SystemRandomSource())
            } == .pinDiffers)
    }

    @Test("without a pin authorities decide: the system's refuse, the right file accepts")
    func authorities() throws {
        let peer = try WebPeer()
        var settings = try peer.settings()
        #expect(failure { try HTTPClient(settings).send(HTTPRequest("GET", "/hello")) } == .certificateUntrusted)
        settings.authoritiesPath = peer.certificatePath
        #expect(try HTTPClient(settings).send(HTTPRequest("GET", "/hello")).status == 200)
        #expect(try HTTPClient(settings).readPin(checksCertificate: true) == peer.pin)
    }

    @Test("methods, statuses, headers and bodies; redirections are not followed")
    func requests() throws {
        let peer = try WebPeer()
        let client = try HTTPClient(peer.settings(pin: peer.pin))
        for method in ["POST", "PUT", "DELETE"] {
            let response = try client.send(HTTPRequest(method, "/echo", body: [1, 2, 3]))
            #expect(response.status == 201)
            #expect(response.body == [1, 2, 3])
            #expect(response.field("x-method") == method)
            #expect(response.field("x-agent") == "coffret")
        }
        #expect(try client.send(HTTPRequest("POST", "/echo", body: [])).status == 201)
        #expect(try client.send(HTTPRequest("DELETE", "/echo")).status == 201)
        let head = try client.send(HTTPRequest("HEAD", "/hello"))
        #expect(head.field("upload-offset") == "42" && head.body.isEmpty)
        #expect(try client.send(HTTPRequest("GET", "/redirect")).status == 302)
        var request = HTTPRequest("GET", "/headers")
        request.fields = [("Authorization", "Bearer 00ff"), ("If-None-Match", "\"x\"")]
        let response = try client.send(request)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.contains("Authorization: Bearer 00ff") && text.contains("If-None-Match: \"x\""))
        #expect(!text.contains("Expect"))
        #expect(response.fields.filter { $0.name == "x-one" }.map(\.value) == ["1", "2"])
        request.fields = [("X", "a\r\nY: b")]
        #expect(failure { try client.send(request) } == .failed)
        #expect(failure { try client.send(HTTPRequest("GET", "/a b")) } == .addressInvalid)
    }

    @Test("bodies stream both ways, and either end may stop")
    func streams() throws {
        let peer = try WebPeer()
        let client = try HTTPClient(peer.settings(pin: peer.pin))
        for byteCount in [3_000_000, nil] {
            var left = 3_000_000
            var digest = 0
            var received = 0
            let response = try client.send(
                HTTPRequest("POST", "/echo"),
                source: { count in
                    defer { left -= min(count, left) }
                    return [UInt8](repeating: UInt8(truncatingIfNeeded: left), count: min(count, left))
                }, sourceByteCount: byteCount,
                sink: { status, bytes in
                    #expect(status == 201)
                    received += bytes.count
                    digest &+= bytes.reduce(0) { $0 &+ Int($1) }
                    return true
                })
            #expect(response.status == 201 && response.body.isEmpty)
            #expect(received == 3_000_000 && digest > 0)
        }
        #expect(failure { try client.send(HTTPRequest("POST", "/echo"), source: { _ in nil }, sink: nil) } == .aborted)
        #expect(
            failure { try client.send(HTTPRequest("GET", "/big/100000"), source: nil, sink: { _, _ in false }) }
                == .aborted)
        var request = HTTPRequest("GET", "/big/100000")
        request.answerByteCountMax = 99_999
        #expect(failure { try client.send(request) } == .tooLarge)
        request.answerByteCountMax = 100_000
        #expect(try client.send(request).body.count == 100_000)
    }

    @Test("a slow server, one that is not there, and addresses that are none")
    func failures() throws {
        let peer = try WebPeer()
        let client = try HTTPClient(peer.settings(pin: peer.pin))
        var request = HTTPRequest("GET", "/slow")
        request.time = .milliseconds(200)
        #expect(failure { try client.send(request) } == .timedOut)
        var nobody = HTTPSettings(try ServerAddress("https://127.0.0.1:1"))
        nobody.proxy = ""
        #expect(failure { try HTTPClient(nobody).send(HTTPRequest("GET", "/")) } == .unreachable)
        for text in [
            "ftp://x", "http://example.org", "http://localhost.example.org", "https://", "https://a b", "x",
            "https://u:p@x", "https://x/?q", "file:///etc/passwd",
        ] {
            #expect(failure { try ServerAddress(text) } == .addressInvalid, "\(text)")
        }
        #expect(try ServerAddress("http://example.org", allowsPlain: true).isPlain)
        #expect(try ServerAddress("HTTPS://Example.org:8443/coffret//").url == "https://Example.org:8443/coffret")
    }

    @Test("faults F13: a connection that ends within a request, an answer or the handshake is one code of its own")
    func interrupted() throws {
        let peer = try WebPeer()
        let body = [UInt8](repeating: 7, count: 4 << 20)
        for request in [
            HTTPRequest("GET", "/cut/0"), HTTPRequest("GET", "/cut/50000"),
            HTTPRequest("POST", "/cut/99999", body: [1]),
            HTTPRequest("POST", "/unread", body: body),
        ] {
            let client = try HTTPClient(peer.settings(pin: peer.pin))
            #expect(failure { try client.send(request) } == .interrupted, "\(request.path)")
        }
        let silent = try WebPeer(isSilent: true)
        #expect(
            failure { try HTTPClient(silent.settings(pin: peer.pin)).send(HTTPRequest("GET", "/")) } == .interrupted)
    }

    @Test("faults F13: a kept connection that ended meanwhile costs nothing: the body is given again on a new one")
    func keptConnection() throws {
        let peer = try WebPeer()
        let client = try HTTPClient(peer.settings(pin: peer.pin))
        let body = [UInt8](repeating: 7, count: 20_000)
        for _ in 0..<3 {
            #expect(try client.send(HTTPRequest("GET", "/last")).body == Array("last".utf8))
            #expect(try client.send(HTTPRequest("POST", "/echo", body: body)).body == body)
        }
        _ = try client.send(HTTPRequest("GET", "/last"))
        // What comes once cannot be given again.
        var left = body.count
        #expect(
            failure {
                try client.send(
                    HTTPRequest("POST", "/echo"),
                    source: { count in
                        defer { left -= min(count, left) }
                        return [UInt8](repeating: 7, count: min(count, left))
                    }, sourceByteCount: body.count, sink: nil)
            } == .interrupted)
    }

    @Test("plain http to this machine; a server without TLS is not taken for one with it")
    func plain() throws {
        let peer = try WebPeer(isPlain: true)
        var settings = HTTPSettings(try ServerAddress("http://127.0.0.1:\(peer.port)"))
        settings.proxy = ""
        #expect(try HTTPClient(settings).send(HTTPRequest("GET", "/hello")).status == 200)
        #expect(failure { try HTTPClient(peer.settings()).send(HTTPRequest("GET", "/hello")) } == .failed)
    }

    @Test("a proxy is gone through, by setting")
    func proxies() throws {
        let peer = try WebPeer()
        var settings = try peer.settings(pin: peer.pin)
        // The web server is no proxy: what counts is that it is asked, and that its refusal is an error.
        settings.proxy = "http://127.0.0.1:1"
        #expect(failure { try HTTPClient(settings).send(HTTPRequest("GET", "/hello")) } == .unreachable)
    }

    @Test("a WebSocket over the same pin: messages of all sizes, those that came with the head, the end")
    func webSocket() throws {
        let peer = try WebPeer()
        let random = SystemRandomSource()
        let socket = try WebSocketConnection(
            peer.settings(pin: peer.pin), path: "/ws", messageByteCountMax: 60_000, random: random)
        #expect(try socket.receive(within: .seconds(60)) == .binary([0x41]))
        #expect(try socket.receive(within: .seconds(60)) == .binary([0x42]))
        #expect(try socket.receive(within: .milliseconds(20)) == nil)
        for size in [0, 1, 125, 126, 40_000] {
            let bytes = random.bytes(count: size)
            try socket.send(.binary(bytes))
            #expect(try socket.receive(within: .seconds(60)) == .binary(bytes))
        }
        try socket.send(.text("bye"))
        #expect(failure { try socket.receive(within: .seconds(60)) } == .closed)
        #expect(
            failure {
                try WebSocketConnection(
                    peer.settings(pin: peer.pin), path: "/hello", messageByteCountMax: 100, random: random)
            } == .upgradeRefused)
    }

    @Test("who waits for a sign of the other side hears that it said goodbye, although the connection stays")
    func closedWhileWaiting() throws {
        let peer = try WebPeer()
        var settings = try peer.settings(pin: peer.pin)
        settings.stallTime = .seconds(60)
        let socket = try WebSocketConnection(
            settings, path: "/ws", messageByteCountMax: 100, random: SystemRandomSource())
        try socket.send(.text("close and stay"))
        #expect(failure { try socket.awaitAnswer() } == .closed)
    }

    @Test("pins are read in the forms that people have them in")
    func pinTexts() throws {
        let pin = try #require(ServerPin(bytes: Array(0..<32)))
        #expect(ServerPin.parse(pin.text) == pin)
        #expect(ServerPin.parse("sha256//AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=") == pin)
        #expect(ServerPin.parse(pin.text.uppercased().replacing(" ", with: ":")) == pin)
        for text in ["", "00", "sha256//AA==", "zz" + pin.text.dropFirst(2)] {
            #expect(ServerPin.parse(String(text)) == nil)
        }
        #expect(ServerPin(certificatePEM: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----") == nil)
    }

    @Test("the key of a certificate is the one that OpenSSL's program shows", arguments: ["ec", "rsa", "ed25519"])
    func certificateKeys(kind: String) throws {
        let folder = try TemporaryDirectory("certificate")
        let (certificate, key) = (folder.file("c.pem"), folder.file("k.pem"))
        let options = kind == "ec" ? ["-pkeyopt", "ec_paramgen_curve:P-256"] : []
        let made = try ProcessRunner.run(
            "/usr/bin/openssl",
            ["req", "-x509", "-newkey", kind] + options
                + ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate])
        try #require(made.exitCode == 0, "\(made.errorText)")
        let shown = try ProcessRunner.run(
            "/bin/sh",
            ["-c", "openssl x509 -in '\(certificate)' -noout -pubkey | openssl pkey -pubin -outform der | sha256sum"])
        let text = try String(contentsOfFile: certificate, encoding: .utf8)
        let pin = try #require(ServerPin(certificatePEM: "Bag Attributes\n" + text + text))
        #expect(pin.text.replacing(" ", with: "") == shown.text.prefix(64))
        // Cut, bent and encrypted certificates have no key, and nobody is asked for a passphrase.
        #expect(ServerPin(certificatePEM: String(text.dropLast(60))) == nil)
        #expect(ServerPin(certificatePEM: text.replacing("MII", with: "MIB")) == nil || kind == "ed25519")
        let headers =
            "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
        #expect(ServerPin(certificatePEM: text.replacing("-----BEGIN CERTIFICATE-----\n", with: headers)) == nil)
    }
}
