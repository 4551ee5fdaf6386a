// The window under a real X server, around the least page that does what a page could try. Invariant: a report of the page comes
// through its own session, into the store.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite(
    "The window",
    .enabled(if: WindowRunner.isAvailable, "coffret-desktop is not built: WebKitGTK is missing"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"))
struct DesktopWindowTests {
    @Test(
        "R122: R123: the page reaches its session, and nothing else: no network, no other address, no code, no storage")
    func closed() throws {
        let listener = try Listener()
        let window = try WindowRunner(
            """
            const out = "http://127.0.0.1:\(listener.port)/";
            const results = { session: (await ask("item.list", {})).ok ? "done" : "refused" };
            results.other = (await ask("backup.create", {})).error.code;
            results.fetch = await tried(() => fetch(out));
            results.image = await tried(() => new Promise((done, fail) => {
              const image = new Image(); image.onload = done; image.onerror = fail; image.src = out; }));
            results.socket = await tried(() => new Promise((done, fail) => {
              const socket = new WebSocket(out.replace("http", "ws")); socket.onopen = done; socket.onerror = fail; }));
            results.sink = await tried(async () => { document.body.innerHTML = "<b>x</b>"; });
            results.code = await tried(async () => { eval("1"); });
            results.storage = await tried(async () => { localStorage.setItem("a", "b"); });
            results.window = window.open(out) ? "done" : "refused";
            results.cookie = document.cookie === "" ? "none" : "some";
            location.href = out;
            await new Promise((done) => setTimeout(done, 500));
            results.address = location.href;
            results.secure = String(isSecureContext);
            await report(results);
            """)
        let report = try window.report()
        #expect(
            report == [
                "session": "done", "other": "front.request.refused", "fetch": "refused", "image": "refused",
                "socket": "refused", "sink": "refused", "code": "refused", "storage": "refused", "window": "refused",
                "cookie": "none", "address": "coffret://vault/", "secure": "true",
            ])
        #expect(listener.connectionCount == 0)
    }

    @Test(
        "R128: after locking no process of the window has anything of the notes; typing the passphrase shows them again"
    )
    func locking() throws {
        let window = try WindowRunner(
            """
            const list = await ask("item.list", {});
            for (const item of list.ok.items) {
              const read = await ask("item.read", { item: item.id });
              document.getElementById("text").textContent += read.ok.text;
            }
            await ask("item.create", { text: "# Typed\\n\\ncanary ty" + "ped 1147 " + "and some more. ".repeat(40) });
            await report({});
            ask("change.wait", {});
            """)
        #expect(try window.report() == [:])
        let forms = ["canary tomato 4711", "canary typed 1147"].flatMap { canary in
            [Array(canary.utf8), canary.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }]
        }
        let before = try Self.pages(of: window)
        #expect(!before.isEmpty)
        let open = try MemoryDump(of: window.process.processID)
        #expect(forms.contains(where: open.contains), "the search finds what is on the screen")
        try window.agent.succeed("lock")
        try Waiting.until("the page's process has ended") { try Self.pages(of: window).isDisjoint(with: before) }
        try Waiting.until("another page waits behind the lock screen") { try !Self.pages(of: window).isEmpty }
        try Self.expectNothing(of: forms, in: window)
        try window.screen.window("^Coffret$")
        // While the agent judges one passphrase, the next one is typed.
        let agent = try #require(window.agent.processID)
        kill(agent, SIGSTOP)
        defer { kill(agent, SIGCONT) }
        for passphrase in ["not this one", CoffretRunner.passphrase] {
            try window.screen.type(passphrase)
            try window.screen.press("Return")
        }
        kill(agent, SIGCONT)
        try Waiting.until("the page reports again") {
            try window.agent.run("ls").text.components(separatedBy: "Report").count == 3
        }
        try Self.expectNothing(of: [Array(CoffretRunner.passphrase.utf8)], in: window)
    }

    private static func expectNothing(of secrets: [[UInt8]], in window: WindowRunner) throws {
        for process in try ProcessFiles.family(of: window.process.processID) {
            // Some come and go while WebKit starts another one.
            guard let name = try? ProcessFiles.lines("/proc/\(process)/comm").joined(),
                let memory = try? MemoryDump(of: process, includesChildren: false)
            else { continue }
            for secret in secrets { #expect(!memory.contains(secret), "\(name)") }
        }
    }

    /// The processes of WebKit that have a page.
    private static func pages(of window: WindowRunner) throws -> Set<Int32> {
        Set(
            try ProcessFiles.family(of: window.process.processID).filter { process in
                (try? ProcessFiles.lines("/proc/\(process)/comm").first) == "WebKitWebProces"
            })
    }

    @Test("R134: a locked note is opened in a window of its own; the page learns neither question nor answer")
    func question() throws {
        let window = try WindowRunner(
            """
            const note = (await ask("item.search", { query: "Tomatoes" })).ok.hits[0].id;
            const locked = await ask("note.lock", { notes: [note], isNew: true });
            await ask("note.close", {});
            const refused = await ask("note.unlock", { note });
            // The first window is seen to go before the second comes.
            while ((await ask("item.search", { query: "onward" })).ok.hits.length === 0) await new Promise((done) => setTimeout(done, 50));
            const opened = await ask("note.unlock", { note });
            const text = opened.ok ? (await ask("item.read", { item: note })).ok.text : "";
            await report({ locked: locked.ok ? "done" : JSON.stringify(locked), refused: refused.ok ? "done" : "refused",
              opened: String(text.includes("canary tomato")) });
            """)
        let screen = window.screen
        try screen.window("^To lock notes$")
        try screen.type("note words 42")
        try screen.press("Tab")
        try screen.type("something else")
        try screen.press("Return")
        // They are not the same, so both are typed again.
        for (index, keys) in ["ctrl+a", "Tab", "ctrl+a"].enumerated() {
            if index == 1 { try screen.type("note words 42") }
            try screen.press(keys)
        }
        try screen.type("note words 42")
        try screen.press("Return")
        try screen.waitUntilNoWindow("^To lock notes$")
        try screen.window("^To open ")
        try screen.press("Escape")
        try screen.waitUntilNoWindow("^To open ")
        try window.agent.succeed("new", "Onward")
        try screen.window("^To open ")
        try screen.type("note words 42")
        try screen.press("Return")
        #expect(try window.report() == ["locked": "done", "refused": "refused", "opened": "true"])
    }

    @Test(
        "a value is copied past the window's process, and a second start brings the window to the front",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/xclip"), "needs xclip"))
    func copying() throws {
        let window = try WindowRunner(
            """
            const item = (await ask("item.list", { kind: "login" })).ok.items[0].id;
            await report({ copied: String((await ask("front.copy", { item, field: "password" })).ok?.seconds) });
            """)
        #expect(try window.report() == ["copied": "45"])
        let copied = try ProcessRunner.run(
            "/usr/bin/xclip", ["-selection", "clipboard", "-o"], environment: window.screen.environment)
        #expect(copied.text == "canary password 99")
        #expect(try !MemoryDump(of: window.process.processID).contains(Array("canary password 99".utf8)))
        let again = try WindowRunner.start(
            window.agent.runner, window.agent.runner.folder.file("page"),
            window.agent.environment(window.screen.environment))
        #expect(again.wait().code == 0)
        let windows = try window.screen.xdotool("search", "--onlyvisible", "--name", "^Coffret$").text
        #expect(windows.split(separator: "\n").count == 1)
    }

    @Test("the vault goes into a folder of the person's choice; the page can neither read nor name it")
    func choosing() throws {
        let window = try WindowRunner(
            """
            const none = await ask("front.choose", { kind: "file", name: "../../x" });
            const chosen = (await ask("front.choose", { kind: "target" })).ok;
            const { ticket } = chosen;
            const read = await ask("front.get", { ticket, offset: 0 });
            const written = await ask("front.put", { ticket, bytes: "YWJj" });
            const outside = await ask("front.export", { ticket, format: "markdown", name: "../Outside" });
            const done = await ask("front.export", { ticket, format: "markdown", name: "Notes" });
            await report({ none: none.error.code, name: chosen.name, members: Object.keys(chosen).join(), read: read.error.code,
              written: written.error.code, outside: outside.ok ? "done" : "refused", done: String(done.ok?.items?.notes) });
            """)
        let screen = window.screen
        try screen.window("^Save the file$")
        try screen.press("Escape")
        try screen.waitUntilNoWindow("^Save the file$")
        try screen.window("^Write into a folder$")
        let folder = window.agent.runner.folder.file("chosen")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try screen.type(folder)
        // The dialog looks for the folder while the path is typed, and takes a key after that.
        try Waiting.until("the folder is chosen", everyMilliseconds: 500) {
            try screen.press("Return")
            return try screen.xdotool("search", "--onlyvisible", "--name", "^Write into a folder$").text.isEmpty
        }
        #expect(
            try window.report() == [
                "none": "front.choice.none", "name": "chosen", "members": "ticket,name",
                "read": "front.request.invalid",
                "written": "front.request.invalid", "outside": "refused", "done": "1",
            ])
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        #expect(files.contains { $0.hasSuffix("Tomatoes.md") }, "\(files)")
        #expect(files.allSatisfy { $0.hasPrefix("Notes") })
        // GTK remembers nothing of it for other programs.
        let found = try ProcessRunner.run(
            "/bin/grep", ["-rlF", folder, window.agent.runner.folder.file("home/.local")])
        #expect(found.text == "")
    }

    @Test("R136: a page that others can write is not shown")
    func untrusted() throws {
        let runner = try CoffretRunner()
        try FileManager.default.createDirectory(atPath: runner.storePath, withIntermediateDirectories: true)
        let page = runner.folder.file("page")
        try WindowRunner.makePage(page, "")
        _ = unsafe chmod(page + "/main.js", 0o666)
        let process = try WindowRunner.start(runner, page, [:])
        #expect(process.wait().code == 78)
    }
}

/// Counts who connects.
private final class Listener {
    private let socket: Int32
    let port: UInt16

    init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(socket, address, length) == 0 && getsockname(socket, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        let status = listen(socket, 16)
        guard isBound, status == 0 else { throw CoffretRunner.Failed(text: "no port") }
    }

    deinit { close(socket) }

    var connectionCount: Int {
        var count = 0
        while case let connection = accept(socket, nil, nil), connection >= 0 {
            close(connection)
            count += 1
        }
        return count
    }
}
