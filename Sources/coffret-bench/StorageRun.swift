// One store of made-up notes, and what is measured on it. Invariant: the data is that of the design's prototype: ten
// facts per note, nine short, one body of log-normal length.

import CoffretBase
import CoffretCrypto
import CoffretLogs
import CoffretStorage
import Glibc

final class StorageRun {
    private let directory: String
    private let factCount: Int
    private let vault: BenchRepositories
    private var repository: LogRepository
    private var generator = BenchGenerator(state: 42)
    private var rawByteCount = 0
    private var buildSeconds = 0.0
    private var buildCPUSeconds = 0.0

    /// Nothing is stored before it is asked for.
    private static let policy = LocalCheckpointPolicy(changeCountMax: .max, byteCountMax: .max)
    private static let attributes: [Attribute] = [
        "body", "created", "modified", "title", "url", "source", "pinned", "archived", "color", "order",
    ]

    init(factCount: Int, directory: String) throws {
        self.factCount = factCount
        self.directory = directory
        vault = try BenchRepositories()
        removeTree(directory)
        repository = try vault.create(directory)
        repository.policy = Self.policy
        var changes: [LogChange] = []
        changes.reserveCapacity(factCount)
        for number in 0..<factCount {
            let change = change(number)
            rawByteCount += change.key.bytes.count + (change.value?.count ?? 0)
            changes.append(change)
        }
        buildSeconds = try measureSeconds {
            buildCPUSeconds = try measureCPUSeconds {
                let bulk = try repository.beginBatch()
                for change in changes { try bulk.add(change) }
                try bulk.commit(time: 1_700_000_000_000)
            }
        }
    }

    private func key(_ number: Int) -> FactKey {
        var uuid: [UInt8] = []
        var mixed = UInt64(number / 10) &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678
        for _ in 0..<2 {
            mixed ^= mixed >> 29
            mixed = mixed &* 0xBF58_476D_1CE4_E5B9
            uuid += mixed.bigEndianBytes
        }
        guard let uuid = UniqueID(bytes: uuid) else { preconditionFailure("16 bytes make an id") }
        return FactKey(
            entity: EntityID(kind: UInt8(ascii: "N"), uuid: uuid), attribute: Self.attributes[number % 10])
    }

    private func change(_ number: Int) -> LogChange {
        let isBody = number % 10 == 0
        let byteCount = isBody ? generator.logNormal(median: 600, sigma: 1.3) : 1 + generator.next(below: 50)
        return LogChange(key: key(number), value: generator.bytes(count: byteCount))
    }

    private func reopen() throws {
        repository.close()
        repository = try vault.open(directory, .readWrite(lockTimeoutMilliseconds: 1_000))
        repository.policy = Self.policy
    }

    func reportBuild() {
        StorageBench.report("\(factCount) facts in one durable commit", buildSeconds, "s", places: 2)
        StorageBench.report("processor time of that", buildCPUSeconds, "s", goal: 1.3, limit: 2.6, places: 2)
        StorageBench.report("raw facts", Double(rawByteCount) / 1e6, "MB")
        let disk = Double(diskByteCount(directory)) / Double(rawByteCount)
        StorageBench.report("index", Double(indexByteCount(directory)) / 1e6, "MB", goal: 1.2, limit: 2.4, places: 2)
        // Padding and record headers take it to 1.034 (decision 0005), and no further.
        StorageBench.report("disk / raw", disk, "", goal: 1, limit: 1.05, places: 3)
    }

    /// Opening, and the first read, with and without the files in memory.
    func reportOpening() throws {
        var warm: [Double] = []
        var cold: [Double] = []
        var warmCPU: [Double] = []
        var coldOpen: [Double] = []
        for round in 0..<9 {
            repository.close()
            warm.append(
                try measureSeconds {
                    warmCPU.append(
                        try measureCPUSeconds {
                            try reopen(); _ = try repository.present()
                        })
                })
            repository.close()
            dropFromMemory(directory)
            coldOpen.append(try measureSeconds { try reopen() })
            cold.append(
                try measureSeconds { _ = try repository.present().facts(under: key(round * 7_919 % factCount)) })
        }
        StorageBench.report("open, files in memory", Samples(warm).median * 1e6, "us", places: 0)
        StorageBench.report(
            "processor time of that", Samples(warmCPU).median * 1e6, "us", goal: 100, limit: 200, places: 0)
        StorageBench.report("open, files not in memory", Samples(coldOpen).median * 1e6, "us", places: 0)
        StorageBench.report(
            "first fact after that", Samples(cold).median * 1e6, "us", goal: 2_000, limit: 4_000, places: 0)
    }

