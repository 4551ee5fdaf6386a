// Progress and cancelling in sessions of a real agent. Invariant: messages go out in one piece, so that what is expected does not
// depend on who is faster.

import CoffretBase
import CoffretClient
import CoffretNet
import CoffretTestSupport
import CoffretWire
import Glibc
import Testing

@Suite("Long operations", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct OperationWorkTests {
    private static func code<Answer: Record>(_ reply: [UInt8], of type: Answer.Type, _ isJSON: Bool) throws -> String? {
        guard case .failure(let failure) = try OperationReply<Answer>(decoding: reply, isJSON: isJSON) else {
            return nil
        }
        return failure.code
    }

    @Test(
        "a cancel stops what was sent before it, and nothing of that is done; the session goes on",
        arguments: [false, true])
    func cancelled(isJSON: Bool) throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: isJSON)
        var edit = ItemEdit()
        (edit.item, edit.title) = ("beans", "Gone")
        var create = ItemCreate()
        create.text = "# Never"
        // All of it is there before the first of them can ask whether it is still wanted.
        let stopped = try #require(world.agent.processID)
        #expect(try ProcessFiles.children(of: stopped).count >= 1)
        try session.pausingServer(of: stopped) {
            try session.send(OperationRequest(ItemList(), isJSON: isJSON).encoded)
            try session.send(OperationRequest(edit, isJSON: isJSON).encoded)
            try session.send(OperationRequest(create, isJSON: isJSON).encoded)
            try session.cancel()
            try session.send(OperationRequest(VaultList(), isJSON: isJSON).encoded)
        }
        #expect(try Self.code(session.receive(), of: ItemList.Answer.self, isJSON) == "operation.cancelled")
        #expect(try Self.code(session.receive(), of: ItemEdit.Answer.self, isJSON) == "operation.cancelled")
        #expect(try Self.code(session.receive(), of: ItemMessage.self, isJSON) == "operation.cancelled")
        #expect(try Self.code(session.receive(), of: VaultList.Answer.self, isJSON) == nil, "sent after the cancel")
        let titles = try session.perform(ItemList()).items.map(\.title)
        #expect(titles.contains("Beans") && !titles.contains("Gone") && !titles.contains("Never"))
        // A cancel without a request is nothing.
        try session.cancel()
        #expect(try session.perform(VaultList()).vaults.count == 2)
    }

    @Test("a check of a whole vault says how far it is, and stops in its middle; then the session answers as before")
    func verified() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        var create = ItemCreate()
        for number in 0..<300 {
            create.text = "# Note \(number)"
            _ = try session.perform(create)
        }
        var stages: [String] = []
        let reports = try session.perform(VaultVerify()) { stages.append($0.stage ?? "") }.vaults
        #expect(reports.count == 2 && reports.allSatisfy(\.isClean) && (reports.map(\.changeCount).max() ?? 0) > 300)
        #expect(stages.contains("files"), "the first step is always told")
        var count = 0
        let cancelled = OperationFailure.code {
            _ = try session.perform(VaultVerify()) { _ in
                count += 1
                try session.cancel()
            }
        }
        #expect(cancelled == "operation.cancelled" && count >= 1)
        #expect(try session.perform(VaultVerify()).vaults.count == 2, "a cancel is used up")
        #expect(try world.agent.run("fsck").exitCode == 0)
    }

    @Test("progress comes before the reply, to the request that wants it and to no other", arguments: [false, true])
    func progress(isJSON: Bool) throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: isJSON)
        var search = ItemSearch()
        search.query = "beans"
        let first = try session.exchange(OperationRequest(search, wantsProgress: true, isJSON: isJSON).encoded)
        #expect(OperationProgress(message: first, isJSON: isJSON) == OperationProgress(done: 0, total: 2))
        var message = try session.receive()
        while OperationProgress(message: message, isJSON: isJSON) != nil { message = try session.receive() }
        #expect(try Self.code(message, of: ItemSearch.Answer.self, isJSON) == nil)
        let reply = try session.exchange(OperationRequest(search, isJSON: isJSON).encoded)
        #expect(try Self.code(reply, of: ItemSearch.Answer.self, isJSON) == nil, "no progress: the reply at once")
        var steps: [OperationProgress] = []
        #expect(try session.perform(search) { steps.append($0) }.hits.map(\.title) == ["Beans"])
        #expect(steps.first == OperationProgress(done: 0, total: 2))
    }
}

extension OperationFailure {
    /// The code of the refusal that `body` throws; nil if it throws none.
    fileprivate static func code(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch { return (error as? OperationFailure)?.code }
    }
}

extension SessionClient {
    /// Sends what `body` sends while nobody reads it.
    fileprivate func pausingServer(of agent: Int32, _ body: () throws -> Void) throws {
        let children = try ProcessFiles.children(of: agent)
        for child in children { kill(child, SIGSTOP) }
        defer { for child in children { kill(child, SIGCONT) } }
        try body()
    }
}
