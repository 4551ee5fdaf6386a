// Somebody in the middle, with a session to each device: against our order of messages, and against the seed's, where
// the attack succeeds. If it did not, this test would not show anything about ours.

import CoffretBase
import CoffretCrypto
import CoffretInterop
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretPairing

@Suite("Pairing: somebody in the middle")
struct MiddleTests {
    let generator = SeededGenerator.fromEnvironment()

    /// The seed's order: commit, show a code over hash and r, type, reveal. Four digits.
    private func seedCode(_ hash: [UInt8], _ nonce: [UInt8]) -> UInt64 {
        BLAKE2b.hash(hash, nonce).prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } % 10_000
    }

    @Test("R26: the seed's order falls every time: after the reveal a collision is searched for")
    func seedOrder() {
        var successCount = 0
        for _ in 0..<20 {
            // h1 with the new device, h2 with the trusted one; the new device has committed to r and shows its code.
            let (first, second) = (generator.bytes(count: 32), generator.bytes(count: 32))
            let nonce = generator.bytes(count: 16)
            let shown = seedCode(first, nonce)
            // It cannot know whether anybody typed: it reveals r when asked. Only now the middle commits.
            for _ in 0..<200_000 {
                let chosen = generator.bytes(count: 16)
                if seedCode(second, chosen) == shown {
                    successCount += 1
                    break
                }
            }
        }
        #expect(successCount == 20)
    }

    /// The middle's own end of a session, playing a new device to the trusted one.
    private struct Impostor {
        var channel: PairingChannel
        let identity: [UInt8]
        let key: SigningKey
        let nonce: [UInt8]
        let commitment: [UInt8]
    }

    /// Runs one attack on the real machines and tells what the person sees on each side.
    private func attack(_ fixture: PairingFixture) throws -> (shown: ShortCode, expected: ShortCode, wire: Wire) {
        let (requester, approver) = (try fixture.makeRequester(), try fixture.makeApprover())
        let wire = try Wire(requester, approver)
        let prologue = PairingChannel.prologue(relayID: fixture.relayID, purpose: .device)
        // Session 1, with the new device: the middle is initiator.
        let one = try NoiseHandshake(NoiseProtocol(.nx), role: .initiator, prologue: prologue)
        var fromRequester = try requester.receive(one.writeMessage(), now: 1).sent
        _ = try one.readMessage(fromRequester.removeFirst())
        var channelOne = PairingChannel(try one.makeSession())
        guard case .commit(_, let requesterBytes)? = try channelOne.open(fromRequester.removeFirst()) else {
            throw PairingError(.mismatch)
        }
        // Session 2, with the trusted device: the middle is responder, and must commit before it learns r_T.
        let two = try NoiseHandshake(
            NoiseProtocol(.nx), role: .responder, prologue: prologue, staticKey: .generate())
        _ = try two.readMessage(approver.start())
        _ = try approver.receive(two.writeMessage(), now: 1)
        let channelTwo = PairingChannel(try two.makeSession())
        let genuine = try RequesterIdentity(decoding: requesterBytes)
        let key = SigningKey.generate(from: generator)
        let identity = RequesterIdentity(
            deviceID: genuine.deviceID, keys: PairingFixture.keys(key, generator), instanceID: genuine.instanceID,
            name: genuine.name, model: genuine.model
        ).encoded
        let nonce = generator.bytes(count: 32)
        var impostor = Impostor(
            channel: channelTwo, identity: identity, key: key, nonce: nonce,
            commitment: PairingTranscript.commitment(
                handshakeHash: channelTwo.handshakeHash, requester: identity, nonce: nonce))
        let commit = try impostor.channel.seal(.commit(commitment: impostor.commitment, requester: identity))
        let challenge = try approver.receive(commit[0], now: 1).sent
        guard case .challenge(let approverNonce, let approverBytes, _)? = try impostor.channel.open(challenge[0]) else {
            throw PairingError(.mismatch)
        }
        let account = try ApproverIdentity(decoding: approverBytes)
        let possession = PairingTranscript.possession(
            handshakeHash: impostor.channel.handshakeHash, requester: identity, approver: approverBytes,
            approverNonce: approverNonce, requesterNonce: nonce)
        let reveal = try impostor.channel.seal(
            .reveal(
                nonce: nonce,
                signature: key.sign(.pairingPossession, scope: account.accountID.bytes, message: possession),
                proof: []))
        wire.take(try approver.receive(reveal[0], now: 1).filter { if case .send = $0 { false } else { true } })
        #expect(wire.approverEvents.contains { if case .askCode = $0 { true } else { false } })
        let expected = PairingTranscript.codes(
            handshakeHash: impostor.channel.handshakeHash, commitment: impostor.commitment, requester: identity,
            approver: approverBytes, approverNonce: approverNonce, requesterNonce: nonce
        ).first
        // Back to session 1: whatever challenge is chosen now, r_N is still unknown and fixed.
        let own = try channelOne.seal(.challenge(nonce: generator.bytes(count: 32), approver: approverBytes, proof: []))
        let events = try requester.receive(own[0], now: 1)
        for case .showCode(let shown) in events { return (shown, expected, wire) }
        throw PairingError(.mismatch)
    }

    @Test("R26: our order: the code that the person carries over is never the one that is asked for")
    func relayOfLyingServer() throws {
        for _ in 0..<20 {
            let fixture = try PairingFixture()
            let (shown, expected, wire) = try attack(fixture)
            // One in a million would be luck.
            #expect(shown != expected)
            #expect(failure { try wire.approver.enter(shown.description, now: 2) } == .mismatch)
            #expect(wire.secondCode == nil)
        }
    }

    /// The first code, cut to two digits.
    private func shortened(_ hash: [UInt8], _ approverNonce: [UInt8], _ requesterNonce: [UInt8]) -> UInt64 {
        let commitment = PairingTranscript.commitment(handshakeHash: hash, requester: [], nonce: requesterNonce)
        return PairingTranscript.codes(
            handshakeHash: hash, commitment: commitment, requester: [], approver: [], approverNonce: approverNonce,
            requesterNonce: requesterNonce
        ).first.number % 100
    }

    @Test("R26: our order, two digits only: searching gains nothing, whichever leg is finished first")
    func searching() {
        let roundCount = 1_000
        let guess = [UInt8](repeating: 0, count: 32)
        /// The first of fresh values for which the two codes would agree.
        func search(_ agrees: ([UInt8]) -> Bool) -> [UInt8] {
            while true {
                let candidate = generator.bytes(count: 32)
                if agrees(candidate) { return candidate }
            }
        }
        for isRequesterFirst in [true, false] {
            var successCount = 0
            for _ in 0..<roundCount {
                let (one, two) = (generator.bytes(count: 32), generator.bytes(count: 32))
                let (requesterNonce, approverNonce) = (generator.bytes(count: 32), generator.bytes(count: 32))
                let shown: UInt64
                let expected: UInt64
                if isRequesterFirst {
                    // The new device's code is known; the middle commits to a nonce without knowing r_T.
                    shown = shortened(one, generator.bytes(count: 32), requesterNonce)
                    let own = search { shortened(two, guess, $0) == shown }
                    expected = shortened(two, approverNonce, own)
                } else {
                    // The trusted device's code is known; the middle chooses a challenge without knowing r_N.
                    expected = shortened(two, approverNonce, generator.bytes(count: 32))
                    let challenge = search { shortened(one, $0, guess) == expected }
                    shown = shortened(one, challenge, requesterNonce)
                }
                if shown == expected { successCount += 1 }
            }
            // Expected 10 of 1,000; beyond 30 chance has less than one part in a hundred million.
            #expect(successCount < 30)
        }
    }
}

extension [RequesterEvent] {
    var sent: [[UInt8]] {
        compactMap { if case .send(let frame) = $0 { frame } else { nil } }
    }
}

extension [ApproverEvent] {
    var sent: [[UInt8]] {
        compactMap { if case .send(let frame) = $0 { frame } else { nil } }
    }
}
