// `coffret device renew`: an old copy of a store that was put back goes on as a copy of its own. The one thing to keep
// true: nothing does this by itself, since an old copy may also be an attack (protocol 10).

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretSync

enum DeviceRenewal {
    static let description = CommandDescription(
        "renew", "Go on with an old copy of this store that you put back yourself",
        discussion: [
            "Syncing notices that a store is older than it was, and stops. If you put it back from a backup of the disk, this makes it a copy of its own: coffret sync then brings what is newer."
        ],
        options: [CommonArguments.yes], staysHere: true, run: run)

    private static func run(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphraseAnew, acceptsRollback: true)
        var unsent: [(name: String, count: Int)] = []
        for record in try session.store.vaults where record.kind == .synced {
            let vault = try session.store.openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            if let count = try VaultSyncer.unsentCommitCount(of: vault), count > 0 {
                unsent.append((record.name, count))
            }
        }
        if !unsent.isEmpty {
            let list = unsent.map { "\"\(TextWidth.displaySafe($0.name))\": \(NumberText.counted($0.count, "change"))" }
            try context.confirmDanger(
                "Changes were made on this copy and never sent (\(list.joined(separator: ", "))). If the newer copy sent others "
                    + "in their place, syncing will refuse both. Export what you need first: coffret export FOLDER.",
                question: "Go on?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        try session.store.renewInstance(isAccepted: true)
        try context.confirmDone(.fields(["unsent": .integer(unsent.reduce(0) { $0 + $1.count })])) {
            "This copy goes on by itself now. Next: coffret sync"
        }
    }
}
