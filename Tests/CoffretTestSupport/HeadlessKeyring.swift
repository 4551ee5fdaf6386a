// A real desktop keyring for tests: a private session bus with gnome-keyring on it, without a desktop.

internal import Foundation

/// An unlocked, or locked, keyring of its own.
///
/// GLib keeps one connection to the session bus for the life of a process, so all keyrings of a test run
/// follow one another on one bus: tests that use this are serialized in one suite.
package final class HeadlessKeyring: @unchecked Sendable {
    // SAFETY: used by one test at a time.
    private let directory: TemporaryDirectory
    private var daemon: SpawnedProcess?

    /// Whether the programs are installed; tests are visibly skipped without them.
    package static let isAvailable = ["/usr/bin/dbus-daemon", "/usr/bin/gnome-keyring-daemon"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// - Parameter password: unlocks the keyring at start; nil leaves a service whose keyring stays locked.
    package init(password: String?) throws {
        directory = try TemporaryDirectory("keyring")
        let address = try Self.bus.get().address
        let environment = [
            "HOME": directory.path, "XDG_RUNTIME_DIR": directory.path, "XDG_DATA_HOME": directory.file("data"),
            "DBUS_SESSION_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin",
        ]
        let arguments = ["--components=secrets", "--foreground"] + (password == nil ? [] : ["--unlock"])
        daemon = try Self.spawn(
            "/usr/bin/gnome-keyring-daemon", arguments, environment, input: Array((password ?? "").utf8))
        try Waiting.until("the keyring answers") {
            let answer = try? ProcessRunner.run(
                "/usr/bin/dbus-send",
                [
                    "--bus=\(address)", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
                    "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets",
                ])
            return answer?.text.contains("boolean true") == true
        }
    }

    deinit {
        daemon?.kill()
    }

    private struct Bus {
        let address: String
        let directory: TemporaryDirectory
        let process: SpawnedProcess
    }

    private static let bus = Result<Bus, any Error> {
        let directory = try TemporaryDirectory("bus")
        let address = "unix:path=\(directory.file("bus"))"
        let process = try spawn(
            "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"], [:])
        unsafe busProcessIdentifier = process.processID
        atexit { unsafe kill(HeadlessKeyring.busProcessIdentifier, SIGKILL) }
        try Waiting.until("the bus is there") { FileManager.default.fileExists(atPath: directory.file("bus")) }
        unsafe setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
        return Bus(address: address, directory: directory, process: process)
    }

    // SAFETY: written once, before the handler that reads it is installed.
    nonisolated(unsafe) private static var busProcessIdentifier: pid_t = 0

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], input: [UInt8] = []
    ) throws -> SpawnedProcess {
        let process = try SpawnedProcess(
            path, arguments, environment: environment.isEmpty ? nil : environment, input: .pipe)
        process.write(input)
        process.closeInput()
        return process
    }
}
