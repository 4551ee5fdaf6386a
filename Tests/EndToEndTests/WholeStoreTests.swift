// The program as a whole under what a disk, a keyring and several processes can do to it.

import CoffretTestSupport
import Foundation
import Testing

@Suite("The whole program")
struct WholeStoreTests {
    /// What a test needs to have a small disk of its own: a mount that only its process sees.
    static let canMount: Bool = {
        let result = try? ProcessRunner.run(
            "/usr/bin/unshare", mountArguments + ["/bin/sh", "-c", mountScript("true")])
        return result?.exitCode == 0
    }()
    static let mountArguments = geteuid() == 0 ? ["-m"] : ["-Urm"]

    /// Runs `script` with 4 MiB of disk at /mnt.
    private static func mountScript(_ script: String) -> String {
        "set -e; mount -t tmpfs -o size=4m tmpfs /mnt; \(script)"
    }

    /// Runs a shell script with the program as `$coffret`.
    private func shell(_ runner: CoffretRunner, _ script: String, mounts: Bool = false) throws -> ProcessResult {
        let words = mounts ? ["/usr/bin/unshare"] + Self.mountArguments : ["/usr/bin/env"]
        return try ProcessRunner.run(
            words[0], words.dropFirst() + ["/bin/bash", "-c", mounts ? Self.mountScript(script) : script],
            environment: runner.environment(["coffret": CoffretRunner.executable]), directory: runner.workPath,
            timeoutSeconds: 240)
    }

    @Test(
        "a full disk is a clear error, nothing acknowledged is lost, and the store opens",
        .enabled(if: canMount, "no permission to mount a small disk"))
    func fullDisk() throws {
        let runner = try CoffretRunner()
        let result = try shell(
            runner,
            """
            export COFFRET_STORE=/mnt/store
            "$coffret" init --effort light > /dev/null
            # The journal takes its room in advance; random text is as large sealed as it is.
            count=0
            while head -c 200000 /dev/urandom | base64 | "$coffret" new --quiet 2> "$HOME/error"; do
                count=$((count + 1)); [ $count -lt 100 ]
            done
            set +e
            head -c 200000 /dev/urandom | base64 | "$coffret" new > /dev/null 2>&1; echo "code $?"
            "$coffret" fsck > "$HOME/fsck" 2>&1; echo "fsck $?"
            echo "kept $("$coffret" ls --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["items"]))') of $count"
            "$coffret" show missing > /dev/null 2>&1; echo "show $?"
            """, mounts: true)
        let lines = result.text.split(separator: "\n")
        let error = try String(contentsOfFile: runner.folder.file("home/error"), encoding: .utf8)
        #expect(error.contains("the disk is full") && error.contains("storage.file.disk-full"), "\(error)")
        #expect(lines.contains("code 79"), "\(result.text)\(result.errorText)")
        #expect(lines.contains("fsck 0") && lines.contains("show 66"), "\(result.text)")
        let kept = try #require(lines.first { $0.hasPrefix("kept ") }).split(separator: " ")
        #expect(kept.count == 4 && kept[1] == kept[3] && kept[3] != "0", "\(kept)")
    }

