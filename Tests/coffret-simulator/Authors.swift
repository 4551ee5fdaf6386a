// The first sync of a device in a vault of two authors: processor time for each entry, and the most memory. The one thing to
// keep true: the measured device's disk is the machine's, and it keeps nothing of the writers, whose stores lie in memory.

import CoffretBase
import CoffretLogs
import CoffretSimulation
import CoffretSync
import CoffretTestSupport
import Glibc

enum Authors {
    /// `--authors FOLDER [COUNT ...]`: entries by two devices, every eleventh without having seen the other's newest; then a
    /// third device takes all of it from the server's store in this process.
    static func run(_ arguments: [String]) throws {
        guard let folder = arguments.first else {
            print("usage: coffret-simulator --authors FOLDER [COUNT ...]")
            exit(64)
        }
        let counts = arguments.count > 1 ? arguments.dropFirst().compactMap { Int($0) } : [1_000, 10_000, 100_000]
        print(
            "| entries | wall, s | processor, s | µs each | most memory, MiB | of it before, MiB | bytes on disk each |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for count in counts { try measure(count, folder: PathText.join(folder, "\(count)")) }
    }

    private static func measure(_ count: Int, folder: String) throws {
        let fileSystem = PosixFileSystem()
        try fileSystem.removeTree(folder)
        try fileSystem.makeDirectories(folder)
        let writers = try writersFolder(fileSystem) ?? folder
        defer { for made in Set([folder, writers]) { try? fileSystem.removeTree(made) } }
        let authors = try LogAuthors(SeededGenerator.fromEnvironment(), folder: writers)
        try authors.write(upTo: count)
        for device in authors.person.devices { device.repository.close() }
        let third = try authors.join(folder: PathText.join(folder, "2"))
        let before = memory("VmRSS:")
        forgetPeak()
        let (wall, processor) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
        let report = try third.sync()
        let (wallSpent, spent) = (
            seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor
        )
        guard report.receivedCount == count else {
            throw SimulationFailure("\(report.receivedCount) of \(count) entries came")
        }
        let peak = memory("VmHWM:")
        let bytes = third.repository.journalByteCount / count
        print(
            "| \(count) | \(text(wallSpent)) | \(text(spent)) | \(text(spent / Double(count) * 1e6)) | \(peak) | \(before) | \(bytes) |"
        )
        fflush(nil)
    }

    /// A new folder in memory, where a sync of a file costs nothing; nil: this machine has none.
    private static func writersFolder(_ fileSystem: PosixFileSystem) throws -> String? {
        guard try fileSystem.status("/dev/shm")?.kind == .directory else { return nil }
        let path = "/dev/shm/coffret-authors-\(getpid())"
        try fileSystem.removeTree(path)
        try fileSystem.makeDirectories(path)
        return path
    }

    private static func text(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100)." + (hundredths % 100 < 10 ? "0" : "") + "\(hundredths % 100)"
    }

    /// The most memory is counted from here on.
    private static func forgetPeak() {
        let file = unsafe open("/proc/self/clear_refs", O_WRONLY)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = unsafe Glibc.write(file, "5", 1)
    }

    /// A row of the kernel's table for this process, in MiB.
    private static func memory(_ row: String) -> Int {
        let file = unsafe open("/proc/self/status", O_RDONLY)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        // The kernel says no size.
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let count = unsafe read(file, &bytes, bytes.count)
        bytes.removeLast(bytes.count - max(count, 0))
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(row) }
        return (line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0)
            / 1_024
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
