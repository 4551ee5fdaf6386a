// Requests to an account's server. Invariant: a login is signed for the server's name and key, and only over a
// connection whose key is the pinned one.

package import CoffretBase
package import CoffretHTTP
package import CoffretKeys
package import CoffretTrust
package import CoffretWire

/// A connection to a server, with or without a session. One thread at a time.
package final class ServerConnection {
    private static let mediaType = "application/cbor"

    package let settings: HTTPSettings
    /// For requests that are more than a message and an answer, with `fields`.
    package let client: HTTPClient
    private let random: any RandomSource
    private var token: String?

    package init(_ settings: HTTPSettings, random: any RandomSource) throws {
        self.settings = settings
        self.random = random
        client = try inAccount(HTTPClient(settings))
    }

    /// The settings that a record of the keyring stands for.
    package static func settings(for record: ServerRecord) throws -> HTTPSettings {
        let address = try inAccount(ServerAddress(record.url, allowsPlain: true))
        return HTTPSettings(address, pin: address.isPlain ? nil : ServerPin(bytes: record.fingerprint))
    }

    /// The fingerprint that a login is signed for, beside the server's name.
    package var fingerprint: [UInt8] { settings.pin?.bytes ?? LoginProof.noFingerprint }

    /// Headers of an authenticated request; for WebSockets.
    package var fields: [(name: String, value: String)] { token.map { [("Authorization", "Bearer " + $0)] } ?? [] }

    /// Sends a request; any answer but those of `accepted` is an error.
    ///
    /// - Throws: `.refused` with the server's code; `.failed` with an `HTTPError`.
    @discardableResult
    package func send(
        _ method: String, _ path: String, _ body: [UInt8]? = nil, accepted: Set<Int> = [200]
    ) throws -> HTTPResponse {
        var request = HTTPRequest(method, path, body: body)
        request.fields = fields
        if body != nil { request.fields.append(("Content-Type", Self.mediaType)) }
        let response = try inAccount(client.send(request))
        guard accepted.contains(response.status) else {
            let refusal = try? ServerRefusal(decoding: response.body)
            throw AccountError(.refused, at: refusal?.code ?? "status \(response.status)")
        }
        return response
    }

    /// Sends a message and reads the answer as another.
    package func exchange<Answer: ServerMessage>(
        _ method: String, _ path: String, _ body: [UInt8]? = nil, accepted: Set<Int> = [200], as _: Answer.Type
    ) throws -> Answer {
        try Self.read(send(method, path, body, accepted: accepted))
    }

    static func read<Answer: ServerMessage>(_ response: HTTPResponse) throws -> Answer {
        do throws(WireError) {
            return try Answer(decoding: response.body)
        } catch {
            throw AccountError(.answerMalformed, cause: error)
        }
    }

    /// Logs in: asks for a challenge, lets `sign` sign it, and keeps the session's token.
    ///
    /// - Parameters:
    ///   - name: what the server is expected to call itself; nil the first time.
    /// - Returns: what it calls itself.
    /// - Throws: `.serverNameDiffers`; `.refused`.
    package func logIn(
        account: ChainID, device: UniqueID, name: String?, sign: (LoginProof) throws(KeyError) -> [UInt8]
    ) throws -> String {
        token = nil
        let request = LoginChallengeRequest(
            accountID: account.bytes, deviceID: device, clientNonce: random.bytes(count: ServerLimits.nonceByteCount))
        let challenge = try exchange("POST", "/v1/login/challenge", request.encoded(), as: LoginChallenge.self)
        if let name, name != challenge.serverName { throw AccountError(.serverNameDiffers, at: challenge.serverName) }
        let proof = LoginProof(
            serverName: challenge.serverName, fingerprint: fingerprint, accountID: account, deviceID: device,
            serverNonce: challenge.serverNonce, clientNonce: request.clientNonce, expiry: challenge.expiry)
        let signature = try inAccount(sign(proof))
        let login = LoginRequest(challenge: challenge, request: request, signature: signature)
        let session = try exchange("POST", "/v1/login", login.encoded(), as: LoginSession.self)
        token = Hex.encode(session.token)
        return challenge.serverName
    }

    // MARK: Pairing

    /// Devices that wait on the relay and claim to be new devices of this session's account, oldest first.
    ///
    /// None at a server that does not know of that yet.
    package func pairingRequests(now: Milliseconds) throws -> [PairingRequest] {
        let response = try send("GET", "/v1/pairings", accepted: [200, 404])
        guard response.status == 200 else { return [] }
        let answer: PairingRequests = try Self.read(response)
        return answer.requests.map {
            PairingRequest(relayID: $0.relayID, since: now &- Milliseconds(clamping: $0.age))
        }
    }

    /// Relay ids at which somebody asks this session's device for a value, oldest first.
    ///
    /// None at a server that does not know of that yet.
    package func asks() throws -> [UniqueID] {
        let response = try send("GET", "/v1/asks", accepted: [200, 404])
        guard response.status == 200 else { return [] }
        let answer: PairingRequests = try Self.read(response)
        return answer.requests.map(\.relayID)
    }

    // MARK: The chain

    /// How often a link is signed anew because another device was faster.
    static let tryCountMax = 5

    private static func path(_ account: ChainID) -> String { "/v1/chains/device/\(account.hex)" }

    /// The links of an account's chain from one on, as the server gives them.
    func links(of account: ChainID, from start: UInt64) throws -> [UnverifiedLink] {
        var links: [UnverifiedLink] = []
        var byteCount = 0
        while links.count < Limits.chainLinkCountMax {
            let next = start + UInt64(links.count)
            let answer = try exchange("GET", Self.path(account) + "?from=\(next)", as: ChainLinks.self)
            for bytes in answer.links {
                links.append(try inAccount(UnverifiedLink(decoding: bytes)))
                byteCount += bytes.count
            }
            // A short answer is the end of the chain; a long one was perhaps cut.
            guard answer.links.count >= ServerLimits.linkCountMaxPerRequest || byteCount >= 512 << 10,
                !answer.links.isEmpty
            else { break }
            byteCount = 0
        }
        return links
    }

    /// nil if the link was taken, the answer's status otherwise.
    func post(_ link: UnverifiedLink, to account: ChainID, accepted: Set<Int>) throws -> Int? {
        let body = ChainAppend(link: link.encoded).encoded()
        let status = try send("POST", Self.path(account), body, accepted: accepted).status
        return status == 200 ? nil : status
    }

    /// Ends the session at the server, as far as it can be reached.
    package func logOut() {
        guard token != nil else { return }
        _ = try? send("POST", "/v1/logout", [], accepted: [204])
        token = nil
    }
}