    @Test("R13: key derivation outside the bounds is refused by the program before anything is derived")
    func derivationPolicy() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Kept\n")
        let path = runner.storePath + "/store.keyring"
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        // CBOR of [65536 KiB, 3 passes, 16 bytes of salt …
        let parameters = Data([0x83, 0x1A, 0x00, 0x01, 0x00, 0x00, 0x03, 0x50])
        let place = try #require(whole.range(of: parameters))
        // … with 1 TiB of memory; with less than the floor; without a pass; with too many.
        let wrong: [[UInt8]] = [
            [0x83, 0x1A, 0x40, 0x00, 0x00, 0x00, 0x03, 0x50], [0x83, 0x19, 0x20, 0x00, 0x03, 0x50],
            [0x83, 0x1A, 0x00, 0x01, 0x00, 0x00, 0x00, 0x50], [0x83, 0x1A, 0x00, 0x01, 0x00, 0x00, 0x18, 0xFF, 0x50],
        ]
        for bytes in wrong {
            var changed = whole
            changed.replaceSubrange(place, with: bytes)
            try changed.write(to: URL(fileURLWithPath: path))
            let result = try runner.run("ls", "--timings")
            #expect(result.exitCode == 78, "\(bytes): \(result.errorText)")
            #expect(result.errorText.contains("[keys.") && !result.errorText.contains("bug"), "\(result.errorText)")
            // No process was given 1 TiB, and none worked for minutes.
            #expect(result.text == "")
        }
        try whole.write(to: URL(fileURLWithPath: path))
        #expect(try runner.succeed("ls").contains("Kept"))
    }

    @Test("a process that dies with secrets in memory leaves no core file, and no core holds a canary")
    func coreFiles() throws {
        let runner = try CoffretRunner()
        let canary = SurroundingsTests.canaryPassword
        try runner.setPassphrase(canary)
        try runner.makeStore()
        try runner.makeNote("# \(SurroundingsTests.canary)\n")
        for signal in [SIGABRT, SIGSEGV] {
            // A shell that allows core files starts the program, which waits with the vault open and the key in memory.
            let terminal = try TerminalProcess(
                "/bin/bash", ["-c", "ulimit -c unlimited; exec \"$0\" export out", CoffretRunner.executable],
                environment: runner.environment(["TERM": "xterm-256color"]), directory: runner.workPath)
            try terminal.wait(for: "Write them?")
            kill(terminal.processID, signal)
            #expect(try terminal.finish() == 128 + signal)
            #expect(!terminal.dumpedCore)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: runner.workPath).isEmpty)
        try FileManager.default.removeItem(atPath: runner.passphraseFile)
        let found = try ProcessRunner.run("/usr/bin/grep", ["-rlaE", "CANARY-(text|password)", runner.folder.path])
        #expect(found.text == "")
    }

    @Test("two vaults of one store share a passphrase and nothing else")
    func twoVaults() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Private tomatoes\n")
        try runner.succeed("vault", "new", "Work")
        try runner.succeed("new", "--vault", "Work", input: "# Work tomatoes\n")
        let both = try runner.succeed("ls")
        #expect(both.contains("Private tomatoes") && both.contains("Work tomatoes"))
        #expect(try runner.succeed("search", "tomatoes", "--vault", "work").contains("Work tomatoes"))
        #expect(try !runner.succeed("search", "tomatoes", "--vault", "work").contains("Private"))
        let environment: [String: String?] = ["COFFRET_VAULT": "Personal"]
        #expect(try runner.succeed("ls", environment: environment).contains("Private tomatoes"))
        #expect(try !runner.succeed("ls", environment: environment).contains("Work"))
        try runner.succeed("vault", "rename", "Work", "Job")
        #expect(try runner.run("ls", "--vault", "Work").exitCode == 66)
        for vault in ["Job", "Personal"] { #expect(try runner.run("fsck", "--vault", vault).exitCode == 0) }
        let names = try runner.succeed("vault", "ls")
        #expect(names.contains("Job") && names.contains("Personal"))
    }

    /// The files below a folder, by path, hidden ones of the export included.
    private func files(_ folder: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        let all = FileManager.default.enumerator(atPath: folder)
        while let path = all?.nextObject() as? String {
            let file = URL(fileURLWithPath: folder + "/" + path)
            if try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
                found[path] = try Data(contentsOf: file)
            }
        }
        return found
    }

    @Test("what was imported comes out as it went in, and a full export makes the same vault again")
    func roundTrip() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let notes = runner.folder.file("work/notes")
        let texts = [
            "a.md": "# First\n\nsee [second](sub/b.md) and ![plan](img/plan.png)\n",
            "sub/b.md": "---\ntags: [x, y]\nodd: 1\n---\n# Second\n\n#inline\n", "img/plan.png": "\u{1}\u{2}\u{3}",
        ]
        for (path, text) in texts {
            let url = URL(fileURLWithPath: notes + "/" + path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        let first = try runner.json("import", notes)
        #expect(first["imported"] as? Int == 2 && first["attachments"] as? Int == 1)
        // Search was made ready on the way.
        #expect(try runner.succeed("search", "inline").contains("Second"))
        #expect(try runner.succeed("import", notes).contains("Nothing new"))
        try runner.succeed("export", "--yes", runner.folder.file("work/out"))
        let out = try files(runner.folder.file("work/out"))
        for (path, text) in texts {
            let exported = out.first { $0.key == path || $0.key.hasSuffix("/" + path) }
            #expect(exported?.value == Data(text.utf8), "\(path) in \(out.keys.sorted())")
        }
        try runner.succeed("edit", "First", input: "# First\n\nchanged\n")
        let everything = runner.folder.file("work/everything.json")
        let exported = try runner.json("export", "--yes", everything)
        let other = try CoffretRunner()
        try other.makeStore()
        let imported = try other.json("import", everything)
        #expect(imported["stateHash"] as? String == exported["stateHash"] as? String)
        #expect(imported["commits"] as? Int == exported["commits"] as? Int)
        #expect(try other.succeed("show", "First").contains("changed"))
        #expect(try other.succeed("history", "First").split(separator: "\n").count >= 2)
        #expect(try other.run("fsck").exitCode == 0)
    }

    @Test("ten writers at once: each is told the truth, and everything acknowledged is there")
    func tenWriters() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let result = try shell(
            runner,
            """
            for writer in 0 1 2 3 4 5 6 7 8 9; do
                (for round in 1 2; do
                    printf '# Note %s of %s\\n' $round $writer | "$coffret" new --quiet && echo "Note $round of $writer"
                done) &
            done
            wait
            """)
        let acknowledged = result.text.split(separator: "\n").map(String.init)
        #expect(acknowledged.count == 20, "\(result.errorText)")
        let listed = try #require(try runner.json("ls")["items"] as? [[String: Any]]).compactMap {
            $0["title"] as? String
        }
        #expect(Set(listed) == Set(acknowledged) && listed.count == acknowledged.count)
        #expect(try runner.run("fsck").exitCode == 0)
        #expect(try runner.json("search", "note")["total"] as? Int == 20)
    }
}
