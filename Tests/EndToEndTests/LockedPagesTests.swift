// Where the programs keep keys: in pages that are not swapped, in every process; and what happens where there are none.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Locked pages")
struct LockedPagesTests {
    /// The mappings of a process that core dumps leave out: those of secrets. By `smaps`, with the flags of each.
    private static func secretMappings(of process: Int32) throws -> [(name: String, isLocked: Bool)] {
        var found: [(String, Bool)] = []
        var name = ""
        for line in try ProcessFiles.lines("/proc/\(process)/smaps") {
            if line.prefix(while: { $0 != " " }).contains("-") { name = String(line) }
            guard line.hasPrefix("VmFlags:"), name.contains(" rw-p ") else { continue }
            let flags = line.split(separator: " ")
            if flags.contains("dd") { found.append((name, flags.contains("lo"))) }
        }
        return found
    }

    @Test(
        "keys 13: R103: keys lie in locked pages in the agent, in its syncing process and in a command's",
        .enabled(if: geteuid() == 0, "looking at another process's memory takes root"))
    func everyProcess() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let command = try SpawnedProcess(
            CoffretRunner.executable, ["new"], environment: agent.runner.environment(agent.environment()),
            directory: agent.runner.workPath, input: .pipe)
        let service = try #require(agent.processID)
        try Waiting.until("the command and the sync run") {
            try ProcessFiles.family(of: service).count == 3
        }
        // Both have opened the store by the time at which nothing more is locked.
        for process in try ProcessFiles.family(of: service) {
            try Waiting.until("process \(process) has keys") { try !Self.secretMappings(of: process).isEmpty }
            for _ in 0..<20 {
                let mappings = try Self.secretMappings(of: process)
                let areLocked = mappings.allSatisfy { $0.isLocked }
                #expect(areLocked, "\(process) of \(service): \(mappings)")
                usleep(10_000)
            }
        }
        command.write(Array("# Tomatoes\n".utf8))
        #expect(command.finish().code == 0)
        #expect(try agent.succeed("ls").contains("Tomatoes"))
    }

    @Test(
        "faults F13: R103: where the system has no memory for a secret, the program says so and the store stays whole",
        .enabled(if: TrapLibrary.isAvailable, "a C compiler is missing"))
    func exhausted() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        // Lets so many mappings without a file through, and refuses the others, as the kernel does beyond its count.
        let library = try TrapLibrary(
            in: runner.folder.file("mmap"),
            code: """
                #define _GNU_SOURCE
                #include <errno.h>
                #include <stdlib.h>
                #include <sys/mman.h>
                #include <sys/syscall.h>
                #include <unistd.h>
                void *mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
                    static int count;
                    const char *most = getenv("MAPPINGS");
                    if (file < 0 && most && ++count > atoi(most)) {
                        errno = ENOMEM;
                        return MAP_FAILED;
                    }
                    return (void *)syscall(SYS_mmap, at, size, access, flags, file, offset);
                }
                """)
        var hasEnded = false
        for count in 0..<40 {
            let result = try runner.run(
                "new", "--json", input: "# Note \(count)\n",
                environment: ["LD_PRELOAD": library.path, "MAPPINGS": "\(count)"])
            #expect(!result.isSignalled, "\(count) mappings: signal \(result.exitCode), \(result.errorText)")
            if result.exitCode == 0 { break }
            #expect(result.exitCode == 69, "\(count) mappings: \(result.errorText)")
            hasEnded = hasEnded || result.errorText.contains("cli.memory.exhausted")
        }
        #expect(hasEnded, "a program that needs no memory for secrets proves nothing")
        #expect(try runner.run("fsck").exitCode == 0)
    }
}
