// Which addresses fit what git asks about: exactly those for the same place.

import CoffretCore
import CoffretTestSupport
import Testing

@testable import CoffretCLI
@testable import CoffretScripting

/// What git writes.
func fuzzGitCredential(_ bytes: [UInt8]) -> Bool {
    guard let asked = GitCredential(String(decoding: bytes, as: UTF8.self)) else { return false }
    precondition(!asked.place.matches("https://never.example"), "only the same host fits")
    return true
}

@Suite("Git credentials")
struct GitCredentialTests {
    static func asked(_ address: String, path: String? = nil, username: String? = nil) -> GitCredential {
        let parts = address.split(separator: ":", maxSplits: 1)
        var text = "protocol=\(parts[0])\nhost=\(parts[1].dropFirst(2))\n"
        if let path { text += "path=\(path)\n" }
        if let username { text += "username=\(username)\n" }
        return GitCredential(text + "\n") ?? GitCredential("protocol=x\nhost=y\n")!
    }

    @Test("the lines that git writes are read, those that nobody knows passed over, and nothing else accepted")
    func lines() {
        let text =
            "capability[]=authtype\nprotocol=https\nhost=Example.org:8443\nusername=ada\npassword=a=b\nwwwauth[]=x\n"
        let asked = GitCredential(text)
        #expect(asked?.host == "example.org:8443" && asked?.username == "ada" && asked?.password == "a=b")
        // What stands behind the empty line is not git's question.
        #expect(GitCredential("protocol=https\nhost=a\n\nhost=b\n")?.host == "a")
        for bad in [
            "", "host=a\n", "protocol=https\n", "protocol=https\nhost=a\nnonsense\n", "protocol=https\nhost=a\r\n",
        ] {
            #expect(GitCredential(bad) == nil)
        }
        fuzz([Array(text.utf8)]) { _ = fuzzGitCredential($0) }
    }

    @Test(
        "protocol, host and port are the same or it does not fit",
        arguments: [
            ("https://example.org", true), ("https://example.org/", true), ("https://EXAMPLE.org:443/login", true),
            ("https://ada@example.org/x", true), ("http://example.org", false), ("https://example.org:8443", false),
            ("https://sub.example.org", false), ("https://example.org.evil.com", false),
            ("https://evil.com/https://example.org", false), ("https://evil.com#@example.org", false),
            ("https://evil.com?@example.org", false), ("https://example.org@evil.com", false), ("example.org", false),
            ("", false), ("https://", false),
        ])
    func places(address: String, fits: Bool) {
        #expect(Self.asked("https://example.org").place.matches(address) == fits)
    }

    @Test("user names and paths count where both sides tell them")
    func details() {
        let ada = Self.asked("https://example.org", username: "ada")
        #expect(ada.place.matches("https://ada@example.org") && ada.place.matches("https://example.org"))
        #expect(!ada.place.matches("https://bob@example.org"))
        let path = Self.asked("https://example.org", path: "team/project.git")
        #expect(
            path.place.matches("https://example.org/team/project.git/") && path.place.matches("https://example.org"))
        #expect(!path.place.matches("https://example.org/team"))
    }
}
