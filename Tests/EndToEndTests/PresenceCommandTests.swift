// Presence through a real PAM, in a real agent: before hidden notes and before the times at which a store locks. The one
// thing to keep true: the machine's own /etc/pam.d stays as it is; the agent sees another one in a mount namespace.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// Whether this process may make a mount namespace, as root may.
private let mayMount =
    (try? ProcessRunner.run("/usr/bin/unshare", ["-m", "/bin/true"], timeoutSeconds: 60).exitCode) == 0

@Suite("Presence at commands", .enabled(if: mayMount, "a mount namespace needs root"))
struct PresenceCommandTests {
    /// An unlocked store whose agent asks PAM as `service` says.
    private struct World {
        let agent: AgentRunner
        let id: String

        init(_ service: String?) throws {
            agent = try AgentRunner()
            let folder = agent.runner.folder.file("pam.d")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            if let service { try Self.write(service, folder) }
            id = try agent.runner.makeNote("# Diary\n\nxylophone\n")
            try agent.runner.succeed("note", "hide", id)
            let unlocked = try ProcessRunner.run(
                "/usr/bin/unshare",
                [
                    "-m", "/bin/sh", "-c", "mount --bind \"$PAM\" /etc/pam.d && exec \"$0\" unlock",
                    CoffretRunner.executable,
                ],
                environment: agent.runner.environment(
                    agent.environment(["PAM": folder, "COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile])),
                timeoutSeconds: 60)
            try #require(unlocked.exitCode == 0, "\(unlocked.errorText)")
        }

        func setService(_ text: String) throws { try Self.write(text, agent.runner.folder.file("pam.d")) }

        private static func write(_ service: String, _ folder: String) throws {
            try "auth required \(service)\naccount required pam_permit.so\n"
                .write(toFile: folder + "/coffret", atomically: true, encoding: .utf8)
        }

        var idleSeconds: Int {
            get throws {
                let text = try agent.succeed("agent", "settings", "--json")
                let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
                return object?["idleSeconds"] as? Int ?? -1
            }
        }
    }

    @Test("PAM's yes shows a hidden note and changes the times, its no does neither")
    func yesAndNo() throws {
        let world = try World("pam_permit.so")
        defer { try? world.agent.stop() }
        #expect(try world.agent.succeed("show", world.id).contains("xylophone"))
        #expect(try world.agent.succeed("read", "coffret://Personal/Diary/text").contains("xylophone"))
        try world.agent.succeed("agent", "settings", "--idle", "7m")
        #expect(try world.idleSeconds == 420)
        #expect(try world.agent.run("ls").exitCode == 0, "the store is still unlocked")
        try world.setService("pam_deny.so")
        let refused = try world.agent.run("show", world.id)
        #expect(refused.exitCode == 77 && refused.text == "", "\(refused.errorText)")
        #expect(refused.errorText.contains("cli.presence.refused"))
        let unchanged = try world.agent.run("agent", "settings", "--idle", "9m")
        #expect(unchanged.exitCode == 77 && unchanged.errorText.contains("keystore.presence.denied"))
        #expect(try world.idleSeconds == 420)
        try world.agent.succeed("lock")
        try world.setService("pam_permit.so")
        let locked = try world.agent.run("agent", "settings", "--idle", "9m")
        #expect(locked.exitCode != 0, "presence alone changes nothing of a store that is locked")
    }

    @Test("PAM's words come at the terminal: what is typed goes to PAM, and the terminal is put back")
    func atTheTerminal() throws {
        let world = try World("pam_permit.so")
        defer { try? world.agent.stop() }
        let judge = world.agent.runner.folder.file("judge")
        try "#!/bin/sh\nread -r word\n[ \"$word\" = sesame ]\n".write(toFile: judge, atomically: true, encoding: .utf8)
        unsafe chmod(judge, 0o755)
        try world.setService("pam_exec.so expose_authtok quiet \(judge)")
        for (word, exitCode) in [("sesame", Int32(0)), ("simsim", 77)] {
            let terminal = try world.agent.runner.onTerminal("show", world.id, environment: world.agent.environment())
            try terminal.wait(for: "Show that you are there")
            try terminal.answer("assword", word)
            #expect(try terminal.finish() == exitCode)
            #expect(terminal.screen.contains("xylophone") == (exitCode == 0))
            #expect(!terminal.screen.contains(word))
        }
        let settings = try world.agent.runner.onTerminal(
            "agent", "settings", "--idle", "6m", environment: world.agent.environment())
        try settings.answer("assword", "sesame")
        #expect(try settings.finish() == 0)
        #expect(try world.idleSeconds == 360)
        let cancelled = try world.agent.runner.onTerminal("show", world.id, environment: world.agent.environment())
        try cancelled.wait(for: "assword")
        cancelled.type("\u{3}")
        #expect(try cancelled.finish() == 130)
        #expect(!cancelled.screen.contains("xylophone"))
    }

    @Test("who waits for PAM holds up nobody, and is gone with the store's lock")
    func waiting() throws {
        let world = try World("pam_permit.so")
        defer { try? world.agent.stop() }
        // A judge who never comes to an end while the world is there.
        let judge = world.agent.runner.folder.file("judge")
        try "#!/bin/sh\nwhile [ -e \(judge) ]; do sleep 0.1; done\n".write(
            toFile: judge, atomically: true, encoding: .utf8)
        unsafe chmod(judge, 0o755)
        try world.setService("pam_exec.so quiet \(judge)")
        let show = try world.agent.runner.onTerminal("show", world.id, environment: world.agent.environment())
        let settings = try world.agent.runner.onTerminal(
            "agent", "settings", "--idle", "6m", environment: world.agent.environment())
        try show.wait(for: "Show that you are there")
        try settings.wait(for: "Show that you are there")
        #expect(try world.agent.succeed("ls").contains("Diary"))
        #expect(try world.agent.succeed("agent", "status").contains("unlocked"))
        try world.agent.succeed("lock")
        #expect(try show.finish() == 86)
        #expect(try settings.finish() == 86)
        #expect(!show.screen.contains("xylophone"))
    }

    @Test(
        "keys 9: R102: who asks PAM has the agent's own variables, and no keys",
        .enabled(if: TrapLibrary.isAvailable, "a C compiler is missing"))
    func askedElsewhere() throws {
        let world = try World("pam_permit.so")
        defer { try? world.agent.stop() }
        // A module that tells what it sees, and waits until somebody has looked at its process.
        let folder = world.agent.runner.folder.file("module")
        let module = try TrapLibrary(
            in: folder,
            code: """
                #include <stdio.h>
                #include <stdlib.h>
                #include <unistd.h>
                int pam_sm_authenticate(void *handle, int flags, int count, const char **words) {
                    FILE *file = fopen("\(folder)/seen.new", "w");
                    const char *vault = getenv("COFFRET_VAULT");
                    fprintf(file, "%d %s", (int)getpid(), vault ? vault : "-");
                    fclose(file);
                    rename("\(folder)/seen.new", "\(folder)/seen");
                    for (int turn = 0; turn < 3000 && access("\(folder)/go", F_OK) != 0; turn++) usleep(10000);
                    return 0;
                }
                int pam_sm_setcred(void *handle, int flags, int count, const char **words) { return 0; }
                """)
        try world.setService(module.path)
        let key = try AgentMemoryTests.storageKey(of: world.agent.runner)
        let (show, settings) = (["show", world.id], ["agent", "settings", "--idle", "6m"])
        for words in [show, settings] {
            let terminal = try TerminalProcess(
                CoffretRunner.executable, words,
                environment: world.agent.runner.environment(world.agent.environment(["COFFRET_VAULT": "Personal"])),
                directory: world.agent.runner.workPath)
            try Waiting.until("PAM is asked") { FileManager.default.fileExists(atPath: folder + "/seen") }
            let seen = try String(contentsOfFile: folder + "/seen", encoding: .utf8).split(separator: " ")
            #expect(seen.last == "-", "the client's variable counts in the command, and not here")
            let process = try #require(seen.first.flatMap { pid_t($0) })
            let asking = try MemoryDump(of: process, includesChildren: false)
            #expect(!asking.contains(key))
            let agent = try #require(world.agent.processID)
            #expect(try MemoryDump(of: agent).contains(key), "it is searched for in the right form")
            try Data().write(to: URL(fileURLWithPath: folder + "/go"))
            #expect(try terminal.finish() == 0, "\(terminal.screen)")
            for name in ["go", "seen"] { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        }
        #expect(try world.idleSeconds == 360)
    }

    @Test(
        "without presence and without a PIN the passphrase is asked for, and counted",
        .enabled(if: LongPause.isAvailable, LongPause.missing))
    func passphrase() throws {
        let world = try World(nil)
        defer { try? world.agent.stop() }
        #expect(try world.agent.run("show", world.id).exitCode == 69, "there is nobody to ask")
        let show = try world.agent.runner.onTerminal("show", world.id, environment: world.agent.environment())
        try show.answer("Passphrase of the store", CoffretRunner.passphrase)
        #expect(try show.finish() == 0)
        #expect(show.screen.contains("xylophone"))
        for _ in 0..<3 {
            let wrong = try world.agent.runner.onTerminal(
                "agent", "settings", "--idle", "6m", environment: world.agent.environment())
            try wrong.answer("Passphrase", "not it")
            #expect(try wrong.finish() == 67)
        }
        try LongPause.make(world.agent.runner)
        let paused = try world.agent.runner.onTerminal("show", world.id, environment: world.agent.environment())
        #expect(try paused.finish() == 85)
        #expect(!paused.screen.contains("xylophone"))
    }

    @Test("a PIN of the profile stands in for presence")
    func pin() throws {
        let world = try World(nil)
        defer { try? world.agent.stop() }
        let file = world.agent.runner.folder.file("home/pin")
        try Data("2468\n".utf8).write(to: URL(fileURLWithPath: file))
        unsafe chmod(file, 0o600)
        let added = try world.agent.runner.run(
            ["key", "add", "--in", "file", "--pin-file", file, "--passphrase-fd", "0"],
            input: Array((CoffretRunner.passphrase + "\n").utf8))
        try #require(added.exitCode == 0, "\(added.errorText)")
        // Another process changed the keys; the agent's are of no use any more.
        try world.agent.succeed("lock")
        #expect(try world.agent.unlock().exitCode == 0)
        let show = try world.agent.runner.onTerminal("show", world.id, environment: world.agent.environment())
        try show.answer("PIN", "2468")
        #expect(try show.finish() == 0, "\(show.screen)")
        #expect(show.screen.contains("xylophone"))
        let settings = try world.agent.runner.onTerminal(
            "agent", "settings", "--idle", "8m", environment: world.agent.environment())
        try settings.answer("PIN", "1357")
        #expect(try settings.finish() == 67)
        #expect(try world.idleSeconds == 600)
    }
}
