// What `Scripts/install` leaves behind, used as a person would. The one thing to keep true: nothing outside the
// prefix is written, and what is installed works together from there.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Installing")
struct InstallTests {
    static let analyze = "/usr/bin/systemd-analyze"
    static let packagedUnit = SharedData.packageRoot.path + "/Packaging/systemd/coffret-agent.service"

    @Test("programs, manual pages, completions and units lie below the prefix, and coffret finds its agent there")
    func install() throws {
        let desk = try AgentRunner()
        let runner = desk.runner
        let prefix = runner.folder.file("prefix")
        let built = (CoffretRunner.executable as NSString).deletingLastPathComponent
        let installed = try ProcessRunner.run(
            SharedData.packageRoot.path + "/Scripts/install",
            ["--programs", built, "--prefix", prefix, "--server"], environment: runner.environment())
        try #require(installed.exitCode == 0, "\(installed.errorText)")
        #expect(installed.text.contains("put \(prefix)/bin on your PATH"))
        let files = try FileManager.default.subpathsOfDirectory(atPath: prefix)
        for name in [
            "bin/coffret", "bin/coffret-agent", "bin/coffret-server", "bin/docker-credential-coffret",
            "bin/cargo-credential-coffret", "share/man/man1/coffret.1",
            "share/bash-completion/completions/coffret", "share/zsh/site-functions/_coffret",
            "share/fish/vendor_completions.d/coffret.fish", "lib/systemd/user/coffret-agent.service",
            "bin/coffret-helper", "bin/coffret-secret-service", "lib/systemd/user/coffret-secret-service.service",
            "lib/systemd/system/coffret-server.service",
        ] { #expect(files.contains(name), "\(name) is missing") }
        let unit = try String(contentsOfFile: prefix + "/lib/systemd/user/coffret-agent.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=\(prefix)/bin/coffret-agent --foreground"))
        let asked = try ProcessRunner.run(
            prefix + "/bin/docker-credential-coffret", ["get"], input: Array("nobody.example".utf8),
            environment: runner.environment())
        #expect(asked.exitCode == 1 && asked.text.contains("credentials not found"), "\(asked.errorText)")

        let environment = runner.environment(
            desk.environment(["COFFRET_PASSPHRASE_FILE": runner.passphraseFile]))
        let unlocked = try ProcessRunner.run(prefix + "/bin/coffret", ["unlock"], environment: environment)
        #expect(unlocked.exitCode == 0, "\(unlocked.errorText)")
        let program = try desk.processID.map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/exe")
        }
        #expect(program.map { $0.hasSuffix("prefix/bin/coffret-agent") } == true, "\(program ?? "no agent runs")")
        try desk.succeed("lock")
    }

    @Test(
        "the agent's unit is one that systemd takes",
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd"))
    func unit() throws {
        let folder = try TemporaryDirectory("agent-unit")
        let path = folder.file("coffret-agent.service")
        try String(contentsOfFile: Self.packagedUnit, encoding: .utf8)
            .replacing("/usr/bin/coffret-agent", with: AgentRunner.agentExecutable)
            .write(toFile: path, atomically: true, encoding: .utf8)
        let verified = try ProcessRunner.run(Self.analyze, ["verify", "--man=no", path])
        #expect(verified.exitCode == 0 && !verified.errorText.contains("coffret-agent"), "\(verified.errorText)")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for line in ["NoNewPrivileges=", "RestrictAddressFamilies=", "SystemCallFilter="] {
            #expect(!text.contains(line), "PAM's helper, sudo under `coffret run` and sync need it to be absent")
        }
    }

    @Test(
        "the security key's unit is one that systemd takes, and opens the device once for both",
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd"))
    func securityKeyUnit() throws {
        let folder = try TemporaryDirectory("key-unit")
        let path = folder.file("coffret-authenticator@root.service")
        let packaged = SharedData.packageRoot.path + "/Packaging/systemd/coffret-authenticator@.service"
        let text = try String(contentsOfFile: packaged, encoding: .utf8)
        try text.replacing("/usr/bin/coffret-authenticator", with: CoffretRunner.executable + "-authenticator")
            .write(toFile: path, atomically: true, encoding: .utf8)
        let verified = try ProcessRunner.run(Self.analyze, ["verify", "--man=no", path])
        #expect(
            verified.exitCode == 0 && !verified.errorText.contains("coffret-authenticator"), "\(verified.errorText)")
        // With one path for both, systemd opens it for reading and writing.
        for line in ["User=%i", "StandardInput=file:/dev/uhid", "StandardOutput=file:/dev/uhid"] {
            #expect(text.contains("\n" + line + "\n"))
        }
    }

    @Test(
        "Debian packages hold what they say, with a user and a unit for the server",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/dpkg-shlibdeps"), "needs dpkg-dev"))
    func packages() throws {
        let folder = try TemporaryDirectory("packages")
        let built = (CoffretRunner.executable as NSString).deletingLastPathComponent
        let packages = try InstalledPackages.build(in: folder)
        let hasDesktop = FileManager.default.isExecutableFile(atPath: built + "/coffret-desktop")
        try #require(packages.count == (hasDesktop ? 4 : 3))
        for package in packages {
            let unpacked = package + ".d"
            #expect(try ProcessRunner.run("/usr/bin/dpkg-deb", ["--raw-extract", package, unpacked]).exitCode == 0)
            let sums = try ProcessRunner.run(
                "/bin/sh", ["-c", "cd '\(unpacked)' && md5sum --quiet -c DEBIAN/md5sums"])
            #expect(sums.exitCode == 0, "\(sums.text)")
            let modes = try ProcessRunner.run(
                "/usr/bin/find", [unpacked + "/usr", "!", "-type", "l", "!", "-perm", "-444"])
            #expect(modes.text.isEmpty, "everybody reads what is installed: \(modes.text)")
        }
        let control = try packages.map { try String(contentsOfFile: $0 + ".d/DEBIAN/control", encoding: .utf8) }
        #expect(control[0].contains("Package: coffret\n") && control[0].contains("libsodium23"))
        #expect(control[0].contains("libcurl4") && control[0].contains("libzxcvbn0"))
        #expect(control[1].contains("Package: coffret-server\n") && control[1].contains("libpq5"))
        let unit = try String(
            contentsOfFile: packages[1] + ".d/usr/lib/systemd/system/coffret-server.service", encoding: .utf8)
        #expect(unit.contains("User=coffret-server\n") && !unit.contains("DynamicUser"))
        #expect(control[2].contains("Package: coffret-browser\n") && control[2].contains("libsodium23"))
        for name in [
            "usr/bin/coffret-bridge", "usr/share/chromium/extensions/coffret/manifest.json",
            "usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/coffret@coffret.example.xpi",
            "etc/chromium/native-messaging-hosts/org.coffret.bridge.json",
            "usr/lib/mozilla/native-messaging-hosts/org.coffret.bridge.json", "usr/bin/coffret-authenticator",
            "usr/lib/systemd/system/coffret-authenticator@.service",
        ] {
            #expect(FileManager.default.fileExists(atPath: "\(packages[2]).d/\(name)"), "\(name) is missing")
        }
        if hasDesktop {
            #expect(control[3].contains("Package: coffret-desktop\n") && control[3].contains("libwebkitgtk-6.0-4"))
            for name in [
                "bin/coffret-desktop", "bin/coffret-prompt", "share/applications/coffret.desktop",
                "share/icons/hicolor/48x48/apps/coffret.png", "share/icons/hicolor/scalable/apps/coffret.svg",
            ] {
                #expect(FileManager.default.fileExists(atPath: "\(packages[3]).d/usr/\(name)"), "\(name) is missing")
            }
        }
        for name in ["docker-credential-coffret", "cargo-credential-coffret"] {
            #expect(
                FileManager.default.isExecutableFile(atPath: "\(packages[0]).d/usr/bin/\(name)"), "\(name) is missing")
        }
        let version = try ProcessRunner.run(packages[0] + ".d/usr/bin/coffret", ["--version"])
        #expect(version.exitCode == 0 && version.text.hasPrefix("coffret "))
    }

    @Test("a prefix that cannot be written and a wrong option are refused, and say what to do")
    func refusals() throws {
        let script = SharedData.packageRoot.path + "/Scripts/install"
        let wrong = try ProcessRunner.run(script, ["--prefx", "/tmp"])
        #expect(wrong.exitCode == 64 && wrong.errorText.contains("--prefix PREFIX"))
        let refused = try ProcessRunner.run(script, ["--prefix", "/proc/none"])
        #expect(refused.exitCode == 77 && refused.errorText.contains("--prefix ~/.local"))
    }
}
