// When a contact gives its share. The one thing to keep true: the wait is by this device's own clock from when it first saw the
// request recorded. No time that anybody states shortens it, and no single jump of the clock by more than a quarter.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// The new machine that asks, as its contact's program met it in a session whose codes two people compared.
///
/// Each session has another handshake, so the machine is known by the signing key that it proves to have in each.
package struct CircleSession: Equatable, Sendable {
    package static let nonceByteCount = 32

    /// The machine's signing key.
    package let key: [UInt8]
    package let nonce: [UInt8]

    /// nil: a key or nonce that has not 32 bytes.
    package init?(key: [UInt8], nonce: [UInt8]) {
        guard key.count == 32, nonce.count == Self.nonceByteCount else { return nil }
        (self.key, self.nonce) = (key, nonce)
    }

    /// BLAKE2b-256("coffret/circle-request/1" ‖ circle id ‖ key ‖ nonce).
    package func request(in circleID: VaultID) -> Bytes32 {
        let hash = BLAKE2b.hash(Array("coffret/circle-request/1".utf8), circleID.bytes, key, nonce)
        guard let hash = Bytes32(hash) else { preconditionFailure("a hash has 32 bytes") }
        return hash
    }
}

/// What one device of a contact remembers of a circle: how long it has known of each request and each prohibition.
///
/// Layout, deterministic CBOR: [1, last look / null, {* request (32) => milliseconds}, {* forbidden request (32) =>
/// milliseconds}].
package struct CircleMemory: Equatable, Sendable {
    /// How old the last look at the chain may be at a release: 5 minutes.
    package static let freshness: Milliseconds = 5 * 60_000
    /// Time after a prohibition in which nothing is asked anew: 24 hours.
    package static let quietTime: Milliseconds = 24 * 3_600_000

    private(set) var lastLook: Milliseconds?
    private(set) var requests: [Bytes32: Milliseconds] = [:]
    private(set) var prohibitions: [Bytes32: Milliseconds] = [:]

    package init() {}

    /// Notes what the chain says, right after it was followed to its end and verified.
    ///
    /// Each wait grows by what the clock shows since the last look, by a quarter of itself at the most, and never falls. That of a
    /// request grows while no earlier prohibition is younger than 24 hours.
    package mutating func follow(_ circle: CircleView, now: Milliseconds) {
        let (step, overflow) = now.subtractingReportingOverflow(lastLook ?? now)
        func grown(_ passed: Milliseconds?, of whole: Milliseconds) -> Milliseconds {
            guard let passed else { return 0 }
            return min(passed + min(max(overflow ? 0 : step, 0), whole / 4), whole)
        }
        let quiet = prohibitions.filter { $0.value < Self.quietTime }
        let forbidden = circle.requests.filter { $0.forbiddenAt != nil }
        requests = Dictionary(
            circle.requests.map { request in
                let isQuiet = forbidden.contains { other in
                    (other.forbiddenAt ?? .max) < request.link
                        && (quiet[other.request] != nil || prohibitions[other.request] == nil)
                }
                let passed = requests[request.request]
                return (
                    request.request, isQuiet ? passed ?? 0 : grown(passed, of: circle.terms.waitingTime)
                )
            }, uniquingKeysWith: { first, _ in first })
        prohibitions = Dictionary(
            forbidden.map { ($0.request, grown(prohibitions[$0.request], of: Self.quietTime)) },
            uniquingKeysWith: { first, _ in first })
        lastLook = now
    }

    /// How much of the waiting time is left for a request, as of the last look; nil: it is not recorded.
    package func rest(of request: Bytes32, in circle: CircleView) -> Milliseconds? {
        requests[request].map { circle.terms.waitingTime - $0 }
    }

    /// A link that records a session's request.
    ///
    /// - Throws: `.consentRequired` if the own account is no contact of a circle that serves; `.requestForbidden` within 24 hours
    ///   of a prohibition; `.requestUnrecorded` if the chain was not followed just now.
    package func request(
        _ session: CircleSession, in circle: CircleView, by account: ChainID, now: Milliseconds
    ) throws(SharingError) -> CircleOperation {
        try checkLook(now)
        guard circle.isContact(account), circle.arming != nil else { throw SharingError(.consentRequired) }
        guard prohibitions.values.allSatisfy({ $0 >= Self.quietTime }) else { throw SharingError(.requestForbidden) }
        return .request(session.request(in: circle.circleID), time: now)
    }

    /// The link that says that the own share goes to a session. The share is handed over once it is posted.
    ///
    /// - Throws: `.requestUnrecorded` if no link that counts records this very session, or the chain was not followed just now;
    ///   `.requestForbidden`; `.consentRequired` for who is no contact there; `.shareInvalid` for a share of another circle;
    ///   `.requestTooEarly` with the rest of the waiting time in milliseconds.
    package func release(
        _ share: CircleShare, to session: CircleSession, in circle: CircleView, by account: ChainID, now: Milliseconds
    ) throws(SharingError) -> CircleOperation {
        try checkLook(now)
        let hash = session.request(in: circle.circleID)
        guard let request = circle.state.request(hash), let rest = rest(of: hash, in: circle) else {
            throw SharingError(.requestUnrecorded)
        }
        guard request.forbiddenAt == nil else { throw SharingError(.requestForbidden) }
        guard circle.isContact(account), let row = circle.arming?.share(of: account) else {
            throw SharingError(.consentRequired)
        }
        guard share.circleID == circle.circleID, share.x == row.x,
            CircleShare.hash(of: share.share, x: share.x, in: circle.circleID) == row.shareHash
        else { throw SharingError(.shareInvalid) }
        guard rest <= 0 else { throw SharingError(.requestTooEarly, at: String(rest)) }
        return .release(hash, time: now)
    }

    private func checkLook(_ now: Milliseconds) throws(SharingError) {
        let (age, overflow) = now.subtractingReportingOverflow(lastLook ?? .min)
        guard !overflow, 0...Self.freshness ~= age else { throw SharingError(.requestUnrecorded, at: "chain") }
    }
}

extension CircleMemory {
    private static let version: UInt64 = 1
    private static let countMax = CircleTerms.countMax * CircleState.requestCountMax

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: Self.version)
            if let lastLook { encoder.encode(signed: lastLook) } else { encoder.encodeNull() }
            for times in [requests, prohibitions] {
                encoder.encodeMapHeader(count: times.count)
                for (hash, time) in times.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
                    encoder.encode(bytes: hash.bytes)
                    encoder.encode(unsigned: UInt64(time))
                }
            }
        }
    }

    /// Reads all of `bytes`; nil if they are no memory of a circle.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            try decoder.readArrayHeader(count: 4)
            guard try decoder.readUnsigned() == Self.version else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            var memory = CircleMemory()
            if decoder.isNextNull { try decoder.readNull() } else { memory.lastLook = try decoder.readSigned() }
            memory.requests = try Self.readTimes(&decoder)
            memory.prohibitions = try Self.readTimes(&decoder)
            return memory
        }
        guard let read else { return nil }
        self = read
    }

    private static func readTimes(_ decoder: inout CBORDecoder) throws(CBORError) -> [Bytes32: Milliseconds] {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        guard map.remaining <= countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var times: [Bytes32: Milliseconds] = [:]
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: 32) })
        {
            guard let hash = Bytes32(key) else { preconditionFailure("a hash has 32 bytes") }
            let passed = try decoder.readUnsigned()
            guard passed <= UInt64(CircleTerms.hourRange.upperBound) * 3_600_000 else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            times[hash] = Milliseconds(passed)
        }
        return times
    }
}
