// `coffret device renew`: an old copy of a store that was put back goes on as a copy of its own. The one thing to keep
// true: nothing does this by itself, since an old copy may also be an attack (protocol 10).

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretSync
internal import CoffretTerminal

enum DeviceRenewal {
    static let description = CommandDescription(
        "renew", "Go on with an old copy of this store that you put back yourself",
        discussion: [
            "Syncing notices that a store is older than it was, and stops. If you put it back from a backup of the disk, this makes it a copy of its own: coffret sync then brings what is newer, and sends what was written on this copy."
        ], run: run)

    private static func run(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphraseAnew, acceptsRollback: true)
        var unsent: [String] = []
        for record in try session.store.vaults where record.kind == .synced {
            let vault = try session.store.openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            if let count = try VaultSyncer.unsentCommitCount(of: vault), count > 0 {
                unsent.append(record.vaultID.hex)
            }
        }
        try session.store.renewInstance(isAccepted: true)
        var (writtenCount, left): (Int, [String]) = (0, [])
        for reference in unsent {
            if let count = try VaultSyncer.writeUnsentAgain(reference, in: session.store) {
                writtenCount += count
            } else {
                left.append(try session.store.vaultRecord(reference).name)
            }
        }
        try context.confirmDone(
            .fields(["writtenAgain": .integer(writtenCount), "notWrittenAgain": .array(left.map { .string($0) })])
        ) {
            var lines = ["This copy goes on by itself now. Next: coffret sync"]
            if writtenCount > 0 {
                lines.append(
                    "\(NumberText.counted(writtenCount, "change")) made on this copy and never sent will be sent as new ones."
                )
            }
            for name in left {
                lines.append(
                    "In \"\(TextWidth.displaySafe(name))\" a device was revoked or history was removed on this copy and that was never sent. "
                        + "If syncing refuses it: coffret export FOLDER, put this store away, and pair this device anew."
                )
            }
            return lines.joined(separator: "\n")
        }
    }
}
