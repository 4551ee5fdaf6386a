// Signed entries over verified chains: the checks of an entry, by what the chains of its author say. And the bounds of
// epochs over a chain that has them.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Entries over member chains")
struct EntryOverMembersTests {
    let generator = SeededGenerator.fromEnvironment()

    private func context(
        _ vault: MemberVault, account: Int = 0, device: Int = 0, link: Int? = nil, epoch: UInt32? = nil,
        head: ChainPosition? = nil, hash: Bytes32? = nil, nonce: UniqueID? = nil
    ) -> EntryContext {
        let stated = link ?? vault.members.state.count - 1
        let chain = vault.accounts[account].chain
        return EntryContext(
            vaultID: vault.members.vaultID, accountID: vault.accounts[account].id,
            deviceID: vault.accounts[account].devices[device].id, nonce: nonce ?? .generate(from: generator),
            firstLink: 0,
            deviceHead: head ?? ChainPosition(chain.head)!,
            memberHead: ChainPosition(
                number: UInt64(stated), hash: hash ?? vault.members.state.links[stated].hash),
            epoch: epoch ?? vault.members.state.states[stated].epoch)
    }

    private func body(_ context: EntryContext, after before: VerifiedEntry? = nil) -> EntryBody {
        let key = FactKey(entity: EntityID(kind: 110, uuid: .generate(from: generator)), attribute: "text")
        return EntryBody(
            context: context.name, number: (before?.number ?? 0) + 1, before: before?.name,
            height: (before?.height ?? 0) + 1, time: 0,
            changes: .list([Change(key: key, content: .inPlace([0, 1]))], salt: generator.bytes(count: 16)))
    }

    /// Signs, writes, reads and checks.
    private func verified(
        _ vault: MemberVault, _ context: EntryContext, after before: VerifiedEntry? = nil,
        signedBy device: (Int, Int) = (0, 0),
        known: MemberView? = nil
    ) throws(HistoryError) -> VerifiedEntry {
        let view =
            known
            ?? MemberView(accounts: vault.known, chain: vault.members.state, takenCount: vault.members.state.count)
        let written = body(context, after: before).sign(
            in: context, with: vault.accounts[device.0].devices[device.1].signing)
        let name = BlobName.derive(type: .entry, content: written.content.span)
        let read = try UnverifiedEntry.decode(written.content, name: name) { _ in context }
        let verifier = EntryVerifier(vaultID: vault.members.vaultID, authority: view)
        return try verifier.verify(try verifier.verifySignature(of: read), after: before.map { EntryPredecessor($0) })
    }

    private func code(_ check: () throws(HistoryError) -> VerifiedEntry) -> String {
        do throws(HistoryError) {
            _ = try check()
            return ""
        } catch { return error.code.rawValue }
    }

