// What the tray and the shortcut do. Invariant: while the store is locked each of them has the person asked to unlock it first, by the
// agent's own prompt.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// Starts `coffret`, and waits for none of its commands.
final class HelperActions {
    enum Action: Int32 {
        case open = 1
        case find = 2
        case lock = 4
        case unlock = 5
        case end = 7
    }

    let store: String
    private let program: String
    private let environment: ProcessEnvironment
    private var children: [pid_t] = []

    init(store: String, program: String, environment: ProcessEnvironment) {
        (self.store, self.program, self.environment) = (store, program, environment)
    }

    var isUnlocked: Bool { (try? AgentClient.connect(environment)?.status(of: store).first?.isUnlocked) == true }

    /// - Returns: false for the end of the program.
    func perform(_ action: Action) -> Bool {
        switch action {
        case .open: start(["open"])
        case .find: start(["open", "--quick"])
        case .lock: start(["lock"])
        case .unlock: start(["unlock"])
        case .end: return false
        }
        return true
    }

    private func start(_ words: [String]) {
        // No terminal, and no file with a passphrase: a person is to be asked.
        let child = try? ChildProcess.start(
            [program] + words + ["--store", store], input: .null, output: .null, error: .null,
            environment: ["COFFRET_PASSPHRASE_FILE": ""], isDetached: true)
        if let child { children.append(child.processID) }
    }

    /// Lets the system forget programs that have ended.
    func reap() {
        children.removeAll { child in
            var status: Int32 = 0
            return unsafe waitpid(child, &status, WNOHANG) == child
        }
    }
}
