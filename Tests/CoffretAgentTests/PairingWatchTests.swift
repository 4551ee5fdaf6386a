// Which devices that ask to join are worth a notification.

import CoffretAccount
import CoffretBase
import CoffretPairing
import CoffretTestSupport
import Testing

@testable import CoffretAgent

@Suite("Requests to join")
struct PairingWatchTests {
    private let folder: TemporaryDirectory
    private let watch: PairingWatch

    init() throws {
        folder = try TemporaryDirectory("pairing-watch")
        watch = PairingWatch(PairingAttemptsFile(stateDirectory: folder.path, fileSystem: PosixFileSystem()))
    }

    private func request() -> PairingRequest {
        PairingRequest(relayID: UniqueID.generate(from: SystemRandomSource()), since: 0)
    }

    @Test("R26: each is told once, three in ten minutes at most, whoever asks")
    func bounded() {
        let requests = (0..<10).map { _ in request() }
        #expect(watch.news(Array(requests[..<2]), now: 1_000) == Array(requests[..<2]))
        #expect(watch.news(Array(requests[..<2]), now: 2_000).isEmpty)
        #expect(watch.news(requests, now: 3_000) == [requests[2]])
        #expect(watch.news(requests, now: 4_000).isEmpty)
        #expect(watch.news([requests[9]], now: 601_001) == [requests[9]])
        #expect(watch.news([request()], now: -5_000_000).isEmpty == false, "a clock set back stands still")
        #expect(watch.news([request()], now: -5_000_000).isEmpty, "and does not make room")
    }

    @Test("R26: while pairing is paused after wrong codes, nothing is told")
    func paused() throws {
        let attempts = PairingAttempts(times: [1_000, 2_000, 3_000])
        try PosixFileSystem().replaceFile(folder.file("pairing.attempts"), with: attempts.encoded)
        let waiting = request()
        #expect(watch.news([waiting], now: 4_000).isEmpty)
        #expect(watch.news([waiting], now: 601_000) == [waiting], "it may still wait when the pause is over")
    }

    @Test("R26: attempts of a clock that was years ahead, and a broken file, pause for ten minutes and no longer")
    func aheadClock() throws {
        let file = PairingAttemptsFile(stateDirectory: folder.path, fileSystem: PosixFileSystem())
        let year: Milliseconds = 31_557_600_000
        for bytes in [PairingAttempts(times: [year, year + 1, year + 2]).encoded, [0xFF]] {
            try PosixFileSystem().replaceFile(folder.file("pairing.attempts"), with: bytes)
            #expect(file.pause(now: 1_000) == 600_000)
            #expect(file.pause(now: 301_000) == 300_000, "it goes on from the first look")
            #expect(file.pause(now: 601_000) == 0)
            #expect(file.pause(now: -5_000_000) == 600_000, "a clock that is set back gains nothing")
        }
    }

    @Test("keys 14: pairings side by side count together, and one that succeeds forgets them all")
    func together() throws {
        let file = PairingAttemptsFile(stateDirectory: folder.path, fileSystem: PosixFileSystem())
        // Each of them knew of no other when it began.
        func begin(_ now: Milliseconds) throws {
            var own = PairingAttempts()
            try own.begin(now: now)
            try file.keep(own)
        }
        for now: Milliseconds in [1_000, 2_000, 3_000] { try begin(now) }
        #expect(file.read(now: 4_000).times == [1_000, 2_000, 3_000])
        #expect(throws: PairingError.self) { try begin(4_000) }
        try file.keep(PairingAttempts())
        #expect(file.pause(now: 5_000) == 0)
    }
}