    /// One-fact commits beside raw appends of as many bytes; returns the median in seconds.
    func measureCommits(isReported: Bool) throws -> Double {
        try reopen()
        _ = try repository.commit([change(1)], time: 1)
        let raw = try RawAppender(path: directory + "/raw")
        var commits: [Double] = []
        var appends: [Double] = []
        var byteCounts: [Double] = []
        var processorSeconds: [Double] = []
        for _ in 0..<2_000 {
            let changed = change(generator.next(below: factCount))
            let before = repository.journalByteCount
            commits.append(
                try measureSeconds {
                    processorSeconds.append(
                        try measureCPUSeconds { try repository.commit([changed], time: 1_700_000_000_000) })
                })
            byteCounts.append(Double(repository.journalByteCount - before))
            appends.append(measureSeconds { raw.append(byteCount: 480) })
        }
        raw.remove()
        let median = Samples(commits).median
        guard isReported else { return median }
        let rawMedian = Samples(appends).median
        StorageBench.report("one-fact commit, median", median * 1e6, "us", places: 0)
        StorageBench.report("processor time of that", Samples(processorSeconds).median * 1e6, "us", places: 0)
        StorageBench.report("one-fact commit, p99", Samples(commits).percentile(99) * 1e6, "us", places: 0)
        StorageBench.report("raw append and fdatasync, median", rawMedian * 1e6, "us", places: 0)
        StorageBench.report("commit / raw, medians", median / rawMedian, "", goal: 2.7, limit: 5.4, places: 2)
        StorageBench.report(
            "commit p99 / raw median", Samples(commits).percentile(99) / rawMedian, "", goal: 6, limit: 12,
            places: 2)
        StorageBench.report(
            "bytes per commit, median", Samples(byteCounts).median, "B", goal: 500, limit: 500, places: 0)
        StorageBench.report("bytes per commit, mean", Samples(byteCounts).mean, "B", goal: 700, limit: 700, places: 0)
        return median
    }

    /// Storing the tree after 1,000 scattered changes.
    func reportCheckpoint() throws {
        try repository.checkpoint()
        for _ in 0..<1_000 { try repository.commit([change(generator.next(below: factCount))], time: 1) }
        let before = repository.journalByteCount
        let seconds = try measureCPUSeconds { try repository.checkpoint() }
        StorageBench.report("checkpoint of 1,000 scattered facts, processor", seconds * 1e3, "ms", goal: 40, limit: 80)
        let grown = Double(repository.journalByteCount - before)
        StorageBench.report("bytes of that", grown / 1e6, "MB", goal: 3, limit: 3.6, places: 2)
    }

    /// The cost of the commits since the last checkpoint for a fresh process.
    func reportTail() throws {
        for _ in 0..<1_000 { try repository.commit([change(generator.next(below: factCount))], time: 1) }
        try reopen()
        let openSeconds = try measureCPUSeconds {
            try reopen(); _ = try repository.present()
        }
        StorageBench.report(
            "open with a tail of 1,000, processor", openSeconds * 1e3, "ms", goal: 3.1, limit: 6.2, places: 2)
        let changed = change(3)
        let first = try measureCPUSeconds { try repository.commit([changed], time: 1) }
        StorageBench.report("first commit after that, processor", first * 1e3, "ms", places: 2)
        try repository.checkpoint()
    }

    func reportDifferences() throws {
        for (count, goal) in [(1, 0.2), (100, 8.0), (10_000, 350.0)] where count <= factCount {
            let before = try repository.present()
            let batch = try repository.beginBatch()
            for _ in 0..<count { try batch.add(change(generator.next(below: factCount))) }
            try batch.commit(time: 1)
            try repository.checkpoint()
            let after = try repository.present()
            var seconds: [Double] = []
            var found = 0
            for _ in 0..<5 {
                found = 0
                seconds.append(try measureCPUSeconds { try before.forEachDifference(to: after) { _ in found += 1 } })
            }
            StorageBench.report(
                "difference of \(found) keys, processor", Samples(seconds).median * 1e3, "ms", goal: goal,
                limit: 2 * goal, places: 2)
        }
    }

    /// 10,000 commits with checkpoints as a resident process makes them, then compaction.
    func reportGrowth() throws {
        _ = try repository.compact()
        try reopen()
        let before = diskByteCount(directory)
        repository.policy = .longLived
        let seconds = try measureSeconds {
            for _ in 0..<10_000 { try repository.commit([change(generator.next(below: factCount))], time: 1) }
        }
        StorageBench.report("10,000 commits with checkpoints", seconds, "s", places: 2)
        let grown = Double(diskByteCount(directory)) / Double(before)
        StorageBench.report("store after 10,000 commits", grown, "times", goal: 1.30, limit: 1.30, places: 3)
        let compaction = try measureCPUSeconds {
            _ = try repository.compact()
        }
        StorageBench.report("compaction, processor", compaction, "s", goal: 1.5, limit: 3, places: 2)
        let compacted = Double(diskByteCount(directory)) / Double(before)
        StorageBench.report("store after compaction", compacted, "times", goal: 1.10, limit: 1.10, places: 3)
    }
}

/// SplitMix64, with the distributions that the data needs.
struct BenchGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func bytes(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            let word = next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// A length whose logarithm is normally distributed (Box and Muller), at most 64 KiB.
    mutating func logNormal(median: Double, sigma: Double) -> Int {
        let one = (Double(next() >> 11) + 1) / 9_007_199_254_740_992
        let other = Double(next() >> 11) / 9_007_199_254_740_992
        let normal = (-2 * log(one)).squareRoot() * cos(2 * Double.pi * other)
        return min(65_536, max(1, Int(median * exp(sigma * normal))))
    }
}

/// Appends to one file with a sync each: what any durable commit costs at least.
final class RawAppender {
    private let path: String
    private let descriptor: Int32
    private let bytes = [UInt8](repeating: 7, count: 1 << 16)

    init(path: String) throws {
        self.path = path
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        precondition(descriptor >= 0, "a file beside the store can be made")
    }

    func append(byteCount: Int) {
        let written = unsafe write(descriptor, bytes, byteCount)
        precondition(written == byteCount && fdatasync(descriptor) == 0, "appending works")
    }

    func remove() {
        close(descriptor)
        _ = unsafe unlink(path)
    }
}
