// The executable that stays on the desktop: an item in the tray, and a shortcut where the desktop gives one. Invariant: it has no key,
// no vault and no text of one; all that it does is start programs, and have the agent lock.

internal import CoffretBase
internal import CoffretBus
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

@main
enum Main {
    private static let usage = "usage: coffret-helper --store PATH [--running]"

    static func main() {
        ProcessHardening.startAgainWithoutPreloads()
        ProcessHardening.apply()
        ProcessHardening.dropVariablesThatLoadCode()
        exit(run(ProgramArguments.words))
    }

    private static func run(_ words: [String]) -> Int32 {
        guard words.count >= 2, words[0] == "--store", let store = AgentLocation.canonical(words[1]),
            words.dropFirst(2) == [] || words.dropFirst(2) == ["--running"],
            let own = AgentLocation.canonical("/proc/self/exe")
        else { return fail(64, usage) }
        let signals = SignalWatch(SignalWatch.ending)
        guard let bus = MessageBus(.session) else { return fail(69, "there is no bus of a desktop") }
        // Whether another one runs: what `coffret helper status` asks.
        guard words.count == 2 else { return bus.processID(of: HelperName.name(of: store)) == nil ? 1 : 0 }
        // Two of one store would stand in the tray twice.
        guard bus.take(HelperName.name(of: store)) else { return fail(75, "it runs already") }
        let actions = HelperActions(
            store: store, program: PathText.join(PathText.parent(of: own), "coffret"),
            environment: ProcessEnvironment())
        let helper = Helper(bus, actions, autostart: AutostartFile(ProcessEnvironment()))
        try? DescriptorIO.write(Array("ready\n".utf8), to: STDOUT_FILENO)
        helper.run(signals)
        return 0
    }

    private static func fail(_ code: Int32, _ words: String) -> Int32 {
        try? DescriptorIO.write(Array("coffret-helper: \(words)\n".utf8), to: STDERR_FILENO)
        return code
    }
}

/// The file that `coffret helper on` writes.
struct AutostartFile {
    private let path: String?
    private let wasThere: Bool

    init(_ environment: ProcessEnvironment) {
        path = environment.baseDirectory(.configHome, below: ".config").map {
            PathText.join($0, "autostart/coffret-helper.desktop")
        }
        wasThere = path.map { unsafe access($0, F_OK) == 0 } ?? false
    }

    /// Whether it was taken away since this program started.
    var isGone: Bool { wasThere && path.map { unsafe access($0, F_OK) != 0 } == true }
}

/// The name of a store's helper on the bus.
enum HelperName {
    static func name(of store: String) -> String {
        // Names on the bus know few letters; FNV-1a keeps stores apart, and nothing rests on it.
        let hash = store.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return "io.coffret.Helper.s" + String(hash, radix: 16)
    }
}
