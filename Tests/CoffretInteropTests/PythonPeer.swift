// Other implementations, run as Python programs. Without the environment that `Scripts/setup` makes, or
// without a package, the tests that need them are skipped, visibly.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

/// A peer that could not be run.
struct PeerFailure: Error, CustomStringConvertible {
    let description: String
}

enum PythonPeer {
    static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path

    static func script(_ name: String) -> String {
        SharedData.packageRoot.appendingPathComponent("Tests/Interop/\(name)").path
    }

    /// Whether the environment holds a module that can be loaded, its native library included.
    static func canImport(_ module: String) -> Bool {
        guard FileManager.default.isExecutableFile(atPath: python) else { return false }
        let result = try? ProcessRunner.run(python, ["-c", "import \(module)"], timeoutSeconds: 60)
        return result?.exitCode == 0 && result?.isSignalled == false
    }

    static let hasCryptography = canImport("cryptography")
    static let hasNoise = canImport("noise.connection")
    static let hasThemis = canImport("pythemis.scell")

    /// Runs a script on lists of jobs and returns the lists of results.
    static func run(_ name: String, _ jobs: [String: [[String: Any]]]) throws -> [String: [Any]] {
        let input = try JSONSerialization.data(withJSONObject: jobs)
        let result = try ProcessRunner.run(python, [script(name)], input: [UInt8](input))
        guard result.exitCode == 0 else { throw PeerFailure(description: result.errorText) }
        let output = try JSONSerialization.jsonObject(with: Data(result.standardOutput))
        return try #require(output as? [String: [Any]])
    }
}

/// A peer that answers each line with a line.
final class LinePeer {
    private let process: SpawnedProcess

    init(_ script: String, _ arguments: [String]) throws {
        process = try SpawnedProcess(
            PythonPeer.python, [PythonPeer.script(script)] + arguments, input: .pipe, output: .pipe, error: .inherited)
    }

    deinit { process.finish() }

    /// Sends a command with data and returns the answer; nil for "error".
    func ask(_ command: String, _ data: [UInt8] = []) throws -> [UInt8]? {
        process.write(Array("\(command) \(Hex.encode(data))\n".utf8))
        guard let text = process.readOutputLine() else { throw PeerFailure(description: "the peer went away") }
        return text == "error" ? nil : try Hex.decode(text)
    }
}
