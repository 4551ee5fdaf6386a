// The doctor's look at the process, the kernel and the memory.

internal import CoffretBase
internal import CoffretTerminal

/// Checks that need no store.
struct SystemChecks {
    let probe: SystemProbe

    /// Locked memory that a busy agent uses at most.
    static let lockByteCount: UInt64 = 4 << 20
    /// Memory of one derivation with the usual parameters, and what the program takes besides.
    static let derivationKibibytes: UInt64 = 262_144 + 32_768

    func findings() -> [DoctorFinding] {
        [preload(), traced(), asRoot(), tracing(), cores(), coreProgram(), lockLimit(), memory()].compactMap(\.self)
            + swap()
    }

    // MARK: The process

    /// Code that others put into every program that is started.
    private func preload() -> DoctorFinding? {
        var sources = ["LD_PRELOAD", "LD_AUDIT"].filter { probe.variables($0)?.isEmpty == false }
        if let text = probe.text("/etc/ld.so.preload"), text.contains(where: { !$0.isWhitespace }) {
            sources.append("/etc/ld.so.preload")
        }
        guard !sources.isEmpty else { return nil }
        return DoctorFinding(
            .preload, .problem, "\(sources.joined(separator: " and ")) puts foreign code into every program.",
            why: "That code runs inside coffret too, and can read every secret and passphrase there.",
            remedy: "Find out who set it; for one command: env -u LD_PRELOAD -u LD_AUDIT coffret")
    }

    private func traced() -> DoctorFinding? {
        guard let status = probe.text("/proc/self/status"), let tracer = Self.field("TracerPid", of: status),
            let process = Int(tracer), process != 0
        else { return nil }
        return DoctorFinding(
            .traced, .problem, "Process \(process) is tracing coffret right now.",
            why: "A tracer sees everything that a program reads and writes, passphrases too.",
            remedy: "Start coffret outside the debugger.")
    }

    private func asRoot() -> DoctorFinding? {
        guard probe.userID == 0 else { return nil }
        return DoctorFinding(
            .root, .warning, "coffret runs as root.",
            why: "A mistake reaches the whole machine, and what it makes belongs to root.",
            remedy: "Run coffret as yourself, without sudo.")
    }

    // MARK: The kernel

    private func tracing() -> DoctorFinding? {
        let scope = probe.word("/proc/sys/kernel/yama/ptrace_scope")
        guard scope == nil || scope == "0" else { return nil }
        return DoctorFinding(
            .tracing, .warning, "Any of your programs may read the memory of another.",
            why: "coffret and its agent refuse it, but your editor, shell and browser do not.",
            remedy: scope == nil
                ? "This kernel has no Yama; use one that has."
                : "sudo sysctl kernel.yama.ptrace_scope=1; to keep it, a file in /etc/sysctl.d")
    }

    private func cores() -> DoctorFinding? {
        guard probe.word("/proc/sys/fs/suid_dumpable") == "1" else { return nil }
        return DoctorFinding(
            .cores, .warning, "The system writes dumps even of programs that refuse it (fs.suid_dumpable=1).",
            why: "A dump holds the memory of a program that crashed.",
            remedy: "sudo sysctl fs.suid_dumpable=0; to keep it, a file in /etc/sysctl.d")
    }

    private func coreProgram() -> DoctorFinding? {
        guard let pattern = probe.word("/proc/sys/kernel/core_pattern"), pattern.hasPrefix("|") else { return nil }
        return DoctorFinding(
            .coreProgram, .warning,
            "Dumps of programs that crash go to \(TextWidth.displaySafe(String(pattern.dropFirst()))).",
            why: "coffret and its agent give none, but your editor, terminal and browser do, whatever limit they have.",
            remedy: "sudo sysctl kernel.core_pattern=core; or, with systemd, Storage=none in /etc/systemd/coredump.conf"
        )
    }

    // MARK: Memory

