// What an error says to a person. The one thing to keep true: the words name what is the matter, and the code stays.

import CoffretSync
import CoffretTerminal
import Testing

@testable import CoffretCLI
@testable import CoffretMessages

@Suite("Words of failures")
struct FailureWordsTests {
    @Test("a server's full disk is not the person's space, and both leave what is here safe (R48)")
    func fullServer() {
        let space = FailureTranslation.failure(from: SyncError(.quotaExceeded, at: "server.quota.exceeded"))
        let disk = FailureTranslation.failure(from: SyncError(.quotaExceeded, at: "server.storage.full"))
        #expect(space.message.contains("your space on the server") && !disk.message.contains("your space"))
        #expect(disk.message.contains("the server's disk is full"))
        for failure in [space, disk] {
            #expect(failure.code == "sync.server.quota-exceeded" && failure.exitCode == .diskFull)
            #expect(failure.message.contains("safe on this device"))
        }
    }
}
