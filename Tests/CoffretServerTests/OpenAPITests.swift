// Spec/openapi.yaml against the running server: every route in it is there and none is left out, takes the methods that
// it states and no others, and answers with what it states; and what a fuzzer makes of the description.

import CoffretBase
import CoffretNet
import CoffretServer
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("OpenAPI description")
struct OpenAPITests {
    struct Operation {
        let path: String
        let method: String
        var statuses: Set<Int> = []
        var isOpen = false
    }

    /// Reads the file by its indentation; it is written that way.
    static func operations() throws -> [Operation] {
        let url = SharedData.packageRoot.appendingPathComponent("Spec/openapi.yaml")
        var (operations, path): ([Operation], String) = ([], "")
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("  /") { path = String(line.dropFirst(2).dropLast()) }
            if let match = line.wholeMatch(of: #/    (get|put|post|delete):/#) {
                operations.append(Operation(path: path, method: match.1.uppercased()))
            }
            if line == "      security: []" { operations[operations.count - 1].isOpen = true }
            if let match = line.firstMatch(of: #/^        '(\d+)':/#) {
                operations[operations.count - 1].statuses.insert(Int(match.1) ?? 0)
            }
        }
        return operations
    }

    @Test("what the server answers is described, and what is described it answers")
    func complete() throws {
        let described = try Self.operations().map { "\($0.method) \($0.path)" }
        // HEAD is described with GET, which says so.
        let answered = ServerInterface.operations.filter { $0.method != "HEAD" }.map { "\($0.method) \($0.path)" }
        #expect(Set(answered).subtracting(described) == [], "not in Spec/openapi.yaml")
        #expect(Set(described).subtracting(answered) == [], "not in the server")
        #expect(Set(described).count == described.count && Set(answered).count == answered.count)
        for head in ServerInterface.operations where head.method == "HEAD" {
            #expect(described.contains("GET \(head.path)"))
        }
    }

    @Test("routes, methods and statuses are those of the server")
    func described() throws {
        let operations = try Self.operations()
        let server = try ServerProcessTests.open(try ServerProcessTests.folder(), "--ask-page", "yes")
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let stranger = ServerClient(port: server.port, account: try TestAccount())
        for operation in operations {
            // Logging out would end the session that the others need.
            if operation.path == "/v1/logout" { continue }
            let paths = [zone, String(repeating: "ab", count: 32), "nonsense"].map { id in
                operation.path.replacing("{kind}", with: "device").replacing("{device}", with: client.device.id.hex)
                    .replacing("{entry}", with: String(repeating: "1", count: 32))
                    .replacing("{relay}", with: String(repeating: "2", count: 32))
                    .replacing("{account}", with: id == zone ? Hex.encode(client.account.id) : id)
                    .replacing(/\{(zone|address|id|tile)\}/, with: id)
            }
            // A zone is deleted by nobody before its other routes were tried.
            let tried = operation.path == "/v1/zones/{zone}" ? Array(paths.dropFirst()) : paths
            for path in tried {
                let bodies: [[UInt8]] =
                    operation.method == "GET" || operation.method == "DELETE"
                    ? [[]] : [[], [0xA0], [0x80], [0x82, 0x40, 0x40]]
                for body in bodies {
                    let answer = try client.send(operation.method, path, body)
                    #expect(
                        operation.statuses.contains(answer.status),
                        "\(operation.method) \(path): \(answer.status) \(answer.code)")
                    #expect(answer.code != "server.request.method" && answer.code != "server.request.unknown")
                }
            }
            if !operation.isOpen {
                #expect(try stranger.send(operation.method, paths[0]).status == 401, "\(operation.path)")
            }
        }
        for path in Set(operations.map(\.path)) {
            let known = operations.filter { $0.path == path }.map(\.method)
            let target = path.replacing("{kind}", with: "device").replacing(/\{(zone|address|id|account)\}/, with: zone)
                .replacing(/\{(device|entry|relay)\}/, with: String(repeating: "1", count: 32))
            for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] where !known.contains(method) {
                let answer = try client.send(method, target)
                #expect(answer.code == "server.request.method", "\(method) \(path)")
                let allowed = answer.head.single("allow")?.components(separatedBy: ", ") ?? []
                #expect(Set(known).isSubset(of: allowed), "\(allowed) \(path)")
            }
        }
    }

    static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    static let hasFuzzer =
        FileManager.default.isExecutableFile(atPath: python)
        && FileManager.default.isExecutableFile(
            atPath: SharedData.packageRoot.appendingPathComponent(".build/venv/bin/schemathesis").path)

    /// The long form is `Scripts/fuzz-server`. Bounded by cases, not by time: under load it takes longer, and does the same.
    @Test(
        "Schemathesis, with bodies that are nearly right, finds nothing that the description does not say (R14, R47)",
        .enabled(if: hasFuzzer, "needs Schemathesis in .build/venv"))
    func fuzzed() throws {
        let script = SharedData.packageRoot.path + "/Tests/Interop/fuzz_server.py"
        let seed = ProcessInfo.processInfo.environment["COFFRET_TEST_SEED"].map { [$0] } ?? []
        let result = try ProcessRunner.run(
            Self.python, [script, ServerProcess.executable, "12"] + seed, timeoutSeconds: 300)
        #expect(result.exitCode == 0, "\(result.text.suffix(6_000)) \(result.errorText)")
        #expect(result.text.contains("fuzz: good"))
        // A fuzzer that reaches nothing finds nothing.
        for name in ServerInterface.operations.map(\.name) where name != "chunks.size" {
            #expect(result.text.contains(" \(name)"), "\(name): \(result.text)")
        }
    }
}
