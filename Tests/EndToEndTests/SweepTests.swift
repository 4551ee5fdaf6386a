// Dropped history leaves the server too, with real devices and the real server.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Sweeps of real devices",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct SweepTests {
    private func used(_ server: ServerRunner) throws -> Int {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3",
            ["-cmd", ".timeout 10000", server.databasePath, "SELECT SUM(used) FROM accounts"])
        return try #require(Int(result.text.trimmingCharacters(in: .whitespacesAndNewlines)), "\(result.errorText)")
    }

    private func content(_ byteCount: Int, seed: UInt64) -> [UInt8] {
        SeededGenerator(seed: seed).bytes(count: byteCount...byteCount)
    }

    private func write(_ bytes: [UInt8], as name: String, _ runner: CoffretRunner) throws -> String {
        let path = runner.workPath + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test(
        "the space of dropped history comes back where another device has all of it; a new one gets all that is left (R14)"
    )
    func spaceComesBack() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.keepUnlocked()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        // Words that nothing can shorten, several times over, and two files of which one goes again.
        for round in 1...4 {
            let words = Data(content(30_000, seed: UInt64(round))).base64EncodedString()
            try first.succeed("edit", "Tomatoes", "--file", "-", input: "Tomatoes\nround \(round)\n\(words)")
        }
        let kept = content(90_000, seed: 8)
        try first.succeed("attach", "add", "Tomatoes", try write(content(300_000, seed: 9), as: "gone.bin", first))
        try first.succeed("attach", "add", "Tomatoes", try write(kept, as: "kept.bin", first))
        try first.succeed("sync")
        try first.succeed("attach", "rm", "Tomatoes", "gone.bin")
        try first.succeed("sync")
        try second.succeed("sync")
        let full = try used(server)
        #expect(full > 500_000)

        try first.succeed("compact", "--drop-history-older-than", "2100-01-01", "--yes")
        // The second has all of it, and has to say so once more: the checkpoint is newer than its last word (G5).
        let waiting = try first.run("sync")
        #expect(
            waiting.exitCode == 0 && waiting.errorText.contains("until another device has synced"),
            "\(waiting.errorText)")
        let before = try second.succeed("log")
        try second.succeed("sync")
        #expect(try second.succeed("log") == before, "each device drops its own history")
        #expect(try first.succeed("sync").contains("the server gave back"))
        let left = try used(server)
        #expect(left < full - 390_000, "\(full) to \(left)")
        #expect(!(try first.succeed("status").contains("dropped")))
        #expect(try first.succeed("sync").contains("up to date"), "once")
        #expect(try used(server) == left)

        // All go on, and a device that has nothing yet gets what is left.
        try second.succeed("edit", "Tomatoes", "--file", "-", input: "Tomatoes\nby the second")
        try second.succeed("sync")
        let third = try CoffretRunner()
        try DevicePairing.pair(third, first, server, name: "Third")
        try third.succeed("sync")
        try first.succeed("sync")
        for runner in [first, second, third] {
            #expect(try runner.succeed("show", "Tomatoes").contains("by the second"))
            try runner.succeed("fsck")
        }
        try third.succeed("attach", "extract", "Tomatoes", "kept.bin", "--output", "out.bin")
        #expect(try Data(contentsOf: URL(fileURLWithPath: third.workPath + "/out.bin")) == Data(kept))
        server.stop()
        let doctor = try ProcessRunner.run(ServerRunner.executable, ["doctor", "--data", server.folder.file("data")])
        #expect(doctor.exitCode == 0 && doctor.text.contains("swept and kept: "), "\(doctor.text)")
        #expect(!doctor.text.contains("swept and kept: 0"), "\(doctor.text)")
    }

    @Test("what was dropped stays at the server until another device has what comes after it")
    func waits() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.keepUnlocked()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync")
        for round in 1...4 { try first.succeed("edit", "Tomatoes", input: "Tomatoes\nround \(round)") }
        try first.succeed("sync")
        let before = try used(server)
        try first.succeed("compact", "--drop-history-older-than", "2100-01-01", "--yes")
        let waiting = try first.run("sync")
        #expect(
            waiting.exitCode == 0 && waiting.errorText.contains("until another device has synced"),
            "\(waiting.errorText)")
        #expect(try first.succeed("status").contains("the server still has history that you dropped"))
        #expect(try used(server) >= before)
        try second.succeed("sync")
        #expect(try first.run("sync").text.contains("the server gave back"))
        #expect(try !first.succeed("status").contains("dropped"))
    }
}
