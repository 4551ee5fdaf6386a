// What the programs ask of a real server, as it counts it itself.

import CoffretTestSupport
import Foundation
import Testing

extension ServerRunner {
    /// Answered requests by route, while something runs; the look at the counts itself is left out.
    func requests(_ body: () throws -> Void) throws -> [String: Int] {
        let before = try answeredRequests()
        try body()
        return try answeredRequests().reduce(into: [:]) { costs, route in
            let count = route.value - (before[route.key] ?? 0)
            if count > 0, route.key != "metrics" { costs[route.key] = count }
        }
    }

    private func answeredRequests() throws -> [String: Int] {
        let result = try ProcessRunner.run("/usr/bin/curl", ["-skf", url + "/metrics"])
        try #require(result.exitCode == 0, "\(result.errorText)")
        var counts: [String: Int] = [:]
        for line in result.text.split(separator: "\n") where line.hasPrefix("coffret_requests_total{") {
            guard let route = line.firstMatch(of: #/route="([^"]+)"/#), let count = line.split(separator: " ").last
            else { continue }
            counts[String(route.1), default: 0] += Int(count) ?? 0
        }
        return counts
    }
}
