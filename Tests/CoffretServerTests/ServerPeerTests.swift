// The real server beside other programs: many devices, a proxy in front, a clock that runs on, systemd's view of it. The
// one thing to keep true: what is only skipped here is named, and each program says itself what it found.

import CoffretBase
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("Server and its surroundings")
struct ServerPeerTests {
    static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    static let nginx = "/usr/sbin/nginx"
    static let strace = "/usr/bin/strace"
    static let analyze = "/usr/bin/systemd-analyze"

    static func isThere(_ paths: String...) -> Bool {
        paths.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs one of the programs in Tests/Interop against the real server.
    static func peer(_ script: String, _ arguments: String..., timeoutSeconds: Double = 180) throws -> ProcessResult {
        try ProcessRunner.run(
            python, ["\(SharedData.packageRoot.path)/Tests/Interop/\(script)", ServerProcess.executable] + arguments,
            timeoutSeconds: timeoutSeconds)
    }

    /// The long form is `Scripts/load-server`: 1,000 devices and 10,000 WebSockets.
    @Test(
        "connected devices are all told, idle WebSockets stay open, and memory stays in its limits",
        .enabled(if: isThere(python), "needs .build/venv"))
    func load() throws {
        let result = try Self.peer("load_server.py", "100", "1000")
        #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
        #expect(result.text.hasSuffix("1000 of 1000 still answer\nload: good\n"), "\(result.text)")
    }

    /// The long form is `Scripts/load-server dropped`: 100 rounds.
    @Test(
        "faults F1: WebSockets over TLS that are dropped all at once leave the server alive, and no descriptor behind (R109)",
        .enabled(if: isThere(python, "/usr/bin/openssl"), "needs openssl and .build/venv"))
    func dropped() throws {
        let result = try Self.peer("dropped_peers.py", "3", "300")
        #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
        #expect(result.text.hasSuffix("dropped: good\n"), "\(result.text)")
    }

    @Test(
        "behind nginx, with the configuration that comes with it: TLS, WebSockets, a limit for each client's address",
        .enabled(if: isThere(python, nginx, "/usr/bin/openssl"), "needs nginx, openssl and .build/venv"))
    func proxy() throws {
        let result = try Self.peer("proxy_server.py", Self.nginx)
        #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
        #expect(result.text == "event\nstream\nrelay\naddresses\nproxy: good\n")
    }

    @Test(
        "a session ends in time, also on a connection that knows it, and a new login goes on",
        .enabled(if: isThere(python), "needs .build/venv"))
    func renewal() throws {
        let result = try Self.peer("renew_session.py")
        #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
        #expect(result.text.hasSuffix("renewal: good\n"))
    }

    static let unit = SharedData.packageRoot.path + "/Packaging/coffret-server.service"

    @Test(
        "the unit is one that systemd takes, and leaves the server little that it could misuse",
        .enabled(if: isThere(analyze), "needs systemd-analyze"))
    func unit() throws {
        let folder = try TemporaryDirectory("unit")
        // systemd wants the program to be there.
        let text = try String(contentsOfFile: Self.unit, encoding: .utf8)
        let path = folder.file("coffret-server.service")
        try text.replacing("/usr/bin/coffret-server", with: ServerProcess.executable)
            .write(toFile: path, atomically: true, encoding: .utf8)
        let verified = try ProcessRunner.run(Self.analyze, ["verify", "--man=no", path])
        // It may have something to say of the machine's own units.
        #expect(verified.exitCode == 0 && !verified.errorText.contains("coffret-server"), "\(verified.errorText)")
        // 15 of 100: what is left is the network and the disk, which it is there for.
        let security = try ProcessRunner.run(
            Self.analyze, ["security", "--offline=yes", "--threshold=15", "--no-pager", path])
        #expect(security.exitCode == 0, "\(security.text.suffix(400))")
        let broken = folder.file("broken.service")
        try text.replacing("ProtectClock", with: "ProtectClok").write(toFile: broken, atomically: true, encoding: .utf8)
        let refused = try ProcessRunner.run(Self.analyze, ["verify", "--man=no", broken])
        #expect(refused.errorText.contains("ProtectClok"), "a misspelt line is noticed")
    }

    @Test(
        "the server makes no system call that its unit refuses, but the one that it can do without",
        .enabled(if: isThere(analyze, strace, python), "needs systemd-analyze, strace and .build/venv"))
    func systemCalls() throws {
        func calls(_ set: String) throws -> Set<String> {
            var names: Set<String> = []
            let result = try ProcessRunner.run(Self.analyze, ["syscall-filter", "--no-pager", set])
            for line in result.text.split(separator: "\n").dropFirst() {
                let name = line.trimmingCharacters(in: .whitespaces)
                if name.hasPrefix("@") {
                    names.formUnion(try calls(name))
                } else if !name.hasPrefix("#") {
                    names.insert(name)
                }
            }
            return names
        }
        let allowed = try calls("@system-service").subtracting(calls("@privileged")).subtracting(calls("@resources"))
        #expect(allowed.contains("epoll_wait") && !allowed.contains("chown"))
        let folder = try TemporaryDirectory("calls")
        let script = folder.file("server")
        try
            "#!/bin/sh\nexec \(Self.strace) -D -f -qq -c -U name -o '\(folder.file("calls"))'.$$ '\(ServerProcess.executable)' \"$@\"\n"
            .write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let run = try ProcessRunner.run(
            Self.python, ["\(SharedData.packageRoot.path)/Tests/Interop/plant.py", "--server", script, "word"],
            timeoutSeconds: 120)
        #expect(run.exitCode == 0, "\(run.errorText)")
        var made: Set<String> = []
        // The tracer is another process, which may end a little later.
        try Waiting.until("the tracer has written") {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("calls.")
            {
                let text = try String(contentsOfFile: folder.file(name), encoding: .utf8)
                made.formUnion(text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
            }
            return made.contains("sendmsg")
        }
        made = made.filter { $0.wholeMatch(of: /[a-z][a-z0-9_]*/) != nil && $0 != "syscall" && $0 != "total" }
        #expect(made.contains("pwrite64") && made.contains("sendmsg"), "\(made)")
        // prlimit64 raises a limit that the unit sets; SQLite gives its files to their owner where root runs it.
        #expect(made.subtracting(allowed).subtracting(["prlimit64", "fchown"]) == [])
    }

    @Test(
        "the container file installs the libraries that the program is linked with or loads, and no others",
        .enabled(if: isThere("/usr/bin/readelf", "/usr/bin/dpkg-query"), "needs readelf and dpkg"))
    func container() throws {
        let dynamic = try ProcessRunner.run("/usr/bin/readelf", ["-d", ServerProcess.executable]).text
        var libraries = dynamic.matches(of: /\(NEEDED\).*\[(.+)\]/).map { String($0.1) }
        // Loaded on demand.
        for target in ["COpenSSL", "CSQLite"] {
            let path = SharedData.packageRoot.path + "/Sources/\(target)/\(target).c"
            let source = try String(contentsOfFile: path, encoding: .utf8)
            libraries.append(String(try #require(source.firstMatch(of: /"(lib[a-z0-9]+\.so\.[0-9]+)"/)).1))
        }
        var packages: Set<String> = []
        for library in libraries {
            // Swift's own libraries are in no package; the image has its program linked with them.
            let owner = try ProcessRunner.run("/usr/bin/dpkg-query", ["-S", "*/\(library)"]).text
            if let name = owner.firstMatch(of: /^([^:,]+):/) { packages.insert(String(name.1)) }
        }
        // What every Debian has.
        packages.subtract(["libc6", "libgcc-s1", "libstdc++6"])
        let file = try String(contentsOfFile: SharedData.packageRoot.path + "/Packaging/Containerfile", encoding: .utf8)
        let stage = try #require(file.components(separatedBy: "debian:bookworm-slim").last)
        let installed = Set(
            stage.matches(of: /\blib[a-z0-9.+-]+/).map { String($0.0) })
        #expect(packages.contains("libmicrohttpd12") && installed == packages, "\(installed) \(packages)")
    }

    @Test("a backup of more rows than it reads at a time has each of them once, in every table")
    func pagedBackup() throws {
        let folder = try ServerProcessTests.folder()
        let server = try ServerProcessTests.open(folder)
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        // Twice what a page holds, and one more: the last page is full, and one that is not full follows.
        let objects = (0..<129).map { _ in ZoneObject.random() }
        #expect(try client.push(zone, from: nil, to: nil, objects).status == 200)
        let paths = objects.map { "/v1/zones/\(zone)/chunks/\(Hex.encode($0.address))" }
        let mailbox = "/v1/mailboxes/\(Hex.encode(client.account.id))"
        for (object, path) in zip(objects, paths) {
            #expect(try client.send("PUT", path, object.ciphertext).status == 201)
            #expect(
                try client.send("POST", mailbox, MailboxPost(deviceID: nil, bytes: object.address).encoded()).status
                    == 201)
        }
        let backup = try ServerProcess.run("backup", "--data", folder.file("data"), folder.file("backup"))
        // The account, its device, two links and their entries in the log, the zone, that something is under way, and
        // three times 129.
        #expect(backup.text == "398 rows backed up\n", "\(backup.text) \(backup.errorText)")
        #expect(server.stop() == 0)
        let second = folder.file("second")
        #expect(try ServerProcess.run("init", "--data", second).exitCode == 0)
        #expect(try ServerProcess.run("restore", "--data", second, folder.file("backup")).text == "398 rows restored\n")
        #expect(try ServerProcess.run("doctor", "--data", second).exitCode == 0)
        let restored = try ServerProcess(["--data", second, "--requests-per-second-per-address", "100000"])
        let again = ServerClient(port: restored.port, account: client.account)
        #expect(try again.login().status == 200)
        for (object, path) in zip(objects, paths) { #expect(try again.send("GET", path).body == object.ciphertext) }
        var mail: Set<[UInt8]> = []
        while case let entries = try MailboxEntries(decoding: try again.send("GET", mailbox).body).entries,
            !entries.isEmpty
        {
            for entry in entries {
                mail.insert(entry.bytes)
                #expect(try again.send("DELETE", "\(mailbox)/\(entry.id.hex)").status == 204)
            }
        }
        #expect(mail == Set(objects.map(\.address)))
    }
}
