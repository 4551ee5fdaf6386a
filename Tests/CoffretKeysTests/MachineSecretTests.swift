// The secret of a machine, made by whoever needs it first.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretTestSupport
import Testing

@Suite("Secret of a machine")
struct MachineSecretTests {
    private final class Found: @unchecked Sendable {
        // SAFETY: written by one thread, read after it was joined.
        var bytes: [UInt8] = []
    }

    @Test("keys 14: of several programs that need it at once, all get the one that stays")
    func atOnce() throws {
        for _ in 0..<20 {
            let folder = try TemporaryDirectory("machine")
            let file = MachineSecretFile(
                stateDirectory: folder.file("state"), fileSystem: PosixFileSystem(), random: SystemRandomSource())
            let found = (0..<6).map { _ in Found() }
            let workers = found.map { one in
                WorkerThread {
                    guard let secret = try? file.loadOrMake() else { return }
                    one.bytes = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
                }
            }
            for worker in workers { worker.join() }
            let kept = try file.load()
            let bytes = unsafe kept.withUnsafeBytes { unsafe [UInt8]($0) }
            #expect(found.allSatisfy { $0.bytes == bytes })
        }
    }
}
