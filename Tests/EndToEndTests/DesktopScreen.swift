// An X server without a screen, and the keys of a person who sits at it. The one thing to keep true: it ends with the test.

import CoffretTestSupport
import Foundation
import Testing

/// Xvfb, a session bus of its own, and xdotool to press keys there.
final class DesktopScreen {
    private let server: SpawnedProcess
    private let bus: SpawnedProcess
    private let display: String
    private let folder: TemporaryDirectory
    /// The way to the screen of those programs that are turned away at first.
    private let door: LoopbackTunnel?
    /// The variables of a program on this screen. Screen readers are looked for on the same bus, so that no other one is started.
    let environment: [String: String]

    static let isAvailable = ["/usr/bin/Xvfb", "/usr/bin/xdotool", "/usr/bin/dbus-daemon"].allSatisfy(
        FileManager.default.isExecutableFile)

    /// - Parameter refusalCount: so many connections of the programs on this screen are closed before one holds.
    init(turningAway refusalCount: Int = 0) throws {
        folder = try TemporaryDirectory("screen")
        // It chooses a free display and says which. A key that is held long, as on a busy machine, is one key. As that of a desktop, it
        // does not start anew whenever its last window has gone.
        server = try SpawnedProcess(
            "/usr/bin/Xvfb",
            ["-displayfd", "1", "-screen", "0", "1280x800x24", "-fbdir", folder.path, "-r", "-noreset"]
                + [refusalCount > 0 ? "-listen" : "-nolisten", "tcp"],
            environment: ["PATH": "/usr/bin:/bin"], directory: "/", output: .pipe, error: .null)
        guard let number = server.readOutputLine().flatMap(UInt16.init) else {
            server.kill()
            throw CoffretRunner.Failed(text: "Xvfb does not start")
        }
        display = ":\(number)"
        bus = try SpawnedProcess(
            "/usr/bin/dbus-daemon", ["--session", "--print-address", "--nofork", "--nopidfile"],
            environment: ["PATH": "/usr/bin:/bin"], directory: "/", output: .pipe, error: .null)
        guard let address = bus.readOutputLine() else {
            server.kill()
            bus.kill()
            throw CoffretRunner.Failed(text: "dbus-daemon does not start")
        }
        door = refusalCount > 0 ? try LoopbackTunnel(to: 6000 + number) : nil
        door?.turnAway(refusalCount)
        environment = [
            "DISPLAY": door.map { "127.0.0.1:\(Int($0.port) - 6000)" } ?? display, "DBUS_SESSION_BUS_ADDRESS": address,
            "AT_SPI_BUS_ADDRESS": address,
        ]
    }

    deinit {
        server.kill()
        bus.kill()
    }

    /// Whether as many programs have been turned away as were to be.
    var hasTurnedAway: Bool { door?.hasTurnedAway ?? true }

    @discardableResult
    func xdotool(_ arguments: String...) throws -> ProcessResult {
        try ProcessRunner.run("/usr/bin/xdotool", arguments, environment: ["DISPLAY": display])
    }

    /// Waits for a window by its title, and gives it the keyboard.
    ///
    /// - Parameter process: the program of the window, with a pipe for its messages; where it has ended nobody waits.
    @discardableResult
    func window(_ title: String, of process: SpawnedProcess? = nil) throws -> String {
        var found = ""
        try Waiting.until("a window \(title)") {
            if let process, !process.isRunning {
                let words = String(decoding: process.readError(), as: UTF8.self)
                throw CoffretRunner.Failed(text: "\(title) ended with \(process.wait()): \(words)")
            }
            let result = try xdotool("search", "--onlyvisible", "--name", title)
            found = result.text.split(separator: "\n").last.map(String.init) ?? ""
            return !found.isEmpty
        }
        try xdotool("windowfocus", "--sync", found)
        return found
    }

    /// The program that has a window with this title, if there is one.
    func process(ofWindow title: String) throws -> pid_t? {
        try xdotool("search", "--onlyvisible", "--name", title, "getwindowpid").text
            .split(separator: "\n").last.flatMap { pid_t($0) }
    }

    func type(_ text: String) throws { try xdotool("type", "--delay", "10", text) }
    func press(_ keys: String...) throws { for key in keys { try xdotool("key", key) } }

    func waitUntilNoWindow(_ title: String) throws {
        try Waiting.until("no window \(title)") {
            try xdotool("search", "--onlyvisible", "--name", title).text.isEmpty
        }
    }

    /// The screen as it is now.
    func picture() throws -> ScreenPicture {
        try ScreenPicture(dump: Array(Data(contentsOf: URL(fileURLWithPath: folder.file("Xvfb_screen0")))))
    }
}

/// The pixels of a screen.
struct ScreenPicture {
    let width: Int
    let height: Int
    /// Blue, green, red and a byte more, row by row.
    private let pixels: ArraySlice<UInt8>
    private let rowByteCount: Int

    /// - Parameter dump: as `xwd` writes it: a header of numbers with the highest byte first, a table of colours, rows.
    init(dump: [UInt8]) throws {
        func number(_ index: Int) -> Int { dump[(index * 4)..<(index * 4 + 4)].reduce(0) { $0 << 8 | Int($1) } }
        try #require(dump.count > 100 && number(1) == 7 && number(11) == 32, "this is no picture of a screen")
        (width, height, rowByteCount) = (number(4), number(5), number(12))
        pixels = dump[(number(0) + number(19) * 12)...]
    }

    private func pixel(_ row: Int, _ column: Int) -> (red: UInt8, green: UInt8, blue: UInt8) {
        let start = pixels.startIndex + row * rowByteCount + column * 4
        return (pixels[start + 2], pixels[start + 1], pixels[start])
    }

    /// How many pixels are just of this colour.
    func count(red: UInt8, green: UInt8, blue: UInt8) -> Int {
        var count = 0
        for row in 0..<height {
            for column in 0..<width where pixel(row, column) == (red, green, blue) { count += 1 }
        }
        return count
    }

    /// As a file that other programs read.
    var portable: [UInt8] {
        var bytes = Array("P6 \(width) \(height) 255\n".utf8)
        for row in 0..<height {
            for column in 0..<width {
                let (red, green, blue) = pixel(row, column)
                bytes += [red, green, blue]
            }
        }
        return bytes
    }
}
