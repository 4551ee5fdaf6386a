// One process at a time changes what a store knows of its account. The one thing to keep true: whoever waits for it gives
// up after a moment, so that a pairing that takes long never stops syncing for good.

internal import CoffretBase
internal import CoffretCore
internal import Glibc

/// A lock (flock) on `store.keyring.account` beside the keyring; taken again by its holder it counts.
///
/// - Concurrency: one thread at a time.
final class AccountLock {
    private static let patience: Duration = .seconds(5)
    private static let pauseMilliseconds: Int32 = 10

    private let path: String
    private let fileSystem: any FileSystem
    private var depth = 0

    init(_ store: Store) {
        path = store.layout.keyringPath + ".account"
        fileSystem = store.fileSystem
    }

    /// - Throws: `.chainBusy` if another process does not let go of it.
    func exclusively<Result>(
        _ body: () throws(AccountError) -> Result
    ) throws(AccountError) -> Result {
        if depth > 0 { return try body() }
        let file = try inAccount { () throws(FileSystemError) in try fileSystem.open(path, .createIfAbsent) }
        let end = ContinuousClock.now + Self.patience
        while true {
            do throws(FileSystemError) {
                try file.lock(.exclusive, waits: false)
                break
            } catch {
                guard error.code == .wouldBlock else { throw AccountError(.failed, cause: error) }
                guard ContinuousClock.now < end else { throw AccountError(.chainBusy) }
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
