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
        try session.store.renewInstance(isAccepted: true)
        var writtenCount = 0
        for record in try session.store.allVaults { writtenCount += try session.store.leaveLog(of: record) }
        try context.confirmDone(
            .fields(["writtenAgain": .integer(writtenCount)])
        ) {
            var lines = ["This copy goes on by itself now. Next: coffret sync"]
            if writtenCount > 0 {
                lines.append(
                    "\(NumberText.counted(writtenCount, "change")) made on this copy and never sent will be sent as new ones."
                )
            }
            return lines.joined(separator: "\n")
        }
    }
}
