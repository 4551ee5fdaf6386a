// How a server is set up. The one thing to keep true: a setting that is misspelt stops the start; none is guessed.

internal import CoffretBase

/// Settings, from a file and from the command line, which wins.
///
/// The file has lines of `name = value`; empty lines and those that begin with `#` are skipped.
package struct ServerConfiguration: Sendable, Equatable {
    /// What the server is called in challenges; devices have it on record.
    package var name = "localhost"
    package var listen = "127.0.0.1:7440"
    /// Where `/metrics` is served; nil is beside the rest, where only this machine reaches the server, and else nowhere.
    package var metricsListen: String?
    package var dataDirectory = "/var/lib/coffret-server"
    /// libpq's connection string; nil is SQLite in the data directory. Without a password: that belongs into libpq's passfile.
    package var postgres: String?
    package var registration = Registration.closed
    package var certificateFile: String?
    package var keyFile: String?
    /// SHA-256 of the SubjectPublicKeyInfo that devices see; zeros without TLS.
    package var fingerprint = [UInt8](repeating: 0, count: 32)
    /// Whether `X-Forwarded-For` is believed: only behind a proxy that sets it.
    package var trustsForwardedFor = false
    package var quota = Quota()
    package var threadCount = 4
    package var connectionCountMax = 20_000
    package var connectionCountMaxPerAddress = 1_000
    package var requestsPerSecondPerAddress = 50
    package var requestsPerSecondPerAccount = 500
    package var bodyMemoryByteCount = 128 << 20
    /// Whether `/ask` serves the page of one-time requests. Whoever runs the server could then alter it.
    package var servesAskPage = false
    package var log = ServerLog.Level.normal

    package init() {}

    /// Whether only programs of the same machine reach the server, and no proxy hands others on.
    var isLocal: Bool { (listen.hasPrefix("127.") || listen.hasPrefix("[::1]")) && !trustsForwardedFor }

    package static let names = [
        "name", "listen", "metrics-listen", "data", "postgres", "registration", "tls-certificate", "tls-key",
        "fingerprint",
        "trust-forwarded-for", "quota-bytes", "quota-zones", "threads", "connections", "connections-per-address",
        "requests-per-second-per-address", "requests-per-second-per-account", "body-memory", "ask-page", "log",
    ]

    /// Changes one setting.
    ///
    /// - Throws: `.configuration`.
    package mutating func set(_ setting: String, to value: String) throws {
        func number(_ range: ClosedRange<Int>) throws -> Int {
            guard let number = Int(value), range.contains(number) else {
                throw ServerFailure(
                    .configuration, "\(setting) is a number of \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
        switch setting {
        case "name":
            guard !value.isEmpty, value.utf8.count <= 255 else {
                throw ServerFailure(.configuration, "name has 1 to 255 bytes")
            }
            name = value
        case "listen": listen = value
        case "metrics-listen": metricsListen = value
        case "data": dataDirectory = value
        case "postgres": postgres = value
        case "registration":
            guard let policy = Registration(rawValue: value) else {
                throw ServerFailure(.configuration, "registration is closed, invitation or open")
            }
            registration = policy
        case "tls-certificate": certificateFile = value
        case "tls-key": keyFile = value
        case "fingerprint":
            guard let bytes = try? Hex.decode(value), bytes.count == 32 else {
                throw ServerFailure(.configuration, "fingerprint has 64 hexadecimal digits")
            }
            fingerprint = bytes
        case "trust-forwarded-for":
            guard value == "yes" || value == "no" else {
                throw ServerFailure(.configuration, "trust-forwarded-for is yes or no")
            }
            trustsForwardedFor = value == "yes"
        case "ask-page":
            guard value == "yes" || value == "no" else { throw ServerFailure(.configuration, "ask-page is yes or no") }
            servesAskPage = value == "yes"
        case "quota-bytes": quota.byteCount = Int64(try number(1...Int.max))
        case "quota-zones": quota.zoneCount = Int64(try number(1...1_000_000))
        case "threads": threadCount = try number(1...64)
        case "connections": connectionCountMax = try number(16...1_000_000)
        case "connections-per-address": connectionCountMaxPerAddress = try number(1...1_000_000)
        case "requests-per-second-per-address": requestsPerSecondPerAddress = try number(1...1_000_000)
        case "requests-per-second-per-account": requestsPerSecondPerAccount = try number(1...1_000_000)
        case "body-memory": bodyMemoryByteCount = try number(128 << 20...1 << 40)
        case "log":
            guard let level = ServerLog.Level(rawValue: value) else {
                throw ServerFailure(.configuration, "log is requests, normal or errors")
            }
            log = level
        default: throw ServerFailure(.configuration, "there is no setting \(setting)")
        }
    }

    /// Reads a file's text.
    package mutating func read(_ text: String) throws {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmed
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let equals = line.firstIndex(of: "=") else {
                throw ServerFailure(.configuration, "line \(index + 1) is not: name = value")
            }
            let (name, value) = (line[..<equals].trimmed, line[line.index(after: equals)...].trimmed)
            do { try set(String(name), to: String(value)) } catch {
                throw ServerFailure(.configuration, "line \(index + 1): \(ServerFailure(error).detail)")
            }
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = drop { $0 == " " || $0 == "\t" || $0 == "\r" }
        while let last = rest.last, last == " " || last == "\t" || last == "\r" { rest.removeLast() }
        return rest
    }
}
