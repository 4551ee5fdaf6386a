// Bytes of shares at rest and on their way. The one thing to keep true: a share goes with the circle and the device that it
// belongs to, so that no program joins shares of two circles.

package import CoffretBase
package import CoffretCrypto
internal import CoffretTrust

extension CircleShare {
    private static let version: UInt64 = 1
    /// More than any record has, so that a buffer with a share never grows.
    private static let byteCountMax = 256

    /// Layout, deterministic CBOR: [1, circle id (32), founder (32), paper device id (16), threshold, count, hours, x,
    /// share (32)]. The bytes are a secret in ordinary memory, which the caller zeroes.
    ///
    /// Spec: Spec/recovery.md section 6.
    package var encoded: [UInt8] { CBOREncoder.encode(reservingByteCount: Self.byteCountMax) { encode(to: &$0) } }

    fileprivate func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 9)
        encoder.encode(unsigned: Self.version)
        for bytes in [circleID.bytes, founder.bytes, paper.bytes] { encoder.encode(bytes: bytes) }
        for number in [terms.threshold, terms.count, terms.hours, Int(x)] { encoder.encode(unsigned: UInt64(number)) }
        // EXPOSE: a share, into bytes that the caller seals or zeroes.
        unsafe share.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
    }

    /// Reads what `encoded` wrote; nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try CircleShare(from: &decoder) }
        guard let read else { return nil }
        self = read
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        try decoder.readArrayHeader(count: 9)
        guard try decoder.readUnsigned() == Self.version else { throw malformed }
        let circleID = VaultID(try decoder.readBytes(count: 32))
        let founder = ChainID(try decoder.readBytes(count: 32))
        let paper = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
        let threshold = Int(try decoder.readUnsigned(as: UInt16.self))
        let count = Int(try decoder.readUnsigned(as: UInt16.self))
        let hours = Int(try decoder.readUnsigned(as: UInt16.self))
        let x = try decoder.readUnsigned(as: UInt8.self)
        let share = AuthenticationKey(try decoder.readSecret(counts: 32...32))
        guard let circleID, let founder, let paper,
            let terms = CircleTerms(threshold: threshold, count: count, hours: hours), 1...terms.count ~= Int(x)
        else { throw malformed }
        self.init(circleID: circleID, founder: founder, paper: paper, terms: terms, x: x, share: share)
    }
}

/// What a new machine and a contact say to each other once the codes were compared.
///
/// Layouts, deterministic CBOR: [1, nonce (32)], [2, milliseconds, hours], [3, share record], [4, code], [5].
/// Spec: Spec/recovery.md section 6.
package enum CircleWord: Sendable {
    /// The machine asks.
    case ask(nonce: [UInt8])
    /// The request is recorded; the rest of the waiting time at this contact's device, and the whole of it in hours.
    case recorded(rest: Milliseconds, hours: Int)
    case share(CircleShare)
    /// Nothing was done: a code of Spec/errors.md.
    case refused(code: String)
    /// The machine has kept the share.
    case kept

    private static let codeByteCountMax = 64
    private static let byteCountMax = 512

    /// The caller zeroes what holds a share.
    package var encoded: [UInt8] {
        CBOREncoder.encode(reservingByteCount: Self.byteCountMax) { encoder in
            func begin(_ code: UInt64, _ count: Int) {
                encoder.encodeArrayHeader(count: count)
                encoder.encode(unsigned: code)
            }
            switch self {
            case .ask(let nonce):
                begin(1, 2)
                encoder.encode(bytes: nonce)
            case .recorded(let rest, let hours):
                begin(2, 3)
                encoder.encode(unsigned: UInt64(max(rest, 0)))
                encoder.encode(unsigned: UInt64(hours))
            case .share(let share):
                begin(3, 2)
                share.encode(to: &encoder)
            case .refused(let code):
                begin(4, 2)
                encoder.encode(text: code)
            case .kept: begin(5, 1)
            }
        }
    }

    /// Reads a message of the other side; nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> CircleWord in
            let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
            let count = try decoder.readArrayHeader()
            switch (try decoder.readUnsigned(), count) {
            case (1, 2): return .ask(nonce: try decoder.readBytes(count: CircleSession.nonceByteCount))
            case (2, 3):
                let rest = try decoder.readUnsigned()
                let hours = Int(try decoder.readUnsigned(as: UInt16.self))
                guard CircleTerms.hourRange ~= hours, rest <= UInt64(hours) * 3_600_000 else { throw malformed }
                return .recorded(rest: Milliseconds(rest), hours: hours)
            case (3, 2): return .share(try CircleShare(from: &decoder))
            case (4, 2): return .refused(code: try decoder.readText(byteCountMax: Self.codeByteCountMax))
            case (5, 1): return .kept
            default: throw malformed
            }
        }
        guard let read else { return nil }
        self = read
    }
}

/// The wish of a machine that lost everything, as it lies there until enough contacts have helped.
///
/// Layout, deterministic CBOR: [1, signing seed (32), nonce (32), [* share record]]. It has fewer right shares than the threshold: the
/// one that makes it whole is used at once, and not kept. Spec: Spec/recovery.md section 6.
package struct CircleWish: Sendable {
    package static let byteCountMax = 16 << 10
    private static let version: UInt64 = 1

    package let seed: SymmetricKey<KeyPurposes.Authentication>
    package let nonce: [UInt8]
    package private(set) var shares: [CircleShare] = []

    /// A new one.
    package init(random: any RandomSource) {
        seed = AuthenticationKey(random.secret(byteCount: 32))
        nonce = random.bytes(count: CircleSession.nonceByteCount)
    }

    /// The key that the machine proves to have in each session.
    package var signingKey: SigningKey {
        // EXPOSE: from locked memory into the key's own.
        SigningKey(seed: unsafe seed.withUnsafeBytes { unsafe SecretBytes(copying: $0) })
    }

    /// Takes a share; a later one of the same contact takes the place of the one before.
    package mutating func take(_ share: CircleShare) {
        shares.removeAll { $0.circleID == share.circleID && $0.x == share.x }
        shares.append(share)
        if shares.count > CircleTerms.countMax { shares.removeFirst() }
    }

    /// The bytes are a secret in ordinary memory, which the caller zeroes.
    package var encoded: [UInt8] {
        CBOREncoder.encode(reservingByteCount: Self.byteCountMax) { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: Self.version)
            // EXPOSE: the seed of a key that nobody trusts yet, into the file of its machine.
            unsafe seed.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            encoder.encode(bytes: nonce)
            encoder.encodeArrayHeader(count: shares.count)
            for share in shares { share.encode(to: &encoder) }
        }
    }

    /// Reads what `encoded` wrote; nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> CircleWish in
            let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
            try decoder.readArrayHeader(count: 4)
            guard try decoder.readUnsigned() == Self.version else { throw malformed }
            let seed = AuthenticationKey(try decoder.readSecret(counts: 32...32))
            let nonce = try decoder.readBytes(count: CircleSession.nonceByteCount)
            let count = try decoder.readArrayHeader()
            guard count <= CircleTerms.countMax else { throw malformed }
            var shares: [CircleShare] = []
            for _ in 0..<count { shares.append(try CircleShare(from: &decoder)) }
            return CircleWish(seed: seed, nonce: nonce, shares: shares)
        }
        guard let read else { return nil }
        self = read
    }

    private init(seed: SymmetricKey<KeyPurposes.Authentication>, nonce: [UInt8], shares: [CircleShare]) {
        (self.seed, self.nonce, self.shares) = (seed, nonce, shares)
    }
}
