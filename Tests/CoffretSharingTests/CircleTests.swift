// Circles: who gets a share, when it is given, and what a set of shares is worth.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretSharing

@Suite("Recovery contacts")
struct RecoveryContactTests {
    private static let hour: Milliseconds = 3_600_000

    private let generator = SeededGenerator.fromEnvironment()

    private func people(_ count: Int) throws -> [Person] { try (0..<count).map { _ in try Person(generator) } }

    private func session(_ byte: UInt8) throws -> CircleSession {
        try #require(
            CircleSession(
                key: [UInt8](repeating: byte, count: 32),
                nonce: [UInt8](repeating: byte, count: CircleSession.nonceByteCount)))
    }

    private func code<Result>(_ body: () throws -> Result) -> String? {
        do {
            _ = try body()
            return nil
        } catch let error as SharingError {
            return error.code.rawValue
        } catch let error as MemberError {
            return error.code.rawValue
        } catch {
            return "\(error)"
        }
    }

    private func content(_ share: CircleShare) throws -> RecoveryShareContent {
        guard case .recoveryShare(let content) = share.letter else { throw SharingError(.letterInvalid) }
        return content
    }

    @Test("R87, R24: nothing is armed before all have accepted, by the founder's program or by the chain")
    func consentBeforeArming() throws {
        var circle = try TestCircle(people(4), generator)
        for number in 1...3 { try circle.add(number) }
        try circle.accept(1)
        try circle.accept(2)
        #expect(code { try CircleArmament(of: circle.view(), random: generator) } == "recovery.consent-required")
        // A program of the founder that arms all the same.
        let rows = circle.people.dropFirst().map(\.accountID).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .enumerated().map { CircleShareRow(accountID: $1, x: UInt8($0 + 1), shareHash: Bytes32(1, 2, 3, 4)) }
        let paper = UniqueID.generate(from: generator)
        #expect(code { try circle.append(.arm(paper: paper, shares: rows), by: 0) } == "recovery.consent-required")
        try circle.accept(3)
        #expect(try CircleArmament(of: circle.view(), random: generator).shares.count == 3)
    }

    @Test("R87: nobody becomes a contact by the word of another contact, of a stranger, or for somebody else")
    func silentEnrolment() throws {
        var circle = try TestCircle(people(4), generator)
        try circle.add(1)
        let (bob, carol) = (circle.people[1], circle.people[2])
        let head = try #require(Bytes32(carol.chain.head.linkHash))
        let adding = circle.rights.links[1].hash
        #expect(
            code { try circle.append(.add(StatedHead(accountID: carol.accountID, device: head), .contact), by: 1) }
                == "trust.member.not-permitted")
        #expect(code { try circle.append(.accept(addingLink: adding), by: 2) } == "trust.member.not-permitted")
        // Somebody else's device accepts in the name of the one who was added.
        #expect(
            code { try circle.append(.accept(addingLink: adding), by: 1, signedBy: carol.signing) }
                == "trust.link.signer-unknown")
        try circle.accept(1)
        #expect(try circle.view().isContact(bob.accountID))
    }

    @Test(
        "R87: a share is taken by a contact who accepted, from the founder, and only the one that the chain commits to")
    func takingShares() throws {
        var circle = try TestCircle(people(4), generator)
        let before = circle
        let armament = try circle.arm(generator)
        let view = try circle.view()
        let (alice, bob, carol) = (
            circle.people[0].accountID, circle.people[1].accountID, circle.people[2].accountID
        )
        let (mine, theirs) = (try #require(armament.shares[bob]), try #require(armament.shares[carol]))
        let letter = try content(mine)
        let taken = try CircleShare.take(letter, from: alice, for: bob, in: view)
        #expect(taken.x == mine.x && taken.paper == armament.paper.deviceID && taken.share.isEqual(to: mine.share))

        let stranger = try Person(generator).accountID
        #expect(
            code { try CircleShare.take(letter, from: alice, for: stranger, in: view) } == "recovery.consent-required")
        var added = before
        try added.add(1)
        #expect(
            code { try CircleShare.take(letter, from: alice, for: bob, in: added.view()) }
                == "recovery.consent-required")
        let invalid = "recovery.request.share-invalid"
        #expect(code { try CircleShare.take(letter, from: carol, for: bob, in: view) } == invalid)
        #expect(code { try CircleShare.take(content(theirs), from: alice, for: bob, in: view) } == invalid)
        let altered = [
            RecoveryShareContent(x: letter.x, threshold: 3, count: 3, share: letter.share),
            RecoveryShareContent(x: letter.x, threshold: 2, count: 4, share: letter.share),
            RecoveryShareContent(x: letter.x % 3 + 1, threshold: 2, count: 3, share: letter.share),
            RecoveryShareContent(x: letter.x, threshold: 2, count: 3, share: theirs.share),
        ]
        for content in altered {
            #expect(code { try CircleShare.take(content, from: alice, for: bob, in: view) } == invalid)
        }
        var accepted = before
        try accepted.add(1)
        try accepted.accept(1)
        #expect(code { try CircleShare.take(letter, from: alice, for: bob, in: accepted.view()) } == invalid)
    }

    @Test("R87: a share comes in a letter of the founder's device, and opens for its contact alone")
    func letters() throws {
        var circle = try TestCircle(people(3), generator)
        let armament = try circle.arm(generator)
        let (alice, bob, carol) = (circle.people[0], circle.people[1], circle.people[2])
        let share = try #require(armament.shares[bob.accountID])
        let letter = try LetterSealing.seal(
            share.letter, scope: share.circleID.bytes, subject: .none, from: alice.sender, to: bob.recipient(),
            random: generator)
        guard
            case .recoveryShare(let content) = try bob.opener.open(
                letter, from: alice.devices, in: .circle(circle.rights.vaultID))
        else {
            Issue.record("another content")
            return
        }
        let taken = try CircleShare.take(
            content, from: letter.header.sender, for: bob.accountID, in: circle.view())
        #expect(taken.share.isEqual(to: share.share))
        #expect(
            code { try carol.opener.open(letter, from: alice.devices, in: .circle(circle.rights.vaultID)) }
                == "keys.letter.invalid")
        let other = try TestCircle([alice, bob, carol], generator)
        #expect(
            code { try bob.opener.open(letter, from: alice.devices, in: .circle(other.rights.vaultID)) }
                == "keys.letter.invalid")
    }

    /// A circle of three, two of whom give, with a request by Bob at 0 o'clock.
    private func requested(
        hours: Int = 24
    ) throws -> (circle: TestCircle, armament: CircleArmament, memory: CircleMemory, session: CircleSession) {
        var circle = try TestCircle(people(4), hours: hours, generator)
        let armament = try circle.arm(generator)
        let session = try session(1)
        var memory = CircleMemory()
        memory.follow(try circle.view(), now: 0)
        try circle.append(
            memory.request(session, in: circle.view(), by: circle.people[1].accountID, now: 0), by: 1)
        memory.follow(try circle.view(), now: 0)
        return (circle, armament, memory, session)
    }

    /// Looks each six hours, a quarter of 24, up to an hour of the clock.
    private func look(_ memory: inout CircleMemory, _ view: CircleView, from start: Int, to end: Int) {
        for hour in stride(from: start, through: end, by: 6) {
            memory.follow(view, now: Milliseconds(hour) * Self.hour)
        }
        memory.follow(view, now: Milliseconds(end) * Self.hour)
    }

    @Test("R86, R25: a share is given after the waiting time by the contact's own clock, and not before")
    func waiting() throws {
        let made = try requested()
        var (circle, memory) = (made.circle, made.memory)
        let (armament, session) = (made.armament, made.session)
        let carol = circle.people[2].accountID
        let share = try #require(armament.shares[carol])
        // Carol's program hears of the request ten hours later.
        var late = CircleMemory()
        let view = try circle.view()
        var last = 10
        for (hour, expected) in [
            (10, "recovery.request.too-early"), (24, "recovery.request.too-early"), (33, "recovery.request.too-early"),
            (34, nil),
        ] as [(Int, String?)] {
            look(&late, view, from: last, to: hour)
            last = hour
            let now = Milliseconds(hour) * Self.hour
            #expect(code { try late.release(share, to: session, in: view, by: carol, now: now) } == expected, "\(hour)")
        }
        look(&memory, view, from: 0, to: 24)
        let bob = circle.people[1].accountID
        let own = try #require(armament.shares[bob])
        try circle.append(memory.release(own, to: session, in: view, by: bob, now: 24 * Self.hour), by: 1)
        try circle.append(late.release(share, to: session, in: circle.view(), by: carol, now: 34 * Self.hour), by: 2)
        #expect(try circle.view().requests[0].releases.count == 2)
    }

    @Test("R86: stated times shorten nothing, and a jump of the clock shortens the wait by a quarter")
    func clocks() throws {
        var circle = try TestCircle(people(4), generator)
        let armament = try circle.arm(generator)
        let session = try session(1)
        let carol = circle.people[2].accountID
        let share = try #require(armament.shares[carol])
        // A server and a contact with an altered program state a request of years ago.
        let request = session.request(in: circle.rights.vaultID)
        try circle.append(.request(request, time: -1_000_000 * Self.hour), by: 1)
        let view = try circle.view()
        func refusal(_ memory: CircleMemory, _ now: Milliseconds) -> String? {
            code { try memory.release(share, to: session, in: view, by: carol, now: now) }
        }
        let year = 8_760 * Self.hour
        var memory = CircleMemory()
        memory.follow(view, now: 0)
        #expect(refusal(memory, 0) == "recovery.request.too-early")
        #expect(memory.rest(of: request, in: view) == 24 * Self.hour)
        // The clock stood at its beginning, is mended, goes back, and is mended again.
        for (now, rest) in [(50 * year, 18), (0, 18), (-year, 18), (50 * year, 12), (50 * year + Self.hour, 11)] {
            memory.follow(view, now: now)
            #expect(memory.rest(of: request, in: view) == Milliseconds(rest) * Self.hour, "\(now)")
            #expect(refusal(memory, now) == "recovery.request.too-early")
        }
        memory.follow(view, now: .max)
        memory.follow(view, now: .min)
        memory.follow(view, now: .max)
        #expect(memory.rest(of: request, in: view) == 5 * Self.hour)
        memory.follow(view, now: 0)
        memory.follow(view, now: 5 * Self.hour)
        #expect(refusal(memory, 5 * Self.hour) == nil)
        // The last look is in the future, or too old.
        #expect(refusal(memory, 5 * Self.hour - 1) == "recovery.request.unrecorded")
        #expect(refusal(memory, 5 * Self.hour + CircleMemory.freshness) == nil)
        #expect(refusal(memory, 5 * Self.hour + CircleMemory.freshness + 1) == "recovery.request.unrecorded")
        #expect(refusal(CircleMemory(), 0) == "recovery.request.unrecorded")
    }

    @Test("R86: a request that nobody recorded, and a release for another machine's request")
    func unrecordedAndReplayed() throws {
        let made = try requested()
        var (circle, memory) = (made.circle, made.memory)
        let (armament, session) = (made.armament, made.session)
        let bob = circle.people[1].accountID
        let share = try #require(armament.shares[bob])
        let later = 102 * Self.hour
        let view = try circle.view()
        look(&memory, view, from: 0, to: 102)
        #expect(
            code { try memory.release(share, to: self.session(2), in: view, by: bob, now: later) }
                == "recovery.request.unrecorded")
        let otherNonce = try #require(CircleSession(key: session.key, nonce: [UInt8](repeating: 9, count: 32)))
        #expect(
            code { try memory.release(share, to: otherNonce, in: view, by: bob, now: later) }
                == "recovery.request.unrecorded")
        // The release that stands for one request is none for another.
        let release = try memory.release(share, to: session, in: view, by: bob, now: later)
        try circle.append(release, by: 1)
        #expect(code { try circle.append(release, by: 1) } == "trust.member.not-permitted")
        let second = try self.session(2)
        try circle.append(memory.request(second, in: circle.view(), by: bob, now: later), by: 1)
        memory.follow(try circle.view(), now: later)
        #expect(
            code { try memory.release(share, to: second, in: circle.view(), by: bob, now: later) }
                == "recovery.request.too-early")
        #expect(CircleSession(key: [1], nonce: session.nonce) == nil)
    }

    @Test("R86: a share of another circle is given to nobody, though the same people are in both")
    func otherCircle() throws {
        let (circle, armament, _, session) = try requested()
        var other = try TestCircle(circle.people, generator)
        let bob = circle.people[1].accountID
        let otherArmament = try other.arm(generator)
        try other.append(.request(session.request(in: other.rights.vaultID), time: 0), by: 1)
        var memory = CircleMemory()
        let view = try other.view()
        look(&memory, view, from: 0, to: 24)
        let wrong = try #require(armament.shares[bob])
        #expect(
            code { try memory.release(wrong, to: session, in: view, by: bob, now: 24 * Self.hour) }
                == "recovery.request.share-invalid")
        let right = try #require(otherArmament.shares[bob])
        #expect(code { try memory.release(right, to: session, in: view, by: bob, now: 24 * Self.hour) } == nil)
        // One session makes different requests in two circles.
        #expect(session.request(in: circle.rights.vaultID) != session.request(in: other.rights.vaultID))
    }

    @Test("R86: a prohibition ends a request, and nothing is asked or given for a day behind it")
    func forbidden() throws {
        let made = try requested()
        var (circle, memory) = (made.circle, made.memory)
        let (armament, session) = (made.armament, made.session)
        let (bob, carol) = (circle.people[1].accountID, circle.people[2].accountID)
        let share = try #require(armament.shares[carol])
        try circle.append(.forbid(session.request(in: circle.rights.vaultID)), by: 0)
        let view = try circle.view()
        look(&memory, view, from: 0, to: 30)
        #expect(
            code { try memory.release(share, to: session, in: view, by: carol, now: 30 * Self.hour) }
                == "recovery.request.forbidden")
        // The prohibition was first seen at 0 o'clock: it is quiet until 24.
        var other = CircleMemory()
        let second = try self.session(2)
        for hour in [0, 23] {
            look(&other, view, from: 0, to: hour)
            #expect(
                code { try other.request(second, in: view, by: bob, now: Milliseconds(hour) * Self.hour) }
                    == "recovery.request.forbidden")
        }
        // A contact with an altered program asks at 23 o'clock all the same: the others count from 24 on, with their next look.
        try circle.append(.request(second.request(in: circle.rights.vaultID), time: 0), by: 1)
        let renewed = try circle.view()
        var last = 23
        for hour in [23, 24, 47, 48] {
            look(&other, renewed, from: last, to: hour)
            last = hour
            let expected = hour < 48 ? "recovery.request.too-early" : nil
            let now = Milliseconds(hour) * Self.hour
            #expect(
                code { try other.release(share, to: second, in: renewed, by: carol, now: now) } == expected, "\(hour)")
        }
        // A program that hears of both at once waits for both.
        var late = CircleMemory()
        look(&late, renewed, from: 0, to: 42)
        #expect(
            code { try late.release(share, to: second, in: renewed, by: carol, now: 42 * Self.hour) }
                == "recovery.request.too-early")
        look(&late, renewed, from: 42, to: 48)
        #expect(code { try late.release(share, to: second, in: renewed, by: carol, now: 48 * Self.hour) } == nil)
        #expect(code { try late.request(self.session(3), in: renewed, by: bob, now: 48 * Self.hour) } == nil)
    }

    @Test("R86: a request by a contact's device that was revoked counts no more, and its time is forgotten")
    func revokedContact() throws {
        var circle = try TestCircle(people(4), generator)
        let phone = SigningKey.generate(from: generator)
        let (keys, id) = (
            DeviceKeys(
                signing: phone.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
                noise: AgreementKey.generate(from: generator).publicKey), UniqueID.generate(from: generator)
        )
        let chain = circle.people[1].chain
        try circle.people[1].follow(
            .add(
                id: id, kind: .ordinary, keys: keys,
                countersignature: DeviceOperation.countersign(
                    id: id, keys: keys, chainID: chain.accountID, sequenceNumber: UInt64(chain.links.count), with: phone
                )))
        let armament = try circle.arm(generator)
        let session = try session(1)
        let request = session.request(in: circle.rights.vaultID)
        try circle.append(.circle(.request(request, time: 0)), by: 1, signedBy: phone)
        let carol = circle.people[2].accountID
        let share = try #require(armament.shares[carol])
        var memory = CircleMemory()
        memory.follow(try circle.view(), now: 0)
        let now = 24 * Self.hour
        look(&memory, try circle.view(), from: 0, to: 18)
        try circle.people[1].follow(.revoke(id: id))
        memory.follow(try circle.view(), now: now)
        #expect(
            code { try memory.release(share, to: session, in: circle.view(), by: carol, now: now) }
                == "recovery.request.unrecorded")
        // Bob stands by what his phone wrote: the wait begins then.
        try circle.append(.state, by: 1, confirms: [circle.people[1].accountID])
        memory.follow(try circle.view(), now: now)
        #expect(
            code { try memory.release(share, to: session, in: circle.view(), by: carol, now: now) }
                == "recovery.request.too-early")
        look(&memory, try circle.view(), from: 24, to: 48)
        #expect(code { try memory.release(share, to: session, in: circle.view(), by: carol, now: 2 * now) } == nil)
    }

    @Test("a circle that does not serve, or where one is no contact, records and gives nothing")
    func notServing() throws {
        var circle = try TestCircle(people(4), generator)
        for number in 1...3 { try circle.add(number) }
        var memory = CircleMemory()
        memory.follow(try circle.view(), now: 0)
        let session = try session(1)
        for person in circle.people {
            #expect(
                code { try memory.request(session, in: circle.view(), by: person.accountID, now: 0) }
                    == "recovery.consent-required")
        }
        #expect(
            code { try CircleMemory().request(session, in: circle.view(), by: circle.people[1].accountID, now: 0) }
                == "recovery.request.unrecorded")
    }

    @Test("a memory is written and read back, and other bytes are none")
    func memoryBytes() throws {
        let made = try requested()
        var (circle, memory) = (made.circle, made.memory)
        let session = made.session
        try circle.append(.forbid(session.request(in: circle.rights.vaultID)), by: 0)
        memory.follow(try circle.view(), now: Self.hour)
        memory.follow(try circle.view(), now: -5)
        let bytes = memory.encoded
        #expect(CircleMemory(decoding: bytes) == memory)
        #expect(CircleMemory(decoding: CircleMemory().encoded) == CircleMemory())
        #expect(memory.lastLook == -5 && memory.requests.count == 1 && memory.prohibitions.count == 1)
        for count in bytes.indices { #expect(CircleMemory(decoding: Array(bytes[..<count])) == nil) }
        #expect(CircleMemory(decoding: bytes + [0]) == nil)
    }

    @Test("every two of three shares give the paper device that the account trusts")
    func joining() throws {
        var circle = try TestCircle(people(4), generator)
        let armament = try circle.arm(generator)
        let shares = circle.people.dropFirst().compactMap { armament.shares[$0.accountID] }
        #expect(shares.count == 3)
        for left in shares.indices {
            let sheet = try CircleShare.sheet(from: shares.indices.filter { $0 != left }.map { shares[$0] })
            #expect(sheet.accountID == circle.people[0].accountID)
            #expect(PaperDevice(sheet.key).isTrusted(in: circle.people[0].chain))
        }
        for share in shares {
            #expect(code { try CircleShare.sheet(from: [share]) } == "recovery.request.share-invalid")
        }
        #expect(code { try CircleShare.sheet(from: []) } == "recovery.request.share-invalid")
    }

    @Test("wrong shares are found by trying subsets, and shares of a liar's circle are not mixed in")
    func lyingContacts() throws {
        var circle = try TestCircle(people(6), threshold: 3, generator)
        let armament = try circle.arm(generator)
        var shares = circle.people.dropFirst().compactMap { armament.shares[$0.accountID] }
        func altered(_ share: CircleShare, paper: UniqueID? = nil, terms: CircleTerms? = nil) -> CircleShare {
            CircleShare(
                circleID: share.circleID, founder: share.founder, paper: paper ?? share.paper,
                terms: terms ?? share.terms, x: share.x, share: .generate(from: generator))
        }
        shares[0] = altered(shares[0])
        shares[3] = altered(shares[3])
        let lies = [
            altered(shares[1], paper: .generate(from: generator)),
            altered(shares[1], terms: CircleTerms(threshold: 2, count: 5, hours: 24)),
            altered(shares[1]),
        ]
        let sheet = try CircleShare.sheet(from: lies + shares)
        #expect(PaperDevice(sheet.key).deviceID == armament.paper.deviceID)
        // Two true ones of three are too few, with whatever lies.
        #expect(
            code { try CircleShare.sheet(from: lies + [shares[0], shares[3], shares[1], shares[2]]) }
                == "recovery.request.share-invalid")
    }
}
