// What happens when a way of locking notes turns out to be broken. The one thing to keep true: nothing is locked anew
// without its passphrase, and the person is told at every start until it is done.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

enum BrokenSchemes {
    /// What this release thinks of the schemes, and what COFFRET_BROKEN_SCHEMES adds for the time until the next one.
    static func policy(_ context: CommandContext) throws -> LockPolicy {
        var policy = LockPolicy.release
        guard let text = context.environment.value(.brokenSchemes) else { return policy }
        for part in text.split(separator: ",") {
            guard let scheme = UInt64(part).flatMap(LockScheme.init(rawValue:)) else {
                throw CommandFailure(
                    .usage, code: UsageError.Code.invalidValue.rawValue,
                    "COFFRET_BROKEN_SCHEMES holds numbers of schemes with commas between, such as 1")
            }
            policy.brokenSchemes.insert(scheme)
        }
        return policy
    }

    /// Asks for the passphrases of notes that lie under a broken scheme, and locks them anew under the newest one.
    static func replace(_ session: VaultSession, _ context: CommandContext) throws {
        for record in try session.vault.recordsOfBrokenSchemes() where record.scheme != .newest {
            let ids = try session.vault.lockedNotes(under: record.id)
            let what =
                "\(NumberText.counted(ids.count, "note")) lie under scheme \(record.scheme.rawValue), which is broken"
            guard let first = ids.first, context.terminal.inputIsTerminal, !context.isJSON,
                let prompt = context.prompt(),
                try prompt.confirm("\(what). Lock them anew now?", isYesDefault: true)
            else {
                context.warn("\(what); coffret show NOTE locks them anew")
                continue
            }
            let passphrase = try PassphraseSource(context: context).note(
                "Passphrase of \(context.relativeTime.day(record.created)): ")
            try session.vault.unlockRecord(record, passphrase)
            let count = try session.writing { vault in try vault.resealSilently(first, passphrase: passphrase) }
            context.note("\(NumberText.counted(count, "note")) locked anew.")
        }
    }
}