    @Test("section 6: signed entries over the chains of their authors, each refusal by its code")
    func refusals() throws {
        var first = try MemberAccount(generator)
        try first.add(MemberDevice(generator))
        var vault = try MemberVault(
            generator, accounts: [first, try MemberAccount(generator), try MemberAccount(generator)])
        try vault.join(1, as: .writer)
        try vault.join(2, as: .viewer)
        #expect(code { () throws(HistoryError) in try verified(vault, context(vault)) } == "")
        let second = context(vault, device: 1)
        #expect(code { () throws(HistoryError) in try verified(vault, second, signedBy: (0, 1)) } == "")
        #expect(
            code { () throws(HistoryError) in try verified(vault, context(vault, account: 1), signedBy: (1, 0)) } == "")
        // Another device's key, of the same account and of another one.
        for signer in [(0, 1), (1, 0)] {
            #expect(
                code { () throws(HistoryError) in try verified(vault, context(vault), signedBy: signer) }
                    == "storage.entry.malformed")
        }
        #expect(
            code { () throws(HistoryError) in try verified(vault, context(vault, account: 2), signedBy: (2, 0)) }
                == "storage.entry.not-a-writer")
        // Before its account had accepted, and at a link of another chain.
        #expect(
            code { () throws(HistoryError) in try verified(vault, context(vault, account: 1, link: 1), signedBy: (1, 0))
            }
                == "storage.entry.not-a-writer")
        #expect(
            code { () throws(HistoryError) in try verified(vault, context(vault, hash: Bytes32(1, 2, 3, 4))) }
                == "sync.members.withheld")
        // The device is revoked: at the new head it has no right, at the old one it had.
        let old = context(vault, device: 1)
        let entry = try verified(vault, old, signedBy: (0, 1))
        let place = ChainPosition(vault.accounts[0].chain.head)!
        try vault.accounts[0].append(.revoke(id: vault.accounts[0].devices[1].id))
        let short = MemberView(accounts: [:], chain: vault.members.state, takenCount: vault.members.state.count)
        #expect(code { () throws(HistoryError) in try verified(vault, old, signedBy: (0, 1)) } == "")
        #expect(
            code { () throws(HistoryError) in try verified(vault, context(vault, device: 1), signedBy: (0, 1)) }
                == "storage.entry.not-a-writer")
        #expect(
            code { () throws(HistoryError) in try verified(vault, old, signedBy: (0, 1), known: short) }
                == "sync.members.withheld")
        // A link that states the newer head closes it: at that link the old head is behind, and so is the old epoch.
        try vault.append(vault.operation(.state, opening: vault.opening()))
        #expect(
            code { () throws(HistoryError) in
                try verified(vault, context(vault, device: 1, head: place), signedBy: (0, 1))
            }
                == "storage.entry.not-a-writer")
        #expect(
            code { () throws(HistoryError) in try verified(vault, context(vault, epoch: 1)) }
                == "storage.entry.epoch-differs")
        // Steps 7: the log goes on, with what it stated or newer.
        let later = context(vault, device: 1, link: 2, head: place, nonce: old.nonce)
        #expect(entry.context.memberHead.number > later.memberHead.number)
        #expect(
            code { () throws(HistoryError) in try verified(vault, later, after: entry, signedBy: (0, 1)) }
                == "storage.entry.malformed")
        #expect(code { () throws(HistoryError) in try verified(vault, old, after: entry, signedBy: (0, 1)) } == "")
    }

    @Test("section 8: 4,096 epochs are the most, owners alone open the last 256, and one device 16 in a row")
    func epochs() throws {
        var first = try MemberAccount(generator)
        try first.add(MemberDevice(generator))
        var vault = try MemberVault(generator, accounts: [first, try MemberAccount(generator)])
        try vault.join(1, as: .writer)
        for _ in 0..<VerifiedMemberRights.epochRowMax {
            try vault.append(vault.operation(.state, opening: vault.opening()))
        }
        #expect(vault.refusal(vault.operation(.state, opening: vault.opening())) == .notPermitted)
        #expect(vault.refusal(vault.operation(.state)) == nil, "links that open none are written")
        var next = vault.opening()
        #expect(vault.refusal(vault.operation(.state, opening: next), device: 1) == nil)
        while vault.members.state.states.last!.epoch < VerifiedMemberRights.epochCountMax
            - VerifiedMemberRights.ownersEpochCount
            - 1
        {
            let device = Int(vault.members.state.states.last!.epoch) % 2
            try vault.append(vault.sign(vault.operation(.state, opening: vault.opening()), device: device))
        }
        next = vault.opening()
        #expect(next.epoch == 3_840 && vault.refusal(vault.operation(.state, by: 1, opening: next), by: 1) == nil)
        try vault.append(vault.sign(vault.operation(.state, opening: next), device: Int(next.epoch) % 2))
        next = vault.opening()
        #expect(vault.refusal(vault.operation(.state, by: 1, opening: next), by: 1) == .notPermitted)
        while vault.members.state.states.last!.epoch < VerifiedMemberRights.epochCountMax {
            let device = Int(vault.members.state.states.last!.epoch) % 2
            try vault.append(vault.sign(vault.operation(.state, opening: vault.opening()), device: device))
        }
        next = vault.opening()
        #expect(next.epoch == 4_097)
        for device in 0..<2 {
            #expect(vault.refusal(vault.operation(.state, opening: next), device: device) == .notPermitted)
        }
        #expect(vault.refusal(vault.operation(.state)) == nil, "the vault goes on under its last key")
    }
}
