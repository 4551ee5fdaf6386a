// The watch over the lock of a store. Invariant: a lock is noticed whatever the page does.

internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWidgets
internal import CoffretWire
internal import Glibc

/// Watches a session that ends when the store locks.
final class LockWatch {
    private let store: String
    private let environment: ProcessEnvironment
    private let locked: () -> Void
    private var session: SessionClient?
    private var source: Source?

    /// How often a store is looked at whose session ended by itself, as where a TPM has its key at rest.
    private static let seconds: UInt32 = 1

    /// - Returns: nil if the store is locked.
    init?(_ store: String, _ environment: ProcessEnvironment, locked: @escaping () -> Void) {
        (self.store, self.environment, self.locked) = (store, environment, locked)
        guard let client = try? AgentClient.connect(environment),
            let opened = try? SessionClient.open(environment, over: client, store: store, isUse: false).session
        else { return nil }
        session = opened
        source = .readable(opened.descriptor) { [unowned self] in
            session = nil
            source = nil
            look()
            return false
        }
    }

    deinit { source?.remove() }

    /// Looks again after a while, unless the store is locked.
    private func look() {
        guard Self.isUnlocked(store, environment) else { return locked() }
        source = .timer(seconds: Self.seconds) { [unowned self] in
            source = nil
            look()
            return false
        }
    }

    static func isUnlocked(_ store: String, _ environment: ProcessEnvironment) -> Bool {
        (try? AgentClient.connect(environment)?.status(of: store).first?.isUnlocked) == true
    }
}
