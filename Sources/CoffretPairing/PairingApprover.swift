// The trusted device's side of a pairing. Invariant: the person is asked only about a device that proved its keys and
// that its words were fixed before this side's challenge; nothing is signed before the first code was right.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop
package import CoffretTrust

/// The trusted device's next step.
package enum ApproverEvent: Equatable, Sendable {
    /// Goes to the other device, one message of the relay each.
    case send([UInt8])
    /// Is stored before anything that follows.
    case record(PairingAttempts)
    /// Asks the person for the code that the new device shows: `enter`.
    case askCode(RequesterIdentity)
    /// The code was right: the person types this on the new device.
    case showCode(ShortCode)
    /// The device whose code was scanned is there.
    case scanned(RequesterIdentity)
    /// The new device trusts this one, too: `askCountersignature`.
    case confirmed(RequesterIdentity)
    /// The operation that adds the new device, with its proof, for the place that was asked for.
    case countersigned(DeviceOperation, sequenceNumber: UInt64)
    /// A message of the new device.
    case content([UInt8])
}

/// The machine of the device that lets another one in. It does no input or output.
///
/// Spec: Spec/pairing.md. Source: protocol decision 1.
package final class PairingApprover {
    private struct Candidate {
        let commitment: [UInt8]
        let bytes: [UInt8]
        let identity: RequesterIdentity
    }

    private enum State {
        case handshake(NoiseHandshake)
        case connected(PairingChannel)
        case challenged(PairingChannel, Candidate)
        case asking(PairingChannel, Candidate, first: ShortCode, second: ShortCode)
        /// This side is satisfied.
        case accepted(PairingChannel, Candidate)
        case confirmed(PairingChannel, Candidate)
        case over
    }

    private var state: State
    private let accountID: ChainID
    private let identityBytes: [UInt8]
    private let nonce: [UInt8]
    private let invitation: PairingInvitation?
    private var attempts: PairingAttempts
    private let started: Milliseconds

    /// After an error: what may still be sent, so that the other side need not wait.
    package private(set) var farewell: [[UInt8]] = []

    /// - Parameters:
    ///   - relayID: where the new device waits.
    ///   - invitation: what was scanned, if something was.
    /// - Throws: `.paused`.
    package init(
        _ identity: ApproverIdentity, relayID: [UInt8], invitation: PairingInvitation? = nil,
        purpose: PairingPurpose = .device, attempts: PairingAttempts, random: any RandomSource, now: Milliseconds
    ) throws {
        guard attempts.pausedUntil(now: now) == nil else { throw PairingError(.paused) }
        do throws(InteropError) {
            state = .handshake(
                try NoiseHandshake(
                    NoiseProtocol(.nx), role: .initiator,
                    prologue: PairingChannel.prologue(relayID: relayID, purpose: purpose)))
        } catch {
            throw PairingError(.outOfOrder)
        }
        accountID = identity.accountID
        identityBytes = identity.encoded
        nonce = random.bytes(count: PairingTranscript.nonceByteCount)
        self.invitation = invitation
        self.attempts = attempts
        started = now
    }

    /// The first message.
    package func start() throws -> [UInt8] {
        guard case .handshake(let handshake) = state else { throw PairingError(.outOfOrder) }
        do throws(InteropError) {
            return try handshake.writeMessage()
        } catch {
            throw PairingError(.outOfOrder)
        }
    }

    /// Takes what came through the relay. After an error the attempt is over.
    package func receive(_ frame: [UInt8], now: Milliseconds) throws -> [ApproverEvent] {
        do {
            try checkTime(now)
            switch state {
            case .handshake(let handshake):
                state = .connected(try finish(handshake, frame))
                return []
            case .connected(var channel):
                let message = try channel.open(frame)
                state = .connected(channel)
                return try message.map { message in try challenge(channel, message) } ?? []
            case .challenged(var channel, let candidate):
                let message = try channel.open(frame)
                state = .challenged(channel, candidate)
                return try message.map { message in
                    try check(channel, candidate, message, now: now)
                } ?? []
            case .asking(var channel, _, _, _):
                guard case .giveUp? = try channel.open(frame) else { throw PairingError(.mismatch) }
                throw PairingError(.endedByPeer)
            case .accepted(var channel, let candidate):
                switch try channel.open(frame) {
                case .confirm?: break
                case .giveUp?: throw PairingError(.endedByPeer)
                default: throw PairingError(.mismatch)
                }
                state = .confirmed(channel, candidate)
                return [.confirmed(candidate.identity)]
            case .confirmed(var channel, let candidate):
                let message = try channel.open(frame)
                state = .confirmed(channel, candidate)
                return try message.map { message in try take(message, candidate) } ?? []
            case .over: throw PairingError(.outOfOrder)
            }
        } catch {
            end()
            throw error
        }
    }

    private func finish(_ handshake: NoiseHandshake, _ frame: [UInt8]) throws -> PairingChannel {
        let session: NoiseSession
        do throws(InteropError) {
            _ = try handshake.readMessage(frame)
            session = try handshake.makeSession()
        } catch {
            throw PairingError(.mismatch)
        }
        let channel = PairingChannel(session)
        if let invitation, !ConstantTime.isEqual(invitation.staticKey, channel.remoteStaticKey) {
            throw PairingError(.mismatch)
        }
        return channel
    }

    private func challenge(_ channel: PairingChannel, _ message: PairingMessage) throws -> [ApproverEvent] {
        guard case .commit(let commitment, let bytes) = message else {
            throw PairingError(message == .giveUp ? .endedByPeer : .mismatch)
        }
        let candidate = Candidate(
            commitment: commitment, bytes: bytes, identity: try RequesterIdentity(decoding: bytes))
        let proof = invitation.map {
            PairingTranscript.scannedProof(.approver, secret: $0.secret, handshakeHash: channel.handshakeHash)
        }
        let frames = try channel.seal(.challenge(nonce: nonce, approver: identityBytes, proof: proof ?? []))
        state = .challenged(channel, candidate)
        return frames.map { .send($0) }
    }

    private func check(
        _ channel: PairingChannel, _ candidate: Candidate, _ message: PairingMessage, now: Milliseconds
    ) throws -> [ApproverEvent] {
        guard case .reveal(let requesterNonce, let signature, let proof) = message else {
            throw PairingError(message == .giveUp ? .endedByPeer : .mismatch)
        }
        let hash = channel.handshakeHash
        let committed = PairingTranscript.commitment(
            handshakeHash: hash, requester: candidate.bytes, nonce: requesterNonce)
        guard ConstantTime.isEqual(committed, candidate.commitment) else { throw PairingError(.mismatch) }
        do throws(CryptoError) {
            try candidate.identity.keys.signing.verify(
                signature, .pairingPossession, scope: accountID.bytes,
                message: PairingTranscript.possession(
                    handshakeHash: hash, requester: candidate.bytes, approver: identityBytes, approverNonce: nonce,
                    requesterNonce: requesterNonce))
        } catch {
            throw PairingError(.mismatch)
        }
        if let invitation {
            let expected = PairingTranscript.scannedProof(
                .requester, secret: invitation.secret, handshakeHash: hash)
            guard ConstantTime.isEqual(proof, expected) else { throw PairingError(.mismatch) }
            state = .accepted(channel, candidate)
            return [.scanned(candidate.identity)]
        }
        guard proof.isEmpty else { throw PairingError(.mismatch) }
        let codes = PairingTranscript.codes(
            handshakeHash: hash, commitment: candidate.commitment, requester: candidate.bytes, approver: identityBytes,
            approverNonce: nonce, requesterNonce: requesterNonce)
        try attempts.begin(now: now)
        state = .asking(channel, candidate, first: codes.first, second: codes.second)
        return [.record(attempts), .askCode(candidate.identity)]
    }

    /// Takes what the person typed: the code that the new device shows. One entry; a wrong one ends the attempt.
    package func enter(_ typed: String, now: Milliseconds) throws -> [ApproverEvent] {
        do {
            try checkTime(now)
            guard case .asking(let channel, let candidate, let first, let second) = state else {
                throw PairingError(.outOfOrder)
            }
            guard first.isEqual(to: typed) else { throw PairingError(.mismatch) }
            state = .accepted(channel, candidate)
            attempts.succeed()
            return [.record(attempts), .showCode(second)]
        } catch {
            end()
            throw error
        }
    }

    private func take(_ message: PairingMessage, _ candidate: Candidate) throws -> [ApproverEvent] {
        switch message {
        case .countersignature(let number, let signature):
            let operation = DeviceOperation.add(
                id: candidate.identity.deviceID, kind: .ordinary, keys: candidate.identity.keys,
                countersignature: signature)
            return [.countersigned(operation, sequenceNumber: number)]
        case .content(let bytes): return [.content(bytes)]
        case .giveUp: throw PairingError(.endedByPeer)
        default: throw PairingError(.mismatch)
        }
    }

    /// Frames that ask the new device to sign for a place in the chain; again, if another link took the place.
    package func askCountersignature(sequenceNumber: UInt64) throws -> [[UInt8]] {
        try send(.askCountersignature(sequenceNumber: sequenceNumber))
    }

    /// Frames that carry `content` to the new device, once it has confirmed.
    package func send(content: [UInt8]) throws -> [[UInt8]] { try send(.content(content)) }

    private func send(_ message: PairingMessage) throws -> [[UInt8]] {
        guard case .confirmed(let channel, _) = state else { throw PairingError(.outOfOrder) }
        return try channel.seal(message)
    }

    /// Ends the attempt; what was agreed on is forgotten.
    package func giveUp() { end() }

    /// Throws `.expired` when the attempt has taken too long.
    package func checkTime(_ now: Milliseconds) throws {
        guard (started...started + PairingTime.lifeTime).contains(now) else { throw PairingError(.expired) }
    }

    private func end() {
        switch state {
        case .connected(let channel), .challenged(let channel, _), .asking(let channel, _, _, _),
            .accepted(let channel, _), .confirmed(let channel, _):
            farewell = (try? channel.seal(.giveUp)) ?? []
        case .handshake, .over: break
        }
        state = .over
    }
}
