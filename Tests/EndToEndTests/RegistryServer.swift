// A server on the loopback interface that asks docker, Cargo, pip, npm and kubectl for credentials. Invariant: it answers only those
// who say the right one.

import CoffretTestSupport
import Foundation
import Testing

/// A registry of packages and images, and a cluster.
final class RegistryServer {
    static let (password, token) = ("pass word=1", "tok-5f2a")

    private let process: SpawnedProcess
    /// `127.0.0.1:PORT`.
    let host: String

    /// - Parameter certificate: a file with a key and its certificate, for TLS.
    init(certificate: String? = nil) throws {
        process = try SpawnedProcess(
            "/usr/bin/env",
            ["python3", "-c", Self.script, Self.password, Self.token] + (certificate.map { [$0] } ?? []),
            output: .pipe)
        host = "127.0.0.1:\(try #require(process.readOutputLine(), "the server ended"))"
    }

    deinit { process.kill() }

    private static let script = """
        import base64, http.server, json, ssl, sys
        password, token = sys.argv[1:3]
        BASIC = "Basic " + base64.b64encode(("ada:" + password).encode()).decode()
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, body, kind="application/json", needs=None, status=401):
                isAllowed = needs is None or self.headers.get("Authorization", "") == needs
                self.send_response(200 if isAllowed else status)
                if not isAllowed and status == 401: self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.send_header("Content-Type", kind)
                self.end_headers()
                if isAllowed: self.wfile.write(body.encode())
            def do_GET(self):
                host = "http://" + self.headers["Host"]
                if self.path == "/index/config.json": self.answer(json.dumps({"dl": host + "/dl", "api": host}))
                elif self.path.startswith("/v2"): self.answer("{}", needs=BASIC)
                elif self.path.startswith("/simple"):
                    self.answer('<a href="demo-1.5.tar.gz">demo-1.5.tar.gz</a>', "text/html", BASIC)
                elif self.path.startswith("/api/v1/crates"):
                    users = {"users": [{"id": 1, "login": "grace", "name": None}]}
                    self.answer(json.dumps(users), needs=token, status=403)
                elif self.path.endswith("whoami"): self.answer('{"username":"grace"}', needs="Bearer " + token)
                else: self.send_error(404)
            def log_message(self, *_): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if len(sys.argv) > 3:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3])
            server.socket = context.wrap_socket(server.socket, server_side=True)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """
}
