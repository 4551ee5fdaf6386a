// Programs of the desktop keep passwords in a vault: secret-tool, Python's secretstorage and chromium, on a bus of the test.

import CoffretBase
import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite(
    "Secret Service of Coffret", .serialized,
    .enabled(if: SecretServiceWorld.isAvailable, "needs coffret-agent, coffret-secret-service and dbus-daemon"))
struct DesktopSecretServiceTests {
    @Test(
        "secret-tool keeps, finds, replaces and removes a password, which is an item of the vault",
        .enabled(if: SecretServiceWorld.hasTool, "needs secret-tool"))
    func tool() throws {
        let world = try SecretServiceWorld()
        func look(_ words: String...) throws -> String {
            try ProcessRunner.run("/usr/bin/secret-tool", ["lookup"] + words, environment: world.variables).text
        }
        for secret in ["first", "s\u{E9}cond\nwith a line"] {
            let stored = try world.tool(
                "store", "--label", "Mail", "service", "mail.example", "user", "ada", input: secret)
            #expect(stored.exitCode == 0, "\(stored.errorText)")
            #expect(try look("service", "mail.example", "user", "ada") == secret)
        }
        let shown = try world.agent.succeed("show", "Mail", "--reveal")
        #expect(shown.contains("s\u{E9}cond") && shown.contains("mail.example"), "\(shown)")
        #expect(try world.agent.succeed("ls", "--vault", "Desktop").contains("#keyring"))
        #expect(try world.agent.succeed("history", "Mail").contains("Secret"), "the first password is in the history")
        // Every attribute that is asked for has to be there, with its whole value.
        #expect(try look("user", "ada") == "s\u{E9}cond\nwith a line" && look("service", "mail.example") != "")
        for wrong in [["user", "bob"], ["user", "ad"], ["user", "ada", "more", "x"], ["User", "ada"]] {
            #expect(try world.tool("lookup", wrong[0], wrong[1]).text.isEmpty || wrong.count > 2)
        }
        #expect(try look("user", "ada", "more", "x") == "")
        // Several entries that differ in one attribute, among many that have the same words.
        for number in 0..<12 {
            let stored = try world.tool(
                "store", "--label", "Many", "schema", "org.example.Many", "name", "\(number) \u{1F511} caf\u{E9}",
                input: "\(number)")
            #expect(stored.exitCode == 0, "\(stored.errorText)")
        }
        for number in [0, 7, 11] {
            #expect(try look("schema", "org.example.Many", "name", "\(number) \u{1F511} caf\u{E9}") == "\(number)")
        }
        // Signs without a word in them are found as well.
        #expect(try world.tool("store", "--label", "Signs", "path", "/*", input: "signs").exitCode == 0)
        #expect(try look("path", "/*") == "signs" && look("path", "//") == "")
        #expect(try world.tool("clear", "user", "ada").exitCode == 0)
        #expect(try look("user", "ada") == "")
        #expect(try world.agent.succeed("ls", "--trash").contains("Mail"))
    }

    @Test(
        "Python's secretstorage works with collection, items, bytes and attributes",
        .enabled(if: SecretServiceWorld.hasPython, "needs python3-secretstorage"))
    func secretStorage() throws {
        let world = try SecretServiceWorld()
        let script = """
            import secretstorage
            connection = secretstorage.dbus_init()
            collection = secretstorage.get_default_collection(connection)
            assert collection.get_label() == "Desktop" and not collection.is_locked()
            every = bytes(range(256)) * 100
            item = collection.create_item("Bytes", {"a": "1", "A": '"\\\\2'}, every, content_type="application/octet-stream")
            assert item.get_secret() == every and item.get_attributes() == {"a": "1", "A": '"\\\\2'}
            assert item.get_secret_content_type() == "application/octet-stream" and item.get_created() > 1_600_000_000
            item.set_label("Other"); item.set_attributes({"xdg:schema": "org.example"}); item.set_secret(b"")
            assert item.get_label() == "Other" and item.get_secret() == b""
            assert [found.get_label() for found in collection.search_items({"xdg:schema": "org.example"})] == ["Other"]
            assert list(collection.search_items({"a": "1"})) == []
            second = collection.create_item("Other", {"xdg:schema": "org.example"}, b"two")
            assert len(list(collection.search_items({"xdg:schema": "org.example"}))) == 2
            assert len(list(collection.get_all_items())) == 2
            replaced = collection.create_item("Other", {"xdg:schema": "org.example"}, b"three", replace=True)
            assert len(list(collection.get_all_items())) == 2 and replaced.get_secret() == b"three"
            item.delete(); second.delete()
            assert list(collection.get_all_items()) == []
            """
        let done = try world.python(script)
        #expect(done.exitCode == 0, "\(done.errorText)")
    }

