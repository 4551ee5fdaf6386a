// What the program says to its server without being asked: nothing. All that passes to the server is counted.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: what it never hears",
    .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct LyingServerSilenceTests {
    @Test("R45, R46: search, reading, a wrong passphrase a new password's strength and an audit make no request")
    func silence() throws {
        let server = try ServerRunner()
        let proxy = try LoopbackTunnel(to: server.port, records: true)
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed(
            "server", "join", "https://localhost:\(proxy.port)", "--fingerprint", server.fingerprint)
        try runner.makeNote("Tomatoes\nsow in March")
        try runner.succeed("vault", "sync", "Personal")
        let heard = try proxy.bytesWhenQuiet().count
        #expect(heard > 0, "the way to the server leads through the proxy")
        for query in ["t", "to", "tom", "nothing like it"] { try runner.succeed("search", query) }
        #expect(try runner.succeed("search", "march").contains("Tomatoes"))
        try runner.succeed("show", "Tomatoes")
        try runner.succeed("ls")
        try runner.succeed("status")
        try runner.succeed("generate")
        try runner.succeed("new", "--type", "login", "Shed", "--secret", "password", input: "hush\n")
        let list = runner.folder.file("breached.txt")
        try Data("1F21E30BFDA8E780C172B9F75B7EBBFC18E6C879:7\r\n".utf8).write(to: URL(fileURLWithPath: list))
        let audit = try runner.run("audit", "--breached", list)
        #expect(audit.exitCode == 88 && audit.text.contains("breached (7), weak"), "\(audit.errorText)")
        let passphrase = Array("wrong\n".utf8)
        #expect(try runner.run(["ls", "--passphrase-fd", "0"], input: passphrase, environment: [:]).exitCode == 67)
        #expect(try proxy.bytesWhenQuiet().count == heard)
        try runner.succeed("sync")
        #expect(proxy.bytes.count > heard)
    }
}
