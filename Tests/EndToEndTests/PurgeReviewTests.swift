// What one device deleted for good, in the hands of the person at another one, with real devices and the real server.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Purges of other devices",
    .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret and openssl"))
struct PurgeReviewTests {
    private func versions(_ runner: CoffretRunner, _ item: String) throws -> Int {
        try #require(try runner.json("history", item)["versions"] as? [Any]).count
    }

    private func review(_ runner: CoffretRunner) throws -> [[String: Any]] {
        try #require(try runner.json("share", "review", "Personal")["purges"] as? [[String: Any]])
    }

    @Test("P3: they are told of and listed; the person keeps them for ever, or forgets them at once")
    func review() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.keepUnlocked()
        let local = try first.run("share", "review", "Personal", "--keep", "--yes")
        #expect(local.errorText.contains("cli.vault.not-synced"), "\(local.errorText)")
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let letter = try first.makeNote("Letter\n\nyours, as ever")
        let diary = try first.makeNote("Diary\n\nfirst day")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        let scan = first.workPath + "/scan.bin"
        try Data(SeededGenerator(seed: 3).bytes(count: 50_000...50_000)).write(to: URL(fileURLWithPath: scan))
        try first.succeed("attach", "add", diary, scan)
        for round in 1...3 {
            try first.succeed("edit", letter, "--file", "-", input: "Letter\n\nround \(round)\n")
            try first.succeed("edit", diary, "--file", "-", input: "Diary\n\nday \(round)\n")
        }
        try first.succeed("sync")
        try second.succeed("sync")
        try second.succeed("attach", "extract", diary, "scan.bin", "--output", "here.bin")
        let (letterCount, diaryCount) = (try versions(second, letter), try versions(second, diary))
        #expect(letterCount == 4 && diaryCount == 5)
        #expect(try review(second).isEmpty)
        let nothing = try second.succeed("share", "review", "Personal", "--forget", "--yes")
        #expect(nothing.contains("Nothing that another device deleted waits here."))

        // A thief, or its person, forgets; the other device says so, and does nothing yet.
        try first.succeed("forget", letter, "--yes")
        let told = try second.run("sync")
        #expect(told.errorText.contains("coffret share review VAULT"), "\(told.errorText)")
        let listed = try second.succeed("share", "review", "Personal")
        #expect(listed.contains("\"Letter\"") && listed.contains("goes here after 7 days of use"), "\(listed)")
        #expect(try review(first).isEmpty, "its own device waits for nobody")
        let both = try second.run("share", "review", "Personal", "--keep", "--forget")
        #expect(both.exitCode != 0 && both.errorText.contains("are not for one call"))
        let asked = try second.run("share", "review", "Personal", "--keep")
        #expect(asked.exitCode == 83 && asked.errorText.contains("\"Letter\""), "\(asked.errorText)")
        #expect(try review(second).count == 1 && versions(second, letter) == 4)
        let kept = try second.succeed("share", "review", "Personal", "--keep", "--yes")
        #expect(kept.contains("They stay on this device."))
        for _ in 0..<2 {
            #expect(try review(second).isEmpty && versions(second, letter) == 4)
            try second.succeed("sync")
            try second.succeed("compact")
        }

        // The next one goes at once, its file too.
        try first.succeed("forget", diary, "--delete", "--yes")
        try second.succeed("sync")
        let waiting = try #require(try review(second).first)
        let titles = try #require(waiting["items"] as? [[String: Any]]).compactMap { $0["title"] as? String }
        #expect(titles == ["Diary"] && waiting["days"] as? Int == 7)
        let files = { try self.fileByteCount(second) }
        let before = try files()
        let gone = try second.succeed("share", "review", "Personal", "--forget", "--yes")
        #expect(gone.contains("They are gone from this device."))
        #expect(try files() <= before - 50_000)
        #expect(try second.run("forget", diary, "--delete", "--yes").exitCode == 66, "nothing of it is known")
        #expect(try versions(second, letter) == 4)
        for runner in [second, first] {
            try runner.succeed("sync")
            try runner.succeed("fsck")
        }
    }

    /// Bytes of the files of attachments.
    private func fileByteCount(_ runner: CoffretRunner) throws -> Int {
        let all = try #require(FileManager.default.enumerator(atPath: runner.storePath))
        return try all.compactMap { $0 as? String }.filter { $0.contains("/files/") }.reduce(0) {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(runner.storePath)/\($1)")
            return $0 + (attributes[.type] as? FileAttributeType == .typeRegular ? attributes[.size] as? Int ?? 0 : 0)
        }
    }
}
