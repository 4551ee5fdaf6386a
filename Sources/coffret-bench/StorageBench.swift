// Storage against the targets of its design: a million facts, durable commits, history. Results that miss the
// design's goal are printed bold; those that pass a limit, about twice the goal, make the run fail.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import Glibc

/// `coffret-bench storage [--facts N] [--directory PATH] [--only PART ...]`; PART is build, open, commit, checkpoint,
/// tail, difference or growth. A part alone may find another store than after those before it.
enum StorageBench {
    static func run(_ arguments: [String]) throws {
        var factCount = 1_000_000
        var directory = "/var/tmp/coffret-bench-\(getpid())"
        var index = 0
        while index + 1 < arguments.count {
            if arguments[index] == "--facts", let count = Int(arguments[index + 1]) { factCount = count }
            if arguments[index] == "--directory" { directory = arguments[index + 1] }
            index += arguments[index] == "--only" ? arguments.count : 2
        }
        let only = arguments.firstIndex(of: "--only").map { Set(arguments[($0 + 1)...]) }
        let isWanted = { (part: String) in only?.contains(part) ?? true }
        print(row(["what", "result", "goal", "limit"]))
        print(row(["---", "---", "---", "---"]))
        if only == nil { boundaryHash() }
        var smallCost: Double?
        if isWanted("commit") {
            let small = try StorageRun(factCount: min(1_000, factCount), directory: directory + "/small")
            smallCost = try small.measureCommits(isReported: false)
        }
        let run = try StorageRun(factCount: factCount, directory: directory + "/large")
        if isWanted("build") { run.reportBuild() }
        if isWanted("open") { try run.reportOpening() }
        if let smallCost {
            let cost = try run.measureCommits(isReported: true)
            report(
                "commit at \(factCount) against 1,000 facts", cost / smallCost, "times", goal: 2, limit: 2, places: 2)
        }
        if isWanted("checkpoint") { try run.reportCheckpoint() }
        if isWanted("tail") { try run.reportTail() }
        if isWanted("difference") { try run.reportDifferences() }
        if isWanted("growth") { try run.reportGrowth() }
        removeTree(directory)
        if failureCount.value > 0 {
            print("\n\(failureCount.value) limits were not held")
            exit(1)
        }
    }

    private static let failureCount = FailureCount()

    /// One line; a limit that is exceeded makes the run fail.
    static func report(
        _ what: String, _ value: Double, _ unit: String, goal: Double? = nil, limit: Double? = nil, places: Int = 1
    ) {
        func text(_ value: Double) -> String { decimal(value, places) + (unit.isEmpty ? "" : " " + unit) }
        if limit.map({ value > $0 }) ?? false { failureCount.value += 1 }
        let isMissed = goal.map { value > $0 } ?? false
        print(
            row([what, isMissed ? "**\(text(value))**" : text(value), goal.map(text) ?? "", limit.map(text) ?? ""]))
        fflush(nil)
    }

    /// The choice of Docs/decisions/0007-boundary-hash.md: per entry, SipHash-2-4 against BLAKE2b-128.
    private static func boundaryHash() {
        let count = 500_000
        let sip = ShortHashKey(SystemRandomSource().secret(byteCount: ShortHashKey.byteCount))
        let message = SystemRandomSource().bytes(count: 26)
        let key = SystemRandomSource().bytes(count: 32)
        var sum: UInt64 = 0
        let sipSeconds = measureCPUSeconds {
            for _ in 0..<count { sum &+= sip.hash(prefix: 0, bytes: message) }
        }
        var output = [UInt8](repeating: 0, count: 16)
        let blakeSeconds = measureCPUSeconds {
            for _ in 0..<count {
                unsafe message.withUnsafeBytes { message in
                    unsafe key.withUnsafeBytes { key in
                        unsafe output.withUnsafeMutableBytes { output in
                            unsafe BLAKE2b.hash(message, key: key, into: output)
                        }
                    }
                }
            }
        }
        precondition(sum != 1)
        report("boundary hash, SipHash-2-4", sipSeconds / Double(count) * 1e9, "ns", places: 0)
        report("boundary hash, keyed BLAKE2b-128", blakeSeconds / Double(count) * 1e9, "ns", places: 0)
    }
}

/// Counts limits that were not held.
private final class FailureCount: @unchecked Sendable {
    // SAFETY: benchmarks run on one thread.
    var value = 0
}
