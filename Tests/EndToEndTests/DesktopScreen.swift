// An X server without a screen, and the keys of a person who sits at it. The one thing to keep true: it ends with the test.

import CoffretTestSupport
import Foundation

/// Xvfb, a session bus of its own, and xdotool to press keys there.
final class DesktopScreen {
    private let server: SpawnedProcess
    private let bus: SpawnedProcess
    private let display: String
    /// The variables of a program on this screen. Screen readers are looked for on the same bus, so that no other one is started.
    let environment: [String: String]

    static let isAvailable = ["/usr/bin/Xvfb", "/usr/bin/xdotool", "/usr/bin/dbus-daemon"].allSatisfy(
        FileManager.default.isExecutableFile)

    init() throws {
        // It chooses a free display and says which.
        server = try SpawnedProcess(
            "/usr/bin/Xvfb", ["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
            environment: ["PATH": "/usr/bin:/bin"], directory: "/", output: .pipe, error: .null)
        guard let number = server.readOutputLine() else {
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
        environment = [
            "DISPLAY": display, "DBUS_SESSION_BUS_ADDRESS": address, "AT_SPI_BUS_ADDRESS": address,
        ]
    }

    deinit {
        server.kill()
        bus.kill()
    }

    @discardableResult
    func xdotool(_ arguments: String...) throws -> ProcessResult {
        try ProcessRunner.run("/usr/bin/xdotool", arguments, environment: ["DISPLAY": display])
    }

    /// Waits for a window by its title, and gives it the keyboard.
    @discardableResult
    func window(_ title: String) throws -> String {
        var found = ""
        try Waiting.until("a window \(title)") {
            let result = try xdotool("search", "--onlyvisible", "--name", title)
            found = result.text.split(separator: "\n").last.map(String.init) ?? ""
            return !found.isEmpty
        }
        try xdotool("windowfocus", "--sync", found)
        return found
    }

    func type(_ text: String) throws { try xdotool("type", "--delay", "10", text) }
    func press(_ keys: String...) throws { for key in keys { try xdotool("key", key) } }

    func waitUntilNoWindow(_ title: String) throws {
        try Waiting.until("no window \(title)") {
            try xdotool("search", "--onlyvisible", "--name", title).text.isEmpty
        }
    }
}
