// The Debian packages, installed, as both browsers find them. The one thing to keep true: they are installed into mounts of the test's own,
// and the machine stays as it is.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite(
    "Installed packages", .serialized,
    .enabled(
        if: InstalledPackages.arePossible && BrowserPrograms.areBuilt && BrowserPrograms.hasAuthenticator,
        "needs dpkg-dev, and a kernel that lets unshare lay folders over /usr"))
struct DesktopPackageTests {
    /// What the packages bring for the browsers.
    private static let files = [
        "/usr/bin/coffret", "/usr/bin/coffret-bridge", "/usr/share/chromium/extensions/coffret/manifest.json",
        "/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/coffret@coffret.example.xpi",
        "/etc/chromium/native-messaging-hosts/org.coffret.bridge.json",
        "/usr/lib/mozilla/native-messaging-hosts/org.coffret.bridge.json",
    ]

    private static func state() -> [String] {
        files.map { path in
            var information = stat()
            return unsafe stat(path, &information) == 0 ? "\(path) \(information.st_ino) \(information.st_mtim)" : path
        } + [(try? ProcessRunner.run("/usr/bin/dpkg-query", ["--show", "coffret*"]))?.text ?? ""]
    }

    @Test(
        "with the packages alone, Chromium and Firefox have the extension, which finds its host; removed, nothing of them is left",
        .enabled(
            if: BrowserPrograms.hasChromium && BrowserPrograms.hasFirefox,
            "needs chromium, firefox-esr, and marionette-driver in .build/venv"))
    func browsers() throws {
        let (folder, before) = (try TemporaryDirectory("packages"), Self.state())
        let packages = try InstalledPackages.make(in: folder, ["coffret", "coffret-browser"])
        let script = SharedData.packageRoot.appendingPathComponent("Tests/Interop/browser_extension.py").path
        var (lines, agents) = ([String](), [AgentRunner]())
        defer { for agent in agents { try? agent.stop() } }
        // Each browser has a home of its own, in which `coffret browser install` has written nothing.
        for name in ["chromium", "firefox"] {
            let agent = try AgentRunner()
            agents.append(agent)
            let variables = agent.runner.environment(
                agent.environment(["COFFRET_TEST_PROGRAM": "/usr/bin/coffret", "COFFRET_TEST_EXTENSION": ""]))
            let pictures = SharedData.packageRoot.appendingPathComponent(".build/pictures/\(name)").path
            let words =
                ["/usr/bin/env", "-i"] + variables.map { "\($0.key)=\($0.value)" }.sorted()
                + [BrowserPrograms.python, script, name, pictures, "gesture", "installed"]
            lines.append(words.map(InstalledPackages.quoted).joined(separator: " "))
        }
        lines.append("dpkg --log=/dev/null --no-triggers --purge coffret-browser coffret >/dev/null")
        lines += Self.files.map { "[ ! -e \(InstalledPackages.quoted($0)) ]" } + ["echo removed"]
        let result = try InstalledPackages.run(packages, lines)
        #expect(result.exitCode == 0, "\(result.text.suffix(1_500))\n\(result.errorText.suffix(2_000))")
        for words in [
            "held: no folder of this person names a host", "held: Chromium is connected", "held: Firefox is connected",
            "held: it came from the place of the system", "held: one login is filled in",
        ] { #expect(result.text.contains(words), "\(words)") }
        #expect(result.text.split(separator: "all held").count == 3 && result.text.hasSuffix("removed\n"))
        #expect(Self.state() == before, "the machine itself has not changed")
    }
}

/// Packages of the programs that this build has, installed where only the processes of one run see them.
enum InstalledPackages {
    private static let places = ["usr", "etc/chromium", "var/lib/dpkg"]
    private static let words = geteuid() == 0 ? ["--mount"] : ["--mount", "--user", "--map-root-user"]
    static let arePossible =
        FileManager.default.isExecutableFile(atPath: "/usr/bin/dpkg-shlibdeps")
        && (try? run([], []))?.exitCode == 0

    static func quoted(_ word: String) -> String { "'" + word.replacing("'", with: "'\\''") + "'" }

    /// Builds all packages, and gives their paths.
    static func build(in folder: TemporaryDirectory) throws -> [String] {
        let built = (CoffretRunner.executable as NSString).deletingLastPathComponent
        let made = try ProcessRunner.run(
            SharedData.packageRoot.path + "/Scripts/package",
            ["--programs", built, "--output", folder.path, "--compression", "none"])
        try #require(made.exitCode == 0, "\(made.errorText)")
        return made.text.split(separator: "\n").map(String.init)
    }

    /// Builds packages, and gives the paths of those that are named.
    static func make(in folder: TemporaryDirectory, _ names: [String]) throws -> [String] {
        let paths = try build(in: folder)
        return try names.map { name in
            try #require(paths.first { ($0 as NSString).lastPathComponent.hasPrefix(name + "_") }, "\(paths)")
        }
    }

    /// Installs packages, and runs lines of a shell beside them until one fails.
    static func run(_ packages: [String], _ lines: [String]) throws -> ProcessResult {
        let folder = try TemporaryDirectory("installed")
        let paths = packages.map(quoted).joined(separator: " ")
        let install = packages.isEmpty ? [] : ["dpkg --log=/dev/null --no-triggers --install \(paths) >/dev/null"]
        let mounts = places.map { place in
            let layer = place.replacing("/", with: "-")
            return """
                mkdir \(layer) \(layer).work
                mount -t overlay overlay -o lowerdir=/\(place),upperdir=$PWD/\(layer),workdir=$PWD/\(layer).work /\(place)
                """
        }
        let script = ["set -eu", "mount -t tmpfs tmpfs .", "cd \"$PWD\""] + mounts + install + lines
        return try ProcessRunner.run(
            "/usr/bin/unshare", words + ["--propagation", "private", "/bin/sh", "-c", script.joined(separator: "\n")],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"], directory: folder.path,
            timeoutSeconds: 600)
    }
}
