// The log of what programs asked, through a real agent. Invariant: the bytes of the file are searched for what it must not hold.

import CoffretApp
import CoffretBase
import CoffretClient
import CoffretCore
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("The log of programs", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct AccessLogTests {
    private static func entries(_ world: OperationWorld) throws -> [AccessEntry] {
        let text = try world.agent.succeed("agent", "log", "--json")
        guard case .array(let values) = try JSONValue(parsing: Array(text.utf8)) else { return [] }
        return try values.map { try AccessEntry(json: $0) }.reversed()
    }

    @Test(
        "R168: each use of a token, its refusals, and each session's beginning and end; equal ones in a row are counted"
    )
    func uses() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let secret = try world.token("logged", "--allow", "read", "--tag", "garden")
        var whole: SessionClient? = try world.session(isJSON: false)
        _ = try whole?.perform(VaultList())
        whole = nil
        var limited: SessionClient? = try world.session(isJSON: true, token: secret)
        for _ in 0..<3 { #expect(try limited?.code(ItemRead()) { $0.item = "tomatoes" } == nil) }
        #expect(try limited?.code(ItemRead()) { $0.item = "Beans" } == "core.item.not-found")
        #expect(try limited?.code(ItemEdit()) { $0.item = "tomatoes" } == "operation.not-allowed")
        #expect(try limited?.code(ItemList()) == nil)
        limited = nil
        #expect(try world.refusal("coffret_none") == "token.invalid")
        var entries: [AccessEntry] = []
        try Waiting.until("both ends") {
            entries = try Self.entries(world)
            return entries.count { $0.event == .ended } == 2
        }
        #expect(entries.map(\.number) == Array(0..<entries.count))
        let uses = entries.filter { $0.token == "logged" }
        let expected: [(AccessEntry.Event, String?, String?, Int?)] = [
            (.opened, nil, nil, nil), (.asked, "item.read", nil, 3), (.asked, "item.read", "core.item.not-found", nil),
            (.refused, "item.edit", "operation.not-allowed", nil), (.asked, "item.list", nil, nil),
            (.ended, nil, nil, nil),
        ]
        #expect(uses.count == expected.count)
        for (entry, wanted) in zip(uses, expected) {
            #expect(entry.event == wanted.0 && entry.operation == wanted.1 && entry.code == wanted.2)
            #expect(entry.count == wanted.3)
        }
        #expect(Set(uses.map(\.session)).count == 1)
        #expect(
            uses[1].item != nil && uses[1].vault != nil && uses[2].item == nil,
            "an item outside has no name here either")
        #expect(entries.contains { $0.event == .opened && $0.token == nil && $0.program != nil })
        #expect(entries.contains { $0.event == .refused && $0.code == "token.invalid" && $0.operation == nil })
        let text = try world.agent.succeed("agent", "log")
        #expect(text.contains("item.read \"Tomatoes\", 3 times"))
        #expect(text.contains("refused: item.edit [operation.not-allowed]"), "\(text)")
        #expect(try world.agent.succeed("agent", "log", "--limit", "1").split(separator: "\n").count == 1)
        // Locked, nobody reads it; and the file says nothing.
        try world.agent.succeed("lock")
        #expect(try world.agent.run("agent", "log").exitCode == 86)
        let file = try Data(contentsOf: URL(fileURLWithPath: world.stateFolder + "/access-log"))
        for word in ["Tomatoes", "item.read", "logged", "garden", secret, String(secret.dropFirst(8))] {
            #expect(file.range(of: Data(word.utf8)) == nil, "\(word)")
        }
        #expect(file.count % 512 == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: world.stateFolder + "/access-log")[
            .posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test("R168: the log keeps the last 2,048 entries in 1 MiB, also where several write; what was altered is left out")
    func bounded() throws {
        let world = try OperationWorld()
        let store = try world.desk().store
        let logs = try (0..<3).map { _ in try AccessLog(store) }
        for number in 0..<2_200 {
            var entry = AccessEntry()
            (entry.session, entry.operation) = ("0000000\(number % 3)", "item.list")
            logs[number % 3].add(entry)
        }
        let path = try world.stateFolder + "/access-log"
        var file = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(file.count == 1 << 20)
        var entries = try AccessLog(store).entries()
        #expect(entries.map(\.number) == Array(152..<2_200))
        #expect(entries.allSatisfy { $0.session == "0000000\($0.number % 3)" })
        // One slot is changed, one is put in another's place.
        file[512 * 300 + 100] ^= 1
        file.replaceSubrange(512 * 7..<512 * 8, with: file[512 * 9..<512 * 10])
        try file.write(to: URL(fileURLWithPath: path))
        entries = try AccessLog(store).entries()
        #expect(entries.count == 2_046 && !entries.map(\.number).contains(300))
        #expect(try world.agent.runner.run(["agent", "log"], input: []).errorText.contains("entries are missing"))
    }
}
