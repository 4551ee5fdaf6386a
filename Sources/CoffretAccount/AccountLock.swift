// One process at a time changes a store's records of its account. Invariant: a waiting process gives up in the end, so
// that a pairing that takes long never stops syncing for good.

internal import CoffretBase
internal import CoffretCore
internal import Glibc

/// How another process of this device that changes the account is waited for.
package struct AccountPatience {
    /// For what nobody looks at, and what is tried again anyhow.
    package static var short: AccountPatience { AccountPatience(.seconds(5)) {} }

    let time: Duration
    let tell: () -> Void

    /// - Parameters:
    ///   - time: after that `.chainBusy` is thrown.
    ///   - tell: called once, when it takes so long that a person wonders.
    package init(_ time: Duration, tell: @escaping () -> Void) {
        self.time = time
        self.tell = tell
    }
}

/// A lock (flock) on `store.keyring.account` beside the keyring; taken again by its holder it counts.
///
/// - Concurrency: one thread at a time.
final class AccountLock {
    private static let pauseMilliseconds: Int32 = 10
    private static let timeUnnoticed: Duration = .seconds(1)

    var patience = AccountPatience.short

    private let path: String
    private let fileSystem: any FileSystem
    private var depth = 0

    init(_ store: Store) {
        path = store.layout.keyringPath + ".account"
        fileSystem = store.fileSystem
    }

    /// - Throws: `.chainBusy` if another process does not let go of it.
    func exclusively<Result>(
        _ body: () throws -> Result
    ) throws -> Result {
        if depth > 0 { return try body() }
        let file = try inAccount(fileSystem.open(path, .createIfAbsent))
        let start = ContinuousClock.now
        var isTold = false
        while true {
            do throws(FileSystemError) {
                try file.lock(.exclusive, waits: false)
                break
            } catch {
                guard error.code == .wouldBlock else { throw AccountError(.failed, cause: error) }
                let waited = start.duration(to: .now)
                guard waited < patience.time else { throw AccountError(.chainBusy) }
                if !isTold, waited >= Self.timeUnnoticed {
                    patience.tell()
                    isTold = true
                }
                _ = poll(nil, 0, Self.pauseMilliseconds)
            }
        }
        depth += 1
        defer {
            depth -= 1
            withExtendedLifetime(file) {}
        }
        return try body()
    }
}
