// The samples of Docs/interop, compiled as a reader would copy them.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Samples of the documentation")
struct SampleCodeTests {
    /// What stands in front of a block of Swift: the names that it expects, or that it is not for Linux.
    private struct Sample {
        let page: String
        let given: String
        let code: [Substring]
    }

    private static var modules: URL { SharedData.packageRoot.appendingPathComponent(".build/debug") }

    private func samples() throws -> [Sample] {
        let folder = SharedData.packageRoot.appendingPathComponent("Docs/interop")
        var samples: [Sample] = []
        for page in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let text = try String(contentsOf: folder.appendingPathComponent(page), encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (start, line) in lines.enumerated() where line == "```swift" {
                let mark = start > 0 ? lines[start - 1] : ""
                let code = lines[(start + 1)...].prefix { $0 != "```" }
                if mark == "<!-- on Apple's platforms -->" || code.first?.hasPrefix(".package(") == true { continue }
                let given = try #require(mark.firstMatch(of: /^<!-- given: (.*) -->$/)?.1, "\(page), line \(start)")
                samples.append(Sample(page: page, given: String(given), code: Array(code)))
            }
        }
        return samples
    }

    @Test("every sample compiles with what its page says is given, bytes as arrays or as Data")
    func samplesCompile() throws {
        let samples = try samples()
        #expect(samples.count >= 10)
        var program = "import CoffretInterop\nimport Foundation\n"
        program += "protocol Multiplier: Sendable {\n"
        program += "    func multiply(_ point: [UInt8]) throws(InteropError) -> [UInt8]\n"
        program += "    func sign(_ digest: [UInt8]) throws(InteropError) -> [UInt8]\n}\n"
        for bytes in ["Data", "[UInt8]"] {
            for (number, sample) in samples.enumerated() {
                let given = sample.given.replacing("Data", with: bytes)
                program += "#sourceLocation(file: \"\(sample.page)\", line: 1)\n"
                program += "func sample\(bytes == "Data" ? "Data" : "Array")\(number)(\(given)) throws {\n"
                program += sample.code.filter { !$0.hasPrefix("import ") }.joined(separator: "\n") + "\n}\n"
            }
        }
        let folder = try TemporaryDirectory()
        let file = folder.file("samples.swift")
        try Data(program.utf8).write(to: URL(fileURLWithPath: file))
        var arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-I", Self.modules.path + "/Modules"]
        let sodium = SharedData.packageRoot.appendingPathComponent("Sources/CSodium/module.modulemap")
        let built = ["CGcrypt", "CGFShare", "COpenSSL", "CPlatform"].map { name in
            Self.modules.appendingPathComponent("\(name).build/module.modulemap")
        }
        for map in [sodium] + built { arguments += ["-Xcc", "-fmodule-map-file=\(map.path)"] }
        let result = try ProcessRunner.run("/usr/bin/env", arguments + [file])
        #expect(result.exitCode == 0, "\(result.errorText)")
    }
}
