// The new device's side of a pairing. Invariant: nothing that the other side says is kept before the second code was
// right, and one wrong code ends the attempt.

package import CoffretBase
package import CoffretCrypto
internal import CoffretInterop
internal import CoffretTrust

/// How long an attempt may take.
enum PairingTime {
    /// As long as a relay id lives: ten minutes.
    static let lifeTime: Milliseconds = 600_000
}

/// The new device's next step.
package enum RequesterEvent: Equatable, Sendable {
    /// Goes to the other device, one message of the relay each.
    case send([UInt8])
    /// Is stored before anything that follows.
    case record(PairingAttempts)
    /// The person types this on the other device, and here what the other device then shows: `enter`.
    case showCode(ShortCode)
    /// The other device is the person's own. What it sends from now on may be kept.
    case trusted(ApproverIdentity)
    /// A message of the other device.
    case content([UInt8])
}

/// The machine of the device that wants to join. It does no input or output: give it what arrives, do what it says.
///
/// Spec: Spec/pairing.md. Source: protocol decision 1.
package final class PairingRequester {
    private struct Comparison {
        let approver: ApproverIdentity
        let code: ShortCode
    }

    private enum State {
        case handshake(NoiseHandshake)
        case committed(PairingChannel, commitment: [UInt8])
        case comparing(PairingChannel, Comparison)
        case trusted(PairingChannel, ApproverIdentity)
        case over
    }

    private var state: State
    private let identity: RequesterIdentity
    private let identityBytes: [UInt8]
    private let signingKey: SigningKey
    private let serverFingerprint: [UInt8]
    private let accountName: [UInt8]
    private var nonce: [UInt8]
    private var secret: [UInt8]
    private var attempts: PairingAttempts
    private let started: Milliseconds

    /// The scanned code; nil if codes are typed.
    package let invitation: PairingInvitation?
    /// After an error: what may still be sent, so that the other side need not wait.
    package private(set) var farewell: [[UInt8]] = []

    /// - Parameters:
    ///   - relayID: where this device waits.
    ///   - isScanned: the other device scans `invitation`; without that, two codes are typed.
    ///   - serverFingerprint: of the server that this device talks to, 32 bytes.
    ///   - accountName: what the account's id must begin with; empty where the person named none.
    /// - Throws: `.paused`.
    package init(
        _ identity: RequesterIdentity, signingKey: SigningKey, relayID: [UInt8], isScanned: Bool,
        serverFingerprint: [UInt8], accountName: [UInt8] = [], purpose: PairingPurpose = .device,
        attempts: PairingAttempts, random: any RandomSource, now: Milliseconds
    ) throws {
        precondition(signingKey.verifyingKey == identity.keys.signing, "a device signs with its own key")
        guard attempts.pausedUntil(now: now) == nil else { throw PairingError(.paused) }
        let staticKey = NoiseStaticKey.generate()
        do throws(InteropError) {
            state = .handshake(
                try NoiseHandshake(
                    NoiseProtocol(.nx), role: .responder,
                    prologue: PairingChannel.prologue(relayID: relayID, purpose: purpose), staticKey: staticKey))
        } catch {
            throw PairingError(.outOfOrder)
        }
        self.identity = identity
        identityBytes = identity.encoded
        self.signingKey = signingKey
        self.serverFingerprint = serverFingerprint
        self.accountName = accountName
        self.attempts = attempts
        started = now
        nonce = random.bytes(count: PairingTranscript.nonceByteCount)
        secret = isScanned ? random.bytes(count: 32) : []
        invitation =
            isScanned
            ? PairingInvitation(relayID: relayID, staticKey: staticKey.publicKey.bytes, secret: secret) : nil
    }

    deinit { wipe() }

    /// Takes what came through the relay. After an error the attempt is over.
    package func receive(_ frame: [UInt8], now: Milliseconds) throws -> [RequesterEvent] {
        do {
            try checkTime(now)
            switch state {
            case .handshake(let handshake): return try answer(handshake, frame)
            case .committed(var channel, let commitment):
                guard let message = try channel.open(frame) else {
                    state = .committed(channel, commitment: commitment)
                    return []
                }
                return try reveal(channel, commitment, message, now: now)
            case .comparing(var channel, _):
                // The other side has nothing to say here but that it gives up.
                guard case .giveUp? = try channel.open(frame) else { throw PairingError(.mismatch) }
                throw PairingError(.endedByPeer)
            case .trusted(var channel, let approver):
                let message = try channel.open(frame)
                state = .trusted(channel, approver)
                return try message.map { message in try take(message, approver) } ?? []
            case .over: throw PairingError(.outOfOrder)
            }
        } catch {
            end()
            throw error
        }
    }

    private func answer(_ handshake: NoiseHandshake, _ frame: [UInt8]) throws -> [RequesterEvent] {
        let reply: [UInt8]
        let session: NoiseSession
        do throws(InteropError) {
            _ = try handshake.readMessage(frame)
            reply = try handshake.writeMessage()
            session = try handshake.makeSession()
        } catch {
            throw PairingError(.mismatch)
        }
        let channel = PairingChannel(session)
        let commitment = PairingTranscript.commitment(
            handshakeHash: channel.handshakeHash, requester: identityBytes, nonce: nonce)
        let frames = try channel.seal(.commit(commitment: commitment, requester: identityBytes))
        state = .committed(channel, commitment: commitment)
        return [.send(reply)] + frames.map { .send($0) }
    }

    private func reveal(
        _ channel: PairingChannel, _ commitment: [UInt8], _ message: PairingMessage, now: Milliseconds
    ) throws -> [RequesterEvent] {
        guard case .challenge(let approverNonce, let approverBytes, let proof) = message else {
            throw PairingError(message == .giveUp ? .endedByPeer : .mismatch)
        }
        let approver = try ApproverIdentity(decoding: approverBytes)
        let hash = channel.handshakeHash
        if secret.isEmpty {
            guard proof.isEmpty else { throw PairingError(.mismatch) }
        } else {
            let expected = PairingTranscript.scannedProof(.approver, secret: secret, handshakeHash: hash)
            guard ConstantTime.isEqual(proof, expected) else { throw PairingError(.mismatch) }
        }
        guard approver.serverFingerprint == serverFingerprint else { throw PairingError(.serverDiffers) }
        guard approver.accountID.bytes.starts(with: accountName) else { throw PairingError(.accountDiffers) }
        let signature = signingKey.sign(
            .pairingPossession, scope: approver.accountID.bytes,
            message: PairingTranscript.possession(
                handshakeHash: hash, requester: identityBytes, approver: approverBytes, approverNonce: approverNonce,
                requesterNonce: nonce))
        let answer =
            secret.isEmpty
            ? [] : PairingTranscript.scannedProof(.requester, secret: secret, handshakeHash: hash)
        let frames = try channel.seal(.reveal(nonce: nonce, signature: signature, proof: answer))
        let sends = frames.map { RequesterEvent.send($0) }
        guard secret.isEmpty else { return try sends + trust(channel, approver) }
        let codes = PairingTranscript.codes(
            handshakeHash: hash, commitment: commitment, requester: identityBytes, approver: approverBytes,
            approverNonce: approverNonce, requesterNonce: nonce)
        try attempts.begin(now: now)
        state = .comparing(channel, Comparison(approver: approver, code: codes.second))
        return [.record(attempts)] + sends + [.showCode(codes.first)]
    }

    /// Takes what the person typed: the code that the other device shows. One entry; a wrong one ends the attempt.
    package func enter(_ typed: String, now: Milliseconds) throws -> [RequesterEvent] {
        do {
            try checkTime(now)
            guard case .comparing(let channel, let comparison) = state else { throw PairingError(.outOfOrder) }
            guard comparison.code.isEqual(to: typed) else { throw PairingError(.mismatch) }
            return try trust(channel, comparison.approver)
        } catch {
            end()
            throw error
        }
    }

    private func trust(_ channel: PairingChannel, _ approver: ApproverIdentity) throws -> [RequesterEvent] {
        let frames = try channel.seal(.confirm)
        state = .trusted(channel, approver)
        attempts.succeed()
        return [.record(attempts), .trusted(approver)] + frames.map { .send($0) }
    }

    private func take(_ message: PairingMessage, _ approver: ApproverIdentity) throws -> [RequesterEvent] {
        switch message {
        case .askCountersignature(let number):
            // Only for a place behind the link that was stated: never for one that exists.
            guard number > approver.head.sequenceNumber else { throw PairingError(.mismatch) }
            let signature = DeviceOperation.countersign(
                id: identity.deviceID, keys: identity.keys, chainID: approver.accountID, sequenceNumber: number,
                with: signingKey)
            return try send(.countersignature(sequenceNumber: number, signature: signature)).map { .send($0) }
        case .content(let bytes): return [.content(bytes)]
        case .giveUp: throw PairingError(.endedByPeer)
        default: throw PairingError(.mismatch)
        }
    }

    /// Frames that carry `content` to the other device, once it is trusted.
    package func send(content: [UInt8]) throws -> [[UInt8]] { try send(.content(content)) }

    private func send(_ message: PairingMessage) throws -> [[UInt8]] {
        guard case .trusted(let channel, _) = state else { throw PairingError(.outOfOrder) }
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
        case .committed(let channel, _), .comparing(let channel, _), .trusted(let channel, _):
            farewell = (try? channel.seal(.giveUp)) ?? []
        case .handshake, .over: break
        }
        state = .over
        wipe()
    }

    private func wipe() {
        nonce.zero()
        secret.zero()
    }
}