    private func lockLimit() -> DoctorFinding? {
        guard let limit = probe.lockLimit, limit < Self.lockByteCount, probe.userID != 0 else { return nil }
        return DoctorFinding(
            .lockLimit, .warning, "Only \(NumberText.bytes(Int(clamping: limit))) of memory may be locked.",
            why: "Secrets beyond that can be written to swap.",
            remedy: "Raise memlock to 8192 in /etc/security/limits.conf and log in again.")
    }

    private func memory() -> DoctorFinding? {
        guard let text = probe.text("/proc/meminfo"), let field = Self.field("MemAvailable", of: text),
            var available = UInt64(field.split(separator: " ").first ?? "")
        else { return nil }
        // A container's own limit, where there is one.
        if let most = probe.word("/sys/fs/cgroup/memory.max").flatMap({ UInt64($0) }),
            let used = probe.word("/sys/fs/cgroup/memory.current").flatMap({ UInt64($0) })
        {
            available = min(available, (most > used ? most - used : 0) / 1_024)
        }
        guard available < Self.derivationKibibytes else { return nil }
        return DoctorFinding(
            .memory, .problem, "Only \(NumberText.bytes(Int(clamping: available) * 1_024)) of memory are free.",
            why: "Opening a store with a passphrase takes 256 MiB for a moment, and fails without them.",
            remedy: "Close a program, or choose less for this store: coffret passphrase --effort light")
    }

    // MARK: Swap

    private func swap() -> [DoctorFinding] {
        guard let table = probe.text("/proc/swaps") else { return [] }
        let open = table.split(separator: "\n").dropFirst().compactMap { line -> String? in
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count >= 2 else { return nil }
            let path = Self.unescaped(String(words[0]))
            return isEncrypted(swap: path, isFile: words[1] == "file") ? nil : path
        }
        guard !open.isEmpty else { return [] }
        let names = open.map { TextWidth.displaySafe($0) }.joined(separator: ", ")
        return [
            DoctorFinding(
                .swap, .warning, "Swap is not encrypted: \(names).",
                why:
                    "coffret keeps its own secrets out of it, but what your editor, terminal or browser shows of them can land there, and stays readable on the disk.",
                remedy: "Encrypt it (crypttab with a random key), or use zram; until then: sudo swapoff -a")
        ]
    }

    /// zram is memory; otherwise the device below, or one that it stands on, must be of dm-crypt.
    private func isEncrypted(swap path: String, isFile: Bool) -> Bool {
        if isFile {
            guard let device = probe.status(path)?.device else { return false }
            return isCrypt(block: "/sys/dev/block/" + Self.numbers(of: device))
        }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        if name.hasPrefix("zram") { return true }
        return isCrypt(block: "/sys/class/block/\(name)")
    }

    private func isCrypt(block path: String, depth: Int = 0) -> Bool {
        if probe.word(path + "/dm/uuid")?.hasPrefix("CRYPT-") == true { return true }
        guard depth < 8 else { return false }
        let below = probe.names(in: path + "/slaves")
        return !below.isEmpty && below.allSatisfy { isCrypt(block: "/sys/class/block/\($0)", depth: depth + 1) }
    }

    /// `major:minor`, as Linux packs them into a device number (makedev(3)).
    private static func numbers(of device: UInt64) -> String {
        let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
        let minor = device & 0xFF | device >> 12 & ~0xFF & 0xFFFF_FFFF
        return "\(major):\(minor)"
    }

    /// The kernel writes blanks in paths as octal numbers.
    private static func unescaped(_ path: String) -> String {
        var result: [UInt8] = []
        var rest = Array(path.utf8)[...]
        while let first = rest.popFirst() {
            let digits = rest.prefix(3)
            if first == UInt8(ascii: "\\"), digits.count == 3,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                result.append(value)
                rest = rest.dropFirst(3)
            } else {
                result.append(first)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// `Name:   value` in a file of /proc.
    private static func field(_ name: String, of text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            return line.dropFirst(name.count + 1).drop { $0.isWhitespace }.description
        }
        return nil
    }
}
