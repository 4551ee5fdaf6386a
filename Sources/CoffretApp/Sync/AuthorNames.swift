// Who wrote something, in words. Invariant: a device of another person is never called by the name of an own one.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretTrust

/// Names of the devices that wrote in a vault: own ones by theirs, those of other people by their person's.
///
/// People's names are read when the first device asks for them: most vaults have one person.
final class AuthorNames {
    private let desk: StoreDesk
    private let record: VaultRecord
    private lazy var members = try? VaultMembers(record, desk.store, desk.personNames())

    init(_ record: VaultRecord, _ desk: StoreDesk) {
        (self.record, self.desk) = (record, desk)
    }

    subscript(_ deviceID: [UInt8]) -> String {
        if let own = try? desk.store.deviceLabel(deviceID) { return own }
        guard let members, let account = members.account(ofDevice: deviceID), account != members.own else {
            return desk.deviceName(deviceID)
        }
        return members.plainName(of: account)
    }
}

extension VaultMembers {
    /// The account that brought a device, also one that a recovery replaced.
    fileprivate func account(ofDevice deviceID: [UInt8]) -> ChainID? {
        chains.accounts.first { _, followed in
            ([followed.chain] + followed.branches).contains { $0.devices.contains { $0.id.bytes == deviceID } }
        }?.key
    }
}
