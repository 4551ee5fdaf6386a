// Attachments in and out, and bare journal transactions beside bare appends. Invariant: everything is timed until it
// is synced.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import Glibc

/// `coffret-bench blobs [--bytes N] [--directory PATH] [--source FILE]`.
enum AttachmentBench {
    static func run(_ arguments: [String]) throws {
        var byteCount = 1 << 30
        var directory = "/var/tmp/coffret-bench-\(getpid())"
        var source: String?
        var index = 0
        while index + 1 < arguments.count {
            switch arguments[index] {
            case "--bytes": byteCount = Int(arguments[index + 1]) ?? byteCount
            case "--directory": directory = arguments[index + 1]
            case "--source": source = arguments[index + 1]
            default: break
            }
            index += 2
        }
        let fileSystem = PosixFileSystem()
        let random = SystemRandomSource()
        guard let vaultID = VaultID(random.bytes(count: 32)) else { preconditionFailure("32 bytes make an id") }
        let environment = StorageEnvironment(fileSystem: fileSystem, random: random, clock: SystemWallClock())
        try fileSystem.removeTree(directory)
        try fileSystem.makeDirectories(directory)
        defer { removeTree(directory) }
        let keys = VaultKeys.generate(vaultID: vaultID, from: random)
        let store = try BlobStore.create(directory: directory + "/vault", keys: keys, environment: environment)
        print(row(["what", "result"]))
        print(row(["---", "---"]))
        try transactions(store, directory)
        let openingSeconds = try measureSeconds {
            _ = try BlobStore.open(
                directory: store.directory, keys: keys, environment: environment, mode: .readOnly)
        }
        print(row(["opening with 2,000 transactions in the tail", "\(decimal(openingSeconds * 1e6, 0)) us"]))
        let path = try source ?? makeSource(directory + "/source", byteCount: byteCount, fileSystem)
        try attachment(store, path, directory)
    }

    private static func makeSource(
        _ path: String, byteCount: Int, _ fileSystem: PosixFileSystem
    ) throws(FileSystemError) -> String {
        let file = try fileSystem.open(path, .createNew)
        var offset = 0
        while offset < byteCount {
            let block = SystemRandomSource().bytes(count: min(1 << 20, byteCount - offset))
            try file.write(block, at: offset)
            offset += block.count
        }
        try file.synchronizeData()
        return path
    }

    /// Entries of 300 bytes in turn with appends of as many bytes to a bare file.
    private static func transactions(_ store: BlobStore, _ directory: String) throws {
        let raw = try PosixFileSystem().open(directory + "/raw", .createNew)
        var commits: [Double] = []
        var appends: [Double] = []
        var rawOffset = 0
        for _ in 0..<2_000 {
            let content = SystemRandomSource().bytes(count: 300)
            commits.append(
                try measureSeconds {
                    let transaction = try store.begin()
                    try transaction.commit(appendingHead: transaction.writeBlob(type: .entry, bytes: content))
                })
            let bytes = [UInt8](repeating: 1, count: 415)
            appends.append(
                try measureSeconds {
                    try raw.write(bytes, at: rawOffset)
                    try raw.synchronizeData()
                })
            rawOffset += bytes.count
        }
        let (commit, append) = (Samples(commits), Samples(appends))
        print(row(["transaction of 415 bytes, median", "\(decimal(commit.median * 1e6, 1)) us"]))
        print(row(["transaction of 415 bytes, p99", "\(decimal(commit.percentile(99) * 1e6, 1)) us"]))
        print(row(["append and fdatasync of 415 bytes, median", "\(decimal(append.median * 1e6, 1)) us"]))
        print(row(["transaction / append, medians", decimal(commit.median / append.median, 2)]))
    }

    private static func attachment(_ store: BlobStore, _ path: String, _ directory: String) throws {
        let source = try PosixFileSystem().open(path, .read)
        let megabytes = Double(try source.byteCount()) / 1e6
        var reference: AttachmentReference?
        func report(_ what: String, _ seconds: Double, _ processorSeconds: Double) {
            let speed = decimal(megabytes / seconds, 0)
            print(row([what, "\(decimal(seconds)) s, \(speed) MB/s, processor \(decimal(processorSeconds)) s"]))
        }
        var processorSeconds = 0.0
        var seconds = try measureSeconds {
            processorSeconds = try measureCPUSeconds {
                let writer = try store.attachments.makeWriter()
                var offset = 0
                while true {
                    let count = try unsafe writer.append { (room) throws(StorageError) in
                        do throws(FileSystemError) {
                            return try unsafe source.read(into: room, at: offset)
                        } catch {
                            throw StorageError(.fileFailed, place: path, cause: error)
                        }
                    }
                    if count == 0 { break }
                    offset += count
                }
                reference = try writer.finish()
            }
        }
        report("attachment of \(decimal(megabytes, 0)) MB in, synced", seconds, processorSeconds)
        guard let reference else { return }
        seconds = try measureSeconds {
            processorSeconds = try measureCPUSeconds {
                try store.attachments.makeReader(reference).extract(toFile: directory + "/out")
            }
        }
        report("out to a file, synced", seconds, processorSeconds)
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        print(row(["largest resident size", "\(decimal(Double(usage.ru_maxrss) / 1024, 1)) MiB"]))
    }
}
