// Member links: the published bytes, who may do what, and what the chain says afterwards.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Member links")
struct MemberLinkTests {
    let generator = SeededGenerator.fromEnvironment()

    private func vault(_ count: Int = 1) throws -> MemberVault {
        try MemberVault(generator, accounts: try (0..<count).map { _ in try MemberAccount(generator) })
    }

    private func opening(_ vault: inout MemberVault) -> EpochOpening { vault.opening() }

    @Test("who may do what (table of section 8)")
    func table() throws {
        var vault = try vault(6)
        try vault.join(1, as: .owner)
        try vault.join(2, as: .writer)
        try vault.join(3, as: .viewer)
        let added = StatedHead(accountID: vault.accounts[4].id, device: vault.accounts[4].head)
        try vault.append(vault.operation(.add(added, .writer)))
        let (four, five) = (vault.accounts[4], vault.accounts[5])
        let stranger = StatedHead(accountID: five.id, device: five.head)
        let opening = opening(&vault)
        func allowed(_ make: (Int) -> MemberOperation) -> [Bool] {
            [1, 2, 3, 4].map { vault.refusal(make($0), by: $0) == nil }
        }
        let other = StatedHead(accountID: vault.accounts[0].id, device: vault.accounts[0].head)
        #expect(allowed { vault.operation(.add(stranger, .viewer), by: $0) } == [true, false, false, false])
        #expect(
            allowed { vault.operation(.changeRoles([.init(four.id, .viewer)]), by: $0) } == [true, false, false, false])
        #expect(
            allowed { vault.operation(.changeRoles([.init(four.id, nil)]), by: $0, opening: opening) }
                == [true, false, false, false])
        let adding = vault.members.state.links.last!.hash
        #expect(allowed { vault.operation(.accept(addingLink: adding), by: $0) } == [false, false, false, true])
        #expect(allowed { vault.operation(.leave, by: $0) } == [true, true, true, true])
        #expect(allowed { vault.operation(.state, by: $0, opening: opening) } == [true, true, false, false])
        #expect(allowed { vault.operation(.state, by: $0, heads: [other]) } == [true, true, false, false])
        #expect(
            allowed { index in
                let own = StatedHead(accountID: vault.accounts[index].id, device: vault.accounts[index].head)
                return vault.operation(.state, by: index, confirms: [own.accountID], heads: [own])
            } == [true, true, true, true])
        #expect(allowed { vault.operation(.state, by: $0, confirms: [four.id]) } == [true, false, false, true])
        #expect(vault.refusal(vault.operation(.state, by: 5), by: 5) == .notPermitted)
        #expect(vault.refusal(vault.operation(.add(added, .viewer))) == .notPermitted)
        #expect(vault.refusal(vault.operation(.changeRoles([.init(four.id, .writer)]))) == .notPermitted)
        #expect(vault.refusal(vault.operation(.changeRoles([.init(five.id, .writer)]))) == .notPermitted)
    }

    @Test("owners fall to themselves and to older owners, and the last one stays")
    func owners() throws {
        var vault = try vault(3)
        #expect(vault.refusal(vault.operation(.leave)) == .notPermitted)
        let invited = StatedHead(accountID: vault.accounts[1].id, device: vault.accounts[1].head)
        try vault.append(vault.operation(.add(invited, .owner)))
        // An owner who has not accepted could never act.
        #expect(vault.refusal(vault.operation(.leave)) == .notPermitted)
        try vault.append(
            vault.operation(.accept(addingLink: vault.members.state.links.last!.hash), by: 1), by: 1)
        try vault.join(2, as: .owner)
        let ids = vault.accounts.map(\.id)
        func lower(_ target: Int, by signer: Int) -> MemberError.Code? {
            vault.refusal(vault.operation(.changeRoles([.init(ids[target], .viewer)]), by: signer), by: signer)
        }
        #expect(lower(1, by: 0) == nil && lower(2, by: 1) == nil && lower(0, by: 0) == nil)
        #expect(lower(0, by: 1) == .outranked && lower(1, by: 2) == .outranked && lower(0, by: 2) == .outranked)
        #expect(vault.refusal(vault.operation(.leave)) == nil)
        // An owner who was lowered and raised again is a new one.
        try vault.append(vault.operation(.changeRoles([.init(ids[1], .writer)])))
        try vault.append(vault.operation(.changeRoles([.init(ids[1], .owner)])))
        #expect(lower(2, by: 1) == .outranked && lower(1, by: 2) == nil)
    }

    @Test("R92: a member link with any bit flipped is refused")
    func everyBit() throws {
        var vault = try vault(3)
        try vault.join(1, as: .writer)
        let stranger = StatedHead(accountID: vault.accounts[2].id, device: vault.accounts[2].head)
        for operation in [vault.operation(.add(stranger, .viewer)), vault.operation(.state, opening: vault.opening())] {
            let link = vault.sign(operation)
            var taking = vault
            try taking.append(link)
            let bytes = link.encoded
            for offset in bytes.indices {
                var flipped = bytes
                flipped[offset] ^= 1 << UInt8(offset % 8)
                guard let read = try? UnverifiedLink(decoding: flipped), read != link else { continue }
                var refusing = vault
                #expect(throws: (any Error).self, "byte \(offset)") { try refusing.append(read) }
            }
        }
    }

    @Test("the first failure counts: place, heads, signer, older heads, permission")
    func order() throws {
        var vault = try vault(2)
        try vault.join(1, as: .writer)
        try vault.accounts[0].add(MemberDevice(generator))
        let old = vault.accounts[0].head
        try vault.append(vault.operation(.state))
        try vault.accounts[0].append(.revoke(id: vault.accounts[0].devices[1].id))
        // The device that is revoked states the head at which it was trusted, or the newest.
        #expect(vault.refusal(vault.operation(.state), device: 1) == .signerRevoked)
        #expect(vault.refusal(vault.operation(.state, head: old), device: 1) == nil)
        try vault.append(vault.operation(.state, opening: vault.opening()))
        #expect(vault.refusal(vault.operation(.state, head: old), device: 1) == .headsBehind)
        let unknown = Bytes32(generator.bytes(count: 32))!
        #expect(vault.refusal(vault.operation(.state, head: unknown)) == .chainMissing)
        let stated = StatedHead(accountID: vault.accounts[1].id, device: unknown)
        #expect(vault.refusal(vault.operation(.state, heads: [stated])) == .chainMissing)
        let stranger = MemberDevice(generator)
        vault.accounts[0].devices.append(stranger)
        #expect(vault.refusal(vault.operation(.state), device: 2) == .signerUnknown)
        var link = vault.sign(vault.operation(.state))
        var copy = vault
        try copy.append(vault.operation(.state))
        #expect(throws: MemberError(.linkBroken, at: link.sequenceNumber)) { try copy.append(link) }
        let (rival, known, newest) = (vault.sign(vault.operation(.state, by: 1), by: 1), vault.known, copy.newest)
        #expect(copy.members.follow([newest], accounts: known, keys: vault) == nil)
        #expect(
            copy.members.follow([rival], accounts: known, keys: vault)
                == MemberError(.forked, at: rival.sequenceNumber))
        var bytes = link.encoded
        bytes[bytes.count - 1] ^= 1
        link = try UnverifiedLink(decoding: bytes)
        #expect(throws: MemberError(.signatureInvalid, at: link.sequenceNumber)) { try vault.append(link) }
    }

    @Test("epochs count up, keep the split key, and come sixteen times in a row at most")
    func epochs() throws {
        var vault = try vault(2)
        try vault.join(1, as: .writer)
        let (ahead, good) = (vault.opening(3), vault.opening(2))
        #expect(vault.refusal(vault.operation(.state, opening: ahead)) == .notPermitted)
        try vault.append(vault.operation(.state, opening: good))
        let next = vault.opening()
        let other = EpochOpening(
            epoch: 3, keyCommitment: next.keyCommitment, splitKeyCommitment: next.historyHash,
            historyHash: next.historyHash, checkpointEpoch: 2)
        #expect(vault.refusal(vault.operation(.state, opening: other)) == .notPermitted)
        for _ in 1..<VerifiedMemberRights.epochRowMax {
            try vault.append(vault.operation(.state, opening: vault.opening()))
        }
        #expect(vault.refusal(vault.operation(.state, opening: vault.opening())) == .notPermitted)
        // A closing needs its epoch.
        var closing = vault
        try closing.accounts[0].add(MemberDevice(generator))
        try closing.append(closing.operation(.state))
        #expect(closing.refusal(closing.operation(.state, opening: closing.opening())) == .notPermitted)
        try closing.accounts[0].append(.revoke(id: closing.accounts[0].devices[1].id))
        #expect(closing.refusal(closing.operation(.state, opening: closing.opening())) == nil)
        // Another device's link ends the row.
        try vault.append(vault.operation(.state, by: 1), by: 1)
        #expect(vault.refusal(vault.operation(.state, opening: vault.opening())) == nil)
    }

    @Test("a reading that ends shuts older epochs; a viewer's role does not (S5, K3)")
    func oldestEpoch() throws {
        var vault = try vault(3)
        try vault.join(1, as: .writer)
        try vault.join(2, as: .writer)
        func oldest() -> UInt32 { vault.members.state.states.last!.oldestEpoch }
        try vault.append(vault.operation(.state, opening: vault.opening()))
        #expect(oldest() == 1)
        try vault.append(vault.operation(.changeRoles([.init(vault.accounts[1].id, .viewer)])))
        #expect(oldest() == 1)
        try vault.append(vault.operation(.changeRoles([.init(vault.accounts[1].id, nil)]), opening: vault.opening()))
        #expect(oldest() == 3)
        // Between leaving and the epoch that follows it no key serves.
        try vault.append(vault.operation(.leave, by: 2), by: 2)
        #expect(oldest() == 4)
        try vault.append(vault.operation(.state, opening: vault.opening()))
        #expect(oldest() == 4 && vault.members.state.states.last!.epoch == 4)
    }

    @Test("a checkpoint waits for its key, counts only of who may write, and says nothing if it does not open")
    func sealedParts() throws {
        var vault = try vault(2)
        try vault.join(1, as: .viewer)
        let checkpoint = Checkpoint(
            base: nil, accepted: Frontier(), root: BlobName(Bytes32(1, 2, 3, 4)), digest: Bytes32(0, 0, 0, 0),
            factCount: 0)
        func sealed(_ number: UInt64, base: UInt32? = nil) -> [UInt8] {
            let stated = Checkpoint(
                base: base, accepted: checkpoint.accepted, root: checkpoint.root, digest: checkpoint.digest,
                factCount: 0)
            return MemberSealing.seal(
                MemberDetails(time: 7, checkpoint: stated), number: number, in: vault.members.vaultID, epoch: 1,
                key: vault.keys[1]!, random: generator)
        }
        let next = vault.newest.sequenceNumber + 1
        let link = vault.sign(vault.operation(.state), sealed: sealed(next))
        var (reader, server) = (vault.members, vault.members)
        struct None: MemberKeys { func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { nil } }
        #expect(reader.follow([link], accounts: vault.known, keys: None()) == MemberError(.keyMissing, at: next))
        #expect(reader.state.count == Int(next))
        #expect(reader.follow([link], accounts: vault.known, keys: vault) == nil)
        #expect(reader.state.links.last?.checkpoint == checkpoint && reader.state.states.last?.time == 7)
        #expect(server.follow([link], accounts: vault.known, keys: nil) == nil && server.state.count == Int(next) + 1)
        func read(_ link: UnverifiedLink) -> Checkpoint? {
            var copy = vault.members
            #expect(copy.follow([link], accounts: vault.known, keys: vault) == nil)
            return copy.state.links.last?.checkpoint
        }
        #expect(read(vault.sign(vault.operation(.state, by: 1), by: 1, sealed: sealed(next))) == nil)
        #expect(read(vault.sign(vault.operation(.state), sealed: sealed(next + 1))) == nil)
        // A base that is no checkpoint with a root.
        #expect(read(vault.sign(vault.operation(.state), sealed: sealed(next, base: 1))) == nil)
    }

    @Test("bytes of public parts are refused in any other form")
    func malformed() throws {
        let vault = try vault(2)
        func code(_ part: [UInt8]) -> MemberError.Code? {
            let link = UnverifiedLink.sign(
                kind: .member, chainID: ChainID(vault.members.vaultID.bytes), sequenceNumber: 1, publicPart: part,
                sealedPart: [], previousLinkHash: [], with: vault.accounts[0].devices[0].signing)
            do throws(MemberError) {
                _ = try MemberOperation(decoding: link)
                return nil
            } catch {
                return error.code
            }
        }
        let good = vault.operation(.state, confirms: vault.accounts.map(\.id).sorted { $0.hex < $1.hex })
        #expect(code(good.encoded) == nil)
        let turned = vault.operation(.state, confirms: vault.accounts.map(\.id).sorted { $0.hex > $1.hex })
        #expect(code(turned.encoded) == .linkMalformed)
        #expect(code(good.encoded + [0]) == .linkMalformed)
        // A removal has an epoch.
        #expect(
            code(vault.operation(.changeRoles([.init(vault.accounts[1].id, nil)])).encoded) == .linkMalformed)
        #expect(code(vault.operation(.changeRoles([])).encoded) == .linkMalformed)
        var later = good.encoded
        later[2] = 8
        #expect(code(later) == .linkUnsupported)
    }
}
