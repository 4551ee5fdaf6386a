// What every storage of the server must do with letters between people, contact lists, tokens and guests.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

extension StoreCheck {
    static let people = letters + guests

    private static let day: Int64 = 86_400_000

    private static func refusal(
        _ world: StoreWorld, _ letter: [UInt8], from sender: TestAccount, to recipient: [UInt8], token: [UInt8]? = nil
    ) -> ServerFailure.Code? {
        code {
            try world.store.post(PersonalLetter(token: token, letter: letter), to: recipient, by: sender.owner)
        }
    }

    private static let letters: [StoreCheck] = [
        StoreCheck(name: "R78: contacts write, whoever shows a token once writes, strangers do not") { world in
            let (alice, bob, carol) = (try world.account(), try world.account(), try world.account())
            let request = { (sender: TestAccount) in sender.letter(to: alice, .contactRequest, scope: alice.id) }
            let nobody = try TestAccount()
            #expect(refusal(world, request(bob), from: bob, to: alice.id) == .notAllowed)
            let unknown = bob.letter(to: nobody, .contactRequest, scope: nobody.id)
            #expect(refusal(world, unknown, from: bob, to: nobody.id) == .notAllowed)
            try world.store.setContacts(ContactList([bob.id]), of: alice.owner)
            let first = request(bob)
            #expect(refusal(world, first, from: bob, to: alice.id) == nil)
            #expect(world.notices.has(.event(accountIDs: [alice.id], bytes: ServerEvent.letter.encoded())))
            let waiting = WaitingLetters.Entry(id: BLAKE2b.hash(first), sender: bob.id, letter: first)
            #expect(try world.store.letters(for: alice.owner).entries == [waiting])
            // Another one of his takes its place, and he pays for one.
            let (second, used) = (request(bob), try world.used(bob))
            #expect(refusal(world, second, from: bob, to: alice.id) == nil)
            #expect(try world.store.letters(for: alice.owner).entries.map(\.letter) == [second])
            #expect(try world.used(bob) == used)
            // A token is good as often as it says, until it ends, and for its account alone.
            let token = SystemRandomSource().bytes(count: 32)
            let end = UInt64(world.clock.now + day)
            try world.store.setToken(
                ContactToken(hash: BLAKE2b.hash(token), expiry: end, useCount: 1), of: alice.owner)
            var wrong = token
            wrong[0] ^= 1
            #expect(refusal(world, request(carol), from: carol, to: alice.id, token: wrong) == .notAllowed)
            let toBob = carol.letter(to: bob, .contactRequest, scope: bob.id)
            #expect(refusal(world, toBob, from: carol, to: bob.id, token: token) == .notAllowed)
            #expect(refusal(world, [1, 2], from: carol, to: alice.id, token: token) == .malformed)
            #expect(refusal(world, request(carol), from: carol, to: alice.id, token: token) == nil)
            // Who showed it may answer and add for 30 days, and another does not show it again.
            let dave = try world.account()
            #expect(refusal(world, request(dave), from: dave, to: alice.id, token: token) == .notAllowed)
            #expect(refusal(world, request(carol), from: carol, to: alice.id) == nil)
            world.clock.now += 31 * day
            try world.store.clean()
            #expect(try world.store.letters(for: alice.owner).entries.isEmpty, "30 days")
            #expect(refusal(world, request(carol), from: carol, to: alice.id) == .notAllowed)
            #expect(refusal(world, request(bob), from: bob, to: alice.id) == nil, "a contact stays one")
            // The list is what was put last.
            try world.store.setContacts(ContactList([carol.id]), of: alice.owner)
            #expect(refusal(world, request(bob), from: bob, to: alice.id) == .notAllowed)
            for account in [alice, bob, carol, dave] { _ = try world.used(account) }
        },
        StoreCheck(name: "letters say from whom and to whom, are signed, and are of a purpose that goes this way") {
            world in
            let (alice, bob) = (try world.account(), try world.account())
            try world.store.setContacts(ContactList([bob.id, alice.id]), of: alice.owner)
            let good = bob.letter(to: alice, .contactRequest, scope: alice.id)
            for bit in 0..<good.count * 8 where bit % 7 == 0 {
                var letter = good
                letter[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(refusal(world, letter, from: bob, to: alice.id) == .malformed, "bit \(bit)")
            }
            for wrong in [
                bob.letter(to: alice, .contactRequest, scope: bob.id),
                bob.letter(to: bob, .contactRequest, scope: bob.id),
                bob.letter(to: alice, .vaultKey, scope: alice.id),
                alice.letter(to: alice, .contactRequest, scope: alice.id),
                bob.letter(to: alice, .contactRequest, scope: alice.id, sealedByteCount: 4_096),
            ] {
                #expect(refusal(world, wrong, from: bob, to: alice.id) == .malformed)
            }
            #expect(try world.store.letters(for: alice.owner).entries.isEmpty)
            #expect(refusal(world, good, from: bob, to: alice.id) == nil)
            #expect(code { try world.store.deleteLetter(BLAKE2b.hash(good), for: bob.owner) } == .objectUnknown)
            try world.store.deleteLetter(BLAKE2b.hash(good), for: alice.owner)
            #expect(try world.store.letters(for: alice.owner).entries.isEmpty)
            // The longest letter.
            let short = bob.letter(to: alice, .contactRequest, scope: alice.id, sealedByteCount: 300).count - 300
            let longest = ServerLimits.letterByteCountMax - short
            let limit = bob.letter(to: alice, .contactRequest, scope: alice.id, sealedByteCount: longest)
            let above = bob.letter(to: alice, .contactRequest, scope: alice.id, sealedByteCount: longest + 1)
            #expect(limit.count == ServerLimits.letterByteCountMax)
            #expect(refusal(world, above, from: bob, to: alice.id) == .malformed)
            #expect(refusal(world, limit, from: bob, to: alice.id) == nil)
            _ = try world.used(bob)
        },
        StoreCheck(name: "fellow members ask for keys, and have no other door; 64 letters wait") { world in
            let shared = try SharedVault(world)
            let (vault, recipient) = (shared.vault, shared.owner)
            try world.store.post(
                LetterPost([recipient.keyLetter(to: shared.writer, of: vault)]), to: vault.id, by: recipient.owner)
            #expect(try world.store.keys(of: vault.id, for: shared.viewer.owner).lacking == [shared.added.id])
            let wanted = shared.writer.letter(to: recipient, .keyWanted, scope: vault.id, subject: [0x81, 0x01])
            #expect(refusal(world, wanted, from: shared.writer, to: recipient.id) == nil)
            let lacking = try world.store.keys(of: vault.id, for: shared.viewer.owner).lacking
            #expect(Set(lacking) == [shared.added.id, shared.writer.id], "it asked for the key anew")
            let other = shared.writer.letter(to: recipient, .contactRequest, scope: recipient.id)
            #expect(refusal(world, other, from: shared.writer, to: recipient.id) == .notAllowed)
            let foreign = shared.stranger.letter(to: recipient, .keyWanted, scope: vault.id, subject: [0x81, 0x01])
            #expect(refusal(world, foreign, from: shared.stranger, to: recipient.id) == .notAllowed)
            // Nor one about a vault in which they are not together.
            let elsewhere = try world.logVault(shared.writer)
            let share = shared.writer.letter(to: recipient, .recoveryShare, scope: elsewhere.id)
            #expect(refusal(world, share, from: shared.writer, to: recipient.id) == .notAllowed)
            // One of each sender, purpose and scope waits; 64 in all.
            let contacts = try (0..<ServerLimits.letterCountMax / 2).map { _ in try world.account() }
            try world.store.setContacts(ContactList(contacts.map(\.id)), of: recipient.owner)
            for (number, contact) in contacts.enumerated() {
                let purposes: [LetterPurpose] = number == 0 ? [.contactRequest] : [.contactRequest, .contactAnswer]
                for purpose in purposes {
                    let letter = contact.letter(to: recipient, purpose, scope: recipient.id)
                    #expect(refusal(world, letter, from: contact, to: recipient.id) == nil)
                }
            }
            let full = shared.viewer.letter(to: recipient, .keyWanted, scope: vault.id, subject: [0x81, 0x01])
            #expect(refusal(world, full, from: shared.viewer, to: recipient.id) == .lettersFull)
            #expect(refusal(world, wanted, from: shared.writer, to: recipient.id) == nil, "in place of the one there")
            #expect(try world.store.letters(for: recipient.owner).entries.count == ServerLimits.letterCountMax)
            for account in shared.members { _ = try world.used(account) }
        },
        StoreCheck(name: "R78: nobody is added without his leave, nor to more than 16 vaults that wait for him") {
            world in
            let (owner, other) = (try world.account(), try world.account())
            let vault = try world.logVault(owner)
            let add = vault.link(.add(other.stated, .viewer))
            #expect(code { _ = try world.store.take([vault.item(add)], by: owner.owner) } == .notAllowed)
            let nobody = vault.link(.add(try TestAccount().stated, .viewer))
            #expect(code { _ = try world.store.take([vault.item(nobody)], by: owner.owner) } == .notAllowed)
            // With a letter under a token it is as with a contact.
            let token = SystemRandomSource().bytes(count: 32)
            try world.store.setToken(
                ContactToken(hash: BLAKE2b.hash(token), expiry: UInt64(world.clock.now + day), useCount: 1),
                of: other.owner)
            let request = owner.letter(to: other, .contactRequest, scope: other.id)
            #expect(refusal(world, request, from: owner, to: other.id, token: token) == nil)
            try world.post(add, to: vault)
            for _ in 1..<ServerLimits.waitingVaultCountMax {
                let next = try world.logVault(owner)
                try world.post(next.link(.add(other.stated, .viewer)), to: next)
            }
            let last = try world.logVault(owner)
            let more = last.link(.add(other.stated, .viewer))
            #expect(code { _ = try world.store.take([last.item(more)], by: owner.owner) } == .lettersFull)
            let adding = try #require(Bytes32(vault.hash(vault.links.count - 1)))
            try world.post(vault.link(.accept(addingLink: adding), by: other), to: vault, by: other)
            #expect(try world.numbers([last.item(more)], by: owner.owner) != nil, "one waits no more")
            // A link that is there is taken again, whatever the list says by now.
            try world.store.setContacts(ContactList([]), of: other.owner)
            #expect(try world.numbers([last.item(more)], by: owner.owner) != nil)
        },
        StoreCheck(name: "any member puts back a vault that a restored server lost, and nobody else") { world in
            let (owner, member, stranger) = (try world.account(), try world.account(), try world.account())
            let vault = try LogVault(owner)
            // What another server took.
            vault.take(vault.link(.add(member.stated, .writer)))
            vault.take(vault.link(.accept(addingLink: try #require(Bytes32(vault.hash(1)))), by: member))
            for _ in 0..<6 { vault.take(vault.link()) }
            let items = vault.links.map { vault.item($0) }
            #expect(
                try world.store.take(items, by: stranger.owner) == .untrusted("trust.member.founder-differs"))
            #expect(
                try world.store.take([items[0]], by: member.owner) == .untrusted("trust.member.founder-differs"))
            #expect(try world.numbers(items, by: member.owner) == Array(0..<UInt64(items.count)))
            let entries = try [owner, member].map { try world.store.memberships(of: $0.owner).entries }
            #expect(entries.map { $0.map(\.zone) } == [[vault.id], [vault.id]])
            #expect(entries.map { $0.first?.founder } == [owner.id, owner.id])
            #expect(try world.numbers(items, by: owner.owner) != nil, "asked again, by another")
            #expect(
                try world.store.usage(of: member.owner).usedByteCount > world.store.usage(of: owner.owner).usedByteCount
            )
            _ = (try world.used(owner), try world.used(member))
        },
        StoreCheck(name: "contact lists, tokens and their limits") { world in
            let account = try world.account()
            let token = { (byte: UInt8, expiry: Int64, uses: UInt64) in
                try world.store.setToken(
                    ContactToken(
                        hash: [UInt8](repeating: byte, count: 32), expiry: UInt64(world.clock.now + expiry),
                        useCount: uses), of: account.owner)
            }
            for byte: UInt8 in 1...32 { try token(byte, day, 1) }
            #expect(code { try token(33, day, 1) } == .quotaExceeded)
            try token(32, day, 2)
            try token(1, day, 0)
            try token(33, day, 255)
            #expect(code { try token(1, day, 256) } == .malformed)
            #expect(code { try token(1, 367 * day, 1) } == .malformed)
            world.clock.now += 2 * day
            for byte: UInt8 in 1...32 { try token(byte, day, 1) }
            let many = (0..<ServerLimits.contactCountMax).map {
                UInt64($0).bigEndianBytes + [UInt8](repeating: 0, count: 24)
            }
            try world.store.setContacts(ContactList(many + many), of: account.owner)
            try world.store.setContacts(ContactList([]), of: account.owner)
        },
    ]

    private static let guests: [StoreCheck] = [
        StoreCheck(
            name: "R84: a guest has no zones, counts on its sponsor, and fills a tenth of its space",
            quota: {
                var quota = Quota()
                quota.byteCount = 200_000
                quota.guestCount = 2
                return quota
            }()
        ) { world in
            let sponsor = try world.account()
            let vault = try world.logVault(sponsor)
            let invitation = try world.store.inviteGuest(by: sponsor.owner).invitation
            let guest = try TestAccount()
            let registration = AccountRegistration(link: guest.firstLink, invitation: invitation)
            guard case .appended = try world.store.register(registration, policy: .invitation) else {
                Issue.record("the guest was refused")
                return
            }
            let second = try TestAccount()
            #expect(
                code {
                    _ = try world.store.register(
                        AccountRegistration(link: second.firstLink, invitation: invitation), policy: .invitation)
                } == .invitationInvalid, "once")
            #expect(try world.store.usage(of: guest.owner).byteCountMax == 20_000)
            let own = try LogVault(guest)
            #expect(code { _ = try world.store.take([own.item(own.links[0])], by: guest.owner) } == .forbidden)
            #expect(code { _ = try world.store.inviteGuest(by: guest.owner) } == .forbidden)
            try world.add(guest, .writer, to: vault)
            let before = try world.store.usage(of: sponsor.owner).usedByteCount
            let push = { (byteCount: Int) in
                let object = ZoneObject.random(byteCount: byteCount)
                let push = vault.push([object], from: nil, to: nil, by: guest.device)
                _ = try world.store.push(push, to: vault.id, by: guest.owner)
            }
            try push(10_000)
            #expect(code { try push(10_000) } == .quotaExceeded)
            #expect(try world.store.usage(of: sponsor.owner).usedByteCount == before + 10_256)
            _ = (try world.used(sponsor), try world.used(guest))
            // What the guest leaves is the sponsor's; the guest itself is paid for on.
            try world.remove(guest, from: vault)
            #expect(try world.used(guest) == 0)
            _ = try world.used(sponsor)
            // Two guests, invited ones counted.
            _ = try world.store.inviteGuest(by: sponsor.owner)
            #expect(code { _ = try world.store.inviteGuest(by: sponsor.owner) } == .guestsUsedUp)
            world.clock.now += 15 * day
            _ = try world.store.inviteGuest(by: sponsor.owner)
            // What a guest knows of people has a place; two of its devices may have made one.
            for count in 1...3 {
                let people = try LogVault(guest, for: .account)
                let post = { try world.store.take([people.item(people.links[0])], by: guest.owner) }
                if count < 3 { _ = try post() } else { #expect(code { _ = try post() } == .quotaExceeded) }
            }
            // The operator makes it an account like others.
            try world.store.makeFull(guest.id)
            #expect(code { try world.store.makeFull(guest.id) } == .accountUnknown)
            #expect(try world.store.usage(of: guest.owner).byteCountMax == 200_000)
            #expect(try world.numbers([own.item(own.links[0])], by: guest.owner) == [0])
            _ = (try world.used(sponsor), try world.used(guest))
        }
    ]
}
