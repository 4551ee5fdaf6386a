// Stores that are not what this machine remembers: put back, copied, or remembered no more. The one thing to keep true: the
// person at that device hears of it, in words that say which of these it is, and nobody else is blamed.

import CoffretTestSupport
import Foundation
import Testing

/// A store's folder, kept and put back as a backup of the disk would.
extension CoffretRunner {
    func keepStore(as name: String = "kept") throws {
        try? FileManager.default.removeItem(atPath: folder.file(name))
        try FileManager.default.copyItem(atPath: storePath, toPath: folder.file(name))
    }

    func putStoreBack(_ name: String = "kept") throws {
        try FileManager.default.removeItem(atPath: storePath)
        try FileManager.default.copyItem(atPath: folder.file(name), toPath: storePath)
    }

    /// What is remembered of the store outside it.
    var markerPath: String {
        get throws {
            let state = folder.file("home/.local/state/coffret")
            let id = try FileManager.default.contentsOfDirectory(atPath: state).first { $0.count == 32 }
            return "\(state)/\(try #require(id))/marker"
        }
    }
}

@Suite("Old copies of a store")
struct OldCopyTests {
    @Test(
        "faults F2: an old copy of one device is told to that device; the others neither fail nor blame the server (R117)",
        .enabled(if: ServerRunner.isAvailable), arguments: [false, true])
    func otherDevices(writes: Bool) throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base\n")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        for runner in [second, first] { try runner.succeed("sync") }
        try first.keepStore()
        for number in 0..<4 {
            try (writes ? first : second).succeed("new", input: "Note \(number)\n")
            for runner in [second, first, second] { try runner.succeed("sync") }
        }
        try first.putStoreBack()

        func checkSecond() throws {
            let result = try second.run("sync")
            #expect(result.exitCode == 0 && !result.errorText.contains("older word"), "\(result.errorText)")
        }
        for _ in 0..<2 {
            let told = try first.run("sync", "--json")
            #expect(told.exitCode == 72, "\(told.text) \(told.errorText)")
            #expect(told.errorText.contains("sync.store.rolled-back"))
            #expect(told.errorText.contains("coffret device renew"), "\(told.errorText)")
            try checkSecond()
        }
        try first.succeed("device", "renew")
        for _ in 0..<2 {
            try first.succeed("sync")
            try checkSecond()
        }
        // From the other side as well: what either says now counts.
        try first.succeed("new", input: "After it\n")
        for runner in [first, second, first] { try runner.succeed("sync") }
        let codes = try [first, second].map { try #require(try $0.json("status")["headCode"] as? String) }
        #expect(Set(codes).count == 1)
        for runner in [first, second] { #expect(try runner.succeed("ls").contains("After it")) }
    }
}
