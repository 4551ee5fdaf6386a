// A secret that did not open a store. The one thing to keep true: it is called what it was asked for as, and who may try
// again is told how often.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

enum WrongSecret {
    /// Says which secret was wrong, and how many tries are left before a pause; other failures stay as they are.
    static func explained(
        _ failure: CommandFailure, _ manner: UnlockManner, store: String, _ context: CommandContext
    ) -> CommandFailure {
        guard failure.code == KeyError.Code.unlockFailed.rawValue else { return failure }
        var failure = failure
        switch manner {
        case .passphrase, .passphraseAnew: failure.message = "wrong passphrase"
        case .recoveryKey:
            failure.message = "this recovery key does not open the store"
            failure.hint = "coffret recovery ls lists the keys that do; was this one revoked, or for another store?"
        case .pin, .keyStore:
            failure.message = "wrong PIN"
            return failure
        }
        guard let environment = try? StoreAccess.environment(context),
            let summary = try? KeyringSummary.read(
                at: StoreLayout(store).keyringPath, fileSystem: environment.fileSystem),
            let count = environment.attempts?.ledger(ofStore: summary.storeID).record.failedCount
        else { return failure }
        let left = Int(AttemptPolicy.freeCount) - Int(count)
        if left > 0 {
            failure.message += " (\(left == 1 ? "1 try" : "\(left) tries") left before a pause)"
            failure.jsonFields.append(("triesLeft", .integer(left)))
        } else {
            let (seconds, _) = AttemptPolicy.pause(afterFailedCount: count).components
            failure.addWait(UInt32(clamping: seconds))
            failure.jsonFields.append(("triesLeft", .integer(0)))
        }
        return failure
    }
}
