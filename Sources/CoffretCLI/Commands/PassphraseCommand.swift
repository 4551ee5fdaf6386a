// `coffret passphrase`: another passphrase, or a new one after the old was lost.

internal import CoffretBase
internal import CoffretTerminal

enum PassphraseCommand {
    static let recovery = OptionDescription.flag(
        "recovery", "open the store with a recovery key instead of the passphrase")
    static let fresh = OptionDescription.value(
        "new-passphrase-fd", "N", .number(0...1_048_575), "read the new passphrase from an open file descriptor")

    static let description = CommandDescription(
        "passphrase", group: .store, "Change the passphrase",
        discussion: [
            "Keys are wrapped anew; data is not rewritten, so it takes a second however large the store. The old passphrase opens nothing any more but backups from before."
        ],
        options: [recovery, fresh, StoreAccess.effort],
        examples: [CommandExample("coffret passphrase --recovery", "when the passphrase is lost")],
        run: run)

    static func run(_ context: CommandContext) throws {
        try PathCheck.descriptor(fresh, context)
        let usesRecovery = context.arguments.isSet(recovery)
        let session = try StoreSession.open(context, with: usesRecovery ? .recoveryKey : .passphraseAnew)
        let source = PassphraseSource(context: context)
        let passphrase = try source.fresh(from: fresh, orChoosing: "New passphrase: ")
        try context.deriving { try session.changePassphrase(to: passphrase) }
        try context.confirmDone(.fields(["changed": .bool(true)])) {
            "The passphrase is changed. Backups from before still open with the old one."
        }
    }
}
