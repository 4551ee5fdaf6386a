// Attached files that come to another device by themselves, over the real server and two agents.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Agent and files", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct AgentFilesTests {
    private let server: ServerRunner
    private let tunnel: LoopbackTunnel
    private let first: AgentRunner
    private let second: AgentRunner

    /// Two devices of one person; the second reaches the server by a line that can be slow.
    init() throws {
        server = try ServerRunner()
        tunnel = try LoopbackTunnel(to: server.port)
        first = try AgentRunner()
        second = try AgentRunner(makesStore: false)
        try first.runner.succeed(
            "server", "join", "https://localhost:\(tunnel.port)", "--fingerprint", server.fingerprint)
        try first.runner.makeNote("Tomatoes")
        try first.runner.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second.runner, first.runner, server, name: "Second")
    }

    private func unlock(_ agent: AgentRunner) throws { try #require(try agent.unlock().exitCode == 0) }

    private func content(_ byteCount: Int) -> Data {
        var state: UInt64 = 7
        var data = Data(capacity: byteCount + 8)
        while data.count < byteCount {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            data.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: (state ^ state >> 29) >> ($0 * 8)) })
        }
        return data.prefix(byteCount)
    }

    private func attach(_ data: Data, _ name: String) throws {
        let path = first.runner.workPath + "/" + name
        try data.write(to: URL(fileURLWithPath: path))
        try first.succeed("attach", "add", "Tomatoes", path)
    }

    /// What the second device says of files that are not there.
    private func absent() throws -> (count: Int?, wanted: String?) {
        let text = try second.succeed("status", "--json", "--vault", "Personal")
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let files = (object?["sync"] as? [String: Any])?["absentFiles"] as? [String: Any]
        return (files?["count"] as? Int, files?["wanted"] as? String)
    }

    @Test("what is attached on one device is on the other without being asked for, and is read with the server stopped")
    func comes() throws {
        for agent in [first, second] { try unlock(agent) }
        let data = content(3 << 20 | 5)
        try attach(data, "photo.jpg")
        try Waiting.until("the note") { try second.succeed("attach", "ls", "Tomatoes").contains("photo.jpg") }
        try Waiting.until("sent") { try first.succeed("status").contains("nothing waits to be sent") }
        // Whoever attached it is gone.
        try first.stop()
        try Waiting.until("the file") { try absent().count == 0 }
        server.stop()
        let path = second.runner.workPath + "/copy.jpg"
        try second.succeed("attach", "extract", "Tomatoes", "photo.jpg", "--output", path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == data)
        try second.stop()
    }

    @Test("asked: files stay at the server, which the status says; all: they come, also what was there before")
    func asked() throws {
        for agent in [first, second] { try unlock(agent) }
        try Waiting.until("the vault") { try second.succeed("ls").contains("Tomatoes") }
        #expect(try second.succeed("vault", "files", "Personal").contains("by themselves"))
        try second.succeed("vault", "files", "Personal", "asked")
        try attach(content(70_000), "map.png")
        try Waiting.until("the note") { try second.succeed("attach", "ls", "Tomatoes").contains("map.png") }
        // A change that came later: files would have had their turn by now.
        try first.succeed("new", input: "# Later")
        try Waiting.until("later") { try second.succeed("ls").contains("Later") }
        #expect(try absent() == (1, "asked"))
        #expect(try second.succeed("status", "--vault", "Personal").contains("at the server only"))
        try second.succeed("vault", "files", "Personal", "all")
        try Waiting.until("the file") { try absent().count == 0 }
        #expect(try second.run("vault", "files", "Personal", "some").exitCode == 64)
        for agent in [first, second] { try agent.stop() }
    }

    @Test("an edit does not wait for a big file on a slow line, here and there; the file goes on where it was")
    func edits() throws {
        for agent in [first, second] { try unlock(agent) }
        try Waiting.until("the vault") { try second.succeed("ls").contains("Tomatoes") }
        tunnel.setSlow(true)
        let data = content(24 << 20)
        try attach(data, "film.mp4")
        try Waiting.until("the note") { try second.succeed("attach", "ls", "Tomatoes").contains("film.mp4") }
        for number in 1...2 {
            try first.succeed("new", input: "# Down \(number)")
            try Waiting.until("down \(number)") { try second.succeed("ls").contains("Down \(number)") }
            try second.succeed("new", input: "# Up \(number)")
            try Waiting.until("up \(number)") { try first.succeed("ls").contains("Up \(number)") }
        }
        #expect(try absent().count == 1, "the file is still on its way")
        // The process that fetches is ended, and begins anew with what it had.
        try second.succeed("lock")
        tunnel.setSlow(false)
        try unlock(second)
        try Waiting.until("the file") { try absent().count == 0 }
        let path = second.runner.workPath + "/copy.mp4"
        try second.succeed("attach", "extract", "Tomatoes", "film.mp4", "--output", path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == data)
        for agent in [first, second] { try agent.stop() }
    }
}
