// Devices with a vault of logs and the real server as a process, over real sockets. The one thing to keep true: the
// requests go through the transport of the product.

import CoffretBase
import CoffretCrypto
import CoffretHTTP
import CoffretLogs
import CoffretServer
import CoffretSimulation
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

/// A server process as devices of a simulation reach it.
private final class ServerSite: LogSite {
    let clock = MovedClock()
    let process: ServerProcess
    private let client: HTTPClient
    private var devices: [[UInt8]: (secrets: DeviceSecrets, account: ChainID)] = [:]
    private var tokens: [[UInt8]: String] = [:]
    private var transports: [[UInt8]: HTTPZoneTransport] = [:]
    private(set) var loginCount = 0

    init() throws {
        process = try ServerProcessTests.open(try ServerProcessTests.folder())
        client = try HTTPClient(
            HTTPSettings(try ServerAddress("http://127.0.0.1:\(process.port)", allowsPlain: true)))
        clock.now = SystemWallClock().now
    }

    func register(_ link: UnverifiedLink) throws {
        let body = AccountRegistration(link: link.encoded, invitation: []).encoded()
        #expect(try post("/v1/accounts", body).status == 201)
    }

    func admit(_ device: DeviceSecrets, of account: ChainID) { devices[device.id.bytes] = (device, account) }

    func answer(
        _ request: LogRequest, in zone: [UInt8], by owner: SessionOwner, page: (LogPage) throws -> Void
    ) throws -> LogReply {
        var failure: (any Error)?
        do {
            return try transport(zone, owner.deviceID).send(request) { (shown) throws(SyncError) in
                do { try page(shown) } catch {
                    failure = error
                    throw SyncError(.unreachable)
                }
            }
        } catch { throw failure ?? error }
    }

    /// Ends the sessions of all devices, which they do not know.
    func endSessions() { for device in tokens.keys { tokens[device] = Hex.encode([UInt8](repeating: 7, count: 32)) } }

    private func transport(_ zone: [UInt8], _ device: [UInt8]) -> HTTPZoneTransport {
        if let known = transports[zone + device] { return known }
        let transport = HTTPZoneTransport(
            client: client, zone: zone, device: device,
            fields: { [unowned self] in [("Authorization", "Bearer \(tokens[device] ?? "none")")] },
            renew: { [unowned self] in (try? logIn(device)) != nil })
        transports[zone + device] = transport
        return transport
    }

    private func post(_ path: String, _ body: [UInt8]) throws -> HTTPResponse {
        var request = HTTPRequest("POST", path, body: body)
        request.fields = [("Content-Type", "application/cbor")]
        return try client.send(request)
    }

    private func logIn(_ id: [UInt8]) throws {
        let device = try #require(devices[id])
        let request = LoginChallengeRequest(
            accountID: device.account.bytes, deviceID: device.secrets.id,
            clientNonce: SystemRandomSource().bytes(count: 32))
        let challenge = try LoginChallenge(decoding: try post("/v1/login/challenge", request.encoded()).body)
        let proof = LoginProof(
            serverName: challenge.serverName, fingerprint: LoginProof.noFingerprint, accountID: device.account,
            deviceID: device.secrets.id, serverNonce: challenge.serverNonce, clientNonce: request.clientNonce,
            expiry: challenge.expiry)
        let login = LoginRequest(
            challenge: challenge, request: request, signature: proof.sign(with: device.secrets.signing))
        let session = try LoginSession(decoding: try post("/v1/login", login.encoded()).body)
        tokens[id] = Hex.encode(session.token)
        loginCount += 1
    }
}

@Suite("Logs at the server process")
struct LogProcessTests {
    @Test("two devices write, race, checkpoint and revoke over HTTP, and a third one joins")
    func life() throws {
        let site = try ServerSite()
        let person = try LogPerson(SeededGenerator(seed: 5), server: site)
        let two = try person.addDevice()
        let one = person.devices[0]
        for device in person.devices { try device.sync() }
        for number in 1...40 { try one.put(LogDevice.text(number), "note \(number)\n") }
        // Several parts, and several pages of a fetch.
        try one.repository.commit(
            (100..<1_000).map { .init(key: LogDevice.text($0), value: person.random.bytes(count: 10_000)) }, time: 1)
        #expect(try one.sync().sentCount == 41)
        #expect(try two.sync().receivedCount == 41)
        #expect(try one.facts() == two.facts())
        // The session ended meanwhile.
        site.endSessions()
        let quiet = try two.sync()
        #expect(quiet.requestCount == 2 && quiet.receivedCount == 0)
        // 412 over the wire.
        var isOpen = true
        try one.put(LogDevice.text(1), "one\n")
        try two.put(LogDevice.text(2), "two\n")
        one.intercept = { request in
            if case .push = request, isOpen {
                isOpen = false
                try two.sync()
            }
            return nil
        }
        #expect(try one.sync().sentCount == 1)
        one.intercept = nil
        #expect(!isOpen)
        // A checkpoint, and a device that takes its tree by address.
        var options = LogSync.Options()
        options.writesCheckpoint = true
        #expect(try one.sync(options).linkCount == 1)
        let three = try person.addDevice()
        try three.sync()
        try two.sync()
        #expect(try three.facts() == two.facts() && three.shown(LogDevice.text(2)) == "two\n")
        // 409: both write the closing link.
        try person.revoke(three, by: one)
        isOpen = true
        one.intercept = { request in
            if case .links = request, isOpen {
                isOpen = false
                try two.sync()
            }
            return nil
        }
        try one.sync()
        one.intercept = nil
        #expect(!isOpen && one.vaultKeys.keys.sorted() == [1, 2])
        try one.put(LogDevice.text(3), "behind the revocation\n")
        try one.sync()
        try two.sync()
        #expect(try one.facts() == two.facts())
        let refused = try #require(throws: SyncError.self) { try three.sync() }
        #expect(refused.code == .refused)
        #expect(site.loginCount >= 5)
        #expect(site.process.stop() == 0)
    }

    @Test("what is cut off in the middle of a list is fetched by the next sync")
    func cut() throws {
        let site = try ServerSite()
        let person = try LogPerson(SeededGenerator(seed: 6), server: site)
        let (one, two) = (person.devices[0], try person.addDevice())
        for device in person.devices { try device.sync() }
        for number in 1...30 { try one.put(LogDevice.text(number), String(repeating: "x\(number) ", count: 900)) }
        try one.sync()
        two.lie = { if case .page = $0 { .unreachable } else { $0 } }
        let half = try #require(throws: SyncError.self) { try two.sync() }
        #expect(half.code == .unreachable)
        two.lie = { $0 }
        #expect(try two.sync().receivedCount == 30)
        site.process.killAtOnce()
        let failure = try #require(throws: SyncError.self) { try two.sync() }
        #expect(failure.code == .unreachable)
    }
}
