// Vaults that the agent compacts by itself, through the real agent and its child.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Agent tends", .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct AgentTendingTests {
    /// Text that becomes shorter by a quarter when it is compressed, another one for each seed.
    private func text(_ byteCount: Int, seed: UInt64) -> String {
        var state = seed
        var data = Data(capacity: byteCount)
        while data.count < byteCount / 4 * 3 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            data.append(UInt8(truncatingIfNeeded: state >> 33))
        }
        return data.base64EncodedString(options: .lineLength76Characters)
    }

    /// The names in a folder of the only vault that has it, but for those of temporary files.
    private func files(_ name: String, of agent: AgentRunner) throws -> [String] {
        let vaults = agent.runner.storePath + "/vaults"
        for vault in try FileManager.default.contentsOfDirectory(atPath: vaults) {
            let path = "\(vaults)/\(vault)/\(name)"
            if let names = try? FileManager.default.contentsOfDirectory(atPath: path) { return names }
        }
        return []
    }

    @Test("storage H10, R114: after a large import the agent compacts, asked by nobody, and everything is there")
    func compacts() throws {
        let agent = try AgentRunner()
        try #require(try agent.unlock().exitCode == 0)
        let folder = agent.runner.workPath + "/notes"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (seed, name) in ["one", "two", "three", "four"].enumerated() {
            let body = text(5_900_000, seed: UInt64(seed) + 11)
            try Data("# \(name)\n\n\(body)\n\(name) ends\n".utf8).write(
                to: URL(fileURLWithPath: "\(folder)/\(name).md"))
        }
        try agent.succeed("import", folder)
        try Waiting.until("packs") { try !files("blobs", of: agent).isEmpty && files("journal", of: agent).count <= 1 }
        #expect(try agent.succeed("show", "two").hasSuffix("two ends\n"))
        try agent.succeed("new", "Later", input: "later\n")
        #expect(try agent.succeed("ls").split(separator: "\n").count == 5)
        try agent.succeed("fsck")
        try agent.stop()
    }
}
