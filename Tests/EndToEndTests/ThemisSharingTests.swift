// The demonstration of sharing with Themis, as its page shows it. The one thing to keep true: the reference implementation is the other
// side where it is installed, and its absence is seen.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Sharing with Themis")
struct ThemisSharingTests {
    private static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    private static let hasThemis =
        (try? ProcessRunner.run(python, ["-W", "ignore", "-c", "import pythemis.scell"]))?.exitCode == 0

    private func share(_ bob: String, _ python: String) throws {
        let sample = SharedData.packageRoot.appendingPathComponent("Samples/themis_sharing.py").path
        let runner = try CoffretRunner()
        let result = try ProcessRunner.run(
            python, [sample, "--bob", bob, runner.folder.file("shared")],
            environment: runner.environment(["COFFRET": CoffretRunner.executable]))
        #expect(result.exitCode == 0, "\(result.errorText)")
        #expect(result.text.contains("bob (\(bob)) reads alice's post: The beans are up."), "\(result.text)")
        #expect(result.text.contains("alice (coffret) reads bob's post:") && result.text.contains("shared both ways"))
    }

    @Test("both sides by coffret", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func alone() throws { try share("coffret", "/usr/bin/python3") }

    @Test(
        "the other side is the reference implementation",
        .enabled(if: hasThemis, "needs libthemis, and pythemis in .build/venv"))
    func reference() throws { try share("pythemis", Self.python) }

    @Test("the commands of the page do what it says")
    func page() throws {
        let page = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("Docs/interop/themis-sharing.md"), encoding: .utf8
        )
        let runner = try CoffretRunner()
        try Data("The beans are up.\n".utf8).write(to: URL(fileURLWithPath: runner.workPath + "/post.txt"))
        let blocks = page.matches(of: /(?s)```sh\n(.*?)```/).map { String($0.1) }
        #expect(blocks.count == 4)
        let script = "coffret() { '\(CoffretRunner.executable)' \"$@\"; }\nset -e\n" + blocks.joined()
        let result = try ProcessRunner.run(
            "/bin/sh", ["-c", script], environment: runner.environment(), directory: runner.workPath)
        #expect(result.exitCode == 0 && result.text.hasSuffix("The beans are up.\n"), "\(result.errorText)")
    }
}
