// How long the stages of a command took, for `--timings`.

internal import Glibc

/// Stages and their durations, measured on the monotonic clock.
final class Timings {
    private(set) var stages: [(name: String, microseconds: Int)] = []
    private let start = Timings.nowMicroseconds

    /// Measures one stage; stages of the same name add up.
    func measure<Value>(_ name: String, _ body: () throws -> Value) rethrows -> Value {
        let begin = Self.nowMicroseconds
        defer { record(name, Self.nowMicroseconds - begin) }
        return try body()
    }

    /// What a stage took so far.
    func microseconds(of name: String) -> Int { stages.first { $0.name == name }?.microseconds ?? 0 }

    private func record(_ name: String, _ microseconds: Int) {
        if let index = stages.firstIndex(where: { $0.name == name }) {
            stages[index].microseconds += microseconds
        } else {
            stages.append((name, microseconds))
        }
    }

    /// `key-derivation 310.2 ms · open 2.1 ms · work 8.0 ms`: what no stage covers is called work.
    var text: String {
        let covered = stages.reduce(0) { $0 + $1.microseconds }
        let rest = max(0, Self.nowMicroseconds - start - covered)
        return (stages + [("work", rest)]).map { "\($0.name) \(Self.milliseconds($0.microseconds)) ms" }
            .joined(separator: " · ")
    }

    static func milliseconds(_ microseconds: Int) -> String {
        let tenths = (microseconds + 50) / 100
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static var nowMicroseconds: Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }
}
