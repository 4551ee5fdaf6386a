// logind on a private system bus, played by python3-dbusmock's template, for what a test cannot do to the real one.

internal import Foundation
internal import Glibc

package final class MockLogind {
    private let directory: TemporaryDirectory
    private var processes: [SpawnedProcess] = []

    /// Whether the programs are installed; tests are visibly skipped without them.
    package static let isAvailable: Bool = {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon") else { return false }
        let probe = try? ProcessRunner.run("/usr/bin/python3", ["-c", "import dbusmock, gi"])
        return probe?.exitCode == 0
    }()

    package var address: String { "unix:path=\(directory.file("bus"))" }

    package init() throws {
        directory = try TemporaryDirectory("logind")
        processes.append(
            try spawn("/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"]))
        try Waiting.until("the bus is there") { FileManager.default.fileExists(atPath: directory.file("bus")) }
        processes.append(try spawn("/usr/bin/python3", ["-m", "dbusmock", "--system", "--template", "logind"]))
        try Waiting.until("logind's mock answers") { (try? ask("setup")) == "ready" }
    }

    deinit {
        for process in processes.reversed() { process.kill() }
    }

    /// Does one of: setup, lock, hint, other-lock, sleep, wake, inhibitors.
    @discardableResult
    package func ask(_ what: String) throws -> String {
        let result = try ProcessRunner.run(
            "/usr/bin/python3", ["-c", Self.program, what, "\(getuid())"], environment: environment,
            timeoutSeconds: 60)
        guard result.exitCode == 0 else { throw Failed(text: result.errorText) }
        return result.text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private struct Failed: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    private var environment: [String: String] {
        ["DBUS_SYSTEM_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin", "HOME": directory.path]
    }

    private func spawn(_ path: String, _ arguments: [String]) throws -> SpawnedProcess {
        try SpawnedProcess(path, arguments, environment: environment)
    }

    private static let program = """
        import dbus, sys
        what, uid = sys.argv[1], int(sys.argv[2])
        bus = dbus.SystemBus()
        name, root = 'org.freedesktop.login1', '/org/freedesktop/login1'
        def mock(path=root): return dbus.Interface(bus.get_object(name, path), 'org.freedesktop.DBus.Mock')
        def emit(path, interface, signal, signature, args):
            mock(path).EmitSignal(interface, signal, signature, args)
        session = name + '.Session'
        if what == 'setup':
            mock().AddSession('c1', 'seat0', uid, 'me', True)
            mock().AddSession('c2', 'seat0', uid + 1, 'other', True)
            print('ready')
        elif what == 'lock': emit(root + '/session/c1', session, 'Lock', '', [])
        elif what == 'other-lock': emit(root + '/session/c2', session, 'Lock', '', [])
        elif what == 'hint':
            dbus.Interface(bus.get_object(name, root + '/session/c1'), session).SetLockedHint(True)
        elif what in ('sleep', 'wake'):
            emit(root, name + '.Manager', 'PrepareForSleep', 'b', [what == 'sleep'])
        elif what == 'inhibitors':
            manager = dbus.Interface(bus.get_object(name, root), name + '.Manager')
            print(' '.join(f'{i[1]} {i[0]} {i[3]}' for i in manager.ListInhibitors()))
        """
}
