// What an operator counts. The one thing to keep true: no label names a person, an account, a zone or an address.

internal import Synchronization

final class ServerMetrics: Sendable {
    private struct Key: Hashable {
        let route: String
        let status: Int
    }

    private struct Histogram {
        var counts = [Int](repeating: 0, count: ServerMetrics.boundsMilliseconds.count + 1)
        var sum: Double = 0
    }

    private struct State {
        var requests: [Key: Int] = [:]
        var durations: [String: Histogram] = [:]
        var bytesIn = 0
        var bytesOut = 0
    }

    private static let boundsMilliseconds: [Double] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000]

    private let state = Mutex(State())
    /// Figures that are read when somebody asks: name, help, value.
    typealias Gauge = (name: String, help: String, value: @Sendable () -> Int)

    func record(route: String, status: Int, milliseconds: Double, bytesIn: Int, bytesOut: Int) {
        state.withLock { state in
            state.requests[Key(route: route, status: status), default: 0] += 1
            let bucket = Self.boundsMilliseconds.firstIndex { milliseconds <= $0 } ?? Self.boundsMilliseconds.count
            state.durations[route, default: Histogram()].counts[bucket] += 1
            state.durations[route, default: Histogram()].sum += milliseconds
            state.bytesIn += bytesIn
            state.bytesOut += bytesOut
        }
    }

    func sent(_ byteCount: Int) { state.withLock { $0.bytesOut += byteCount } }

    /// The Prometheus text format, version 0.0.4.
    func text(gauges: [Gauge]) -> String {
        let state = state.withLock { $0 }
        var text = "# HELP coffret_requests_total Requests answered.\n# TYPE coffret_requests_total counter\n"
        for (key, count) in state.requests.sorted(by: { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) })
        {
            text += "coffret_requests_total{route=\"\(key.route)\",status=\"\(key.status)\"} \(count)\n"
        }
        text += "# HELP coffret_request_seconds Time to answer.\n# TYPE coffret_request_seconds histogram\n"
        for (route, histogram) in state.durations.sorted(by: { $0.key < $1.key }) {
            var sum = 0
            for (bound, count) in zip(Self.boundsMilliseconds, histogram.counts) {
                sum += count
                text += "coffret_request_seconds_bucket{route=\"\(route)\",le=\"\(bound / 1_000)\"} \(sum)\n"
            }
            sum += histogram.counts[Self.boundsMilliseconds.count]
            text += "coffret_request_seconds_bucket{route=\"\(route)\",le=\"+Inf\"} \(sum)\n"
            text += "coffret_request_seconds_sum{route=\"\(route)\"} \(histogram.sum / 1_000)\n"
            text += "coffret_request_seconds_count{route=\"\(route)\"} \(sum)\n"
        }
        for (name, help, value) in [
            ("coffret_received_bytes_total", "Bytes of bodies received.", state.bytesIn),
            ("coffret_sent_bytes_total", "Bytes of bodies sent.", state.bytesOut),
        ] { text += "# HELP \(name) \(help)\n# TYPE \(name) counter\n\(name) \(value)\n" }
        for gauge in gauges {
            text += "# HELP \(gauge.name) \(gauge.help)\n# TYPE \(gauge.name) gauge\n\(gauge.name) \(gauge.value())\n"
        }
        return text
    }
}
