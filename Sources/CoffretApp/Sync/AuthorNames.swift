// Authors in words. Invariant: an entry of another person's device is never said to be of an own one, whatever id that device has.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretTrust

/// Names of the devices that wrote in a vault: own ones by theirs, those of other people by their person's.
///
/// People's names are read when the first device of another person asks for them: most vaults have one person.
final class AuthorNames {
    private let desk: StoreDesk
    private let record: VaultRecord
    private lazy var accounts = (try? desk.store.followedChains(of: record.vaultID))?.accounts ?? [:]
    /// This account, and those of before.
    private lazy var own = Set(
        ((try? desk.store.keyring.formerChains()) ?? []).map(\.accountID)
            + [try? desk.store.keyring.accountID()].compactMap(\.self))
    private lazy var members = try? VaultMembers(record, desk.store, desk.personNames())

    init(_ record: VaultRecord, _ desk: StoreDesk) {
        (self.record, self.desk) = (record, desk)
    }

    subscript(_ deviceID: [UInt8]) -> String {
        let holders = accounts.filter { _, followed in
            ([followed.chain] + followed.branches).contains { $0.devices.contains { $0.id.bytes == deviceID } }
        }.keys
        let others = holders.filter { !own.contains($0) }
        guard let other = others.first else { return desk.deviceName(deviceID) }
        // Ids are chosen by their devices. Where two people have the same, neither is named.
        guard holders.count == 1, let members else { return Hex.encode(deviceID.prefix(4)) }
        return members.plainName(of: other)
    }
}
