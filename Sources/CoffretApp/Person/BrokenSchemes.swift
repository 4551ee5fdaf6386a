// What happens when a way of locking notes turns out to be broken. Invariant: nothing is locked anew without its passphrase, and
// the person is told at every start until it is done.

package import CoffretBase
package import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

package enum BrokenSchemes {
    /// What this release thinks of the schemes, and what COFFRET_BROKEN_SCHEMES adds for the time until the next one.
    package static func policy(_ text: String?) throws -> LockPolicy {
        var policy = LockPolicy.release
        for part in text?.split(separator: ",") ?? [] {
            guard let scheme = UInt64(part).flatMap(LockScheme.init(rawValue:)) else {
                throw CommandFailure(
                    .usage, code: "cli.usage.invalid-value",
                    "COFFRET_BROKEN_SCHEMES holds numbers of schemes with commas between, such as 1")
            }
            policy.brokenSchemes.insert(scheme)
        }
        return policy
    }

    /// Asks for the passphrases of notes that lie under a broken scheme, and locks them anew under the newest one.
    ///
    /// - Parameter openForWriting: opens the vault for one change.
    package static func replace(
        in vault: Vault, now: Milliseconds, person: any OperationPerson, openForWriting: () throws -> Vault
    ) throws {
        for record in try vault.recordsOfBrokenSchemes() where record.scheme != .newest {
            let ids = try vault.lockedNotes(under: record.id)
            let what =
                "\(NumberText.counted(ids.count, "note")) lie under scheme \(record.scheme.rawValue), which is broken"
            guard let first = ids.first, person.canAnswer,
                try person.confirm(SessionQuestion(.confirm, "\(what). Lock them anew now?")) == true
            else {
                person.warn("\(what); coffret show NOTE locks them anew")
                continue
            }
            let day = RelativeTime(nowMilliseconds: now).day(record.created)
            let passphrase = try NotePassphrase(
                person.secret(SessionQuestion(.notePassphrase, "Passphrase of \(day): ")))
            try vault.unlockRecord(record, passphrase)
            let writable = try openForWriting()
            defer { writable.close() }
            let count = try writable.resealSilently(first, passphrase: passphrase)
            person.note("\(NumberText.counted(count, "note")) locked anew.")
        }
    }
}
