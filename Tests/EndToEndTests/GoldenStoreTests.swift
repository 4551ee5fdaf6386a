// Stores that older builds wrote. The one thing to keep true: the files are never made anew; a build that cannot open one
// is what is wrong.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Golden stores")
struct GoldenStoreTests {
    static let formats: [String] = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: SharedData.ownVectors("store").path)
        return (names ?? []).filter { $0.hasPrefix("format-") }.sorted()
    }()

    @Test("there is one for each version of the formats")
    func presence() { #expect(Self.formats == ["format-3", "format-4"]) }

    @Test("a store with vaults of commits is refused, and its exports carry it over")
    func carriedOver() throws {
        let golden = SharedData.ownVectors("store/format-3")
        let runner = try CoffretRunner()
        let place = runner.folder.file("golden")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let unpacked = try ProcessRunner.run(
            "/bin/tar", ["-C", place, "-xzf", golden.appendingPathComponent("store.tar.gz").path])
        try #require(unpacked.exitCode == 0, "\(unpacked.errorText)")
        try runner.setPassphrase(
            String(contentsOf: golden.appendingPathComponent("passphrase.txt"), encoding: .utf8)
                .trimmingCharacters(in: .newlines))
        for (command, store) in [(["ls"], "store"), (["backup", "restore", place + "/backups"], "restored")] {
            let refused = try runner.run(command, input: [], environment: ["COFFRET_STORE": place + "/" + store])
            #expect(refused.exitCode == 76, "\(refused.errorText)")
            #expect(refused.errorText.contains("coffret export --format json"))
        }
        let store: [String: String?] = ["COFFRET_STORE": place + "/new"]
        let made = try runner.run(["init", "--effort", "light"], input: [], environment: store)
        #expect(made.exitCode == 0, "\(made.errorText)")
        let path = golden.appendingPathComponent("Personal.json").path
        let imported = try runner.run(["import", path], input: [], environment: store)
        #expect(imported.exitCode == 0, "\(imported.errorText)")
        try check(runner, store, golden, vaults: ["Personal"])
    }

    @Test(
        "a store of an older build opens with all that opened it, shows what it showed, and takes changes",
        arguments: formats.filter { $0 != "format-3" })
    func opens(_ format: String) throws {
        let golden = SharedData.ownVectors("store/\(format)")
        let runner = try CoffretRunner()
        let place = runner.folder.file("golden")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let unpacked = try ProcessRunner.run(
            "/bin/tar", ["-C", place, "-xzf", golden.appendingPathComponent("store.tar.gz").path])
        try #require(unpacked.exitCode == 0, "\(unpacked.errorText)")
        func text(_ name: String) throws -> String {
            try String(contentsOf: golden.appendingPathComponent(name), encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }
        try runner.setPassphrase(text("passphrase.txt"))
        let store: [String: String?] = ["COFFRET_STORE": place + "/store"]
        func succeed(_ arguments: String...) throws -> String {
            let result = try runner.run(arguments, input: [], environment: store)
            try #require(result.exitCode == 0, "\(arguments): \(result.errorText)")
            return result.text
        }

        try check(runner, store, golden)
        for vault in ["Personal", "Work"] {
            #expect(try succeed("fsck", "--vault", vault).contains("Everything is whole"))
        }
        #expect(try succeed("fsck", "--vault", "Work").contains("4 earlier changes removed"))
        #expect(try succeed("search", "--vault", "Personal", "second text").contains("Golden note"))
        #expect(
            try succeed("show", "--vault", "Personal", "Golden login", "--field", "password") == "golden password\n")
        let file = runner.folder.file("work/attached.txt")
        _ = try succeed("attach", "extract", "Golden note", "attached.txt", "--vault", "Personal", "--output", file)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "A file that is attached.\n")

        // The note's own passphrase, and the recovery key.
        let opened = try ProcessRunner.run(
            "/bin/sh",
            [
                "-c", "exec \"$0\" \"$@\" 3< \"$LINES\"", CoffretRunner.executable, "show", "--vault", "Personal",
                "Locked diary", "--note-passphrase-fd", "3",
            ],
            environment: runner.environment(
                store.merging(["LINES": golden.appendingPathComponent("note-passphrase.txt").path]) { $1 }))
        #expect(opened.text.contains("The quagga sleeps under the stairs."), "\(opened.errorText)")
        try runner.setPassphrase(text("recovery-key.txt"))
        #expect(try !succeed("recovery", "test").isEmpty)
        try runner.setPassphrase(text("passphrase.txt"))

        // It goes on, once a person has said that this copy is to.
        _ = try succeed("device", "renew")
        let edited = try runner.run(
            ["edit", "Golden note", "--vault", "Personal"], input: Array("# Golden note\n\nThe third text.\n".utf8),
            environment: store)
        #expect(edited.exitCode == 0, "\(edited.errorText)")
        #expect(try succeed("history", "Golden note", "--vault", "Personal").split(separator: "\n").count == 4)
        _ = try succeed("fsck", "--vault", "Personal")

        let restored: [String: String?] = ["COFFRET_STORE": place + "/restored"]
        let result = try runner.run(
            ["backup", "restore", place + "/backups"], input: [], environment: restored)
        #expect(result.exitCode == 0, "\(result.errorText)")
        try check(runner, restored, golden)
    }

    /// Holds what the vaults export against what they exported when they were new.
    ///
    /// The logs of a vault that was founded anew are others.
    private func check(
        _ runner: CoffretRunner, _ store: [String: String?], _ golden: URL, vaults: [String] = ["Personal", "Work"]
    ) throws {
        for vault in vaults {
            let path = runner.folder.file("work/\(vault)-\(UUID().uuidString).json")
            let result = try runner.run(
                ["export", "--vault", vault, "--format", "json", path, "--yes"], input: [], environment: store)
            try #require(result.exitCode == 0, "\(result.errorText)")
            var (now, then) = try (
                object(URL(fileURLWithPath: path)), object(golden.appendingPathComponent("\(vault).json"))
            )
            // The time of the export, and a hash over it.
            for key in ["exported", "check"] {
                now[key] = nil
                then[key] = nil
            }
            for part in ["items", "stateHash", "attachments"] {
                #expect(now[part] as? NSObject == then[part] as? NSObject, "\(vault) exports other \(part)")
            }
            func history(_ export: [String: Any]) -> [NSObject?] {
                ((export["history"] as? [[String: Any]]) ?? []).flatMap {
                    [$0["time"] as? NSObject, $0["changes"] as? NSObject]
                }
            }
            #expect(history(now) == history(then), "\(vault) exports another history")
        }
    }

    private func object(_ file: URL) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }
}
