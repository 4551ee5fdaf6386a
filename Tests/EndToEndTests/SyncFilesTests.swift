// Attached files of two stores over the real server: whole, cut in the middle, altered at the server, too many.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Sync of files", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SyncFilesTests {
    /// Bytes that compress badly and differ in every piece.
    private func content(_ byteCount: Int, seed: UInt64) -> Data {
        var state = seed
        var data = Data(capacity: byteCount + 8)
        while data.count < byteCount {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            data.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: (state ^ state >> 29) >> ($0 * 8)) })
        }
        return data.prefix(byteCount)
    }

    private func write(_ data: Data, as name: String, _ runner: CoffretRunner) throws -> String {
        let path = runner.workPath + "/" + name
        try data.write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Two devices of one account that both sync "Personal"; the second may reach the server on another way.
    private func devices(
        _ server: ServerRunner, _ url: String
    ) throws -> (first: CoffretRunner, second: CoffretRunner) {
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync")
        return (first, second)
    }

    private func files(_ runner: CoffretRunner) throws -> [[String: Any]] {
        let result = try runner.run("attach", "ls", "Tomatoes", "--json")
        return try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [[String: Any]] ?? []
    }

    @Test("R14: files come with their notes or when asked for, are verified, and survive cuts both ways")
    func cuts() throws {
        let server = try ServerRunner()
        let tunnel = try LoopbackTunnel(to: server.port)
        let (first, second) = try devices(server, "https://localhost:\(tunnel.port)")
        let big = content(5 << 20 | 77, seed: 1)
        let path = try write(big, as: "photo.jpg", first)
        try first.succeed("attach", "add", "Tomatoes", path)

        // In the middle of the third chunk.
        tunnel.cut(after: 2_600_000, .up)
        let cut = try first.run("sync", "--patience", "1s")
        #expect(cut.exitCode == 90, "faults F13: \(cut.errorText)")
        #expect(tunnel.didCut)
        let early = try second.succeed("sync")
        #expect(early.contains("up to date"), "no head names what is not there: \(early)")
        tunnel.mend()
        let printed = try first.succeed("sync", "--json").split(separator: "\n").last ?? ""
        let reports = try JSONSerialization.jsonObject(with: Data(printed.utf8)) as? [[String: Any]]
        let report = try #require(reports?.first, "\(printed)")
        let sent = try #require(report["sentFileByteCount"] as? Int)
        #expect((2 << 20..<4 << 20).contains(sent), "two chunks were there already: \(sent)")

        // Notes first, files when asked for.
        #expect(try second.succeed("sync", "--without-files").contains("received 1 change"))
        #expect(try second.succeed("attach", "ls", "Tomatoes").contains("photo.jpg"))
        #expect(try files(second).first?["isHere"] as? Bool == false)
        let absent = try second.run("attach", "extract", "Tomatoes")
        #expect(absent.exitCode == 66 && absent.errorText.contains("attach get"), "\(absent.errorText)")
        #expect(try second.succeed("fsck").contains("1 file of attachments not on this device"))
        try second.succeed("attach", "get", "Tomatoes", "photo.jpg")
        #expect(try second.succeed("attach", "get", "Tomatoes").contains("already"))
        try second.succeed("attach", "extract", "Tomatoes", "--output", "out.jpg")
        #expect(try Data(contentsOf: URL(fileURLWithPath: second.workPath + "/out.jpg")) == big)

        // The other way round: what the second attaches, the first fetches over the line that breaks.
        let more = content(4 << 20, seed: 2)
        try second.succeed("attach", "add", "Tomatoes", try write(more, as: "seeds.pdf", second))
        try second.succeed("sync")
        tunnel.cut(after: 2_600_000, .down)
        let broken = try first.run("sync", "--patience", "1s")
        #expect(broken.exitCode == 90, "faults F13: \(broken.errorText)")
        #expect(
            try first.succeed("attach", "ls", "Tomatoes").contains("seeds.pdf"), "the note is there before its file")
        tunnel.mend()
        #expect(try first.succeed("sync").contains("received 1 file (2"), "the rest of it")
        try first.succeed("attach", "extract", "Tomatoes", "seeds.pdf", "--output", "out.pdf")
        #expect(try Data(contentsOf: URL(fileURLWithPath: first.workPath + "/out.pdf")) == more)
        for runner in [first, second] { try runner.succeed("fsck") }
        #expect(try first.succeed("sync").contains("up to date"))
    }

    /// What somebody does who has the server's disk.
    private func change(_ server: ServerRunner, _ statement: String) throws {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, statement + "; SELECT changes();"])
        try #require(result.exitCode == 0 && result.text.contains("1"), "\(result.text) \(result.errorText)")
    }

    @Test(
        "R14: a file that the server altered is refused by name; the notes come all the same",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"), "needs sqlite3"))
    func altered() throws {
        let server = try ServerRunner()
        let (first, second) = try devices(server, server.url)
        try first.succeed("attach", "add", "Tomatoes", try write(content(70_000, seed: 3), as: "a.bin", first))
        try first.succeed("sync")
        // Another last byte, whatever it was.
        let last = "CASE WHEN substr(data, length(data)) = x'00' THEN x'01' ELSE x'00' END"
        try change(
            server, "UPDATE chunks SET data = CAST(substr(data, 1, length(data) - 1) || \(last) AS BLOB)")
        let result = try second.run("sync")
        #expect(result.exitCode == 84 && result.errorText.contains("sync.file.refused"), "\(result.errorText)")
        #expect(try second.succeed("attach", "ls", "Tomatoes").contains("a.bin"))
        #expect(try second.run("attach", "get", "Tomatoes").exitCode == 84)
        try change(server, "DELETE FROM chunks")
        let missing = try second.run("sync")
        #expect(missing.exitCode == 0 && missing.errorText.contains("sync.file.missing"), "\(missing.errorText)")
        let without = try second.run("attach", "get", "Tomatoes")
        #expect(without.exitCode == 66 && without.errorText.contains("--server-was-restored"), "\(without.errorText)")
        // The head is the same; the files are sent once more all the same.
        #expect(try !first.succeed("sync").contains("sent"))
        #expect(try first.succeed("sync", "--server-was-restored").contains("sent 1 file"))
        try second.succeed("attach", "get", "Tomatoes")
    }

    @Test("a file attached before history was dropped goes to a server that has nothing, the first time and again")
    func afterDroppedHistory() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let id = try first.makeNote("Tomatoes")
        let data = content(70_000, seed: 4)
        try first.succeed("attach", "add", "Tomatoes", try write(data, as: "a.bin", first))
        try first.succeed("edit", id, "--title", "Tomatoes, ripe")
        try first.succeed("compact", "--drop-history-older-than", "now", "--yes")
        let began = try first.json("vault", "sync", "Personal")
        #expect(began["sentFiles"] as? Int == 1, "\(began)")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync", "--without-files")

        // A device ends it at the server. The others are told, and that device alone brings it back.
        try second.succeed("attach", "get", "Tomatoes")
        try first.succeed("vault", "unsync", "Personal", "--delete-from-server", "--yes")
        let ended = try second.run("sync")
        #expect(ended.exitCode != 0 && ended.errorText.contains("took a vault off the server"), "\(ended.errorText)")
        try first.succeed("vault", "sync", "Personal")
        try second.succeed("sync")
    }

    @Test("a file that finds no room is named and waits; everything else syncs, and the file goes when there is room")
    func quota() throws {
        let server = try ServerRunner("--quota-bytes", "2000000")
        let (first, second) = try devices(server, server.url)
        try first.succeed("attach", "add", "Tomatoes", try write(content(3 << 20, seed: 4), as: "a.bin", first))
        try first.succeed("attach", "add", "Tomatoes", try write(content(60_000, seed: 5), as: "b.bin", first))
        try first.makeNote("Written since")
        for _ in 0..<2 {
            let result = try first.run("sync")
            #expect(result.exitCode == 79, "\(result.errorText)")
            #expect(result.errorText.contains("a.bin of \"Tomatoes\" (3.1 MB) does not fit"), "\(result.errorText)")
            #expect(
                result.errorText.contains(/there is room for (2|1\.9) MB of files/), "\(result.errorText)")
            #expect(result.errorText.contains("sync.file.no-room"), "\(result.errorText)")
        }
        let status = try first.succeed("status")
        #expect(status.contains("nothing waits to be sent") && status.contains("a.bin"), "\(status)")

        // The other device has the notes and the small file, and says of the large one that it is not there.
        let other = try second.run("sync")
        #expect(other.exitCode == 0 && other.errorText.contains("sync.file.missing"), "\(other.errorText)")
        #expect(try second.succeed("ls").contains("Written since"))
        let here = try files(second)
        #expect(here.first { $0["name"] as? String == "a.bin" }?["isHere"] as? Bool == false)
        #expect(here.first { $0["name"] as? String == "b.bin" }?["isHere"] as? Bool == true)

        server.stop()
        try server.start("--quota-bytes", "20000000")
        #expect(try first.succeed("sync").contains("sent 1 file"))
        #expect(try !first.succeed("status").contains("a.bin"))
        #expect(try second.succeed("sync").contains("received 1 file"))
        for runner in [first, second] { try runner.succeed("fsck") }
    }

    @Test("changes that do not fit are told as such, stay here, and go when there is room")
    func changesOverQuota() throws {
        let server = try ServerRunner("--quota-bytes", "20000")
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try first.succeed("new", input: String(repeating: "many words ", count: 4_000))
        let result = try first.run("sync")
        #expect(result.exitCode == 79, "\(result.errorText)")
        #expect(result.errorText.contains("sync.server.quota-exceeded"), "\(result.errorText)")
        #expect(result.errorText.contains("these changes do not fit; they are safe on this device"))
        #expect(try first.succeed("status").contains("1 change waits to be sent"))
        server.stop()
        try server.start("--quota-bytes", "2000000")
        #expect(try first.succeed("sync").contains("sent 1 change"))
    }
}
