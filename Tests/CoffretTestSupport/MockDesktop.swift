// A desktop that shows notifications, on a private session bus, played by python3-dbusmock's template.

internal import Foundation
internal import Glibc

package final class MockDesktop {
    private let directory: TemporaryDirectory
    private var processes: [SpawnedProcess] = []

    /// Whether the programs are installed; tests are visibly skipped without them.
    package static let isAvailable = MockLogind.isAvailable

    package var address: String { "unix:path=\(directory.file("bus"))" }

    package init() throws {
        directory = try TemporaryDirectory("desktop")
        let environment = ["DBUS_SESSION_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin", "HOME": directory.path]
        processes.append(
            try SpawnedProcess(
                "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"],
                environment: environment))
        try Waiting.until("the bus is there") { FileManager.default.fileExists(atPath: directory.file("bus")) }
        processes.append(
            try SpawnedProcess(
                "/usr/bin/python3",
                [
                    "-m", "dbusmock", "--session", "--logfile", directory.file("log"), "--template",
                    "notification_daemon",
                ],
                environment: environment))
        try Waiting.until("notifications are shown") {
            let answer = try? ProcessRunner.run(
                "/usr/bin/dbus-send",
                [
                    "--bus=\(address)", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
                    "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.Notifications",
                ])
            return answer?.text.contains("boolean true") == true
        }
    }

    deinit { for process in processes.reversed() { process.kill() } }

    /// The file of all calls.
    package var log: String { directory.file("log") }

    /// What was shown so far, with everything that the calls said.
    package var shown: [String] {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init).filter { $0.contains(" Notify ") }
    }
}
