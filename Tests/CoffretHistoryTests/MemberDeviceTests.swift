// Devices of an account as histories see them: places of replaced branches, who is out, and whom a revocation takes along.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Devices in histories")
struct MemberDeviceTests {
    let generator = SeededGenerator.fromEnvironment()

    private func code(_ body: () throws -> Void) -> TrustError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TrustError)?.code
        }
    }

    @Test("K10: a revocation names every trusted device that the revoked one brought, and takes along those it says")
    func brought() throws {
        var account = try MemberAccount(generator)
        for signer in [0, 1, 2, 0] { try account.add(MemberDevice(generator), by: signer) }
        // 0 added 1 and 4, 1 added 2, 2 added 3.
        let ids = account.devices.map(\.id)
        func result(_ going: [Int], _ kept: [Int]) -> TrustError.Code? {
            var copy = account
            let brought = BroughtDevices(
                going: going.map { ids[$0] }.sorted(), kept: kept.map { ids[$0] }.sorted())
            return code { try copy.append(.revoke(id: ids[1], brought: brought)) }
        }
        #expect(result([2, 3], []) == nil && result([], [2, 3]) == nil && result([3], [2]) == nil)
        #expect(result([2], []) == .broughtUndecided && result([], []) == .broughtUndecided)
        #expect(result([2, 3, 4], []) == .broughtUndecided && result([2, 3], [3]) == .broughtUndecided)
        var copy = account
        let unsorted = BroughtDevices(going: Array([ids[2], ids[3]].sorted().reversed()), kept: [])
        #expect(code { try copy.append(.revoke(id: ids[1], brought: unsorted)) } == .linkMalformed)
        try account.append(.revoke(id: ids[1], brought: BroughtDevices(going: [ids[3]], kept: [ids[2]])))
        #expect(account.chain.devices.map(\.isTrusted) == [true, false, true, false, true])
        // Through a device that is revoked already, too.
        let last = BroughtDevices(going: [], kept: [ids[2], ids[4]].sorted())
        try account.append(.revoke(id: ids[0], brought: last), by: 4)
        let link = try #require(account.chain.links.last).link
        #expect(try DeviceOperation(decoding: link) == .revoke(id: ids[0], brought: last))
    }

    @Test("K1: who was added only on a branch that a recovery replaced is out behind it, whenever that was")
    func branches() throws {
        var account = try MemberAccount(generator)
        try account.add(MemberDevice(generator, kind: .paper))
        try account.add(MemberDevice(generator))
        let before = account.chain.head
        // A thief with device 2 adds one of his own and revokes device 0.
        try account.add(MemberDevice(generator), by: 2)
        try account.append(.revoke(id: account.devices[0].id), by: 2)
        let stolen = account.chain
        try account.recover(behind: before.sequenceNumber, keeping: [0, 1], by: 1)
        let known = account.known
        let ids = account.devices.map(\.id)
        let shared = try #require(known.position(of: Bytes32(before.linkHash)!))
        let thief = try #require(known.position(of: Bytes32(stolen.head.linkHash)!))
        #expect(shared < thief && thief < known.newest)
        #expect(ids.map { known.isTrusted($0) } == [true, true, false, false])
        #expect(ids.map { known.isTrusted($0, at: thief) } == [false, true, true, true])
        #expect(ids.map { known.isOut($0, at: known.newest) } == [false, false, true, true])
        #expect(ids.map { known.isOut($0, at: thief) } == [true, false, false, false])
        #expect(ids.map { known.isOut($0, at: shared) } == [false, false, false, false])
        #expect(known.takesAway(from: shared, to: known.newest) && known.takesAway(from: thief, to: known.newest))
        #expect(!known.takesAway(from: known.newest, to: known.newest))
        let stated = ChainPosition(number: 5, hash: Bytes32(before.linkHash)!)
        #expect(known.position(of: stated) == nil)
    }

    @Test("K1, K3: a link that states the recovery closes the devices that it left out, and nothing before does")
    func closing() throws {
        var account = try MemberAccount(generator)
        try account.add(MemberDevice(generator, kind: .paper))
        try account.add(MemberDevice(generator))
        var vault = try MemberVault(generator, accounts: [account])
        try vault.append(vault.operation(.state))
        try vault.accounts[0].recover(behind: 2, keeping: [0, 1], by: 1)
        var view = MemberView()
        view.follow(accounts: vault.known, chain: vault.members.state)
        let id = vault.accounts[0].id
        #expect(view.takenCount == 2 && view.accountsDue == [id])
        let owner = InstanceOwner(accountID: id, deviceID: vault.accounts[0].devices[2].id, firstLink: 0)
        #expect(view.closingLink(of: owner) == nil)
        try vault.append(vault.operation(.state, opening: vault.opening()))
        view.follow(accounts: vault.known, chain: vault.members.state)
        #expect(view.closingLink(of: owner) == 2 && view.closingLink(of: owner, upTo: 1) == nil)
        #expect(view.accountsDue.isEmpty && view.newestState.oldestEpoch == 2)
        let later = InstanceOwner(accountID: id, deviceID: owner.deviceID, firstLink: 2)
        #expect(view.closingLink(of: later) == nil)
    }

    @Test("K7: a right that a revoked device gave waits for the account's word, or an earlier owner's")
    func confirmation() throws {
        var vault = try MemberVault(generator, accounts: try (0..<3).map { _ in try MemberAccount(generator) })
        try vault.accounts[0].add(MemberDevice(generator))
        try vault.append(vault.operation(.state))
        try vault.join(1, as: .owner)
        let head = vault.accounts[0].head
        let invited = StatedHead(accountID: vault.accounts[2].id, device: vault.accounts[2].head)
        try vault.append(vault.operation(.add(invited, .writer), head: head), device: 1)
        let number = vault.members.state.count - 1
        func taken(_ vault: MemberVault) -> (Int, Int?) {
            var view = MemberView()
            view.follow(accounts: vault.known, chain: vault.members.state)
            return (view.takenCount, view.waitingForWord)
        }
        #expect(taken(vault) == (number + 1, nil))
        var early = MemberView()
        early.follow(accounts: vault.known, chain: vault.members.state)
        try vault.accounts[0].append(.revoke(id: vault.accounts[0].devices[1].id))
        #expect(taken(vault) == (number, number))
        // Taken before the revocation was known, it stays taken; the account is to speak all the same.
        early.follow(accounts: vault.known, chain: vault.members.state)
        #expect(early.takenCount == number + 1)
        #expect(early.unconfirmedLinks(spokenForBy: vault.accounts[0].id) == [number])
        #expect(early.unconfirmedLinks(spokenForBy: vault.accounts[1].id) == [])
        #expect(early.unconfirmedLinks(spokenForBy: vault.accounts[1].id, and: [vault.accounts[0].id]) == [number])
        // Heads and epochs alone wait for nobody, and confirm nothing.
        try vault.append(vault.operation(.state, opening: vault.opening()))
        #expect(taken(vault) == (number, number))
        var own = vault
        try own.append(own.operation(.state, confirms: [own.accounts[0].id]))
        #expect(taken(own) == (number + 2 + 1, nil))
        var other = vault
        try other.append(other.operation(.state, by: 1, confirms: [other.accounts[0].id]), by: 1)
        #expect(taken(other) == (number + 2 + 1, nil))
    }
}
