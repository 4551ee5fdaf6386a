// Checks of stores with several vaults. Invariant: what is wrong with one vault hides nothing of the others.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Checks of several vaults")
struct FsckVaultsTests {
    private func ruin(_ name: String, _ runner: CoffretRunner) throws {
        let list = Data(try runner.succeed("vault", "ls", "--json").utf8)
        let vaults = try #require(try JSONSerialization.jsonObject(with: list) as? [[String: Any]])
        let id = try #require(vaults.first { $0["name"] as? String == name }?["id"] as? String).prefix(32)
        let all = try #require(FileManager.default.enumerator(atPath: runner.storePath)).compactMap { $0 as? String }
        let path = try #require(all.first { $0.contains(id) && $0.hasSuffix("/manifest") }, "\(all)")
        try Data("nothing".utf8).write(to: URL(fileURLWithPath: "\(runner.storePath)/\(path)"))
    }

    @Test("vaults that cannot be opened are told of beside the reports of the others, whichever they are")
    func unreadable() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        for name in ["Garden", "Work"] { try runner.succeed("vault", "new", name) }
        #expect(try runner.run("fsck").exitCode == 0)
        // The vault that is meant where none is named, and then another one.
        for (count, name) in ["Personal", "Work"].enumerated() {
            try ruin(name, runner)
            let result = try runner.run("fsck")
            #expect(result.exitCode != 0, "\(result.text)")
            #expect(result.text.contains("\"Garden\""), "\(result.text)\(result.errorText)")
            #expect(result.text.contains("\"Work\"") == (count == 0))
            #expect(result.errorText.contains("1 problem found in \"\(name)\"; nothing was changed"))
            #expect(result.errorText.contains("storage.manifest.damaged"), "\(result.errorText)")
        }
        let lines = try runner.run("fsck", "--json").text.split(separator: "\n")
        let reports = try lines.compactMap { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { $0["event"] as? String == "done" }
        #expect(reports.compactMap { $0["isClean"] as? Bool } == [false, true, false])
        // Alone it fails as it always did.
        #expect(try runner.run("fsck", "--vault", "Work").errorText.contains("storage.manifest.damaged"))
        #expect(try runner.run("fsck", "--vault", "Garden").exitCode == 0)
    }
}
