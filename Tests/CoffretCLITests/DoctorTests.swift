// The doctor in front of machines made of files: each finding appears when its cause is there, and only then.

import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCLI

/// A machine below a folder, on which nothing is wrong until a test makes it so.
struct FakeMachine {
    let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory("doctor")
        try write("/proc/sys/kernel/yama/ptrace_scope", "1\n")
        try write("/proc/sys/fs/suid_dumpable", "0\n")
        try write("/proc/self/status", "Name:\tcoffret\nTracerPid:\t0\n")
        try write("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n")
        try write("/proc/swaps", "Filename\t\tType\t\tSize\tUsed\tPriority\n")
    }

    func write(_ path: String, _ text: String) throws {
        let url = URL(fileURLWithPath: folder.path + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    func make(_ path: String, mode: Int, isFolder: Bool = true) throws {
        if isFolder {
            try FileManager.default.createDirectory(
                atPath: folder.path + path, withIntermediateDirectories: true)
        } else {
            try write(path, "x")
        }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path + path)
    }

    /// - Parameter isRoot: the tests' own user otherwise counts as an ordinary one.
    func probe(isRoot: Bool = false, variables: [String: String] = [:], lockLimit: UInt64? = 8 << 20) -> SystemProbe {
        var probe = SystemProbe()
        probe.root = folder.path
        probe.userID = isRoot ? 0 : 4_711
        probe.lockLimit = lockLimit
        probe.variables = { variables[$0] }
        return probe
    }

    func codes(_ probe: SystemProbe? = nil) -> [DoctorCode] {
        SystemChecks(probe: probe ?? self.probe()).findings().map(\.code)
    }
}

@Suite("Doctor")
struct DoctorTests {
    let machine: FakeMachine

    init() throws { machine = try FakeMachine() }

    @Test("a machine on which nothing is wrong has no findings")
    func healthy() {
        #expect(machine.codes() == [])
    }

    @Test("foreign code, a tracer, root, and little locked memory are found")
    func process() throws {
        #expect(machine.codes(machine.probe(variables: ["LD_PRELOAD": "/tmp/x.so"])) == [.preload])
        #expect(machine.codes(machine.probe(variables: ["LD_AUDIT": "/tmp/x.so", "LD_PRELOAD": ""])) == [.preload])
        #expect(machine.codes(machine.probe(isRoot: true)) == [.root])
        #expect(machine.codes(machine.probe(lockLimit: 65_536)) == [.lockLimit])
        #expect(machine.codes(machine.probe(lockLimit: nil)) == [])
        try machine.write("/etc/ld.so.preload", "\n")
        #expect(machine.codes() == [])
        try machine.write("/etc/ld.so.preload", "/usr/lib/x.so\n")
        #expect(machine.codes() == [.preload])
        try machine.write("/etc/ld.so.preload", "")
        try machine.write("/proc/self/status", "Name:\tcoffret\nTracerPid:\t815\n")
        #expect(machine.codes() == [.traced])
    }

    @Test("tracing allowed, dumps of programs that refuse them, and little memory are found")
    func kernel() throws {
        try machine.write("/proc/sys/kernel/yama/ptrace_scope", "0\n")
        #expect(machine.codes() == [.tracing])
        try FileManager.default.removeItem(atPath: machine.folder.path + "/proc/sys/kernel/yama")
        #expect(machine.codes() == [.tracing])
        try machine.write("/proc/sys/kernel/yama/ptrace_scope", "2\n")
        try machine.write("/proc/sys/fs/suid_dumpable", "1\n")
        #expect(machine.codes() == [.cores])
        try machine.write("/proc/sys/fs/suid_dumpable", "2\n")
        try machine.write("/proc/sys/kernel/core_pattern", "|/usr/lib/systemd/systemd-coredump %P %u\n")
        #expect(machine.codes() == [.coreProgram])
        try machine.write("/proc/sys/kernel/core_pattern", "core\n")
        try machine.write("/proc/meminfo", "MemAvailable:    100000 kB\n")
        #expect(machine.codes() == [.memory])
        // A container has less than its machine.
        try machine.write("/proc/meminfo", "MemAvailable:    8000000 kB\n")
        try machine.write("/sys/fs/cgroup/memory.max", "400000000\n")
        try machine.write("/sys/fs/cgroup/memory.current", "300000000\n")
        #expect(machine.codes() == [.memory])
        try machine.write("/sys/fs/cgroup/memory.max", "max\n")
        #expect(machine.codes() == [])
    }

