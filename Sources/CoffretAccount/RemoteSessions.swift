// Remote and one-time requests with the relay around the machines. Invariant: whoever is at the other end of the relay is nobody until
// the machine has opened a message of theirs.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
package import CoffretPairing
package import CoffretTrust

extension RelayChannel {
    /// Waits for a frame in short turns.
    ///
    /// - Parameter turn: called between them; what it throws ends the wait.
    /// - Throws: `RemoteError` `.unanswered` after `duration`; `.ended` if the other side left.
    fileprivate func frame(within duration: Duration, turn: () throws -> Void = {}) throws -> [UInt8] {
        let end = ContinuousClock.now + duration
        while ContinuousClock.now < end {
            do {
                if let frame = try receive(within: .milliseconds(500)) { return frame }
            } catch let error as AccountError where error.code == .relayClosed {
                throw RemoteError(.ended)
            }
            try turn()
        }
        throw RemoteError(.unanswered)
    }
}

/// The server of a store, without a session there: the relay needs none.
private func relaySettings(of store: Store) throws -> HTTPSettings {
    guard let record = try inAccount(store.keyring.server()) else { throw AccountError(.notJoined) }
    return try ServerConnection.settings(for: record)
}

/// Asks another device of the account for one value.
package enum RemoteAsking {
    /// - Parameters:
    ///   - joined: called once the other device, or somebody in its place, has come.
    ///   - turn: called again and again meanwhile; what it throws ends the request.
    /// - Throws: `RemoteError` as the other device says, or `.unanswered`; what keeps the server from being reached.
    package static func ask(
        _ device: VerifiedDevice, for request: RemoteRequest, of store: Store, random: any RandomSource,
        joined: () -> Void, turn: () throws -> Void
    ) throws -> RemoteValue {
        let (own, id, account) = try inAccount(
            (try store.keyring.noiseKey(), try store.keyring.deviceID(), AccountName(try store.keyring.accountID())))
        let channel = try RelayChannel(
            waitingAt: relaySettings(of: store), account: account, device: device.id, random: random)
        defer { channel.close() }
        let asker = RemoteAsker(request, relayID: channel.id, deviceID: id, own: own, other: device.keys.noise)
        let opening = try channel.frame(within: RemoteLimits.duration, turn: turn)
        joined()
        try channel.send(asker.answer(opening: opening))
        // The person there has the whole time, and the answer some to come.
        let answer = try channel.frame(within: RemoteLimits.duration + RemoteLimits.messageDuration, turn: turn)
        switch try asker.receive(answer) {
        case .value(let value): return value
        case .refused(let code): throw RemoteError(code)
        }
    }
}

/// The side of the device that is asked.
package final class RemoteAnswering {
    private let channel: RelayChannel
    private let answerer: RemoteAnswerer
    /// The device by the verified chain, or the browser by the record, that asks.
    package let asker: UniqueID
    package let wish: RemoteWish

    /// Joins a relay id and reads the request.
    ///
    /// - Parameter browserKey: the key of a browser on another machine that may ask.
    /// - Throws: `RemoteError` `.mismatch` for what neither a trusted device of the account nor such a browser made; `AccountError`
    ///   `.relayUnknown`.
    package init(
        joining relayID: UniqueID, of store: Store, browserKey: (UniqueID) -> [UInt8]?, random: any RandomSource
    ) throws {
        let (own, chain) = try inAccount((try store.keyring.noiseKey(), try store.keyring.deviceChain()))
        let ownID = try inAccount(store.keyring.deviceID())
        channel = try RelayChannel(joining: relayID.bytes, at: relaySettings(of: store), random: random)
        answerer = RemoteAnswerer(relayID: relayID.bytes, own: own, random: random)
        func key(_ id: UniqueID) -> RemoteAskerKey? {
            if let device = chain.device(id) {
                return device.isTrusted && device.kind != .paper && id != ownID ? .device(device.keys.noise) : nil
            }
            return browserKey(id).flatMap { try? AgreementPublicKey($0) }.map { .browser($0) }
        }
        do {
            try channel.send(answerer.opening)
            let frame = try channel.frame(within: RemoteLimits.messageDuration)
            (asker, wish) = try answerer.receive(frame, key: key)
        } catch {
            channel.close()
            throw error
        }
    }

    /// Whether the asker still waits: it sends nothing more.
    package var isWanted: Bool {
        do { return try channel.receive(within: .zero) == nil } catch { return false }
    }

    package func answer(_ reply: RemoteReply) throws {
        defer { channel.close() }
        try channel.send(answerer.frame(reply))
    }
}

/// The side of the device that answers a page, or an extension that wants to ask.
package final class PageAnswering {
    private let channel: RelayChannel
    private let sender: PageSender
    /// Where the page says that it came from; nothing for a file.
    package let place: String

    /// Joins the page of a code.
    ///
    /// - Throws: `RemoteError` `.serverDiffers` where the page waits at another server than the store's: none is spoken to;
    ///   `.codeUsed` for a page that is gone.
    package init(_ code: PageCode, of store: Store, random: any RandomSource, turn: () throws -> Void) throws {
        let settings = try relaySettings(of: store)
        guard Self.host(settings.address.authority, settings) == Self.host(code.host, settings) else {
            throw RemoteError(.serverDiffers, at: code.host)
        }
        sender = try PageSender(code)
        do {
            channel = try RelayChannel(joining: code.relayID, at: settings, random: random)
        } catch let error as AccountError where error.code == .relayUnknown {
            throw RemoteError(.codeUsed)
        }
        do {
            try channel.send(sender.opening())
            place = try sender.receive(channel.frame(within: RemoteLimits.messageDuration, turn: turn))
        } catch {
            channel.close()
            throw error
        }
    }

    /// Without the port that a browser leaves out.
    private static func host(_ authority: String, _ settings: HTTPSettings) -> String {
        let usual = settings.address.isPlain ? ":80" : ":443"
        let host = authority.lowercased()
        return host.hasSuffix(usual) ? String(host.dropLast(usual.count)) : host
    }

    package func send(_ value: RemoteValue) throws {
        defer { channel.close() }
        try channel.send(sender.frame(value))
    }

    /// Lets the browser ask from then on.
    ///
    /// - Parameter id: the browser's, as this device has kept it.
    package func admit(_ id: UniqueID, name: String, of store: Store) throws {
        defer { channel.close() }
        let admission = try inAccount(
            RemoteAdmission(
                id: id, account: AccountName(try store.keyring.accountID()).bytes,
                device: try store.keyring.deviceID(), name: name, key: try store.keyring.noiseKey().publicKey))
        try channel.send(sender.frame(admission))
    }

    package func close() { channel.close() }
}
