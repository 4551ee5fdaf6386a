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
}