    @Test("swap is found unless all of it is memory or stands on dm-crypt")
    func swap() throws {
        let head = "Filename\t\tType\t\tSize\tUsed\tPriority\n"
        try machine.write("/proc/swaps", head + "/dev/zram0 partition 100 0 100\n")
        #expect(machine.codes() == [])
        try machine.write("/proc/swaps", head + "/dev/sda3 partition 100 0 -2\n")
        #expect(machine.codes() == [.swap])
        try machine.write("/sys/class/block/dm-1/dm/uuid", "CRYPT-LUKS2-0123-cryptswap\n")
        try machine.write("/proc/swaps", head + "/dev/dm-1 partition 100 0 -2\n")
        #expect(machine.codes() == [])
        // A logical volume on an encrypted disk; then one that also lies on a plain one.
        try machine.write("/sys/class/block/dm-2/dm/uuid", "LVM-abc\n")
        try machine.write("/sys/class/block/dm-2/slaves/dm-1", "")
        try machine.write("/proc/swaps", head + "/dev/dm-2 partition 100 0 -2\n")
        #expect(machine.codes() == [])
        try machine.write("/sys/class/block/dm-2/slaves/sdb1", "")
        #expect(machine.codes() == [.swap])
        try machine.write("/proc/swaps", head + "/my\\040swap file 100 0 -2\n")
        let findings = SystemChecks(probe: machine.probe()).findings()
        #expect(findings.map(\.code) == [.swap] && findings[0].what.contains("/my swap"))
    }

    @Test("folders and files that others reach are found, with their place")
    func folders() throws {
        try machine.make("/store", mode: 0o700)
        try machine.make("/state", mode: 0o700)
        try machine.make("/state/secret", mode: 0o600, isFolder: false)
        var probe = machine.probe()
        probe.userID = geteuid()
        func codes() -> [DoctorCode] {
            FolderChecks(probe: probe).findings([
                .init(name: "the store", path: "/store", isSecret: false),
                .init(name: "the state", path: "/state", isSecret: true),
                .init(name: "the secret", path: "/state/secret", isSecret: true),
                .init(name: "what is missing", path: "/nothing", isSecret: true),
            ]).map(\.code)
        }
        #expect(codes() == [])
        try machine.make("/store", mode: 0o750)
        #expect(codes() == [.folderReadable])
        try machine.make("/store", mode: 0o770)
        #expect(codes() == [.folderWritable])
        try machine.make("/store", mode: 0o700)
        try machine.make("/state/secret", mode: 0o640, isFolder: false)
        #expect(codes() == [.fileReadable])
        try machine.make("/state/secret", mode: 0o600, isFolder: false)
        probe.userID = geteuid() + 1
        #expect(codes() == [.folderForeign, .folderForeign, .folderForeign])
    }

    @Test(
        "a TPM without a lockout password is found, over a software TPM",
        .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
    func softwareTPM() throws {
        let tpm = try SoftwareTPM()
        let descriptor = try tpm.connect()
        defer { close(descriptor) }
        let found = try #require(TPMProbe.ask(descriptor))
        #expect(!found.isLockoutPasswordSet && !found.isLockedOut && found.failedCountMax > 0)
        let checks = TPMChecks(probe: machine.probe())
        #expect(checks.findings(found).map(\.code) == [.tpmUnguarded])
        let guarded = TPMProbe(isLockoutPasswordSet: true, failedCount: 3, failedCountMax: 3, recoverySeconds: 1_000)
        #expect(checks.findings(guarded).map(\.code) == [.tpmLockedOut])
        #expect(checks.findings().map(\.code) == [.tpmMissing])
    }

    @Test("what answers like no TPM is no TPM")
    func noTPM() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let garbage = [UInt8](repeating: 0xFF, count: 27)
        _ = unsafe write(ends[1], garbage, garbage.count)
        #expect(TPMProbe.ask(ends[0]) == nil)
        close(ends[0])
        close(ends[1])
    }

    @Test("every finding has words, and the page for people lists its code")
    func words() {
        for code in DoctorCode.allCases {
            #expect(DocumentationTests.unlocking.contains("`\(code.rawValue)`"), "\(code)")
        }
    }
}
