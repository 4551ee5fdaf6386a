// Attached files that come to a device whose disk has no room for them: a small disk of its own, the real server.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Files and a full disk", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"),
    .enabled(if: WholeStoreTests.canMount, "no permission to mount a small disk"))
struct FullDiskTests {
    private static let film = SeededGenerator(seed: 3).bytes(count: 3_300_000...3_300_000)
    /// Puts the store on a disk with so many KiB left, in a world of mounts that only the script sees.
    private static let prologue = """
        set -e
        mkdir "$HOME/before"; mount --bind "$store" "$HOME/before"
        size=$(du -sk "$store" | cut -f1)
        disk() { mount $1 -t tmpfs -o size=$((size + $2))k tmpfs "$store"; }
        disk "" 2000; cp -a "$HOME/before/." "$store/"
        part() { find "$store/vaults" -name '*.part' -size +0; }
        here() { "$coffret" attach ls Tomatoes --json | grep -o '"isHere":true' | wc -l; }
        await() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 1200 ]; sleep 0.05; done; }

        """

    /// A second device that has the notes, and no files.
    private func pair(_ second: CoffretRunner, _ server: ServerRunner, url: String) throws {
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        for (name, bytes) in [("film.mp4", Self.film), ("scan.png", Array(Self.film.prefix(30_000)))] {
            try Data(bytes).write(to: URL(fileURLWithPath: first.workPath + "/" + name))
            try first.succeed("attach", "add", "Tomatoes", first.workPath + "/" + name)
        }
        try first.succeed("sync")
        try DevicePairing.pair(second, first, url: url, fingerprint: server.fingerprint, name: "Second")
        try second.succeed("sync", "--without-files")
    }

    private func script(
        _ text: String, _ runner: CoffretRunner, environment changes: [String: String?] = [:]
    ) throws -> [Substring] {
        var environment = changes
        environment["coffret"] = CoffretRunner.executable
        environment["store"] = runner.storePath
        let result = try ProcessRunner.run(
            "/usr/bin/unshare", WholeStoreTests.mountArguments + ["/bin/bash", "-c", Self.prologue + text],
            environment: runner.environment(environment), directory: runner.workPath, timeoutSeconds: 240)
        try #require(result.exitCode == 0, "\(result.text)\(result.errorText)")
        let out = runner.workPath + "/film.mp4"
        #expect(try Data(contentsOf: URL(fileURLWithPath: out)) == Data(Self.film), "\(result.text)")
        return result.text.split(separator: "\n")
    }

    @Test("a sync leaves a file that has no room, and one that fills the disk goes on when there is room (R14)")
    func sync() throws {
        let (server, second) = (try ServerRunner(), try CoffretRunner())
        let tunnel = try LoopbackTunnel(to: server.port)
        try pair(second, server, url: "https://localhost:\(tunnel.port)")
        tunnel.setSlow(true)
        let lines = try script(
            """
            for i in 1 2; do
                code=0; "$coffret" sync > out 2> error || code=$?
                echo "no room: code $code, $(here) here, parts: $(part | wc -l)"
                grep -q 'disk has no room for the files of "Personal"; everything else was synced' error
                grep -q 'sync.file.disk-full' error
            done
            # Something else takes what is free while the file comes.
            disk "-o remount" 6000
            "$coffret" sync > out 2> error & sync=$!
            await '[ -n "$(find "$store/vaults" -name "*.part" -size +900k)" ]'
            head -c 20M /dev/zero > "$store/filler" 2> /dev/null || true
            code=0; wait $sync || code=$?
            grep -q 'sync.file.disk-full' error
            echo "filled: code $code, $(here) here, parts: $(part | wc -l)"
            "$coffret" fsck > /dev/null; echo "fsck $?"
            rm "$store/filler"
            "$coffret" new --quiet <<< "# Beans"
            "$coffret" sync --json > out; echo "room: $(here) here, parts: $(part | wc -l)"
            python3 -c 'import json; print("received", json.loads(open("out").read().splitlines()[-1])[0]["receivedFileByteCount"])'
            "$coffret" attach extract Tomatoes film.mp4 --output film.mp4 > /dev/null
            "$coffret" fsck > /dev/null; echo "fsck $?"
            """, second)
        #expect(
            lines.dropLast(2) == [
                "no room: code 79, 1 here, parts: 0", "no room: code 79, 1 here, parts: 0",
                "filled: code 79, 1 here, parts: 1", "fsck 0", "room: 2 here, parts: 0",
            ], "\(lines)")
        let received = try #require(lines.dropLast().last?.split(separator: " ").last.flatMap { Int($0) })
        #expect(received < Self.film.count - (1 << 20) + 100_000, "a chunk at least was there: \(received)")
        #expect(lines.last == "fsck 0")
    }

    @Test(
        "the agent says that there is no room, takes none, and fetches the file soon after there is, still unlocked",
        .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
    func agent() throws {
        let (server, second) = (try ServerRunner(), try AgentRunner(makesStore: false))
        try pair(second.runner, server, url: server.url)
        let unlock = "COFFRET_PASSPHRASE_FILE='\(second.runner.passphraseFile)' \"$coffret\" unlock > /dev/null"
        let lines = try script(
            """
            trap '"$coffret" agent stop > /dev/null' EXIT
            \(unlock)
            await '"$coffret" status --json --vault Personal | grep -q sync.file.disk-full'
            echo "no room: $(here) here, parts: $(part | wc -l)"
            "$coffret" status --vault Personal | grep -c 'no room'
            "$coffret" new --quiet <<< "# Beans"
            await '"$coffret" status | grep -q "nothing waits to be sent"'
            disk "-o remount" 6000
            # The next thing that happens, whatever it is, finds that there is room.
            "$coffret" new --quiet <<< "# Peas"
            await '[ $(here) = 2 ]'
            echo "room: parts: $(part | wc -l)"
            "$coffret" attach extract Tomatoes film.mp4 --output film.mp4 > /dev/null
            "$coffret" fsck > /dev/null; echo "fsck $?"
            """, second.runner, environment: second.environment())
        #expect(lines == ["no room: 1 here, parts: 0", "1", "room: parts: 0", "fsck 0"], "\(lines)")
    }
}
