// Origins, and hosts that look like others. The one thing to keep true: each pair of a table is decided one way.

import CoffretTestSupport
import Testing

@testable import CoffretBridge

@Suite("Origins of pages")
struct OriginTests {
    @Test(
        "R140: an origin as a browser writes it is taken",
        arguments: [
            ("https://example.org", "example.org"), ("https://example.org:8443", "example.org:8443"),
            ("https://xn--bcher-kva.example", "xn--bcher-kva.example"), ("https://192.0.2.1", "192.0.2.1"),
            ("https://[2001:db8::1]:444", "[2001:db8::1]:444"), ("http://localhost:8080", "localhost:8080"),
            ("http://127.0.0.1", "127.0.0.1"), ("http://[::1]:3000", "[::1]:3000"),
            ("http://shop.localhost:81", "shop.localhost:81"),
        ])
    func taken(_ text: String, _ host: String) throws {
        let origin = try WebOrigin(text)
        #expect(origin.host == host)
        #expect(origin.text == text)
    }

    @Test(
        "R140: any other text is refused: http, a trailing dot, user info, data, blob, srcdoc, an opaque origin",
        arguments: [
            "", "null", "example.org", "http://example.org", "http://localhost.evil.example", "https://example.org.",
            "https://.example.org", "https://a..b", "https://example.org/", "https://example.org/login",
            "https://user@example.org", "https://user:secret@example.org", "https://example.org:443",
            "http://localhost:80", "https://example.org:", "https://example.org:0", "https://example.org:070",
            "https://example.org:65536", "https://Example.org", "https://bücher.example", "https://exa mple.org",
            "https://example.org?x", "https://example.org#x", "data:text/html,x", "blob:https://example.org",
            "about:srcdoc", "file://", "moz-extension://abc", "javascript://example.org", "https://[::1",
            "https://[x]", "https://127.0.0.1:1.", "http://127.0.0.1.evil.example", "ftp://example.org",
            "https://" + String(repeating: "a", count: 64) + ".org",
        ])
    func refused(_ text: String) {
        #expect(throws: BridgeError(.originRefused)) { try WebOrigin(text) }
    }

    @Test(
        "R140: hosts that look like a saved one are told",
        arguments: [
            "githud.com", "gihtub.com", "githuub.com", "gthub.com", "glthub.com", "g1thub.com",
            "github.com.evil.example",
            "xn--gthub-n2e.com", "xn--githu-10e.com", "qithub.com",
        ])
    func lookAlike(_ host: String) {
        #expect(LookAlike.find(host, among: ["example.org", "github.com"]) == "github.com")
    }

    @Test(
        "a host that differs in more than a letter, or that belongs to the same owner, is no look-alike",
        arguments: [
            ("gitlab.com", "github.com"), ("github.com", "github.com"), ("www2.bank.example", "www1.bank.example"),
            ("a.io", "b.io"), ("ab.io", "ac.io"), ("localhost", "localhast"), ("mygithub.com", "github.com"),
        ])
    func noLookAlike(_ host: String, _ known: String) {
        #expect(LookAlike.find(host, among: [known]) == nil)
    }

    @Test("two owners below one public suffix are told apart")
    func publicSuffix() {
        #expect(LookAlike.find("lioyds.co.uk", among: ["lloyds.co.uk"]) == "lloyds.co.uk")
        #expect(LookAlike.find("rnodern.com", among: ["modern.com"]) == "modern.com")
        #expect(LookAlike.find("paypa1.com", among: ["paypal.com"]) == "paypal.com")
    }

    @Test(
        "labels of other scripts are read as RFC 3492 says",
        arguments: [
            ("bcher-kva", "bücher"), ("egbpdaj6bu4bxfgehfvwxn", "ليهمابتكلموشعربي؟"),
            ("ihqwcrb4cv8a8dqg056pqjye", "他们为什么不说中文"), ("3B-ww4c5e180e575a65lsy2b", "3年B組金八先生"), ("99999999999", nil),
            ("é", nil),
            ("a-", "a"), ("", ""),
        ] as [(String, String?)])
    func punycode(_ label: String, _ text: String?) {
        #expect(Punycode.decode(label[...]) == text)
    }

    @Test("any label is read or refused, and nothing traps")
    func anyLabel() {
        forAll(count: 2_000) { generator in
            let length = Int(generator.next() % 60)
            let bytes = (0..<length).map { _ in UInt8(0x20 + generator.next() % 95) }
            _ = Punycode.decode(String(decoding: bytes, as: UTF8.self)[...])
        }
    }
}
