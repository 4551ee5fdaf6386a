// The real server with a certificate of its own. The one thing to keep true: it ends with the test, whatever happened.

import CoffretTestSupport
import Foundation
import Testing

/// Runs `coffret-server` on a port of its own.
final class ServerRunner {
    static let executable = CoffretRunner.executable + "-server"
    static let isAvailable = [executable, "/usr/bin/openssl"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let folder: TemporaryDirectory
    let url: String
    /// Of its key, by OpenSSL.
    private(set) var fingerprint: String
    private var process: SpawnedProcess
    private let reserved: ReservedPort
    var port: UInt16 { reserved.number }
    var processID: Int32 { process.processID }
    private let options: [String]

    var databasePath: String { folder.file("data/server.sqlite") }

    /// - Parameter options: further ones of `coffret-server serve`.
    convenience init(_ options: String...) throws { try self.init(options: options) }

    init(options: [String]) throws {
        folder = try TemporaryDirectory("server")
        self.options = options
        fingerprint = try Self.makeKey(in: folder)
        let data = folder.file("data")
        let initialized = try ProcessRunner.run(Self.executable, ["init", "--data", data])
        try #require(initialized.exitCode == 0, "\(initialized.errorText)")
        reserved = try ReservedPort()
        process = try Self.start(folder, port: reserved.number, options)
        url = "https://localhost:\(reserved.number)"
    }

    /// Makes a key and a certificate of its own.
    ///
    /// - Returns: the key's fingerprint.
    private static func makeKey(in folder: TemporaryDirectory) throws -> String {
        let (certificate, key) = (folder.file("certificate.pem"), folder.file("key.pem"))
        let made = try ProcessRunner.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
            ])
        try #require(made.exitCode == 0, "\(made.errorText)")
        let digest = "openssl x509 -in \(certificate) -pubkey -noout | openssl pkey -pubin -outform der | sha256sum"
        return String(try ProcessRunner.run("/bin/sh", ["-c", digest]).text.prefix(64))
    }

    /// Ends it, and starts it again at the same address with another key.
    func changeKey() throws { try restart { _ in fingerprint = try Self.makeKey(in: folder) } }

    private static func start(
        _ folder: TemporaryDirectory, port: UInt16, _ options: [String], _ variables: [String: String] = [:]
    ) throws -> SpawnedProcess {
        let process = try SpawnedProcess(
            executable,
            [
                "serve", "--data", folder.file("data"), "--listen", "127.0.0.1:\(port)", "--registration", "open",
                "--tls-certificate", folder.file("certificate.pem"), "--tls-key", folder.file("key.pem"),
            ] + options, environment: ProcessInfo.processInfo.environment.merging(variables) { $1 }, error: .pipe)
        var text = ""
        while true {
            let bytes = process.readError()
            try #require(!bytes.isEmpty, "the server ended: \(text)")
            text += String(decoding: bytes, as: UTF8.self)
            if text.contains(/port\W+\d+/) { return process }
        }
    }

    /// Ends the server; what it stored stays.
    func stop(_ signal: Int32 = SIGTERM) { _ = process.kill(signal) }

    /// Starts it again at the same address, after `stop`; with other options if there are any.
    func start(_ others: String...) throws {
        process = try Self.start(folder, port: port, others.isEmpty ? options : others)
    }

    /// Ends the server in order, does something with its data, and starts it again at the same address.
    func restart(_ body: (_ dataPath: String) throws -> Void = { _ in }) throws {
        _ = process.kill(SIGTERM)
        try body(folder.file("data"))
        process = try Self.start(folder, port: port, options)
    }

    /// The same with another clock.
    ///
    /// - Parameter time: in libfaketime's words.
    func restart(at time: String) throws {
        _ = process.kill(SIGTERM)
        let variables = [
            "LD_PRELOAD": Faketime.library, "FAKETIME": time, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
        process = try Self.start(folder, port: port, options, variables)
    }

    /// A copy of the server's data as it is now, to be put back by `putBack`.
    func keepData(as name: String) throws {
        try restart { data in
            try FileManager.default.copyItem(atPath: data, toPath: folder.file(name))
        }
    }

    /// Puts older data back, as a restore from a backup or a lying operator would.
    func putBack(_ name: String) throws {
        try restart { data in
            try FileManager.default.removeItem(atPath: data)
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: data)
        }
    }

    /// A statement by somebody who has the database.
    @discardableResult
    func query(_ statement: String) throws -> [String] {
        let result = try ProcessRunner.run("/usr/bin/sqlite3", ["-cmd", ".timeout 10000", databasePath, statement])
        try #require(result.exitCode == 0, "\(result.errorText)")
        return result.text.split(separator: "\n").map(String.init)
    }

    deinit { process.kill(SIGTERM) }
}
