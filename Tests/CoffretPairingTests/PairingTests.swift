// Pairing as it should go, and everything that must end it.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretPairing

@Suite("Pairing")
struct PairingTests {
    private func paired(_ fixture: PairingFixture) throws -> Wire {
        let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
        try wire.start()
        wire.take(try wire.approver.enter(try #require(wire.firstCode), now: 2))
        wire.take(try wire.requester.enter(try #require(wire.secondCode), now: 3))
        try wire.pump()
        return wire
    }

    @Test("two codes, one on each side; then the new device countersigns and content flows")
    func codes() throws {
        let fixture = try PairingFixture()
        let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
        try wire.start()
        #expect(wire.approverEvents.contains(.askCode(fixture.requester)))
        #expect(wire.secondCode == nil, "shown only after the first code was right")
        let first = try #require(wire.firstCode)
        #expect(first.count == 7)
        wire.take(try wire.approver.enter(first, now: 2))
        #expect(!wire.requesterEvents.contains { if case .trusted = $0 { true } else { false } })
        #expect(failure { try wire.approver.askCountersignature(sequenceNumber: 1) } == .outOfOrder)
        wire.take(try wire.requester.enter(try #require(wire.secondCode).filter { $0 != " " }, now: 3))
        #expect(wire.requesterEvents.contains(.trusted(fixture.approver)))
        try wire.pump()
        #expect(wire.approverEvents.last == .confirmed(fixture.requester))
        try wire.send(wire.approver.askCountersignature(sequenceNumber: 1), isFromApprover: true)
        guard case .countersigned(let operation, sequenceNumber: 1) = try #require(wire.approverEvents.last) else {
            Issue.record("no countersignature")
            return
        }
        let link = fixture.account.sign(operation, details: [], with: fixture.ownerKey)
        #expect(try fixture.account.following([link]).chain.device(fixture.requester.deviceID)?.isTrusted == true)
        let content = fixture.generator.bytes(count: 200_000)
        try wire.send(wire.approver.send(content: content), isFromApprover: true)
        #expect(wire.requesterEvents.last == .content(content))
        try wire.send(wire.requester.send(content: [1]), isFromApprover: false)
        #expect(wire.approverEvents.last == .content([1]))
    }

    @Test("R26: a wrong first code, one guess, and nothing can be done with the attempt any more")
    func wrongFirstCode() throws {
        let fixture = try PairingFixture()
        let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
        try wire.start()
        let right = try #require(wire.firstCode)
        let wrong = (right.hasPrefix("0") ? "1" : "0") + right.dropFirst()
        #expect(failure { try wire.approver.enter(wrong, now: 2) } == .mismatch)
        #expect(failure { try wire.approver.enter(right, now: 2) } == .outOfOrder)
        #expect(wire.secondCode == nil)
        #expect(failure { try wire.requester.receive(wire.approver.farewell[0], now: 2) } == .endedByPeer)
        #expect(failure { try wire.requester.enter("000000", now: 2) } == .outOfOrder)
    }

    @Test("R26: a wrong second code: the new device keeps nothing, the other one signs nothing")
    func wrongSecondCode() throws {
        let fixture = try PairingFixture()
        let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
        try wire.start()
        wire.take(try wire.approver.enter(try #require(wire.firstCode), now: 2))
        let right = try #require(wire.secondCode)
        let wrong = (right.hasPrefix("0") ? "1" : "0") + right.dropFirst()
        #expect(failure { try wire.requester.enter(wrong, now: 3) } == .mismatch)
        #expect(failure { try wire.requester.enter(right, now: 3) } == .outOfOrder)
        #expect(!wire.requesterEvents.contains { if case .trusted = $0 { true } else { false } })
        #expect(failure { try wire.approver.receive(wire.requester.farewell[0], now: 3) } == .endedByPeer)
        #expect(failure { try wire.approver.askCountersignature(sequenceNumber: 1) } == .outOfOrder)
    }

    @Test("R26: the new device does not believe that the other one accepted")
    func acceptedByImpostor() throws {
        let fixture = try PairingFixture()
        let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
        try wire.start()
        // The other side, perhaps somebody in the middle, goes on as if the codes had been right.
        let frames = try #require(forged(wire.approver))
        #expect(failure { try wire.requester.receive(frames, now: 2) } != nil)
        #expect(!wire.requesterEvents.contains { if case .trusted = $0 { true } else { false } })
    }

    /// Any frame that the approver can make at this point.
    private func forged(_ approver: PairingApprover) -> [UInt8]? {
        approver.giveUp()
        return approver.farewell.first
    }

    @Test("R26: codes of one attempt are worth nothing in the next")
    func codeReuse() throws {
        let fixture = try PairingFixture()
        var codes: Set<String> = []
        for _ in 0..<8 {
            let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
            try wire.start()
            let code = try #require(wire.firstCode)
            for old in codes where old != code {
                let next = try Wire(fixture.makeRequester(), fixture.makeApprover())
                try next.start()
                if next.firstCode != old { #expect(failure { try next.approver.enter(old, now: 2) } == .mismatch) }
            }
            codes.insert(code)
        }
        #expect(codes.count > 6)
    }

    @Test(
        "R26: every frame altered, doubled, left out or taken from another session ends the attempt or changes nothing")
    func tampering() throws {
        let fixture = try PairingFixture()
        var other: [[UInt8]] = []
        let first = try Wire(fixture.makeRequester(), fixture.makeApprover())
        first.tamper = { frame, _ in
            other.append(frame)
            return [frame]
        }
        try first.start()
        #expect(other.count == 5)
        for index in other.indices {
            for kind in 0..<4 {
                let wire = try Wire(fixture.makeRequester(), fixture.makeApprover())
                var number = 0
                wire.tamper = { frame, _ in
                    defer { number += 1 }
                    guard number == index else { return [frame] }
                    var changed = frame
                    changed[fixture.generator.int(in: 0...frame.count - 1)] ^= 1 << fixture.generator.int(in: 0...7)
                    return [[changed], [frame, frame], [], [other[index]]][kind]
                }
                let error = failure { try wire.start() }
                // Without an error nobody was asked for a code.
                let isAsked = wire.approverEvents.contains { if case .askCode = $0 { true } else { false } }
                #expect(error != nil || !isAsked, "frame \(index), kind \(kind)")
            }
        }
    }

    @Test("R26: delay beyond ten minutes, by either side's clock, and a clock set back")
    func delay() throws {
        let fixture = try PairingFixture()
        let wire = try Wire(fixture.makeRequester(now: 1_000), fixture.makeApprover(now: 1_000))
        try wire.start(now: 1_001)
        let code = try #require(wire.firstCode)
        #expect(failure { try wire.approver.enter(code, now: 601_001) } == .expired)
        #expect(failure { try wire.requester.enter(code, now: 999) } == .expired)
    }

    @Test("R26: a fourth attempt within ten minutes is refused on both sides; success forgets")
    func attempts() throws {
        let fixture = try PairingFixture()
        var (requesterAttempts, approverAttempts) = (PairingAttempts(), PairingAttempts())
        for time in [0, 60_000, 120_000] as [Milliseconds] {
            let wire = try Wire(
                fixture.makeRequester(attempts: requesterAttempts, now: time),
                fixture.makeApprover(attempts: approverAttempts, now: time))
            try wire.start(now: time)
            // Both are recorded before a code is judged.
            for case .record(let attempts) in wire.requesterEvents { requesterAttempts = attempts }
            for case .record(let attempts) in wire.approverEvents { approverAttempts = attempts }
        }
        #expect(requesterAttempts.times.count == 3)
        #expect(failure { try fixture.makeRequester(attempts: requesterAttempts, now: 599_999) } == .paused)
        #expect(failure { try fixture.makeApprover(attempts: approverAttempts, now: 599_999) } == .paused)
        #expect(failure { try fixture.makeApprover(attempts: approverAttempts, now: -5) } == .paused, "clock set back")
        #expect(approverAttempts.pausedUntil(now: 130_000) == 600_000)
        #expect(failure { try fixture.makeApprover(attempts: approverAttempts, now: 600_000) } == nil)
        #expect(PairingAttempts(decoding: approverAttempts.encoded) == approverAttempts)
        #expect(PairingAttempts(decoding: [0xFF]) == nil)
        let wire = try paired(fixture)
        guard
            case .record(let after)? = wire.approverEvents.last(where: { if case .record = $0 { true } else { false } })
        else { return }
        #expect(after == PairingAttempts())
    }

    @Test("R26: devices that see different servers do not pair")
    func serverDiffers() throws {
        let fixture = try PairingFixture()
        let requester = try PairingRequester(
            fixture.requester, signingKey: fixture.requesterKey, relayID: fixture.relayID, isScanned: false,
            serverFingerprint: fixture.generator.bytes(count: 32), attempts: PairingAttempts(),
            random: fixture.generator, now: 0)
        let wire = try Wire(requester, fixture.makeApprover())
        #expect(failure { try wire.start() } == .serverDiffers)
    }

    @Test("R26: a device that was told an account joins no other", arguments: [false, true])
    func accountDiffers(isOwn: Bool) throws {
        let fixture = try PairingFixture()
        let name = isOwn ? Array(fixture.account.accountID.bytes.prefix(8)) : fixture.generator.bytes(count: 8)
        let requester = try PairingRequester(
            fixture.requester, signingKey: fixture.requesterKey, relayID: fixture.relayID, isScanned: false,
            serverFingerprint: fixture.fingerprint, accountName: name, attempts: PairingAttempts(),
            random: fixture.generator, now: 0)
        let wire = try Wire(requester, fixture.makeApprover())
        #expect(failure { try wire.start() } == (isOwn ? nil : .accountDiffers))
        let showsCode = wire.requesterEvents.contains { if case .showCode = $0 { true } else { false } }
        #expect(showsCode == isOwn, "nobody is asked for anything")
    }

    @Test("a scanned code needs no typing")
    func scanned() throws {
        let fixture = try PairingFixture()
        let requester = try fixture.makeRequester(isScanned: true)
        let text = try #require(requester.invitation).text
        #expect(text.allSatisfy { $0.isUppercase || $0.isNumber || $0 == ":" || $0 == "-" })
        let invitation = try PairingInvitation.parse(text)
        #expect(invitation == requester.invitation)
        let wire = try Wire(requester, fixture.makeApprover(invitation))
        try wire.start()
        #expect(wire.approverEvents.contains(.scanned(fixture.requester)))
        #expect(wire.requesterEvents.contains(.trusted(fixture.approver)))
        #expect(wire.approverEvents.last == .confirmed(fixture.requester))
        #expect(failure { try PairingInvitation.parse("COFFRET-PAIR:1:AAAA") } == .invitationMalformed)
        #expect(failure { try PairingInvitation.parse("x") } == .invitationMalformed)
    }

    @Test("R26: with a scanned code: another static key, another secret, or no scan at all are refused")
    func scannedWrongly() throws {
        let fixture = try PairingFixture()
        func run(_ change: (PairingInvitation) -> PairingInvitation?) throws -> PairingError.Code? {
            let requester = try fixture.makeRequester(isScanned: true)
            let wire = try Wire(requester, fixture.makeApprover(change(#require(requester.invitation))))
            return failure { try wire.start() }
        }
        let other = fixture.generator.bytes(count: 32)
        #expect(
            try run { PairingInvitation(relayID: $0.relayID, staticKey: other, secret: $0.secret) } == .mismatch)
        #expect(
            try run { PairingInvitation(relayID: $0.relayID, staticKey: $0.staticKey, secret: other) } == .mismatch)
        #expect(try run { _ in nil } == .mismatch)
        #expect(try run { $0 } == nil)
        // Who types instead of scanning is not answered with a proof that nobody asked for.
        let typed = try fixture.makeRequester()
        let scannedElsewhere = try #require(fixture.makeRequester(isScanned: true).invitation)
        let wire = try Wire(typed, fixture.makeApprover(scannedElsewhere))
        #expect(failure { try wire.start() } == .mismatch)
    }

    @Test("another relay id is another handshake")
    func relayID() throws {
        let fixture = try PairingFixture()
        let approver = try PairingApprover(
            fixture.approver, relayID: fixture.generator.bytes(count: 16), attempts: PairingAttempts(),
            random: fixture.generator, now: 0)
        let wire = try Wire(fixture.makeRequester(), approver)
        #expect(failure { try wire.start() } == .mismatch)
    }

    @Test("the new device countersigns only behind the link that was stated")
    func countersignature() throws {
        let fixture = try PairingFixture()
        let wire = try paired(fixture)
        let frames = try wire.approver.askCountersignature(sequenceNumber: 0)
        #expect(failure { try wire.send(frames, isFromApprover: true) } == .mismatch)
    }

    @Test("R14 fuzz: whatever arrives is an error or a message that encodes to the same bytes")
    func fuzzMessages() throws {
        let fixture = try PairingFixture()
        let samples: [PairingMessage] = [
            .commit(commitment: [UInt8](repeating: 1, count: 32), requester: fixture.requester.encoded),
            .challenge(nonce: [UInt8](repeating: 2, count: 32), approver: fixture.approver.encoded, proof: []),
            .confirm, .askCountersignature(sequenceNumber: 300), .content([1, 2]), .giveUp,
        ]
        for sample in samples { #expect(try PairingMessage(decoding: sample.encoded) == sample) }
        fuzz(samples.map(\.encoded)) { bytes in
            if let message = try? PairingMessage(decoding: bytes) { #expect(message.encoded == bytes) }
        }
        fuzz([fixture.requester.encoded]) { bytes in
            if let identity = try? RequesterIdentity(decoding: bytes) { #expect(identity.encoded == bytes) }
        }
        fuzz([fixture.approver.encoded]) { bytes in
            if let identity = try? ApproverIdentity(decoding: bytes) { #expect(identity.encoded == bytes) }
        }
    }
}
