// Files, imports and exports over sessions of a real agent. Invariant: a client that lets its own request wait keeps nobody else
// waiting, and what it cancels leaves the store as it was.

import CoffretBase
import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

@Suite("Operations with descriptors", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct OperationTransferTests {
    private static func code<Answer: Record>(_ reply: [UInt8], of type: Answer.Type) throws -> String? {
        let reply = try OperationReply<Answer>(decoding: reply, isJSON: false)
        return if case .failure(let failure) = reply { failure.code } else { nil }
    }

    @Test("a pipe that nobody fills or empties keeps no one from writing, and its request is cancelled")
    func slowPipes() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        var add = FileAdd()
        (add.item, add.name) = ("tomatoes", "map.bin")
        let (reader, writer) = try ChildProcess.makePipe()
        defer { close(writer) }
        try session.send(OperationRequest(add).encoded, descriptors: [reader])
        close(reader)
        try DescriptorIO.write([UInt8](repeating: 7, count: 100), to: writer)
        try world.agent.succeed("new", input: "# Meanwhile")
        try session.cancel()
        #expect(try Self.code(session.receive(), of: AttachmentMessage.self) == "operation.cancelled")
        var list = FileList()
        list.item = "tomatoes"
        #expect(try session.perform(list).files.isEmpty)

        let path = world.agent.runner.folder.file("long")
        try Data(count: 1 << 20).write(to: URL(fileURLWithPath: path))
        let file = try OwnedDescriptor.open(path, O_RDONLY)
        #expect(try session.perform(add, descriptors: [file.number]).byteCount == 1 << 20)
        var read = FileRead()
        (read.item, read.name) = ("tomatoes", "map.bin")
        let (unread, sink) = try ChildProcess.makePipe()
        defer { close(unread) }
        try session.send(OperationRequest(read).encoded, descriptors: [sink])
        close(sink)
        // More than that does not go into the pipe.
        #expect(try DescriptorIO.read(from: unread, byteCountMax: 4_096).count == 4_096)
        try session.cancel()
        #expect(try Self.code(session.receive(), of: AttachmentMessage.self) == "operation.cancelled")
        let whole = try OwnedDescriptor.open(path + ".out", O_RDWR | O_CREAT)
        #expect(try session.perform(read, descriptors: [whole.number]).name == "map.bin")
        #expect(FileManager.default.contentsEqual(atPath: path, andPath: path + ".out"))
    }

    @Test("an import tells how far it is, and leaves the vault as it was when it is cancelled")
    func cancelledImport() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: true)
        let folder = world.agent.runner.folder.file("many")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for number in 0..<3_000 {
            try Data("# Note \(number)\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(number).md"))
        }
        let before = try session.perform(ItemList()).total
        let source = try OwnedDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
        var stages: [String] = []
        do {
            _ = try session.perform(ImportRun(), descriptors: [source.number]) { step in
                if stages.isEmpty { try session.cancel() }
                stages.append(step.stage ?? "")
            }
            Issue.record("an import that was cancelled")
        } catch {
            #expect((error as? OperationFailure)?.code == "operation.cancelled")
        }
        #expect(!stages.isEmpty)
        #expect(try session.perform(ItemList()).total == before)
        let result = try session.perform(ImportRun(), descriptors: [source.number])
        #expect(result.items?.imported == 3_000)
        #expect(try session.perform(ItemList()).total == before + 3_000)
    }

    @Test("a full export by one descriptor comes back by another into an empty vault, with its history")
    func everything() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        var session = try world.session(isJSON: false)
        let folder = world.agent.runner.folder.file("out")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let target = try OwnedDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
        var export = ExportRun()
        (export.vault, export.format, export.name) = ("Personal", .json, "all.json")
        let written = try #require(try session.perform(export, descriptors: [target.number]).everything)
        #expect(written.items == 3 && written.commits > 3, "\(written)")
        #expect(throws: OperationFailure.self, "it is there") {
            try session.perform(export, descriptors: [target.number])
        }
        var create = VaultCreate()
        create.name = "Copy"
        #expect(try session.perform(create).name == "Copy")
        session = try world.session(isJSON: false)
        let source = try OwnedDescriptor.open(folder + "/all.json", O_RDONLY)
        var bring = ImportRun()
        bring.vault = "Copy"
        let read = try #require(try session.perform(bring, descriptors: [source.number]).everything)
        #expect(read.items == written.items && read.stateHash == written.stateHash)
        var history = ItemHistory()
        (history.item, history.vault) = ("tomatoes", "Copy")
        #expect(try session.perform(history).versions.count == 2)
    }
}
