// Measures parts of Coffret inside one process. Not part of the product: `Scripts/bench` builds and runs
// it, and `Docs/benchmarks.md` holds what came out. Counts are checked against limits; times are reported.

import Glibc

/// A group of measurements that can be run by name.
struct BenchMode: Sendable {
    let name: String
    let purpose: String
    let run: @Sendable ([String]) throws -> Void
}

@main
struct Main {
    static let modes: [BenchMode] = [
        BenchMode(name: "crypto", purpose: "sealing and hashing, against the C libraries", run: CryptoBench.run),
        BenchMode(
            name: "storage", purpose: "facts, entries and history, against the design's targets", run: StorageBench.run),
        BenchMode(
            name: "search", purpose: "search over 100,000 notes, against plain SQLite FTS5", run: SearchBench.run),
        BenchMode(
            name: "search-once", purpose: "one search in a process of its own, for `search`", run: SearchBench.runOnce),
        BenchMode(
            name: "search-quality",
            purpose: "whether a search finds the right page, for `Scripts/bench search-quality`",
            run: SearchQualityBench.run),
        BenchMode(
            name: "growth", purpose: "files and bytes of a store after 100,000 entries", run: GrowthBench.run),
        BenchMode(
            name: "blobs", purpose: "bare transactions, and an attachment in and out", run: AttachmentBench.run),
        BenchMode(
            name: "logs", purpose: "histories on disk: a fact, an edit, the history of one note", run: LogsBench.run),
        BenchMode(
            name: "commit", purpose: "one durable change of a note, findable afterwards", run: CommitBench.run),
        BenchMode(
            name: "history", purpose: "entries, stored values and what an edit of a note stores", run: HistoryBench.run),
        BenchMode(
            name: "machine", purpose: "the rules of histories over entries of two authors", run: MachineBench.run),
        BenchMode(name: "edits", purpose: "one edit on its way to another device", run: EditBench.run),
        BenchMode(
            name: "nothing", purpose: "syncs with nothing new, at the end of `edits`", run: EditBench.runNothing),
        BenchMode(name: "sync", purpose: "two devices and a server, for `Scripts/bench sync`", run: SyncBench.run),
        BenchMode(
            name: "server", purpose: "pushes and links of vaults that several people have, at the server's store",
            run: ServerBench.run),
        BenchMode(
            name: "clock", purpose: "the cost of reading the clock, to judge the other figures by", run: ClockBench.run),
    ]

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first, let mode = modes.first(where: { $0.name == name }) else {
            print("usage: coffret-bench MODE [OPTION ...]")
            for mode in modes { print("  \(mode.name)  \(mode.purpose)") }
            exit(64)
        }
        do {
            try mode.run(Array(arguments.dropFirst()))
        } catch {
            print("coffret-bench: error: \(error)")
            exit(1)
        }
    }
}
