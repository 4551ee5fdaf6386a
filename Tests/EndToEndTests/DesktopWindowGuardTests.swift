// The guards between the window's page and the person, and between the window and its surroundings. The one thing to keep true: the
// person answers at a real screen.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "The guarded window",
    .enabled(if: WindowRunner.isAvailable, "coffret-desktop is not built: WebKitGTK is missing"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"))
struct DesktopWindowGuardTests {
    @Test(
        "R133: a page that reads one secret after the other waits for the person beside it: a no refuses, a yes gives more"
    )
    func reveals() throws {
        let window = try WindowRunner(
            """
            let hits = [];
            while (hits.length === 0) hits = (await ask("item.search", { query: "Mail" })).ok?.hits ?? [];
            const item = hits[0].id;
            const read = () => ask("field.read", { item, field: "password" });
            const codes = [];
            for (let round = 0; round < 20; round++) codes.push((await read()).error?.code ?? "given");
            const refused = await read();
            // The first window is seen to go before the second comes.
            while ((await ask("item.search", { query: "onward" })).ok.hits.length === 0) await new Promise((done) => setTimeout(done, 50));
            const wanted = await Promise.all([read(), read()]);
            await report({ first: [...new Set(codes)].join(), refused: refused.error?.code ?? "given",
              wanted: wanted.map((each) => each.ok?.field.value ?? each.error.code).join() });
            """)
        try window.screen.window("^Coffret asks$")
        try window.screen.press("Escape")
        try window.screen.waitUntilNoWindow("^Coffret asks$")
        try window.agent.runner.makeNote("# onward\n")
        try window.screen.window("^Coffret asks$")
        // The first button refuses.
        try window.screen.press("Tab", "Return")
        let report = try window.report()
        let wanted = "canary password 99,canary password 99"
        #expect(report == ["first": "given", "refused": "front.reveal.many", "wanted": wanted], "\(report)")
    }

    @Test("R138: variables that weaken WebKit, or put code of others into the window, reach none of its processes")
    func environment() throws {
        let window = try WindowRunner(
            "await report({}); await ask(\"change.wait\", {});",
            variables: [
                "LD_LIBRARY_PATH": "/nonexistent", "GTK_MODULES": "evil", "GTK_DEBUG": "interactive",
                "GIO_EXTRA_MODULES": "/nonexistent/evil", "G_MESSAGES_DEBUG": "all",
                "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1", "WEBKIT_FORCE_SANDBOX": "0",
                "WEBKIT_INSPECTOR_SERVER": "127.0.0.1:9",
            ])
        _ = try window.report()
        let names = [
            "LD_LIBRARY_PATH", "GTK_MODULES", "GTK_DEBUG", "GIO_EXTRA_MODULES", "G_MESSAGES_DEBUG",
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "WEBKIT_FORCE_SANDBOX", "WEBKIT_INSPECTOR_SERVER",
        ]
        var programs: Set<String> = []
        for process in try ProcessFiles.family(of: window.process.processID) {
            // Some come and go while it is looked at them.
            guard let name = try? ProcessFiles.lines("/proc/\(process)/comm").first,
                let environ = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/environ"))
            else { continue }
            programs.insert(name)
            let maps = (try? ProcessFiles.lines("/proc/\(process)/maps")) ?? []
            #expect(!maps.contains { $0.contains("evil") }, "\(name)")
            // Variables that a process takes away itself still stand where it was started with.
            guard process != window.process.processID else { continue }
            let variables = environ.split(separator: 0).map {
                String(decoding: $0.prefix { $0 != 0x3D }, as: UTF8.self)
            }
            #expect(Set(names).isDisjoint(with: variables), "\(name): \(variables)")
        }
        #expect(programs.contains("WebKitWebProces") && programs.contains("bwrap"), "\(programs)")
        #expect(try window.screen.xdotool("search", "--name", "Inspector").text.isEmpty)
    }
}
