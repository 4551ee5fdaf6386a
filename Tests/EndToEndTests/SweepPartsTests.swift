// A sweep of more than one request asks for, and what ends it in between: real devices and the real server.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Sweeps in parts",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct SweepPartsTests {
    private static let factCount = 9_000
    /// What one request names: objects, and chunks.
    private static let part = (objects: 4_096, chunks: 128)
    private static let strayCount = 300

    /// Runs a statement on the server's database, and reads a row of numbers.
    @discardableResult
    private func sql(_ server: ServerRunner, _ statement: String) throws -> [Int] {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, statement])
        try #require(result.exitCode == 0, "\(result.errorText)")
        return result.text.split { "|\n".contains($0) }.compactMap { Int($0) }
    }

    private func swept(_ server: ServerRunner) throws -> [Int] {
        try sql(server, "SELECT COUNT(*) FILTER (WHERE kind = 0), COUNT(*) FILTER (WHERE kind = 1) FROM swept")
    }

    /// Writes many values into a vault, or removes them, in one change.
    private func write(_ isThere: Bool, _ runner: CoffretRunner) throws {
        let environment = StoreEnvironment(
            stateDirectory: runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
            random: SystemRandomSource(), clock: SystemWallClock())
        var typed = Array(CoffretRunner.passphrase.utf8)
        let store = try Store.open(
            at: runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
        let vault = try store.openVault("Personal", isWritable: true)
        defer { vault.close() }
        let random = SeededGenerator(seed: 5)
        let changes = try (0..<Self.factCount).map { _ in
            let id = try #require(UniqueID(bytes: random.bytes(count: 16...16)))
            // Of a kind that no version has, so that nothing but the history is about it; too long to lie in a tree.
            let key = FactKey(entity: EntityID(kind: UInt8(ascii: "z"), uuid: id), attribute: "text")
            let value = random.bytes(count: 600...600)
            return LogChange(key: key, value: isThere ? value : nil)
        }
        _ = try vault.repository.commit(changes, time: SystemWallClock().now)
    }

    private func sync(_ runner: CoffretRunner, after time: String) throws -> (bytes: Int, isDue: Bool, words: String) {
        let result = try runner.run(
            "sync", "--json", environment: ["LD_PRELOAD": Faketime.library, "FAKETIME": "+\(time)"])
        try #require(result.exitCode == 0, "\(result.errorText)")
        let line = result.text.split(separator: "\n").last ?? ""
        let report = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [[String: Any]]
        return (
            try #require(report?.first?["sweptByteCount"] as? Int), try #require(report?.first?["isSweepDue"] as? Bool),
            result.errorText
        )
    }

    @Test(
        "broken off by a cut and a killed server, then refused, it goes on with what is left, and nothing needed goes (R14)",
        .enabled(if: Faketime.isAvailable, Faketime.missing))
    func parts() throws {
        let server = try ServerRunner()
        let tunnel = try LoopbackTunnel(to: server.port)
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed(
            "server", "join", "https://localhost:\(tunnel.port)", "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        let kept = Data(SeededGenerator(seed: 8).bytes(count: 90_000...90_000))
        let path = first.workPath + "/kept.bin"
        try kept.write(to: URL(fileURLWithPath: path))
        try first.succeed("attach", "add", "Tomatoes", path)
        try write(true, first)
        try first.succeed("sync")
        try write(false, first)
        try first.succeed("sync")
        // Chunks that nobody knows of, as of files whose note was never sent.
        try sql(
            server,
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.strayCount))
            INSERT INTO chunks(number, address, digest, account, created, data)
                SELECT number, randomblob(32), x'\(Hex.encode(BLAKE2b.hash([1, 2])))', account, 1, x'0102' FROM zones, n;
            UPDATE accounts SET used = used + 258 * \(Self.strayCount)
            """)
        try second.succeed("sync")
        try first.succeed("compact", "--drop-history-older-than", "2100-01-01", "--yes")
        try first.succeed("sync")
        try second.succeed("sync")
        let full = try sql(server, "SELECT COUNT(*) FROM objects")[0]
        try #require(full > Self.factCount)
        #expect(try swept(server) == [0, 0], "the first waits for the second")

        // A cut in the second request, and the server is killed.
        tunnel.cut(after: Self.part.objects * 34 + 60_000, .up)
        let cut = try sync(first, after: "0s")
        #expect(tunnel.didCut)
        #expect(cut.isDue && cut.bytes > 0 && cut.words.contains("a sync in an hour tries again"), "\(cut)")
        #expect(try swept(server) == [Self.part.objects, Self.part.chunks])
        server.stop(SIGKILL)
        #expect(try swept(server) == [Self.part.objects, Self.part.chunks])
        let sizes = try sql(server, "SELECT SUM(size) FROM swept")[0]
        // A row costs its account 256 bytes beside what is in it.
        #expect(cut.bytes == sizes - 256 * (Self.part.objects + Self.part.chunks))
        tunnel.mend()

        // Room for what is swept of two requests, but not for all.
        try server.start("--quota-bytes", "\(sizes * 11 / 5)")
        #expect(try sync(first, after: "30m").bytes == 0, "it is not tried all the time")
        let refused = try sync(first, after: "2h")
        #expect(refused.isDue && refused.bytes > 0, "\(refused)")
        #expect(refused.words.contains("server.quota.exceeded"), "\(refused.words)")
        #expect(refused.words.contains("a sync tomorrow tries again"), "\(refused.words)")
        #expect(try swept(server) == [2 * Self.part.objects, 2 * Self.part.chunks])
        server.stop()
        try server.start("--quota-bytes", "1000000000")
        let done = try sync(first, after: "27h")
        #expect(!done.isDue && done.bytes > 0, "\(done)")
        let sweptCounts = try swept(server)
        #expect(sweptCounts[0] > Self.factCount && sweptCounts[1] == Self.strayCount, "\(sweptCounts)")
        let left = try sql(
            server, "SELECT COUNT(*), (SELECT COUNT(*) FROM chunks WHERE created > 0) FROM objects WHERE seq > 0")
        #expect(left[0] + sweptCounts[0] == full && left[0] < 1_000 && left[1] == 1, "\(left)")
        #expect(try sync(first, after: "28h") == (0, false, ""), "once")

        // Who has nothing yet gets all that is left, and the others go on.
        let third = try CoffretRunner()
        try DevicePairing.pair(third, first, server, name: "Third")
        try third.succeed("sync")
        try third.succeed("edit", "Tomatoes", "--file", "-", input: "Tomatoes\nby the third")
        for runner in [third, second, first] { try runner.succeed("sync") }
        for runner in [first, second, third] {
            #expect(try runner.succeed("show", "Tomatoes").contains("by the third"))
            try runner.succeed("fsck")
            try runner.succeed("attach", "extract", "Tomatoes", "kept.bin", "--output", "out.bin")
            #expect(try Data(contentsOf: URL(fileURLWithPath: runner.workPath + "/out.bin")) == kept)
        }
        server.stop()
        let doctor = try ProcessRunner.run(ServerRunner.executable, ["doctor", "--data", server.folder.file("data")])
        #expect(doctor.exitCode == 0, "\(doctor.text)")
    }
}
