// The relay lies, between the real programs. The one thing to keep true: the liar has the server's own key, so that nothing but the frames
// themselves can give it away.

import CoffretTestSupport
import Foundation
import Testing

/// `lying_relay.py` before a real server.
final class LyingRelay {
    private let folder: TemporaryDirectory
    private let process: SpawnedProcess
    let url: String

    init(before server: ServerRunner) throws {
        folder = try TemporaryDirectory("lying-relay")
        try Data("pass".utf8).write(to: URL(fileURLWithPath: folder.file("mode")))
        process = try SpawnedProcess(
            "/usr/bin/python3",
            [
                SharedData.packageRoot.appendingPathComponent("Tests/Interop/lying_relay.py").path, "\(server.port)",
                server.folder.file("certificate.pem"), server.folder.file("key.pem"), folder.path,
            ], output: .pipe)
        url = "https://localhost:\(try #require(process.readOutputLine(), "the liar does not start"))"
    }

    deinit { process.kill() }

    func lie(_ mode: String) throws { try Data(mode.utf8).write(to: URL(fileURLWithPath: folder.file("mode"))) }

    /// Every frame that a client has sent to the relay.
    var frames: [UInt8] { get throws { Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("frames")))) } }
}

@Suite(
    "Lying relay", .serialized,
    .enabled(
        if: ServerRunner.isAvailable && AgentRunner.isAvailable
            && FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"),
        "needs coffret-server, coffret-agent and python3"))
struct DesktopLyingRelayTests {
    private static let confirmation = "CONFIRM"

    @Test(
        "R149, R150: between the real programs, a relay that reads, alters, repeats, swaps, delays or answers itself gets and gives nothing"
    )
    func lies() throws {
        let world = try DesktopRemoteTests.World(isLying: true)
        defer { world.stop() }
        let relay = try #require(world.lies)
        try world.answer("yes")
        func ask() throws -> ProcessResult { try world.laptop.run("ask", "Garden", "--from", world.towerID) }
        func questions() -> Int { world.asked.components(separatedBy: Self.confirmation).count - 1 }

        let honest = try ask()
        #expect(honest.exitCode == 0 && honest.text == world.canary.word, "\(honest.errorText)")
        #expect(questions() == 1)
        // It has all three frames, and reads nothing in them.
        let frames = try relay.frames
        #expect(frames.count > 1_000)
        for text in [world.canary.word, "Garden", "garden.example", "laptop"] {
            #expect(!String(decoding: frames, as: UTF8.self).contains(text), "\(text)")
        }

        // Whom the relay deceives about the request is asked nothing; whom it deceives about the answer shows nothing.
        for (mode, problems, asked) in [
            ("alter-opening", ["remote.ended"], 0), ("alter-request", ["remote.ended"], 0),
            ("repeat-request", ["remote.ended"], 0), ("own-answer", ["remote.mismatch"], 0),
            ("alter-answer", ["remote.mismatch"], 1), ("swap-answer", ["remote.mismatch"], 1),
            ("hold", ["remote.ended", "remote.unanswered"], 0),
        ] {
            let before = questions()
            try relay.lie(mode)
            let result = try ask()
            #expect(result.exitCode != 0 && result.text.isEmpty, "\(mode)")
            #expect(problems.contains { result.errorText.contains($0) }, "\(mode): \(result.errorText)")
            #expect(!result.errorText.contains(world.canary.word))
            #expect(questions() == before + asked, "\(mode): \(world.asked.suffix(500))")
        }
        #expect(try world.canary.finds(below: world.server.folder.path).isEmpty)
    }
}
