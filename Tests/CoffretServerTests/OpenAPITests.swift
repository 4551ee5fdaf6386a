// Spec/openapi.yaml against the running server: every route in it is there, takes the methods that it states and no
// others, and answers with the statuses that it states.

import CoffretBase
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

    @Test("routes, methods and statuses are those of the server")
    func described() throws {
        let operations = try Self.operations()
        #expect(operations.count == 27)
        let server = try ServerProcessTests.open(try ServerProcessTests.folder())
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
                    .replacing(/\{(zone|address|id)\}/, with: id)
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
                #expect(try client.send(method, target).code == "server.request.method", "\(method) \(path)")
            }
        }
    }
}
