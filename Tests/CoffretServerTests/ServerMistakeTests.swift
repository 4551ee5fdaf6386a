// What an operator gets wrong, and what breaks under the server. The one thing to keep true: it says what it was,
// changes nothing, and the server goes on as soon as it can.

import CoffretBase
import CoffretServer
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("Server mistakes")
struct ServerMistakeTests {
    @Test("help and the version are found behind any command")
    func help() throws {
        #expect(try ServerProcess.run("--version").text == "coffret-server \(CoffretVersion.text)\n")
        for words in [["--help"], ["serve", "--help"], ["help"]] {
            let result = try ProcessRunner.run(ServerProcess.executable, words, timeoutSeconds: 60)
            #expect(result.exitCode == 0 && result.text.hasPrefix("usage: coffret-server"), "\(words)")
        }
    }

    @Test("an invitation that would be refused says so when it is made")
    func invitation() throws {
        let folder = try ServerProcessTests.folder()
        let closed = try ServerProcess.run("invite", "--data", folder.file("data"))
        #expect(closed.exitCode == 0 && closed.text.count == 33 && closed.errorText.contains("registration is closed"))
        let good = try ServerProcess.run("invite", "--data", folder.file("data"), "--registration", "invitation")
        #expect(good.exitCode == 0 && good.errorText.isEmpty)
    }

    @Test("what is no backup, or is cut, is not restored, and nothing was changed (R10)")
    func noBackup() throws {
        let folder = try ServerProcessTests.folder()
        do {
            let server = try ServerProcessTests.open(folder)
            let client = try ServerProcessTests.client(server)
            let zone = try ServerProcessTests.zone(client)
            let objects = (0..<200).map { _ in ZoneObject.random() }
            #expect(try client.push(zone, from: nil, to: objects[0].address, objects).status == 200)
        }
        let (whole, target) = (folder.file("whole"), folder.file("target"))
        // What an interrupted one left is in nobody's way.
        try Data("rubbish".utf8).write(to: URL(fileURLWithPath: whole + ".unfinished"))
        let made = try ServerProcess.run("backup", "--data", folder.file("data"), whole)
        #expect(made.exitCode == 0, "\(made.errorText)")
        #expect(!FileManager.default.fileExists(atPath: whole + ".unfinished"))
        let mode = try FileManager.default.attributesOfItem(atPath: whole)[.posixPermissions] as? Int
        #expect(mode == 0o600, "others on the machine do not read a backup")
        #expect(try ServerProcess.run("init", "--data", target).exitCode == 0)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
        let foreign: [(String, Data)] = [
            ("rubbish", Data("this is a text and no database".utf8) + Data(repeating: 7, count: 8_192)),
            ("empty", Data()), ("cut", bytes.prefix(bytes.count / 2)),
        ]
        for (name, content) in foreign {
            try content.write(to: URL(fileURLWithPath: folder.file(name)))
            let result = try ServerProcess.run("restore", "--data", target, folder.file(name))
            #expect(result.exitCode == 4 && result.errorText.contains("is no backup of coffret-server"), "\(name)")
        }
        let restored = try ServerProcess.run("restore", "--data", target, whole)
        #expect(restored.exitCode == 0, "\(restored.errorText)")
        #expect(try ServerProcess.run("doctor", "--data", target).exitCode == 0)
    }

    @Test(
        "a key of another certificate is named as the reason",
        .enabled(if: ServerProcessTests.hasTLSPeers, "needs curl and openssl"))
    func otherKey() throws {
        let folder = try ServerProcessTests.folder()
        for name in ["one", "two"] {
            let result = try ProcessRunner.run(
                "/usr/bin/openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    folder.file(name + ".key"), "-out", folder.file(name + ".cert"), "-days", "2", "-subj",
                    "/CN=localhost",
                ], timeoutSeconds: 60)
            try #require(result.exitCode == 0)
        }
        let result = try ServerProcess.run(
            "serve", "--data", folder.file("data"), "--listen", "127.0.0.1:0", "--tls-certificate",
            folder.file("one.cert"), "--tls-key", folder.file("two.key"))
        #expect(result.exitCode == 5 && result.errorText.contains("do they belong together"), "\(result.errorText)")
    }

    @Test(
        "a database that is not there is named, a malformed string is not shown, and neither ends in a crash",
        .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func noDatabase() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let good = try cluster.database()
        let name = try #require(good.split(separator: " ").first { $0.hasPrefix("dbname=") }).dropFirst(7)
        for command in ["init", "serve", "doctor"] {
            let result = try ServerProcess.run(
                command, "--postgres", good.replacingOccurrences(of: name, with: "nowhere"))
            #expect(result.exitCode == 4, "\(command): \(result.errorText)")
            #expect(result.errorText.contains("database \"nowhere\" does not exist"), "\(result.errorText)")
        }
        let malformed = try ServerProcess.run("init", "--postgres", "host=\(cluster.folder.path) secretword")
        #expect(malformed.exitCode == 4 && malformed.errorText.contains("malformed"))
        #expect(!malformed.errorText.contains("secretword"))
    }

    @Test(
        "a server outlives its PostgreSQL: it says 503 meanwhile, and goes on with all that was acknowledged (R48)",
        .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func databaseRestarts() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let connection = try cluster.database()
        #expect(try ServerProcess.run("init", "--postgres", connection).exitCode == 0)
        let server = try ServerProcess([
            "--postgres", connection, "--registration", "open", "--requests-per-second-per-address", "100000",
        ])
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let objects = (0..<20).map { _ in ZoneObject.random() }
        #expect(try client.push(zone, from: nil, to: objects[0].address, objects).status == 200)
        cluster.stop()
        // Its listener tries again twice a second; requests find no connection, more than once.
        for _ in 0..<3 {
            #expect(try client.send("GET", "/health").status == 503)
            #expect(try client.send("GET", "/v1/zones/\(zone)/head").code == "server.storage.unavailable")
            usleep(400_000)
        }
        try cluster.start()
        try Waiting.until("the server answers again") { try client.send("GET", "/health").status == 200 }
        let frames = try ServerClient.frames(try client.send("GET", "/v1/zones/\(zone)/changes").body)
        #expect(ServerClient.objects(frames) == objects)
        let more = ZoneObject.random()
        #expect(try client.push(zone, from: objects[0].address, to: more.address, [more]).status == 200)
        #expect(server.stop() == 0)
    }
}
