// Attachments whose sources are slow, and whose files are missing or altered.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Attachments under faults")
struct AttachmentFaultTests {
    @Test("storage M11: while a source is slow other commands write, compact and sweep, and the file is whole")
    func slowSource() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote("# Film")
        let source = runner.folder.file("work/film.bin")
        #expect(FileManager.default.createFile(atPath: source, contents: Data([1, 2, 3])))
        let handle = try #require(FileHandle(forWritingAtPath: source))
        try handle.truncate(atOffset: 300 << 20)
        try handle.close()
        let attaching = try SpawnedProcess(
            CoffretRunner.executable, ["attach", "add", id, "film.bin"], environment: runner.environment(),
            directory: runner.workPath)
        let vaults = runner.storePath + "/vaults"
        let vault = try #require(FileManager.default.contentsOfDirectory(atPath: vaults).first)
        let files = "\(vaults)/\(vault)/files"
        func parts() -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []).filter { $0.hasSuffix(".part") }
        }
        try Waiting.until("a file is being written", everyMilliseconds: 1) { !parts().isEmpty || !attaching.isRunning }
        attaching.signal(SIGSTOP)
        // From here on its source gives nothing.
        #expect(attaching.isRunning && parts().count == 1)
        try runner.makeNote("# Written meanwhile")
        try runner.succeed("compact")
        attaching.signal(SIGCONT)
        let status = attaching.wait()
        #expect(status.code == 0 && !status.isSignalled)
        #expect(parts().isEmpty)
        try runner.succeed("attach", "extract", id, "film.bin", "-o", "out.bin")
        #expect(FileManager.default.contentsEqual(atPath: source, andPath: runner.folder.file("work/out.bin")))
        try runner.succeed("fsck")
    }

    @Test("faults F5, R115: missing, cut and altered files are named by every command, and stop none of the others")
    func faultyFiles() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote("# Camera")
        let names = ["gone.bin", "cut.bin", "bent.bin", "good.bin"]
        var paths: [String: String] = [:]
        let vaults = runner.storePath + "/vaults"
        let vault = try #require(FileManager.default.contentsOfDirectory(atPath: vaults).first)
        func stored() -> Set<String> {
            let all = FileManager.default.enumerator(atPath: "\(vaults)/\(vault)/files")?.allObjects as? [String] ?? []
            return Set(all.filter { $0.utf8.count == 67 })
        }
        for (index, name) in names.enumerated() {
            let before = stored()
            try Data(repeating: UInt8(index), count: 5_000).write(
                to: URL(fileURLWithPath: runner.folder.file("work/\(name)")))
            try runner.succeed("attach", "add", id, name)
            let new = try #require(stored().subtracting(before).first)
            paths[name] = "\(vaults)/\(vault)/files/\(new)"
        }
        try FileManager.default.removeItem(atPath: try #require(paths["gone.bin"]))
        let (cutPath, bentPath) = (try #require(paths["cut.bin"]), try #require(paths["bent.bin"]))
        let cut = try #require(FileHandle(forWritingAtPath: cutPath))
        try cut.truncate(atOffset: 1_000)
        try cut.close()
        let bent = try #require(FileHandle(forUpdatingAtPath: bentPath))
        try bent.seek(toOffset: 900)
        let byte = try #require(try bent.read(upToCount: 1)?.first)
        try bent.seek(toOffset: 900)
        try bent.write(contentsOf: Data([byte ^ 1]))
        try bent.close()

        let words = [
            "gone.bin of \"Camera\": the file is missing", "cut.bin of \"Camera\": the file was cut short",
            "bent.bin of \"Camera\": the file was altered",
        ]
        for arguments in [
            ["export", "--yes", "--format", "json", "all.json"], ["export", "--yes", "notes"],
            ["backup", "create", "backups"],
        ] {
            let result = try runner.run(arguments, input: [])
            #expect(result.exitCode == 71, "\(arguments): \(result.errorText)")
            #expect(result.errorText.contains("3 attachments"), "\(result.errorText)")
            for line in words { #expect(result.errorText.contains(line), "\(arguments): \(result.errorText)") }
            #expect(!result.errorText.contains("good.bin"))
        }
        #expect(FileManager.default.fileExists(atPath: runner.folder.file("work/backups")))
        let good =
            FileManager.default.enumerator(atPath: runner.folder.file("work/notes"))?.allObjects as? [String] ?? []
        #expect(good.contains { $0.hasSuffix("good.bin") } && !good.contains { $0.hasSuffix("bent.bin") }, "\(good)")
        // Everything else is in the JSON file, which an import takes.
        let other = runner.folder.file("work/other")
        try runner.succeed("init", "--effort", "light", "--store", other)
        try runner.succeed("import", runner.folder.file("work/all.json"), "--store", other)
        let list = try runner.succeed("attach", "ls", id)
        #expect(list.contains("the file is missing") && list.contains("the file was cut short"), "\(list)")
        #expect(!list.contains("at the server"))
        let status = try runner.succeed("status")
        #expect(status.contains("gone.bin") && status.contains("cut.bin"), "\(status)")
        let fsck = try runner.run("fsck")
        #expect(fsck.exitCode == 71)
        for name in ["gone.bin", "cut.bin", "bent.bin"] { #expect(fsck.errorText.contains(name), "\(fsck.errorText)") }
        #expect(fsck.errorText.contains("missing") && fsck.errorText.contains("altered"), "\(fsck.errorText)")
        try runner.succeed("attach", "extract", id, "good.bin", "-o", "out.bin")
    }

    @Test("faults F13: a file of blobs that is gone is damage of the store")
    func missingPack() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote("# Camera")
        try runner.succeed("compact")
        let vaults = runner.storePath + "/vaults"
        let vault = try #require(FileManager.default.contentsOfDirectory(atPath: vaults).first)
        let blobs = "\(vaults)/\(vault)/blobs"
        for name in try FileManager.default.contentsOfDirectory(atPath: blobs) {
            try FileManager.default.removeItem(atPath: "\(blobs)/\(name)")
        }
        #expect(try runner.run("show", id).exitCode == 71)
        #expect(try runner.run("fsck").exitCode == 71)
    }

    @Test("storage H10, R114: more segments than the process may open files")
    func fewDescriptors() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let script = """
            set -e
            ulimit -n 24
            for index in $(seq 1 12); do
                mkdir "notes$index"
                head -c 3300000 /dev/urandom | base64 -w 0 | fold -w 60000 > "notes$index/n.md"
                "$coffret" import "notes$index" > /dev/null
                "$coffret" show n > /dev/null 2>&1 || "$coffret" ls -n 1 > /dev/null
            done
            "$coffret" fsck
            """
        let result = try ProcessRunner.run(
            "/bin/bash", ["-c", script], environment: runner.environment(["coffret": CoffretRunner.executable]),
            directory: runner.workPath, timeoutSeconds: 400)
        #expect(result.exitCode == 0, "\(result.errorText)")
        let vaults = runner.storePath + "/vaults"
        let vault = try #require(FileManager.default.contentsOfDirectory(atPath: vaults).first)
        let segments = try FileManager.default.contentsOfDirectory(atPath: "\(vaults)/\(vault)/journal")
        #expect(segments.count <= 8, "\(segments.count)")
    }
}
