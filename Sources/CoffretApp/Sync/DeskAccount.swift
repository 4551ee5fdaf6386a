// The account of a desk's store at its server, and what other devices did with it. Invariant: whoever follows the account says
// what it finds; nothing is believed that the chain of devices does not show.

package import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretTerminal
package import CoffretTrust

extension StoreDesk {
    /// Another process of this device may wait for the answer of a new device, or of a slow server.
    private static let patienceSeconds = 30

    /// The store's account, logged in.
    ///
    /// - Parameter isRestored: the server was put back on purpose, and gets what it lost of the account.
    /// - Throws: `AccountError` `.notJoined`; what keeps the server from being reached.
    package func account(isRestored: Bool = false) throws -> Account {
        let (random, clock) = (surroundings.random, surroundings.clock)
        let account =
            try isRestored
            ? Account.atRestoredServer(store, random: random, clock: clock)
            : Account(store, random: random, clock: clock)
        let seconds = Self.patienceSeconds
        account.patience = AccountPatience(.seconds(seconds)) { [person = surroundings.person] in
            person?.note(
                "Another coffret on this device is changing the account; waiting for it, at most \(seconds) seconds.")
        }
        return account
    }

    /// All synced vaults at the server; what it does ends where the request is not wanted any more.
    package func sync(_ account: Account) -> AccountSync {
        AccountSync(
            account, records: deviceRecords, clock: surroundings.clock,
            isWanted: { [work] in !work.isCancelled() })
    }

    /// Follows the account, and tells the person what other devices changed: recoveries and threats to paper devices loudly.
    package func follow(_ account: Account) throws {
        let followed = try account.follow()
        tell(followed)
        warnOfPaper()
    }

    private func tell(_ followed: FollowedDeviceChain) {
        guard let person = surroundings.person else { return }
        func name(_ id: UniqueID) -> String {
            followed.chain.device(id).flatMap { try? store.keyring.details(of: $0)?.name }
                .map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(id.hex.prefix(8))
        }
        if !followed.replacedLinks.isEmpty {
            person.warn(
                "a paper device recovered the account: \(NumberText.counted(followed.replacedLinks.count, "change")) "
                    + "of its devices made before no longer count; coffret device ls shows what is left")
        }
        for link in followed.newLinks {
            switch try? DeviceOperation(decoding: link.link) {
            case .announceRevocation(let id, _)?:
                person.warn(
                    "the paper device \(name(id)) will be revoked in seven days; if that was not you, recover with it now"
                )
            case .revokeAnnounced(let id, _)?: person.warn("the paper device \(name(id)) was revoked")
            case .add(let id, _, _, _)?: person.note("New device: \(name(id))")
            case .revoke(let id, _)?: person.note("Revoked device: \(name(id))")
            case .describe(let id)?: person.note("Renamed device: \(name(id))")
            case .recover?, nil: break
            }
        }
    }

    /// Says which sheets another device made that nobody here has said a word about.
    package func warnOfPaper() {
        guard let person = surroundings.person, let waiting = try? store.keyring.paperAwaitingConsent(),
            let chain = try? store.keyring.deviceChain()
        else { return }
        let circles = circlePapers
        for device in waiting where !circles.contains(device.id) {
            let name = label(device)
            let by = chain.bringer(of: device).map { " by \(label($0))" } ?? ""
            person.warn(
                "the paper device \(name) was added\(by) and does not open this store: if that was you, "
                    + "coffret recovery accept \(name); if not, coffret device revoke \(name)")
        }
    }

    /// The name of a device, in quotes; the beginning of its id where no name is known.
    package func label(_ device: VerifiedDevice) -> String {
        (try? store.keyring.details(of: device)?.name).map { "\"\(TextWidth.displaySafe($0))\"" }
            ?? String(device.id.hex.prefix(8))
    }

    /// The name of a device, told apart from another one of the same name.
    package func deviceName(_ deviceID: [UInt8]) -> String {
        (try? store.deviceLabel(deviceID)) ?? "another device"
    }
}
