// What a process has in memory, as root sees it. The one thing to keep true: a dump is whole or an error, so that a
// search that finds nothing means that nothing is there.

internal import CTestProcess
internal import Glibc

/// All memory of a process, and of the processes that it started.
package struct MemoryDump: CustomStringConvertible, CustomReflectable {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    private let regions: [[UInt8]]

    package var byteCount: Int { regions.reduce(0) { $0 + $1.count } }

    /// A failing expectation prints what it was about, which is too much here.
    package var description: String { "\(byteCount) bytes of memory" }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// - Parameter includesChildren: and theirs, and so on.
    package init(of processID: Int32, includesChildren: Bool = true) throws {
        // Memory that is given back while it is read is no longer there to be read: then all is read once more.
        for _ in 0..<20 {
            if let regions = try? Self.regions(of: processID, includesChildren) {
                self.regions = regions
                return
            }
            usleep(20_000)
        }
        regions = try Self.regions(of: processID, includesChildren)
    }

    private static func regions(of processID: Int32, _ includesChildren: Bool) throws -> [[UInt8]] {
        let processes = includesChildren ? try ProcessFiles.family(of: processID) : [processID]
        return try processes.flatMap { try regions(of: $0) }
    }

    package func contains(_ secret: some Collection<UInt8>) -> Bool {
        let secret = Array(secret)
        precondition(!secret.isEmpty, "nothing is everywhere")
        return regions.contains { region in
            unsafe coffret_test_contains(region, region.count, secret, secret.count) != 0
        }
    }

    /// Larger regions are mostly libraries of which little is used, or reserved and never used, as those of a JavaScript engine.
    private static let wholeByteCountMax: UInt = 1 << 20

    /// The pages of a region that are in memory or swapped out, each run of them by itself.
    private static func usedRuns(of process: Int32, _ region: Range<UInt>) throws -> [Range<UInt>] {
        let map = unsafe open("/proc/\(process)/pagemap", O_RDONLY | O_CLOEXEC)
        guard map >= 0 else { throw Failed(description: "the pages of \(process) cannot be listed: errno \(errno)") }
        defer { close(map) }
        let pageByteCount: UInt = 4096
        var runs: [Range<UInt>] = []
        var entries = [UInt64](repeating: 0, count: 65_536)
        var page = region.lowerBound / pageByteCount
        let end = region.upperBound / pageByteCount
        while page < end {
            let wanted = min(entries.count, Int(end - page))
            let count = unsafe pread(map, &entries, 8 * wanted, off_t(8 * page))
            guard count == 8 * wanted else { throw Failed(description: "the pages of \(process): errno \(errno)") }
            // Bit 63: in memory; bit 62: swapped out.
            for index in 0..<wanted where entries[index] >> 62 != 0 {
                let address = (page + UInt(index)) * pageByteCount
                let start = runs.last?.upperBound == address ? runs.removeLast().lowerBound : address
                runs.append(start..<(address + pageByteCount))
            }
            page += UInt(wanted)
        }
        return runs
    }

    /// As much of it as can be read from its beginning on.
    private static func bytes(_ file: Int32, _ region: Range<UInt>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: region.count) { buffer, filled in
            while filled < region.count {
                let place = off_t(region.lowerBound) + off_t(filled)
                let count = unsafe pread(file, buffer.baseAddress! + filled, region.count - filled, place)
                guard count > 0 else { break }
                filled += count
            }
        }
    }

    private static func regions(of process: Int32) throws -> [[UInt8]] {
        let file = unsafe open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failed(description: "the memory of \(process) cannot be opened: errno \(errno)") }
        defer { close(file) }
        var found: [[UInt8]] = []
        for line in try ProcessFiles.lines("/proc/\(process)/maps") {
            let words = line.split(separator: " ")
            let bounds = words.first?.split(separator: "-").compactMap { UInt(String($0), radix: 16) } ?? []
            guard bounds.count == 2, words.count >= 5 else { throw Failed(description: "a line of maps: \(line)") }
            // The kernel's own pages, which hold no data of the process.
            if line.hasSuffix("[vvar]") || line.hasSuffix("[vvar_vclock]") || line.hasSuffix("[vsyscall]") { continue }
            let region = bounds[0]..<bounds[1]
            for run in UInt(region.count) > wholeByteCountMax ? try usedRuns(of: process, region) : [region] {
                let read = bytes(file, run)
                // Guard pages and the ends of mapped files may be out of anybody's reach.
                guard read.count == run.count || !words[1].hasPrefix("rw") else {
                    throw Failed(description: "\(read.count) bytes could be read of \(line)")
                }
                found.append(read)
            }
        }
        return found
    }
}

/// The kernel's files about processes.
package enum ProcessFiles {
    /// A whole file of /proc. Foundation reads their first page only, because their size is stated as 0.
    package static func text(_ path: String) throws -> String {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw MemoryDump.Failed(description: "\(path): errno \(errno)") }
        defer { close(file) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = unsafe read(file, &buffer, buffer.count), count != 0 {
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw MemoryDump.Failed(description: "\(path): errno \(errno)") }
            all += buffer[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }

    package static func lines(_ path: String) throws -> [String] {
        try text(path).split(separator: "\n").map(String.init)
    }

    /// The children of a process of one thread.
    package static func children(of process: Int32) throws -> [Int32] {
        try text("/proc/\(process)/task/\(process)/children").split(separator: " ").compactMap { Int32(String($0)) }
    }

    /// The process, its children, theirs, and so on.
    package static func family(of process: Int32) throws -> [Int32] {
        try [process] + children(of: process).flatMap { try family(of: $0) }
    }
}
