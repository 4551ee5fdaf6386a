// `coffret status`: what the store holds and whether anything needs attention.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretStorage

enum StatusCommand {
    static let description = CommandDescription(
        "status", group: .store, "Say what the store holds and how it is",
        discussion: ["Opens the store, so it needs the passphrase. coffret fsck verifies every byte."], run: run)

    static func run(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let vault = session.vault
        let all = try vault.list(.everything)
        let live = all.filter { !$0.isTrashed }
        let kinds = ItemKind.allCases.compactMap { kind in
            let count = live.filter { $0.kind == kind }.count
            return count > 0 ? (kind, count) : nil
        }
        let last = try vault.log(limit: 1).first
        let keys = try session.store.recoveryKeys
        let path = try StoreAccess.path(context)
        let byteCount = try session.store.byteCountOnDisk
        let vaults = try session.store.store.vaults
        let value = JSONValue.fields([
            "store": .string(path), "storeID": .string(session.store.storeIDText),
            "vault": .string(vault.name), "vaults": .strings(vaults.map(\.name)),
            "itemCount": .integer(live.count), "trashedCount": .integer(all.count - live.count),
            "kinds": .object(kinds.map { JSONValue.Member($0.0.name, .integer($0.1)) }),
            "lastChange": last.map { .moment($0.time) }, "version": last.map { .string($0.commit.description) },
            "byteCount": .integer(byteCount), "recoveryKeyCount": .integer(keys.count),
        ])
        try context.print(value) {
            var table = TextTable([.init(role: .faint), .init(isFlexible: true, minimumWidth: 20)])
            table.add([
                "Store",
                "\(TextWidth.displaySafe(path)), \(NumberText.bytes(byteCount)) on disk",
            ])
            let others = vaults.count - 1
            table.add(["Vault", TextWidth.displaySafe(vault.name) + (others > 0 ? ", one of \(others + 1)" : "")])
            table.add(["Holds", holds(kinds, trashedCount: all.count - live.count)])
            if let last { table.add(["Last change", context.relativeTime.moment(last.time)]) }
            table.add([
                "Way back in",
                keys.isEmpty
                    ? "no recovery key: coffret recovery add makes one"
                    : NumberText.counted(keys.count, "recovery key"),
            ])
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func holds(_ kinds: [(ItemKind, Int)], trashedCount: Int) -> String {
        let plurals: [ItemKind: String] = [.identity: "identities", .sshKey: "SSH keys", .apiToken: "API tokens"]
        let singulars: [ItemKind: String] = [.sshKey: "SSH key", .apiToken: "API token", .custom: "custom item"]
        var parts = kinds.map { NumberText.counted($1, singulars[$0] ?? $0.name, plurals[$0]) }
        if parts.isEmpty { parts = ["nothing yet"] }
        if trashedCount > 0 { parts.append("\(NumberText.grouped(trashedCount)) in the trash") }
        return parts.joined(separator: ", ")
    }
}
