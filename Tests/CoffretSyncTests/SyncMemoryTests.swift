// What a device remembers of a zone, at its largest. The one thing to keep true: it always fits where it is kept, and is
// read again.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretSync

@Suite("Memory of a zone")
struct SyncMemoryTests {
    let random = SeededGenerator.fromEnvironment()

    private func name() throws -> BlobName { BlobName(try #require(Bytes32(random.bytes(count: 32...32)))) }

    private func id() -> UniqueID { .generate(from: random) }

    private func seen() throws -> SeenHead {
        SeenHead(
            vaultID: try #require(VaultID(random.bytes(count: 32...32))), head: try name(),
            dot: Dot(instance: id(), sequence: .max), chainPosition: .max)
    }

    /// With as much of everything, in numbers as long, as there may be.
    private func fullest() throws -> SyncMemory {
        var memory = SyncMemory(server: String(repeating: "x", count: SyncMemory.serverByteCountMax))
        memory.cursor = random.bytes(count: 64...64)
        memory.head = try name()
        memory.headDot = Dot(instance: id(), sequence: .max)
        memory.counter = .max
        memory.counterInstance = id()
        memory.epoch = .max
        memory.failedAuditCount = .max
        memory.areRemovalsDue = true
        memory.sweep = DueSweep(compaction: try name(), since: .max, notBefore: .max)
        for _ in 0..<SyncMemory.deviceCountMax {
            memory.others[id()] = .init(counter: .max, head: try name(), heardAt: .max, aheadSince: .max)
        }
        for _ in 0..<SyncMemory.statedCountMax { memory.stated[id()] = StatedHead(seen: try seen(), since: .max) }
        for _ in 0..<SyncMemory.uncheckedCountMax {
            memory.unchecked.append(UncheckedHead(device: id(), seen: try seen()))
        }
        return memory
    }

    @Test("the fullest memory is kept whole but for files that wait, of which it says that there are more")
    func fullestIsKept() throws {
        var memory = try fullest()
        #expect(memory.encode().count <= VaultRepository.syncNoteByteCountMax)
        #expect(SyncMemory.decode(memory.encode()) == memory)
        let files = (0..<SyncMemory.waitingFileCountMax).map { _ in
            WaitingFile(fileID: id(), byteCount: .max, roomByteCount: .max)
        }
        memory.waitingFiles = files
        let bytes = memory.encode()
        #expect(bytes.count <= VaultRepository.syncNoteByteCountMax)
        let kept = try #require(SyncMemory.decode(bytes))
        #expect(kept.hasMoreWaitingFiles && !kept.waitingFiles.isEmpty)
        #expect(kept.waitingFiles == Array(files.prefix(kept.waitingFiles.count)))
        memory.waitingFiles = kept.waitingFiles
        memory.hasMoreWaitingFiles = true
        #expect(kept == memory)
        // With fewer devices all are named.
        memory.others = [:]
        memory.waitingFiles = files
        memory.hasMoreWaitingFiles = false
        #expect(SyncMemory.decode(memory.encode()) == memory)
    }
}
