// PostgreSQL for tests. The one thing to keep true: it listens on a Unix socket in a temporary folder, and ends with
// the test.

internal import Foundation
internal import Glibc

/// A PostgreSQL of a test's own, on a Unix socket in a temporary folder.
package final class PostgresCluster {
    package static let programs = [
        "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin",
    ]
    .first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    /// `initdb` refuses root, so root needs the package's own user.
    package static let isAvailable = unsafe programs != nil && (getuid() != 0 || getpwnam("postgres") != nil)

    package let folder: TemporaryDirectory
    private var server: SpawnedProcess?

    package init() throws {
        folder = try TemporaryDirectory("postgres")
        if getuid() == 0 {
            let user = unsafe getpwnam("postgres")!
            unsafe chown(folder.path, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        try run("initdb", "-D", folder.file("data"), "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        try start()
    }

    /// Starts it, also again after `stop`, with what it holds.
    package func start() throws {
        // Not through pg_ctl, so that it is this test's own child.
        let (program, arguments) = Self.command("postgres")
        let server = try SpawnedProcess(
            program,
            arguments + [
                "-D", folder.file("data"), "-k", folder.path, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
                "shared_buffers=16MB", "-c", "max_connections=60",
            ], directory: "/tmp")
        self.server = server
        try Waiting.until("PostgreSQL answers", everyMilliseconds: 50) {
            guard server.isRunning else { throw Failed(text: "PostgreSQL ended") }
            return (try? run("pg_isready", "-q", "-h", folder.path)) != nil
        }
    }

    /// Ends it at once, as a crash does.
    package func stop() { server?.kill(SIGQUIT) }

    /// A new database's connection string.
    package func database() throws -> String {
        let name = "d" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        try run("createdb", "-h", folder.path, name)
        return "host=\(folder.path) dbname=\(name) user=\(getuid() == 0 ? "postgres" : NSUserName())"
    }

    /// A program and its arguments so that it runs as somebody whom PostgreSQL accepts.
    private static func command(_ program: String) -> (program: String, arguments: [String]) {
        let path = (programs ?? "") + "/" + program
        return getuid() == 0
            ? ("/usr/bin/setpriv", ["--reuid=postgres", "--regid=postgres", "--init-groups", path]) : (path, [])
    }

    /// Runs one of PostgreSQL's programs to its end.
    @discardableResult
    package func run(_ program: String, _ arguments: String...) throws -> ProcessResult {
        let (path, first) = Self.command(program)
        let result = try ProcessRunner.run(path, first + arguments, directory: "/tmp", timeoutSeconds: 60)
        guard result.exitCode == 0 else { throw Failed(text: "\(program): \(result.errorText)") }
        return result
    }

    package struct Failed: Error, CustomStringConvertible {
        package let text: String
        package var description: String { text }
    }
}
