// A real web server with a certificate of its own, in Python, for as long as a test holds it.

import CoffretBase
import CoffretHTTP
import CoffretTestSupport
import Foundation
import Testing

final class WebPeer {
    static let isAvailable = ["/usr/bin/python3", "/usr/bin/openssl"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let port: Int
    let certificatePath: String
    /// By OpenSSL, not by us.
    let pin: ServerPin
    private let process: SpawnedProcess
    private let directory: TemporaryDirectory

    /// - Parameter isSilent: whether it ends every connection without a word.
    init(isPlain: Bool = false, isSilent: Bool = false) throws {
        directory = try TemporaryDirectory("web")
        certificatePath = directory.file("certificate.pem")
        let keyPath = directory.file("key.pem")
        let made = try ProcessRunner.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", keyPath,
                "-out", certificatePath,
            ])
        try #require(made.exitCode == 0, "\(made.errorText)")
        let script = "openssl x509 -in \(certificatePath) -pubkey -noout | openssl pkey -pubin -outform der | sha256sum"
        let digest = try ProcessRunner.run("/bin/sh", ["-c", script]).text.prefix(64)
        pin = try #require(ServerPin.parse(String(digest)))
        let peer = SharedData.packageRoot.appendingPathComponent("Tests/Interop/http_peer.py").path
        process = try SpawnedProcess(
            "/usr/bin/python3", [peer] + (isSilent ? ["--silent"] : isPlain ? [] : [certificatePath, keyPath]),
            input: .pipe, output: .pipe,
            error: .inherited)
        let line = try #require(process.readOutputLine(), "the server ended")
        port = try #require(Int(line))
    }

    deinit { process.finish() }

    func settings(pin: ServerPin? = nil, host: String = "localhost") throws -> HTTPSettings {
        var settings = HTTPSettings(try ServerAddress("https://\(host):\(port)"), pin: pin)
        settings.proxy = ""
        return settings
    }
}

/// The code of the error that `body` throws.
func failure<Result>(_ body: () throws -> Result) -> HTTPError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? HTTPError)?.code
    }
}
