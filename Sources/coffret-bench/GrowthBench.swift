// Many entries, one after the other, in a store that is kept small meanwhile. The one thing to keep true: the upkeep is
// the call that the agent's child makes, at the distance in which commands come.

import CoffretBase
import CoffretCrypto
import CoffretLogs
import CoffretStorage

enum GrowthBench {
    private static let noteCount = 2_000
    private static let commitsBetweenTendings = 500

    /// Options: the number of commits (100,000), and `untended`.
    static func run(_ arguments: [String]) throws {
        let commitCount = arguments.first.flatMap { Int($0) } ?? 100_000
        let isTended = !arguments.contains("untended")
        let directory = "/var/tmp/coffret-bench-growth"
        removeTree(directory)
        defer { removeTree(directory) }
        let random = SystemRandomSource()
        let vault = try BenchRepositories()
        try vault.create(directory).close()

        var generator = BenchGenerator(state: 7)
        let entities = (0..<noteCount).map { _ in EntityID(kind: UInt8(ascii: "N"), uuid: .generate(from: random)) }
        var raw = 0
        var (files, descriptors, bytes, compactions, merges) = (0, 0, 0, 0, 0)
        var longest = 0.0
        var number = 0
        let seconds = try measureSeconds {
            while number < commitCount {
                let writer = try vault.open(directory, .readWrite(lockTimeoutMilliseconds: 1_000))
                for _ in 0..<min(commitsBetweenTendings, commitCount - number) {
                    let text = generator.bytes(count: generator.logNormal(median: 600, sigma: 1))
                    raw += text.count
                    let key = FactKey(entity: entities[generator.next(below: noteCount)], attribute: "body")
                    try writer.commit(
                        [LogChange(key: key, value: text)], time: 1_700_000_000_000 + Int64(number) * 60_000)
                    number += 1
                }
                descriptors = max(descriptors, fileCount(below: "/proc/self/fd"))
                writer.close()
                if isTended {
                    let reader = try vault.open(directory, .readOnly)
                    let spent = try measureSeconds {
                        let report = try reader.tend()
                        compactions += report.compacted == nil ? 0 : 1
                        merges += report.merges.count
                    }
                    longest = max(longest, spent)
                }
                files = max(files, fileCount(below: directory))
                bytes = max(bytes, diskByteCount(directory))
            }
        }
        StorageBench.report("entries of one text each", Double(number), "", places: 0)
        StorageBench.report("all of it", seconds, "s")
        StorageBench.report("texts as they were written", Double(raw) / 1e6, "MB")
        StorageBench.report("files at most", Double(files), "", places: 0)
        StorageBench.report("open files at most", Double(descriptors), "", places: 0)
        StorageBench.report("bytes on disk at most", Double(bytes) / 1e6, "MB")
        StorageBench.report("bytes on disk at the end", Double(diskByteCount(directory)) / 1e6, "MB")
        StorageBench.report("compactions", Double(compactions), "", places: 0)
        StorageBench.report("merges", Double(merges), "", places: 0)
        StorageBench.report("longest run of upkeep", longest, "s", places: 2)
    }

    private static func fileCount(below path: String) -> Int {
        var count = 0
        forEachFile(below: path) { _ in count += 1 }
        return count
    }
}
