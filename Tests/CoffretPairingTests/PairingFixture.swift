// Two devices and the wire between them, in one process.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretPairing

/// A new device and a trusted one, with everything that they said.
struct PairingFixture {
    let generator = SeededGenerator.fromEnvironment()
    let fingerprint: [UInt8]
    let relayID: [UInt8]
    let requesterKey: SigningKey
    let requester: RequesterIdentity
    let approver: ApproverIdentity
    let account: VerifiedDeviceChain
    let ownerKey: SigningKey

    init(name: String = "Laptop") throws {
        fingerprint = generator.bytes(count: 32)
        relayID = generator.bytes(count: 16)
        requesterKey = .generate(from: generator)
        requester = RequesterIdentity(
            deviceID: .generate(from: generator), keys: Self.keys(requesterKey, generator),
            instanceID: .generate(from: generator), name: name, model: "Model")
        ownerKey = .generate(from: generator)
        account = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(
                deviceID: .generate(from: generator), keys: Self.keys(ownerKey, generator), details: [], with: ownerKey)
        ])
        approver = ApproverIdentity(accountID: account.accountID, head: account.head, serverFingerprint: fingerprint)
    }

    static func keys(_ signing: SigningKey, _ generator: SeededGenerator) -> DeviceKeys {
        DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
            noise: AgreementKey.generate(from: generator).publicKey)
    }

    func makeRequester(
        isScanned: Bool = false, attempts: PairingAttempts = PairingAttempts(), now: Milliseconds = 0
    ) throws -> PairingRequester {
        try PairingRequester(
            requester, signingKey: requesterKey, relayID: relayID, isScanned: isScanned,
            serverFingerprint: fingerprint, attempts: attempts, random: generator, now: now)
    }

    func makeApprover(
        _ invitation: PairingInvitation? = nil, attempts: PairingAttempts = PairingAttempts(), now: Milliseconds = 0
    ) throws -> PairingApprover {
        try PairingApprover(
            approver, relayID: relayID, invitation: invitation, attempts: attempts, random: generator, now: now)
    }
}

/// Drives both machines; a test may look at, or change, every frame.
final class Wire {
    let requester: PairingRequester
    let approver: PairingApprover
    var requesterEvents: [RequesterEvent] = []
    var approverEvents: [ApproverEvent] = []
    /// Called with each frame; what it returns is delivered.
    var tamper: (_ frame: [UInt8], _ isFromApprover: Bool) -> [[UInt8]] = { frame, _ in [frame] }
    private var toRequester: [[UInt8]] = []
    private var toApprover: [[UInt8]] = []

    init(_ requester: PairingRequester, _ approver: PairingApprover) throws {
        self.requester = requester
        self.approver = approver
    }

    func start(now: Milliseconds = 1) throws {
        post(try approver.start(), isFromApprover: true)
        try pump(now: now)
    }

    private func post(_ frame: [UInt8], isFromApprover: Bool) {
        let frames = tamper(frame, isFromApprover)
        if isFromApprover { toRequester += frames } else { toApprover += frames }
    }

    func pump(now: Milliseconds = 1) throws {
        while !toRequester.isEmpty || !toApprover.isEmpty {
            if !toRequester.isEmpty { take(try requester.receive(toRequester.removeFirst(), now: now)) }
            if !toApprover.isEmpty { take(try approver.receive(toApprover.removeFirst(), now: now)) }
        }
    }

    func take(_ events: [RequesterEvent]) {
        requesterEvents += events
        for case .send(let frame) in events { post(frame, isFromApprover: false) }
    }

    func take(_ events: [ApproverEvent]) {
        approverEvents += events
        for case .send(let frame) in events { post(frame, isFromApprover: true) }
    }

    func send(_ frames: [[UInt8]], isFromApprover: Bool, now: Milliseconds = 1) throws {
        for frame in frames { post(frame, isFromApprover: isFromApprover) }
        try pump(now: now)
    }

    var firstCode: String? {
        for case .showCode(let code) in requesterEvents { return code.description }
        return nil
    }

    var secondCode: String? {
        for case .showCode(let code) in approverEvents { return code.description }
        return nil
    }
}

/// The code of the error that `body` throws.
func failure<Result>(_ body: () throws -> Result) -> PairingError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? PairingError)?.code
    }
}
