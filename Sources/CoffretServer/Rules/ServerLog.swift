// What the server writes down. The one thing to keep true: no line names an account, a device, a zone, an address
// of an object or of a peer, a token, or anything that a client sent.

internal import CoffretBase
internal import Glibc

/// One JSON object per line on standard error.
package struct ServerLog: Sendable {
    package enum Level: String, Sendable, CaseIterable {
        /// Also every request: route, status, duration, sizes.
        case requests
        case normal
        case errors
    }

    let level: Level

    package init(level: Level) { self.level = level }

    func info(_ event: String, _ fields: KeyValuePairs<String, String> = [:]) {
        if level != .errors { write("info", event, fields) }
    }

    func request(route: String, status: Int, microseconds: Int64, bytesIn: Int, bytesOut: Int) {
        guard level == .requests else { return }
        write(
            "info", "request",
            [
                "route": route, "status": "\(status)", "ms": "\(microseconds / 1_000).\(microseconds / 100 % 10)",
                "in": "\(bytesIn)",
                "out": "\(bytesOut)",
            ])
    }

    /// What was refused since the last such line, if anything was.
    func refusals(_ counts: ServerMetrics.Refusals) {
        guard counts != ServerMetrics.Refusals() else { return }
        info(
            "refused",
            [
                "rate": "\(counts.rate)", "busy": "\(counts.busy)", "space": "\(counts.space)",
                "connections": "\(counts.connections)", "slow": "\(counts.slow)",
            ])
    }

    func failure(_ failure: ServerFailure) {
        write("error", failure.code.rawValue, ["detail": failure.detail])
    }

    private func write(_ level: String, _ event: String, _ fields: KeyValuePairs<String, String>) {
        var line = "{\"time\":\(SystemWallClock().now),\"level\":\"\(level)\",\"event\":\"\(event)\""
        for (name, value) in fields { line += ",\"\(name)\":\"\(Self.escaped(value))\"" }
        let bytes = Array((line + "}\n").utf8)
        // One write, so that lines of several threads do not mix; a full pipe loses a line and stops nobody.
        _ = unsafe Glibc.write(2, bytes, bytes.count)
    }

    private static func escaped(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "'" : $0.value < 32 ? " " : $0 }))
    }
}
