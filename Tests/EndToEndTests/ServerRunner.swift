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
    let fingerprint: String
    private let process: SpawnedProcess

    init() throws {
        folder = try TemporaryDirectory("server")
        let (certificate, key) = (folder.file("certificate.pem"), folder.file("key.pem"))
        let made = try ProcessRunner.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
            ])
        try #require(made.exitCode == 0, "\(made.errorText)")
        let digest = "openssl x509 -in \(certificate) -pubkey -noout | openssl pkey -pubin -outform der | sha256sum"
        fingerprint = String(try ProcessRunner.run("/bin/sh", ["-c", digest]).text.prefix(64))
        let data = folder.file("data")
        let initialized = try ProcessRunner.run(Self.executable, ["init", "--data", data])
        try #require(initialized.exitCode == 0, "\(initialized.errorText)")
        let process = try SpawnedProcess(
            Self.executable,
            [
                "serve", "--data", data, "--listen", "127.0.0.1:0", "--registration", "open", "--tls-certificate",
                certificate, "--tls-key", key,
            ], error: .pipe)
        self.process = process
        var text = ""
        var port: Int?
        while port == nil {
            let bytes = process.readError()
            try #require(!bytes.isEmpty, "the server ended: \(text)")
            text += String(decoding: bytes, as: UTF8.self)
            port = text.firstMatch(of: /port\W+(\d+)/).flatMap { Int($0.1) }
        }
        url = "https://localhost:\(try #require(port))"
    }

    deinit { process.kill(SIGTERM) }
}
