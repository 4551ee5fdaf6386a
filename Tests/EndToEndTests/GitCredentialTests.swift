// Git itself asks the vault: `git credential`, and a fetch from a server that wants a password.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Git credential helper", .enabled(if: RealPrograms.hasGit, "needs git"))
struct GitHelperTests {
    /// A store, and git set up to ask it and nobody else.
    static func makeRunner() throws -> CoffretRunner {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let config = "[credential]\n\thelper = \"!'\(CoffretRunner.executable)' git-credential\"\n"
        try config.write(toFile: runner.folder.file("home/.gitconfig"), atomically: true, encoding: .utf8)
        return runner
    }

    static func git(_ runner: CoffretRunner, _ arguments: [String], input: String = "") throws -> ProcessResult {
        try ProcessRunner.run(
            "/usr/bin/git", arguments, input: Array(input.utf8),
            environment: runner.environment([
                "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ASKPASS": "true",
            ]),
            directory: runner.workPath)
    }

    static func makeLogin(_ runner: CoffretRunner, _ title: String, _ user: String, _ url: String, _ password: String)
        throws
    {
        try runner.succeed(
            "new", "--type", "login", title, "--set", "username=\(user)", "--set", "url=\(url)", "--secret", "password",
            input: password)
    }

    @Test("R34: git gets the login for exactly that place, and nothing if several fit")
    func fill() throws {
        let runner = try Self.makeRunner()
        try Self.makeLogin(runner, "Forge", "ada", "https://git.example.org/", "s3cret=1")
        try Self.makeLogin(runner, "Look-alike", "eve", "https://git.example.org.evil.com/", "stolen")
        let asked = "protocol=https\nhost=git.example.org\n\n"
        let filled = try Self.git(runner, ["credential", "fill"], input: asked)
        #expect(filled.text == "protocol=https\nhost=git.example.org\nusername=ada\npassword=s3cret=1\n")
        #expect(
            try !Self.git(runner, ["credential", "fill"], input: "protocol=http\nhost=git.example.org\n\n").text
                .contains("ada"))
        // A second one for the same place: not a guess but a list, and git goes on without.
        try Self.makeLogin(runner, "Forge of the team", "bot", "https://git.example.org", "other")
        let several = try Self.git(runner, ["credential", "fill"], input: asked)
        #expect(!several.text.contains("s3cret") && !several.text.contains("other"))
        #expect(several.errorText.contains("Forge (ada)") && several.errorText.contains("Forge of the team (bot)"))
        let named = try Self.git(
            runner, ["credential", "fill"], input: "protocol=https\nhost=git.example.org\nusername=bot\n\n")
        #expect(named.text.contains("password=other"))
        #expect(try runner.run("git-credential", "get", input: asked).exitCode == 65)
    }

    @Test("the index finds every way of writing an address; hidden and archived logins are not given")
    func addresses() throws {
        let runner = try Self.makeRunner()
        let places = [
            ("https://Plain.Example.org", "plain.example.org"), ("https://usual.example.org:443/", "usual.example.org"),
            ("https://port.example.org:8443/x?y#z", "port.example.org:8443"),
            ("https://someone@under_score.example-org.de/a/b", "under_score.example-org.de"),
            ("https://b\u{FC}cher.example", "b\u{FC}cher.example"), ("https://[::1]:8080/", "[::1]:8080"),
            ("https://\u{4F8B}\u{3048}.jp", "\u{4F8B}\u{3048}.jp"),
        ]
        for (index, place) in places.enumerated() {
            try Self.makeLogin(runner, "Login \(index)", "someone", place.0, "password \(index)")
        }
        func get(_ host: String) throws -> String {
            try runner.succeed("git-credential", "get", input: "protocol=https\nhost=\(host)\n\n")
        }
        for (index, place) in places.enumerated() {
            #expect(try get(place.1) == "username=someone\npassword=password \(index)\n", "\(place)")
        }
        #expect(try get("example.org") == "" && get("port.example.org") == "")
        try runner.succeed("archive", "Login 0")
        #expect(try get("plain.example.org") == "")
        try runner.succeed("note", "hide", "Login 1")
        #expect(try get("usual.example.org") == "")
    }

    @Test("what worked is kept, what no longer works goes to the trash if git had put it there")
    func storeAndErase() throws {
        let runner = try Self.makeRunner()
        let place = "protocol=https\nhost=new.example.org\nusername=ada\n"
        for password in ["first", "second"] {
            _ = try Self.git(runner, ["credential", "approve"], input: place + "password=\(password)\n\n")
            let filled = try Self.git(
                runner, ["credential", "fill"], input: "protocol=https\nhost=new.example.org\n\n")
            #expect(filled.text.contains("username=ada\npassword=\(password)\n"))
        }
        #expect(try runner.succeed("ls", "--type", "login").split(separator: "\n").count == 1)
        // Of a password that ends by itself nothing is kept.
        try runner.succeed(
            "git-credential", "store",
            input: "protocol=https\nhost=short.example.org\nusername=a\npassword=b\npassword_expiry_utc=9999999999\n\n")
        #expect(try !runner.succeed("ls").contains("short.example.org"))
        // Git tried an old password: the newer one stays.
        _ = try Self.git(runner, ["credential", "reject"], input: place + "password=first\n\n")
        #expect(try runner.succeed("ls").contains("new.example.org"))
        _ = try Self.git(runner, ["credential", "reject"], input: place + "password=second\n\n")
        #expect(try !runner.succeed("ls").contains("new.example.org"))
        try Self.makeLogin(runner, "Mine", "ada", "https://mine.example.org", "pw")
        let kept = try Self.git(
            runner, ["credential", "reject"],
            input: "protocol=https\nhost=mine.example.org\nusername=ada\npassword=pw\n\n")
        #expect(try runner.succeed("ls").contains("Mine"))
        #expect(kept.errorText.contains("stays as it is"))
    }

    /// A web server that serves a folder to those who say the password.
    static let server = """
        import base64, functools, http.server, sys
        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                if self.headers.get("Authorization") != "Basic " + base64.b64encode(sys.argv[1].encode()).decode():
                    self.send_response(401); self.send_header("WWW-Authenticate", 'Basic realm="x"'); self.end_headers()
                    return
                super().do_GET()
            def log_message(self, *_): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[2]))
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    @Test("a clone from a server that asks for a password")
    func clone() throws {
        let runner = try Self.makeRunner()
        for command in [
            ["init", "-q", "--bare", "served.git"], ["clone", "-q", "served.git", "seed"],
            ["-C", "seed", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
            ["-C", "seed", "push", "-q", "origin", "HEAD"], ["-C", "served.git", "update-server-info"],
        ] {
            let result = try Self.git(runner, command)
            #expect(result.exitCode == 0, "\(command): \(result.errorText)")
        }
        let process = try SpawnedProcess(
            "/usr/bin/env", ["python3", "-c", Self.server, "ada:s3cret", runner.workPath], output: .pipe)
        defer { process.kill() }
        let port = try #require(process.readOutputLine(), "the server ended")
        try Self.makeLogin(runner, "Local", "ada", "http://127.0.0.1:\(port)/", "s3cret")
        let cloned = try Self.git(runner, ["clone", "-q", "http://127.0.0.1:\(port)/served.git", "copy"])
        #expect(cloned.exitCode == 0, "\(cloned.errorText)")
        let log = try Self.git(runner, ["-C", "copy", "log", "--format=%s"])
        #expect(log.text == "x\n")
    }
}