    @Test(
        "chromium keeps the key of its cookies there",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium"), "needs chromium"))
    func chromium() throws {
        let world = try SecretServiceWorld()
        // It asks beside its other work, so a run may end before that; under load several do.
        var (runs, log) = (0, "")
        while runs < 2 || runs < 12 && !(log.contains("item.create") && log.contains("item.read")) {
            let shown = try ProcessRunner.run(
                "/usr/bin/chromium",
                [
                    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                    "--disable-background-networking", "--user-data-dir=\(world.agent.runner.folder.file("browser"))",
                    "--password-store=gnome-libsecret", "--timeout=2000", "--dump-dom", "data:text/html,<p>shown",
                ], environment: world.variables.merging(["TMPDIR": "/tmp"]) { $1 }, timeoutSeconds: 300)
            #expect(shown.text.contains("shown"), "\(shown.errorText)")
            (runs, log) = (runs + 1, try world.agent.succeed("agent", "log"))
        }
        #expect(log.contains("item.create") && log.contains("item.read"), "\(log)")
        let items = try world.agent.succeed("ls", "--vault", "Desktop").split(separator: "\n")
        #expect(items.count == 1 && items[0].contains("Chromium Safe Storage"), "\(items)")
    }

    // MARK: Attacks

    @Test(
        "R152: nothing but entries of the vault and the tag is there, and too much of anything is refused",
        .enabled(if: SecretServiceWorld.hasPython, "needs python3-secretstorage"))
    func oneVault() throws {
        let world = try SecretServiceWorld()
        let custom = ["--type", "custom", "--set", "Attributes={\"right\":\"yes\"}", "--set", "Secret=xylophone"]
        func item(_ title: String, _ options: [String]) throws -> String {
            let made = try world.agent.runner.run(
                ["new", title, "--json"] + options, input: [], environment: world.agent.environment())
            let value = try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any]
            return try #require(value?["id"] as? String, "\(made.errorText)")
        }
        let foreign = [
            try item("In another vault", custom + ["-t", "keyring"]),
            try item("Without the tag", custom + ["--vault", "Desktop"]),
            try item(
                "Without attributes",
                ["--type", "custom", "--set", "Secret=xylophone", "--vault", "Desktop", "-t", "keyring"]),
            try item(
                "A login",
                ["--type", "login", "--set", "username=xylophone", "--vault", "Desktop", "-t", "keyring"]),
            try item("Hidden", custom + ["--vault", "Desktop", "-t", "keyring"]),
            try item("Removed", custom + ["--vault", "Desktop", "-t", "keyring"]),
            try item("Put aside", custom + ["--vault", "Desktop", "-t", "keyring"]),
        ]
        try world.agent.succeed("note", "hide", "Hidden")
        try world.agent.succeed("rm", "Removed")
        try world.agent.succeed("archive", "Put aside")
        let before = try world.agent.succeed("ls", "--json", "--vault", "Desktop")
        let script = SharedData.packageRoot.path + "/Tests/Interop/attack_secret_service.py"
        let result = try ProcessRunner.run(
            SecretServiceWorld.python, [script, String(repeating: "0123", count: 8)] + foreign,
            environment: world.variables, timeoutSeconds: 300)
        #expect(result.exitCode == 0, "\(result.errorText)")
        #expect(!result.text.contains("xylophone"))
        let tries = try result.text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        func answers(_ name: String) -> [(error: String?, answer: JSONValue)] {
            tries.compactMap(\.elements).filter { $0[0].string == name }.map { ($0[1].string, $0[2]) }
        }
        func errors(_ name: String) -> [String?] {
            answers(name).map { $0.error.flatMap { $0.split(separator: ".").last.map(String.init) } }
        }
        // As for an item that does not exist, and no change.
        let absent = errors("absent")
        #expect(absent == Array(repeating: "NoSuchObject", count: 5))
        #expect(errors("foreign") == Array(repeating: absent, count: foreign.count).flatMap { $0 })
        for (error, answer) in answers("absent secrets") + answers("foreign secrets") {
            #expect(error == nil && answer == .array([.object([])]))
        }
        #expect(try world.agent.succeed("ls", "--json", "--vault", "Desktop") == before)
        #expect(errors("path") == Array(repeating: "NoSuchObject", count: 7))
        #expect(answers("nothing").map(\.answer) == [.array([.array([]), .array([])])])
        #expect(answers("nothing in collection").map(\.answer) == [.array([.array([])])])
        for name in ["many", "large"] { #expect(errors(name) == ["LimitsExceeded", "LimitsExceeded"], "\(name)") }
        #expect(errors("session of another") == Array(repeating: "NoSession", count: 3))
        #expect(errors("prompt of another") == ["NoSuchObject"])
        #expect(errors("number") == Array(repeating: "InvalidArgs", count: 6))
        #expect(errors("unsupported") == Array(repeating: "NotSupported", count: 4))
        #expect(errors("wrong types") == Array(repeating: "InvalidArgs", count: 2))
        #expect(answers("lock").map(\.answer) == [.array([.array([]), .string("/")])])
        #expect(errors("sessions") == ["LimitsExceeded"], "and later clients have theirs")
        #expect(answers("agreed").map(\.answer) == [.number("0")])
        #expect(errors("deleted") == [nil])
        #expect(try world.agent.succeed("agent", "status").contains("unlocked"), "a program locks nothing")
    }

    @Test(
        "R152: R156: the service holds no secret that nobody asks for, and another tag is another collection",
        .enabled(if: SecretServiceWorld.hasTool, "needs secret-tool"),
        .enabled(if: geteuid() == 0, "reading another process's memory takes root"))
    func memory() throws {
        let world = try SecretServiceWorld()
        for number in 0..<5 {
            let stored = try world.tool(
                "store", "--label", "Entry \(number)", "number", "\(number)", input: "canary-\(number)-xylophone")
            #expect(stored.exitCode == 0)
        }
        // Another run of the service, which has been asked for one of them.
        world.end()
        try world.serve()
        #expect(try world.tool("lookup", "number", "3").text == "canary-3-xylophone")
        let process = try #require(world.processID)
        let memory = try MemoryDump(of: process)
        for number in [0, 1, 2, 4] { #expect(!memory.contains(Array("canary-\(number)-xylophone".utf8))) }
        world.end()
        let on = try world.switchOn("--tag", "programs")
        #expect(on.exitCode == 0, "\(on.errorText)")
        try world.serve()
        #expect(try world.tool("lookup", "number", "3").text == "")
        #expect(try world.tool("store", "--label", "Here", "number", "3", input: "new").exitCode == 0)
        #expect(try world.tool("lookup", "number", "3").text == "new")
        #expect(try world.agent.succeed("ls", "--tag", "programs").contains("Here"))
    }

    // MARK: Locked

    @Test(
        "R155: an agent that cannot be asked is an error, and no locked store",
        .enabled(if: SecretServiceWorld.hasTool, "needs secret-tool"))
    func unasked() throws {
        let world = try SecretServiceWorld()
        func setMode(_ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: world.agent.socketFolder)
        }
        func store() throws -> ProcessResult {
            try world.tool("store", "--label", "Mail", "user", "ada", input: "xylophone")
        }
        // Where others may write nobody knows whose agent listens.
        try setMode(0o777)
        let refused = try store()
        #expect(refused.exitCode != 0 && refused.errorText.contains("net.directory.untrusted"), "\(refused.errorText)")
        try setMode(0o700)
        #expect(try store().exitCode == 0)
    }

    @Test(
        "R155: while the store is locked a program can do nothing but have the person asked, by Coffret's own prompt",
        .enabled(if: SecretServiceWorld.hasTool && DesktopScreen.isAvailable, "needs secret-tool and Xvfb"),
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: CoffretRunner.executable + "-prompt"),
            "coffret-prompt is not built: GTK 4 is missing"))
    func locked() throws {
        let screen = try DesktopScreen()
        let world = try SecretServiceWorld(screen: screen)
        #expect(try world.tool("store", "--label", "Mail", "user", "ada", input: "xylophone").exitCode == 0)
        try world.agent.succeed("lock")
        /// A program that asks, once the person's window is there.
        func ask() throws -> SpawnedProcess {
            let program = try SpawnedProcess(
                "/usr/bin/secret-tool", ["lookup", "user", "ada"], environment: world.variables, output: .pipe,
                error: .pipe)
            try screen.window("^Coffret$", of: program)
            return program
        }
        // The person says no: the program gets nothing, and the store stays locked.
        let refused = try ask()
        try screen.press("Escape")
        #expect(refused.wait().code != 0 && refused.readOutputToEnd().isEmpty)
        try screen.waitUntilNoWindow("^Coffret$")
        #expect(try !world.agent.succeed("agent", "status").contains("unlocked"))
        // A program that goes away takes its question with it.
        let gone = try ask()
        gone.kill()
        try screen.waitUntilNoWindow("^Coffret$")
        let asked = try ask()
        try screen.type(CoffretRunner.passphrase)
        try screen.press("Return")
        #expect(String(decoding: asked.readOutputToEnd(), as: UTF8.self) == "xylophone")
        #expect(asked.wait().code == 0)
        #expect(try world.agent.succeed("agent", "status").contains("unlocked"))
    }

    @Test(
        "R155: a locked store shows neither entries nor labels, writing waits, and clients hear of it",
        .enabled(if: SecretServiceWorld.hasPython, "needs python3-secretstorage"))
    func lockedPython() throws {
        let world = try SecretServiceWorld()
        let script = """
            import json, secretstorage, subprocess, sys
            from jeepney import MatchRule
            connection = secretstorage.dbus_init()
            collection = secretstorage.get_default_collection(connection)
            item = collection.create_item("Mail", {"user": "ada"}, b"xylophone")
            with connection.filter(MatchRule(type="signal", member="PropertiesChanged", path="/org/freedesktop/secrets/collection/login")) as queue:
                from jeepney.bus_messages import message_bus
                from jeepney.io.blocking import Proxy
                Proxy(message_bus, connection).AddMatch(MatchRule(type="signal", member="PropertiesChanged"))
                subprocess.run([sys.argv[1], "lock"], check=True, stdout=subprocess.DEVNULL)
                told = connection.recv_until_filtered(queue, timeout=60)
                assert told.body[1]["Locked"] == ("b", True)
            assert collection.is_locked() and list(collection.get_all_items()) == []
            found = list(collection.search_items({"user": "ada"}))
            assert len(found) == 1 and found[0].is_locked() and found[0].get_label() == ""
            assert list(collection.search_items({"user": "bob"}))[0].is_locked(), "who asks does not learn what is there"
            assert item.is_locked() and item.get_label() == "" and item.get_attributes() == {}
            for ask in [item.get_secret, found[0].get_secret, item.delete, lambda: item.set_label("x"),
                        lambda: collection.create_item("Other", {"a": "b"}, b"x")]:
                try: ask()
                except (secretstorage.exceptions.LockedException, secretstorage.exceptions.ItemNotFoundException): continue
                raise SystemExit("a locked store did something")
            subprocess.run([sys.argv[1], "unlock"], check=True, stdout=subprocess.DEVNULL, env={**__import__("os").environ,
                "COFFRET_PASSPHRASE_FILE": sys.argv[2]})
            assert not collection.is_locked() and found[0].get_secret() == b"xylophone" and item.get_label() == "Mail"
            """
        let done = try world.python(script, [CoffretRunner.executable, world.agent.runner.passphraseFile])
        #expect(done.exitCode == 0, "\(done.errorText)")
    }

    // MARK: On and off

    @Test("switching on needs the person, off ends the service, and another program's service stays")
    func onAndOff() throws {
        let world = try SecretServiceWorld(isServing: false)
        let state = world.agent.runner.folder.file("home/.local/state/coffret/secret-service")
        let early = try ProcessRunner.run(SecretServiceWorld.program, [], environment: world.variables)
        #expect(early.exitCode == 78 && early.errorText.contains("switched off"))
        #expect(try world.agent.run("secret-service", "on").exitCode != 0, "nobody is there")
        #expect(!FileManager.default.fileExists(atPath: state))
        #expect(try world.agent.succeed("secret-service", "status").contains("off"))
        let on = try world.switchOn()
        #expect(on.exitCode == 0, "\(on.errorText)")
        let mode = try FileManager.default.attributesOfItem(atPath: state)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let started = world.agent.runner.folder.file(
            "home/.local/share/dbus-1/services/org.freedesktop.secrets.service")
        #expect(try String(contentsOfFile: started, encoding: .utf8).contains("Exec=\(SecretServiceWorld.program)"))
        let status = { try world.agent.succeed("secret-service", "status") }
        #expect(try status().contains("The first program that asks starts coffret-secret-service.\n"))
        try world.serve()
        #expect(try status().contains("\ncoffret-secret-service runs.\n"))
        let second = try ProcessRunner.run(SecretServiceWorld.program, [], environment: world.variables)
        #expect(second.exitCode == 75 && second.errorText.contains("another program"))
        try world.agent.succeed("secret-service", "off")
        #expect(try !world.agent.succeed("token", "ls").contains("secret-service"))
        #expect(!FileManager.default.fileExists(atPath: state) && !FileManager.default.fileExists(atPath: started))
        #expect(world.waitForEnd()?.code == 0)
        // A file that others can read is no right.
        #expect(try world.switchOn().exitCode == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: state)
        #expect(try world.agent.run("secret-service", "status").exitCode == 77)
        #expect(try ProcessRunner.run(SecretServiceWorld.program, [], environment: world.variables).exitCode == 78)
    }

    @Test(
        "the bus starts the program for the first who asks, also where it had no folder of such files before",
        .enabled(if: SecretServiceWorld.hasTool, "needs secret-tool"))
    func activation() throws {
        let world = try SecretServiceWorld(isServing: false)
        let services = world.agent.runner.folder.file("home/.local/share/dbus-1/services")
        let bus = try PrivateBus(services: services)
        let on = try world.agent.runner.run(
            ["secret-service", "on", "--vault", "Desktop", "--passphrase-fd", "0"],
            input: Array((CoffretRunner.passphrase + "\n").utf8),
            environment: world.agent.environment(["DBUS_SESSION_BUS_ADDRESS": bus.address]))
        #expect(on.exitCode == 0 && on.text.contains("starts coffret-secret-service.\n"), "\(on.errorText)\(on.text)")
        try world.allowPrograms()
        // The bus gives its children its own variables, as a desktop does with those of the person.
        let variables = world.variables.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 }
        let names = variables.map { "\($0.key)=\($0.value)" }.sorted()
        let told = try ProcessRunner.run(
            "/usr/bin/dbus-update-activation-environment", names, environment: variables)
        #expect(told.exitCode == 0, "\(told.errorText)")
        let stored = try ProcessRunner.run(
            "/usr/bin/secret-tool", ["store", "--label", "Mail", "user", "ada"], input: Array("xylophone".utf8),
            environment: variables, timeoutSeconds: 120)
        #expect(stored.exitCode == 0, "\(stored.errorText)")
        #expect(try world.agent.succeed("ls", "--vault", "Desktop").contains("Mail"))
        try world.agent.succeed("secret-service", "off")
    }

    @Test(
        "R153: a store that the desktop's keyring opens is not shown as one, and one that is shown gets no key in it",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/gnome-keyring-daemon"), "needs gnome-keyring"))
    func circle() throws {
        let world = try SecretServiceWorld(isServing: false)
        let pin = world.agent.runner.folder.file("home/pin")
        try Data("2468\n".utf8).write(to: URL(fileURLWithPath: pin))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pin)
        func addKey(_ more: [String: String?] = [:]) throws -> ProcessResult {
            var changes: [String: String?] = ["COFFRET_PASSPHRASE_FILE": world.agent.runner.passphraseFile]
            for (name, value) in more { changes[name] = value }
            return try world.agent.runner.run(
                ["key", "add", "--in", "keyring", "--pin-file", pin], input: [],
                environment: world.agent.environment(changes))
        }
        // Another program's keyring takes a key; then the store is not to be one itself.
        let daemon = try SpawnedProcess(
            "/usr/bin/gnome-keyring-daemon", ["--components=secrets", "--foreground", "--unlock"],
            environment: world.variables, input: .pipe)
        daemon.write(Array("login".utf8))
        daemon.closeInput()
        defer { daemon.kill() }
        var added = try addKey()
        try Waiting.until("the keyring takes a key: \(added.errorText)") {
            if added.exitCode != 0 { added = try addKey() }
            return added.exitCode == 0
        }
        let refused = try world.switchOn()
        #expect(refused.exitCode == 69 && refused.errorText.contains("keystore.circular"), "\(refused.errorText)")
        #expect(try !world.agent.succeed("token", "ls").contains("secret-service"))
        // The other way round.
        let removed = try world.agent.runner.run(
            ["key", "remove", "default", "--yes"], input: [],
            environment: world.agent.environment(["COFFRET_PASSPHRASE_FILE": world.agent.runner.passphraseFile]))
        #expect(removed.exitCode == 0, "\(removed.errorText)")
        #expect(try world.agent.unlock().exitCode == 0)
        let on = try world.switchOn()
        #expect(on.exitCode == 0 && on.text.contains("Another keyring runs, and stays: gnome-keyring-d"), "\(on)")
        daemon.kill()
        let before = try addKey()
        #expect(before.exitCode == 69 && before.errorText.contains("keystore.circular"), "\(before.errorText)")
        try world.serve()
        let served = try addKey()
        #expect(served.exitCode == 69 && served.errorText.contains("keystore.circular"), "\(served.errorText)")
        // A program that knows nothing of the right still sees whose keyring that is.
        let other = try AgentRunner(environment: ["DBUS_SESSION_BUS_ADDRESS": world.bus.address])
        #expect(try other.unlock().exitCode == 0)
        let elsewhere = try other.runner.run(
            ["key", "add", "--in", "keyring", "--pin-file", pin], input: [],
            environment: other.environment(["COFFRET_PASSPHRASE_FILE": other.runner.passphraseFile]))
        #expect(elsewhere.exitCode == 69 && elsewhere.errorText.contains("keystore.circular"), "\(elsewhere.errorText)")
        try other.stop()
        #expect(
            try !world.agent.succeed("ls", "--vault", "Desktop", "--json").contains("\"id\""),
            "no key came into the vault")
    }
}
