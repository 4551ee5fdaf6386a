// What every storage of the server must do with keys of vaults, letters with them, and identity chains.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

extension TestAccount {
    /// A letter as far as a server looks at it: nobody can open this one.
    func letter(
        to recipient: TestAccount, _ purpose: LetterPurpose, scope: [UInt8], subject: [UInt8] = [0x80],
        sealedByteCount: Int = 200
    ) -> [UInt8] {
        let random = SystemRandomSource()
        let header = LetterHeader(
            purpose: purpose, scope: scope, subject: subject, sender: chain.accountID, senderDevice: device.id,
            senderHead: StatedLink(chain.head), recipient: recipient.chain.accountID,
            recipientHead: StatedLink(recipient.chain.head), ephemeral: AgreementKey.generate(from: random).publicKey)
        return UnverifiedLetter(
            header: header, sealed: random.bytes(count: sealedByteCount), with: device.signing
        ).encoded
    }

    /// A letter with a vault's key of its newest epoch, or another one.
    func keyLetter(to recipient: TestAccount, of vault: LogVault, epoch: UInt32? = nil) -> [UInt8] {
        let head = StatedLink(number: UInt64(vault.links.count - 1), hash: Bytes32(vault.hash(vault.links.count - 1))!)
        let subject = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: UInt64(epoch ?? vault.epoch))
            head.encode(to: &encoder)
        }
        return letter(to: recipient, .vaultKey, scope: vault.id, subject: subject)
    }

    /// The first link of an identity chain, or the one behind another.
    func identityLink(
        number: UInt64 = 0, previous: [UInt8] = [], head: StatedLink? = nil, signedBy other: TestDevice? = nil
    ) -> [UInt8] {
        let random = SystemRandomSource()
        let transient = TransientKey(
            key: AgreementKey.generate(from: random).publicKey, made: 1_000, expires: 2_000_000)
        let operation = IdentityOperation.set(
            head: head ?? StatedLink(chain.head), box: AgreementKey.generate(from: random).publicKey,
            transient: transient, number: number, of: chain.accountID, signing: SigningKey.generate(from: random))
        return UnverifiedLink.sign(
            kind: .identity, chainID: chain.accountID, sequenceNumber: number, publicPart: operation.encoded,
            sealedPart: [], previousLinkHash: previous, with: (other ?? device).signing
        ).encoded
    }
}

extension StoreCheck {
    static let keys = vaultKeys + identities

    private static func outcome(_ world: StoreWorld, _ post: MemberPost, _ vault: LogVault, by account: TestAccount)
        throws -> LinksOutcome
    {
        try world.store.post(post, to: vault.id, by: account.owner)
    }

