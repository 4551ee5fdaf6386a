// What an operator counts. The one thing to keep true: no label names a person, an account, a zone or an address.

internal import Synchronization

/// Counters that any thread adds to without waiting for another.
@safe final class ServerMetrics: Sendable {
    private static let boundsMilliseconds: [Int64] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000]
    /// All statuses that the server answers with.
    private static let statuses = [
        101, 200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 409, 411, 412, 413, 416, 422, 429, 500, 503, 507,
    ]

    /// A row of counters for each route: the statuses, the durations' buckets and one above, the durations' sum in
    /// microseconds.
    private static let bucketStart = statuses.count
    private static let sumPlace = bucketStart + boundsMilliseconds.count + 1
    private static let rowLength = sumPlace + 1

    // SAFETY: made once, freed with this object, which outlives all threads that use it; each counter is atomic.
    nonisolated(unsafe) private let counters: UnsafeMutablePointer<Atomic<Int>>
    /// Connections that found no place, and those that were ended because they were too slow.
    private let connectionsRefused = Atomic(0)
    private let connectionsEnded = Atomic(0)
    private let bytesIn = Atomic(0)
    private let bytesOut = Atomic(0)
    private let names: [String]

    /// Figures that are read when somebody asks: name, help, value.
    typealias Gauge = (name: String, help: String, value: @Sendable () -> Int)

    init() {
        names = RouteTable.rows.map(\.name) + ["unknown"]
        unsafe counters = .allocate(capacity: names.count * Self.rowLength)
        for index in 0..<names.count * Self.rowLength { unsafe (counters + index).initialize(to: Atomic(0)) }
    }

    deinit { unsafe counters.deallocate() }

    /// - Parameter route: the row's number, or `RouteTable.unknownNumber`.
    func record(route: Int, status: Int, microseconds: Int64, bytesIn: Int, bytesOut: Int) {
        let row = route * Self.rowLength
        // One that is not in the list would be counted as what it resembles most: a failure of the server's own.
        let place = Self.statuses.firstIndex(of: status) ?? Self.statuses.firstIndex(of: 500)!
        add(1, row + place)
        let bucket =
            Self.boundsMilliseconds.firstIndex { microseconds <= $0 * 1_000 } ?? Self.boundsMilliseconds.count
        add(1, row + Self.bucketStart + bucket)
        add(Int(microseconds), row + Self.sumPlace)
        if bytesIn > 0 { self.bytesIn.add(bytesIn, ordering: .relaxed) }
        if bytesOut > 0 { self.bytesOut.add(bytesOut, ordering: .relaxed) }
    }

    func connectionRefused() { connectionsRefused.add(1, ordering: .relaxed) }
    func connectionEnded() { connectionsEnded.add(1, ordering: .relaxed) }

    /// What was refused since the start because a limit was reached, by kind.
    struct Refusals: Equatable {
        var rate = 0
        var busy = 0
        var space = 0
        var connections = 0
        var slow = 0

        static func - (left: Refusals, right: Refusals) -> Refusals {
            Refusals(
                rate: left.rate - right.rate, busy: left.busy - right.busy, space: left.space - right.space,
                connections: left.connections - right.connections, slow: left.slow - right.slow)
        }
    }

    var refusals: Refusals {
        func count(_ status: Int) -> Int {
            let place = Self.statuses.firstIndex(of: status)!
            return names.indices.reduce(0) { $0 + value($1 * Self.rowLength + place) }
        }
        return Refusals(
            rate: count(429), busy: count(503), space: count(507),
            connections: connectionsRefused.load(ordering: .relaxed), slow: connectionsEnded.load(ordering: .relaxed))
    }

    func sent(_ byteCount: Int) { bytesOut.add(byteCount, ordering: .relaxed) }

    private func add(_ count: Int, _ place: Int) { unsafe counters[place].add(count, ordering: .relaxed) }
    private func value(_ place: Int) -> Int { unsafe counters[place].load(ordering: .relaxed) }

    /// The Prometheus text format, version 0.0.4.
    func text(gauges: [Gauge]) -> String {
        let routes = names.indices.sorted { names[$0] < names[$1] }
        var text = "# HELP coffret_requests_total Requests answered.\n# TYPE coffret_requests_total counter\n"
        for route in routes {
            for (place, status) in Self.statuses.enumerated() {
                let count = value(route * Self.rowLength + place)
                guard count > 0 else { continue }
                text += "coffret_requests_total{route=\"\(names[route])\",status=\"\(status)\"} \(count)\n"
            }
        }
        text += "# HELP coffret_request_seconds Time to answer.\n# TYPE coffret_request_seconds histogram\n"
        for route in routes {
            let row = route * Self.rowLength
            let counts = (0...Self.boundsMilliseconds.count).map { value(row + Self.bucketStart + $0) }
            let total = counts.reduce(0, +)
            guard total > 0 else { continue }
            var sum = 0
            for (bound, count) in zip(Self.boundsMilliseconds, counts) {
                sum += count
                text +=
                    "coffret_request_seconds_bucket{route=\"\(names[route])\",le=\"\(Double(bound) / 1_000)\"} \(sum)\n"
            }
            text += "coffret_request_seconds_bucket{route=\"\(names[route])\",le=\"+Inf\"} \(total)\n"
            let seconds = Double(value(row + Self.sumPlace)) / 1_000_000
            text += "coffret_request_seconds_sum{route=\"\(names[route])\"} \(seconds)\n"
            text += "coffret_request_seconds_count{route=\"\(names[route])\"} \(total)\n"
        }
        for (name, help, value) in [
            ("coffret_received_bytes_total", "Bytes of bodies received.", bytesIn.load(ordering: .relaxed)),
            ("coffret_sent_bytes_total", "Bytes of bodies sent.", bytesOut.load(ordering: .relaxed)),
            (
                "coffret_connections_refused_total", "Connections above a limit.",
                connectionsRefused.load(ordering: .relaxed)
            ),
            (
                "coffret_connections_ended_total", "Connections of peers that were too slow.",
                connectionsEnded.load(ordering: .relaxed)
            ),
        ] { text += "# HELP \(name) \(help)\n# TYPE \(name) counter\n\(name) \(value)\n" }
        for gauge in gauges {
            text += "# HELP \(gauge.name) \(gauge.help)\n# TYPE \(gauge.name) gauge\n\(gauge.name) \(gauge.value())\n"
        }
        return text
    }
}
