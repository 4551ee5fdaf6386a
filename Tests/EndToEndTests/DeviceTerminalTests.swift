// Pairing by QR code, and sheets typed back, at real terminals. The one thing to keep true: what is read is what stands on the
// screen, and what is typed is typed as a person would.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Devices at terminals", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct DeviceTerminalTests {
    /// A store with a synced vault at a server of its own.
    private static func joined() throws -> (server: ServerRunner, first: CoffretRunner) {
        let server = try ServerRunner()
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        return (server, first)
    }

    private static let scanner = "/usr/bin/zbarimg"

    /// What a scanner reads in the code that stands on a screen without colours, where light modules are drawn.
    private func scan(_ screen: String) throws -> String {
        var rows = screen.components(separatedBy: "\r\n").filter { line in line.contains { "█▀▄".contains($0) } }
            .map(Array.init)
        let width = rows.map(\.count).max() ?? 0
        rows = rows.map { $0 + [Character](repeating: " ", count: width - $0.count) }
        var pixels: [[Bool]] = []
        for row in rows {
            pixels.append(row.map { "█▀".contains($0) })
            pixels.append(row.map { "█▄".contains($0) })
        }
        // Four pixels to a module, as a camera would see it; 0 is black.
        let scaled = pixels.flatMap { row in
            [[Bool]](repeating: row.flatMap { [Bool](repeating: $0, count: 4) }, count: 4)
        }
        let text =
            "P2\n\(width * 4) \(scaled.count)\n255\n"
            + scaled.map { row in row.map { $0 ? "255" : "0" }.joined(separator: " ") + "\n" }.joined()
        let folder = try TemporaryDirectory("scan")
        let path = folder.file("code.pgm")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try ProcessRunner.run(Self.scanner, ["--quiet", "--raw", path]).text
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(
        "a QR code on one screen, its text on the other: no code is typed, and the text is good once",
        .enabled(if: FileManager.default.isExecutableFile(atPath: scanner), "zbar-tools is missing"),
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/lib/x86_64-linux-gnu/libqrencode.so.4"),
            "libqrencode4 is missing"))
    func scanned() throws {
        let (server, first) = try Self.joined()
        let new = try CoffretRunner()
        let requester = try DevicePairing.terminal(
            new, "device", "pair", server.url, "--fingerprint", server.fingerprint, "--name", "Beta", "--effort",
            "light",
            "--qr")
        try requester.wait(for: "coffret device approve ")
        let shown = try requester.wait(for: "\r\n").trimmingCharacters(in: .whitespacesAndNewlines)
        let code = try requester.wait(for: "Waiting for the other device")
        #expect(try scan(code) == shown)
        // A part of it is none, and ends nothing.
        let cut = try DevicePairing.terminal(first, "device", "approve", String(shown.dropLast(9)))
        #expect(try cut.finish() == 64, "\(cut.screen)")
        #expect(cut.screen.contains("that is not what a new device shows"), "\(cut.screen)")
        let approver = try DevicePairing.terminal(first, "device", "approve", shown)
        try approver.wait(for: "\"Beta\" is one of your devices now.")
        #expect(try approver.finish() == 0)
        try requester.wait(for: "This device is one of yours now, with \"Personal\".")
        #expect(try requester.finish() == 0)
        #expect(try new.succeed().contains("Nothing of this vault is here yet: coffret sync brings it."))
        #expect(try new.succeed("status").contains("not fetched yet: coffret sync"))
        try new.succeed("sync")
        #expect(try new.succeed("ls").contains("Tomatoes"))
        #expect(try first.run("device", "approve", shown).exitCode == 66, "it is good once")
    }

    /// Rows of four groups, as a sheet has them.
    private func rows(_ groups: [String]) -> [String] {
        stride(from: 0, to: groups.count, by: 4).map { start in
            groups[start..<min(start + 4, groups.count)].joined(separator: "  ")
        }
    }

    /// The groups that stand in rows of their own below a heading.
    private func groups(below heading: String, in screen: String) throws -> [String] {
        let lines = screen.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: "  " + heading))
        return lines[(start + 1)...].prefix { $0.hasPrefix("    ") }.flatMap {
            $0.split(separator: " ").map(String.init).filter { !$0.hasSuffix(":") }
        }
    }

    @Test("R24: a sheet is confirmed, and typed back row by row on a bare machine, mistakes and all")
    func sheet() throws {
        let (server, first) = try Self.joined()
        let making = try DevicePairing.terminal(first, "recovery", "add", "--paper", "--name", "Safe")
        let question = " group to show that you have it: "
        try making.wait(for: "Type the ")
        let numbers = FirstMinuteTests.numbers(in: try making.wait(for: question))
        let key = try groups(below: "Key", in: making.screen)
        let account = try groups(below: "Account", in: making.screen)
        try #require(key.count == 14 && account.count == 14, "\(making.screen)")
        #expect(making.screen.contains("  Server\r\n    \(server.url)\r\n"))
        making.type("0000 0000\r")
        try making.wait(for: "That is not what is written there.")
        try making.answer(question, numbers.map { key[$0 - 1] }.joined(separator: " "))
        try making.wait(for: "\"Safe\" is one of your devices now.")
        #expect(try making.finish() == 0)

        // One that nobody wrote down is none.
        let given = try DevicePairing.terminal(first, "recovery", "add", "--paper", "--name", "Never")
        for _ in 0..<3 { try given.answer(question, "no") }
        #expect(try given.finish() == 83)
        #expect(given.screen.contains("coffret recovery add --paper makes another one"), "\(given.screen)")
        #expect(try !first.succeed("device", "ls").contains("Never"))

        let bare = try CoffretRunner()
        let recovering = try bare.onTerminal(
            "device", "recover", server.url, "--fingerprint", server.fingerprint, "--name", "Back", "--effort", "light")
        try recovering.wait(for: "The sheet's key: its 14 groups")
        var mistyped = key
        mistyped[5] = mistyped[5] == "0000" ? "1111" : "0000"
        for row in rows(mistyped) { recovering.type(row + "\r") }
        try recovering.wait(for: "there is a typing mistake in the recovery key or sheet. Once more, please.")
        try recovering.wait(for: "The sheet's key: its 14 groups")
        for row in rows(key.map { $0.lowercased() }) { recovering.type(row + "\r") }
        try recovering.wait(for: "The sheet's account: its 14 groups")
        for row in rows(account) { recovering.type(row + "\r") }
        try recovering.answer("Choose a passphrase for this device: ", CoffretRunner.passphrase)
        try recovering.answer("Repeat: ", CoffretRunner.passphrase)
        try recovering.wait(for: "The account is back on this device, with \"Personal\".")
        #expect(try recovering.finish() == 0)
        // What was typed was wiped: the rows of the key, and the line that a question for one more stood on.
        #expect(recovering.screen.components(separatedBy: "\u{1B}[4A\r\u{1B}[J").count == 4, "\(recovering.screen)")
        #expect(try bare.succeed("ls").contains("Tomatoes"))

        // The same rows open the store where a recovery key is asked for.
        let testing = try bare.onTerminal("recovery", "test")
        try testing.wait(for: "Recovery key: its 14 groups, as on the sheet")
        for row in rows(key) { testing.type(row + "\r") }
        try testing.wait(for: "This recovery key opens the store.")
        #expect(try testing.finish() == 0)
    }
}
