// The machine's sleep, as a running process sees it: the boot clock has gone on, and nothing else has.

internal import CTestProcess
internal import Glibc

/// Moves the boot clock of running processes, each by a time namespace of its own.
package enum ClockLeap {
    /// A time namespace takes root, and the processor that the means of getting into it is written for.
    package static let isAvailable: Bool = {
        #if arch(x86_64)
        geteuid() == 0 && (try? Sleeper(seconds: 1)) != nil
        #else
        false
        #endif
    }()

    /// Lets a process find that the boot clock stands `seconds` further than in the rest of the machine.
    ///
    /// - Parameter process: it has one thread, and waits for something. What it starts later sees the same clock.
    package static func move(_ process: Int32, to seconds: Int) throws {
        let sleeper = try Sleeper(seconds: seconds)
        for _ in 0..<1_000 {
            let failure = coffret_test_join_time(process, sleeper.processID)
            if failure == 0 { return }
            guard failure == EAGAIN else {
                throw MemoryDump.Failed(description: "\(process) was not moved in time: errno \(failure)")
            }
            usleep(10_000)
        }
        throw MemoryDump.Failed(description: "\(process) never rests")
    }

    /// A process that does nothing, in another time.
    private final class Sleeper {
        private let process: SpawnedProcess
        var processID: Int32 { process.processID }

        init(seconds: Int) throws {
            process = try SpawnedProcess(
                "/usr/bin/unshare", ["-T", "--boottime", "\(seconds)", "/bin/sleep", "600"])
            for _ in 0..<2_000 {
                if try ProcessFiles.text("/proc/\(processID)/cmdline").hasPrefix("/bin/sleep") { return }
                usleep(10_000)
            }
            throw MemoryDump.Failed(description: "there are no time namespaces here")
        }
    }
}
