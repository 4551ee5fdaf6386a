// Places as docker, Cargo, pip and kubectl write them, and Cargo's lines: read exactly or not at all.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Testing

@testable import CoffretScripting

/// What a program writes as a place.
func fuzzCredentialAddress(_ bytes: [UInt8]) -> Bool {
    guard let address = CredentialAddress(String(decoding: bytes, as: UTF8.self)) else { return false }
    precondition(CredentialAddress(address.text) == address, "what was kept is read as the same place")
    precondition(CredentialAddress(address.forDocker) != nil)
    precondition(!address.place.matches("https://never.example"), "only the same host fits")
    return true
}

@Suite("Places of other programs")
struct CredentialAddressTests {
    @Test(
        "a place fits the addresses of its own protocol, host, port and path",
        arguments: [
            ("ghcr.example", "https://ghcr.example/", true), ("ghcr.example", "https://GHCR.example:443", true),
            ("ghcr.example", "https://ghcr.example/login", false), ("ghcr.example", "http://ghcr.example", false),
            ("ghcr.example:5000", "https://ghcr.example:5000", true),
            ("ghcr.example:5000", "https://ghcr.example", false),
            ("ghcr.example", "https://ghcr.example.evil.com", false),
            ("ghcr.example", "https://evil.com/ghcr.example", false),
            ("https://hub.example/v1/", "https://hub.example/v1", true),
            ("https://hub.example/v1/", "https://hub.example", true),
            ("https://hub.example/v1/", "https://hub.example/v2/", false),
            ("sparse+https://r.example/i/", "https://r.example/i", true),
            ("registry+http://r.example/i", "http://r.example/i/", true), ("[::1]:5000", "https://[::1]:5000/", true),
        ])
    func places(asked: String, address: String, fits: Bool) {
        #expect(CredentialAddress(asked)?.place.matches(address) == fits)
    }

    @Test("no host, blanks, line ends and endless texts are no place")
    func refused() {
        for bad in [
            "", "https://", "a b", "a\nb", "a\u{7F}", "https:///path", "https://@/", "x\u{0}", "https://:443/",
            "sparse+sparse+https://r.example/", "registry+sparse+", "a+b.example",
            String(repeating: "a", count: CredentialAddress.byteCountMax + 1),
        ] { #expect(CredentialAddress(bad) == nil, "\(bad.prefix(20))") }
        fuzz([Array("sparse+https://ada@index.example:8080/a/b?c#d".utf8), Array("ghcr.example:5000/x".utf8)]) {
            _ = fuzzCredentialAddress($0)
        }
    }

    @Test("docker's list names places as docker does")
    func dockerNames() {
        for (kept, name) in [
            ("https://ghcr.example", "ghcr.example"), ("https://ghcr.example/", "ghcr.example"),
            ("https://hub.example/v1/", "https://hub.example/v1/"), ("http://r.example", "http://r.example"),
        ] { #expect(CredentialAddress(kept)?.forDocker == name) }
    }

    @Test("Cargo's requests are those of version 1, and its answers one line each")
    func cargo() throws {
        let login =
            #"{"v":1,"registry":{"index-url":"sparse+https://r.example/","name":"r"},"kind":"login","token":"t"}"#
        let request = try CargoRequest(login)
        #expect(request.action == .login(token: "t") && request.name == "r" && request.loginURL == nil)
        for (line, refusal) in [
            (#"{"v":1,"registry":{"index-url":"a"},"kind":"rotate"}"#, CargoRefusal.operationNotSupported),
            (#"{"v":1,"registry":{"index-url":"a"}}"#, .operationNotSupported),
        ] { #expect(throws: refusal) { try CargoRequest(line) } }
        for bad in [
            "", "[]", #"{"v":2}"#, #"{"v":1,"kind":"get"}"#, #"{"v":1,"registry":{"index-url":3},"kind":"get"}"#,
        ] {
            #expect(throws: CargoRefusal.self) { try CargoRequest(bad) }
        }
        fuzz([Array(login.utf8)]) { _ = try? CargoRequest(String(decoding: $0, as: UTF8.self)) }
        for line in [
            CargoAnswer.hello, CargoAnswer.token("a\nb"), CargoAnswer.loggedIn, CargoAnswer.refusal(.other("x\ny")),
        ] {
            #expect(!line.contains("\n"))
            _ = try JSONValue(parsing: Array(line.utf8))
        }
    }
}