    private static let vaultKeys: [StoreCheck] = [
        StoreCheck(name: "a link brings the history object and letters, all or none, and once") { world in
            let shared = try SharedVault(world)
            let vault = shared.vault
            let history = SystemRandomSource().bytes(count: 300)
            let opening = vault.opening(history: history)
            let link = vault.link(opening: opening)
            let letters = [shared.writer, shared.viewer].map { shared.owner.keyLetter(to: $0, of: vault, epoch: 2) }
            var other = history
            other[7] ^= 1
            #expect(
                code { _ = try outcome(world, MemberPost(link: link, history: other), vault, by: shared.owner) }
                    == .malformed)
            let foreign = shared.writer.keyLetter(to: shared.viewer, of: vault, epoch: 2)
            #expect(
                code {
                    _ = try outcome(
                        world, MemberPost(link: link, history: history, letters: letters + [foreign]), vault,
                        by: shared.owner)
                } == .malformed, "not by who posts it")
            #expect(try world.store.links(.member, vault.id, from: 0, for: shared.owner.owner).links == vault.links)
            let before = try world.used(shared.owner)
            let post = MemberPost(link: link, history: history, letters: letters)
            let number = UInt64(vault.links.count)
            guard case .taken(let heads) = try outcome(world, post, vault, by: shared.owner) else {
                Issue.record("the link was refused")
                return
            }
            #expect(heads.map(\.sequenceNumber) == [number])
            vault.take(link, opens: true)
            #expect(try world.used(shared.owner) == before, "counted")
            let keys = try world.store.keys(of: vault.id, for: shared.writer.owner)
            #expect(keys.epoch == 2 && keys.history == history && keys.letter == letters[0])
            #expect(keys.lacking == [shared.added.id], "the owner opened the epoch, the viewer has a letter")
            let told = [shared.writer.id, shared.viewer.id]
            #expect(world.notices.has(.event(accountIDs: told, bytes: ServerEvent.letter.encoded())))
            // Asked again, with another letter for somebody who has one, and the one that was missing.
            let again = MemberPost(
                link: link, history: history,
                letters: [shared.viewer, shared.added].map { shared.owner.keyLetter(to: $0, of: vault) })
            guard case .taken = try outcome(world, again, vault, by: shared.owner) else {
                Issue.record("asked again")
                return
            }
            #expect(try world.store.keys(of: vault.id, for: shared.viewer.owner).letter == letters[1])
            #expect(try world.store.keys(of: vault.id, for: shared.added.owner).lacking.isEmpty)
            for account in shared.members { _ = try world.used(account) }
        },
        StoreCheck(name: "R76: any member sends letters of the newest epoch to those that lack one; taken ones go") {
            world in
            let shared = try SharedVault(world)
            let (store, id) = (world.store, shared.vault.id)
            let send = { (letters: [[UInt8]], account: TestAccount) in
                try store.post(LetterPost(letters), to: id, by: account.owner)
            }
            #expect(
                try store.keys(of: id, for: shared.writer.owner).lacking == [shared.viewer, shared.added].sortedIDs)
            let letter = shared.viewer.keyLetter(to: shared.added, of: shared.vault)
            // One of an epoch that is over or to come, and one for a stranger, are passed over.
            let late = shared.viewer.keyLetter(to: shared.writer, of: shared.vault, epoch: 2)
            let stranger = shared.viewer.keyLetter(to: shared.stranger, of: shared.vault)
            try send([late, stranger, letter], shared.viewer)
            #expect(try store.keys(of: id, for: shared.added.owner).letter == letter)
            #expect(try store.keys(of: id, for: shared.writer.owner).letter.isEmpty)
            try send([shared.owner.keyLetter(to: shared.added, of: shared.vault)], shared.owner)
            #expect(try store.keys(of: id, for: shared.added.owner).letter == letter, "it had one")
            for wrong in [
                shared.owner.keyLetter(to: shared.writer, of: try LogVault(shared.owner)),
                shared.owner.letter(to: shared.writer, .keyWanted, scope: id, subject: [0x81, 0x01]),
                shared.owner.letter(to: shared.writer, .vaultKey, scope: id, subject: [0x81, 0x01]),
                shared.writer.keyLetter(to: shared.writer, of: shared.vault), [1, 2, 3],
            ] {
                #expect(code { try send([wrong], shared.owner) } == .malformed)
            }
            #expect(code { try send([letter], shared.stranger) } == .zoneUnknown)
            #expect(code { _ = try store.keys(of: id, for: shared.stranger.owner) } == .zoneUnknown)
            #expect(code { try store.takeLetter(ofEpoch: 1, in: id, by: shared.stranger.owner) } == .zoneUnknown)
            // One who opened an earlier letter takes none that came meanwhile.
            for other: UInt32 in [0, 2, .max] { try store.takeLetter(ofEpoch: other, in: id, by: shared.added.owner) }
            #expect(try store.keys(of: id, for: shared.added.owner).letter == letter)
            try store.takeLetter(ofEpoch: 1, in: id, by: shared.added.owner)
            try store.takeLetter(ofEpoch: 1, in: id, by: shared.added.owner)
            #expect(try store.keys(of: id, for: shared.added.owner).letter.isEmpty)
            #expect(
                try store.keys(of: id, for: shared.writer.owner).lacking == [shared.viewer.id],
                "it was sent one, and has taken it")
            // With the next epoch all lack it anew, but who opened it.
            try send([shared.owner.keyLetter(to: shared.viewer, of: shared.vault)], shared.owner)
            try world.post(shared.vault.link(opening: shared.vault.opening), to: shared.vault, opens: true)
            let keys = try store.keys(of: id, for: shared.writer.owner)
            #expect(keys.epoch == 2 && keys.lacking == [shared.viewer, shared.added].sortedIDs)
            #expect(try store.keys(of: id, for: shared.viewer.owner).letter.isEmpty)
            for account in shared.members { _ = try world.used(account) }
        },
        StoreCheck(name: "a vault takes 256 accounts, 16 of them owners, and no more") { world in
            let owner = try world.account()
            let vault = try world.logVault(owner)
            func refused(_ link: [UInt8]) throws -> Bool {
                try world.store.take([vault.item(link)], by: owner.owner) == .untrusted("trust.member.too-many")
            }
            var viewer = owner
            for count in 1..<ServerLimits.memberCountMax {
                // An account adds sixty people a day.
                if count.isMultiple(of: 60) { world.clock.now += 86_400_001 }
                viewer = try world.account()
                try world.allow(owner, to: viewer)
                if count == 16 { #expect(try refused(vault.link(.add(viewer.stated, .owner))), "a seventeenth owner") }
                try world.post(vault.link(.add(viewer.stated, count < 16 ? .owner : .viewer)), to: vault)
            }
            let promotion = MemberOperation.RoleChange(viewer.chain.accountID, .owner)
            #expect(try refused(vault.link(.changeRoles([promotion]))), "a seventeenth owner")
            let last = try world.account()
            try world.allow(owner, to: last)
            #expect(try refused(vault.link(.add(last.stated, .viewer))), "a 257th account")
            #expect(try world.store.keys(of: vault.id, for: owner.owner).lacking.count == 255)
            try world.remove(viewer, from: vault)
            try world.post(vault.link(.add(last.stated, .viewer)), to: vault)
        },
        StoreCheck(name: "R76: epochs, additions and links of identities have a limit of a day") { world in
            let owner = try world.account()
            let vault = try world.logVault(owner)
            for _ in 0..<15 {
                try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
                world.clock.now += 20 * 60_000
            }
            // Links of another account between, so that a row of epochs is not what ends it.
            let other = try world.account()
            try world.add(other, .owner, to: vault)
            for _ in 0..<5 {
                try world.post(
                    vault.link(by: other, opening: vault.opening), to: vault, by: other, opens: true)
                try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
            }
            guard
                case .tooMany(let seconds) = try world.store.take(
                    [vault.item(vault.link(opening: vault.opening))], by: owner.owner)
            else {
                Issue.record("a twenty-first epoch within a day")
                return
            }
            #expect(seconds > 60 && seconds <= 86_400)
            try world.post(vault.link(by: other, opening: vault.opening), to: vault, by: other, opens: true)
            world.clock.now += 86_400_000
            try world.post(vault.link(opening: vault.opening), to: vault, opens: true)
            for _ in 0..<60 {
                let account = try world.account()
                try world.allow(owner, to: account)
                try world.post(vault.link(.add(account.stated, .viewer)), to: vault)
            }
            let last = try world.account()
            try world.allow(owner, to: last)
            let more = vault.link(.add(last.stated, .viewer))
            guard case .tooMany = try world.store.take([vault.item(more)], by: owner.owner) else {
                Issue.record("a sixty-first addition within a day")
                return
            }
            world.clock.now += 86_400_001
            #expect(try world.numbers([vault.item(more)], by: owner.owner) != nil)
        },
    ]

    private static let identities: [StoreCheck] = [
        StoreCheck(name: "an identity chain takes links of its account that verify, in order, once") { world in
            let (account, fellow) = (try world.account(), try world.account())
            let vault = try world.logVault(account)
            try world.add(fellow, .viewer, to: vault)
            let people = try world.logHead(vault).people
            let first = account.identityLink()
            let append = { (link: [UInt8], account: TestAccount, id: [UInt8]) in
                try world.store.append(link, to: .identity, id, by: account.owner)
            }
            #expect(code { _ = try append(first, fellow, account.id) } == .forbidden)
            let head = try #require(endOf(try append(first, account, account.id)))
            #expect(head.sequenceNumber == 0)
            #expect(try append(first, account, account.id) == .appended(head), "asked again")
            #expect(try append(account.identityLink(), account, account.id) == .conflict(head), "R52: there is one")
            let second = account.identityLink(number: 1, previous: head.linkHash)
            var forged = second
            forged[forged.count - 1] ^= 1
            #expect(try append(forged, account, account.id) == .untrusted("trust.link.signature-invalid"))
            let stranger = account.identityLink(number: 1, previous: head.linkHash, signedBy: fellow.device)
            #expect(try append(stranger, account, account.id) == .untrusted("trust.link.signer-unknown"))
            #expect(
                try append(account.identityLink(number: 3, previous: head.linkHash), account, account.id)
                    == .conflict(head))
            _ = try #require(endOf(try append(second, account, account.id)))
            // Whoever has the id reads it, and a fellow member is told.
            #expect(try world.store.links(.identity, account.id, from: 0, for: fellow.owner).links == [first, second])
            // Those of many accounts come in one answer, for every session; of an account without one nothing comes.
            let theirs = fellow.identityLink()
            _ = try append(theirs, fellow, fellow.id)
            let reader = try world.account()
            let asked = ChainUpdateRequest(
                [(account, 1), (reader, 0), (fellow, 0)].map { person, known in
                    ChainUpdateRequest.Item(
                        kind: ChainKind.identity.rawValue, chainID: person.id, linkCount: UInt64(known))
                })
            #expect(
                try world.store.updates(asked, for: reader.owner)
                    == ChainUpdates(
                        [
                            ChainUpdates.Chain(kind: 2, chainID: account.id, branches: [], start: 1, links: [second]),
                            ChainUpdates.Chain(kind: 2, chainID: fellow.id, branches: [], start: 0, links: [theirs]),
                        ], hasMore: false))
            let updates = try world.store.updates(
                ChainUpdateRequest([.init(kind: 2, chainID: account.id, linkCount: 1)]), for: fellow.owner)
            #expect(updates.chains.map(\.links) == [[second]])
            #expect(
                world.notices.has(
                    .event(
                        accountIDs: [account.id, fellow.id],
                        bytes: ServerEvent.chain(kind: 2, id: account.id, sequenceNumber: 1).encoded())))
            #expect(try world.logHead(vault).people == people + 3)
            _ = try world.used(account)
        },
        StoreCheck(name: "a device link and the link of an identity that states it come together; eight a day") {
            world in
            let account = try world.account()
            let phone = TestDevice()
            let addition = account.adding(phone)
            try account.follow(addition)
            let identity = account.identityLink(signedBy: phone)
            let item = { (link: [UInt8]) in
                LinkPost.Item(kind: ChainKind.identity.rawValue, chainID: account.id, link: link)
            }
            #expect(
                try world.store.take([item(identity)], by: account.owner)
                    == .untrusted("trust.identity.head-missing"))
            guard
                case .taken(var heads) = try world.store.take(
                    [account.item(addition), item(identity)], by: account.owner)
            else {
                Issue.record("they were refused")
                return
            }
            for number: UInt64 in 1..<8 {
                let link = account.identityLink(number: number, previous: heads[heads.count - 1].linkHash)
                guard case .taken(let next) = try world.store.take([item(link)], by: account.owner) else {
                    Issue.record("link \(number)")
                    return
                }
                heads += next
            }
            let ninth = account.identityLink(number: 8, previous: heads[heads.count - 1].linkHash)
            guard case .tooMany = try world.store.take([item(ninth)], by: account.owner) else {
                Issue.record("a ninth within a day")
                return
            }
            world.clock.now += 86_400_001
            guard case .taken = try world.store.take([item(ninth)], by: account.owner) else {
                Issue.record("on the next day")
                return
            }
        },
    ]
}

extension [TestAccount] {
    fileprivate var sortedIDs: [[UInt8]] { map(\.id).sorted { $0.lexicographicallyPrecedes($1) } }
}
