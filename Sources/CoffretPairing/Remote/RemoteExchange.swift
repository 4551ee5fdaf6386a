// One request of a device, or of a browser, to a device of the account, over a relay that neither trusts. Invariant: nothing of a message is looked at before
// it opened under both devices' keys, this relay id and the asked device's fresh challenge.

package import CoffretBase
package import CoffretCrypto
internal import CoffretInterop

/// What both sides have in common. Spec: Spec/remote.md section 3.
enum RemoteChannel {
    static let challengeByteCount = 32
    static let openingKind: UInt8 = 1

    static func prologue(relayID: [UInt8], challenge: [UInt8]) -> [UInt8] {
        Array("coffret/remote/1".utf8) + relayID + challenge
    }

    static func handshake(
        _ noiseProtocol: NoiseProtocol, _ role: NoiseRole, relayID: [UInt8], challenge: [UInt8], own: AgreementKey,
        other: AgreementPublicKey, ephemeral: AgreementKey?
    ) throws(RemoteError) -> NoiseHandshake {
        do throws(InteropError) {
            return try NoiseHandshake(
                noiseProtocol, role: role, prologue: prologue(relayID: relayID, challenge: challenge),
                staticKey: NoiseStaticKey(own), remoteStaticKey: NoisePublicKey(other), preSharedKey: nil,
                ephemeralKey: ephemeral)
        } catch {
            throw RemoteError(.mismatch)
        }
    }
}

/// The device that asks: it waits on the relay, and is the initiator. One isolation domain at a time.
package final class RemoteAsker {
    private let relayID: [UInt8]
    private let deviceID: UniqueID
    private let own: AgreementKey
    private let other: AgreementPublicKey
    private let request: RemoteRequest
    private let ephemeral: AgreementKey?
    private var handshake: NoiseHandshake?

    /// - Parameters:
    ///   - deviceID: this device's.
    ///   - own: this device's Noise key.
    ///   - other: that of the asked device, by the verified chain.
    package convenience init(
        _ request: RemoteRequest, relayID: [UInt8], deviceID: UniqueID, own: AgreementKey, other: AgreementPublicKey
    ) {
        self.init(request, relayID: relayID, deviceID: deviceID, own: own, other: other, ephemeral: nil)
    }

    /// With an ephemeral key that is fixed: for vectors.
    init(
        _ request: RemoteRequest, relayID: [UInt8], deviceID: UniqueID, own: AgreementKey, other: AgreementPublicKey,
        ephemeral: AgreementKey?
    ) {
        (self.request, self.relayID, self.deviceID) = (request, relayID, deviceID)
        (self.own, self.other, self.ephemeral) = (own, other, ephemeral)
    }

    /// Answers the opening of whoever joined: the asked device, or anybody.
    ///
    /// - Returns: the frame with the request, which the asked device alone can read.
    /// - Throws: `.mismatch`.
    package func answer(opening frame: [UInt8]) throws(RemoteError) -> [UInt8] {
        guard handshake == nil, frame.count == 1 + RemoteChannel.challengeByteCount,
            frame[0] == RemoteChannel.openingKind
        else { throw RemoteError(.mismatch) }
        let made = try RemoteChannel.handshake(
            NoiseProtocol(.kk), .initiator, relayID: relayID, challenge: Array(frame.dropFirst()), own: own,
            other: other, ephemeral: ephemeral)
        handshake = made
        do throws(InteropError) {
            return deviceID.bytes + (try made.writeMessage(RemoteFilling.filled(request.encoded)))
        } catch {
            throw RemoteError(.mismatch)
        }
    }

    /// Reads the answer.
    ///
    /// - Throws: `.mismatch` for a frame that the asked device did not make for this request.
    package func receive(_ frame: [UInt8]) throws(RemoteError) -> RemoteReply {
        guard let handshake else { throw RemoteError(.mismatch) }
        var plain: [UInt8]
        do throws(InteropError) { plain = try handshake.readMessage(frame) } catch { throw RemoteError(.mismatch) }
        defer { plain.zero() }
        var content = try RemoteFilling.content(plain)
        defer { content.zero() }
        return try RemoteReply(decoding: content)
    }
}

/// The asked device: it joins the relay id, and is the responder. One isolation domain at a time.
package final class RemoteAnswerer {
    private let relayID: [UInt8]
    private let own: AgreementKey
    private let challenge: [UInt8]
    private let ephemeral: AgreementKey?
    private var handshake: NoiseHandshake?
    private var isForBrowser = false

    /// - Parameter own: this device's Noise key.
    package convenience init(relayID: [UInt8], own: AgreementKey, random: any RandomSource) {
        self.init(
            relayID: relayID, own: own, challenge: random.bytes(count: RemoteChannel.challengeByteCount),
            ephemeral: nil)
    }

    /// With everything fixed that is random: for vectors.
    init(relayID: [UInt8], own: AgreementKey, challenge: [UInt8], ephemeral: AgreementKey?) {
        (self.relayID, self.own, self.challenge, self.ephemeral) = (relayID, own, challenge, ephemeral)
    }

    /// The first frame.
    package var opening: [UInt8] { [RemoteChannel.openingKind] + challenge }

    /// Reads the request.
    ///
    /// - Parameter key: the Noise key of a trusted device of the account, or of a browser that may ask; nil for any other id.
    /// - Returns: the id of who asks, and what for.
    /// - Throws: `.mismatch` for a frame that no such device or browser made for this opening.
    package func receive(
        _ frame: [UInt8], key: (UniqueID) -> RemoteAskerKey?
    ) throws(RemoteError) -> (asker: UniqueID, wish: RemoteWish) {
        guard handshake == nil, let asker = UniqueID(bytes: Array(frame.prefix(UniqueID.byteCount))),
            let asking = key(asker)
        else { throw RemoteError(.mismatch) }
        // A browser has no ChaChaPoly.
        let (other, noiseProtocol) =
            switch asking {
            case .device(let key): (key, NoiseProtocol(.kk))
            case .browser(let key): (key, NoiseProtocol(.kk, .aesGCM))
            }
        let made = try RemoteChannel.handshake(
            noiseProtocol, .responder, relayID: relayID, challenge: challenge, own: own, other: other,
            ephemeral: ephemeral)
        let plain: [UInt8]
        do throws(InteropError) {
            plain = try made.readMessage(frame.dropFirst(UniqueID.byteCount))
        } catch {
            throw RemoteError(.mismatch)
        }
        handshake = made
        let content = try RemoteFilling.content(plain)
        switch asking {
        case .device: return (asker, .item(try RemoteRequest(decoding: content)))
        case .browser:
            isForBrowser = true
            return (asker, .login(try RemoteLoginRequest(decoding: content)))
        }
    }

    /// The frame with the answer. A second one cannot be made.
    ///
    /// - Throws: `.valueTooLong`; `.mismatch` before a request was read, and after an answer.
    package func frame(_ reply: RemoteReply) throws(RemoteError) -> [UInt8] {
        if case .value(let sent) = reply, sent.value.utf8.count > RemoteLimits.valueByteCountMax {
            throw RemoteError(.valueTooLong)
        }
        guard let handshake else { throw RemoteError(.mismatch) }
        var content = isForBrowser ? [] : reply.encoded
        defer { content.zero() }
        var plain = isForBrowser ? reply.filledForBrowser : RemoteFilling.filled(content)
        defer { plain.zero() }
        do throws(InteropError) { return try handshake.writeMessage(plain) } catch { throw RemoteError(.mismatch) }
    }
}
