// What a keyring keeps of the account's identity. The one thing to keep true: the chain only goes on from what was verified,
// and private halves go when nothing may be sealed to them any more.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust

/// The account's identity chain and the private halves that are here.
///
/// Layout: [[link...], {number: first seen}, [[number, signing seed (32), box key (32), time]...], [[number, transient key (32),
/// time]...]]. Spec: Spec/keys.md section 3.
struct IdentityRecord: Sendable {
    /// nil until a link is known here.
    var chain: VerifiedIdentityChain?
    /// When this device saw links first, by its clock; of those from the oldest on whose transient key may be here.
    var seen: [UInt64: Milliseconds] = [:]
    var keys = IdentityKeys()

    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 4)
        KeyringBody.encode(chain?.links ?? [], to: &encoder)
        encoder.encodeMapHeader(count: seen.count)
        for (number, time) in seen.sorted(by: { $0.key < $1.key }) {
            encoder.encode(unsigned: number)
            encoder.encode(signed: time)
        }
        keys.encode(to: &encoder, withTimes: true)
    }

    var encodedByteCountMax: Int {
        (chain?.links ?? []).reduce(64 + seen.count * 20 + keys.encodedByteCountMax) {
            $0 + $1.link.publicPart.count + 256
        }
    }

    /// Lets go of private halves: all that are older than the newest link that sets; of a refreshed key 90 days after another
    /// one replaced it; of those that no link names 30 days after they came.
    ///
    /// - Returns: nil if all stay.
    func forgetting(at now: Milliseconds) -> IdentityRecord? {
        var record = self
        func isOver(_ start: Milliseconds, _ wait: Milliseconds) -> Bool {
            let (elapsed, overflow) = now.subtractingReportingOverflow(start)
            return !overflow && elapsed >= wait
        }
        let links = chain?.identityLinks ?? []
        let set = chain?.newestSet.number ?? 0
        record.keys.longTerm.removeAll { key in
            if key.number < set { return true }
            let isNamed = key.number < UInt64(links.count) && keys.isNamed(key, by: links[Int(key.number)])
            return !isNamed && isOver(key.since, Self.unnamedTime)
        }
        record.keys.transients.removeAll { key in
            if key.number < set { return true }
            guard key.number < UInt64(links.count), keys.isNamed(key, by: links[Int(key.number)]) else {
                return isOver(key.since, Self.unnamedTime)
            }
            guard key.number + 1 < UInt64(links.count) else { return false }
            let made = links[Int(key.number + 1)].operation.transient.made
            return isOver(max(made, seen[key.number + 1] ?? now), Self.replacedTime)
        }
        let oldest = record.keys.transients.map(\.number).min() ?? UInt64(links.count)
        record.seen = seen.filter { $0.key > oldest }
        let isSame =
            record.keys.longTerm.count == keys.longTerm.count && record.keys.transients.count == keys.transients.count
        return isSame ? nil : record
    }

    /// 90 days.
    static let replacedTime: Milliseconds = 90 * 86_400_000
    /// 30 days.
    static let unnamedTime: Milliseconds = 30 * 86_400_000
}

extension IdentityKeys {
    /// Of each kind.
    static let countMax = 1_024

    func isNamed(_ key: LongTerm, by link: VerifiedIdentityLink) -> Bool {
        link.operation.longTerm?.signing == key.signing.verifyingKey
            && link.operation.longTerm?.box == key.box.publicKey
    }

    func isNamed(_ key: Transient, by link: VerifiedIdentityLink) -> Bool {
        link.operation.transient.key == key.key.publicKey
    }

    var encodedByteCountMax: Int { 32 + longTerm.count * 112 + transients.count * 64 }

    /// - Parameter withTimes: in a keyring; boxes have none.
    func encode(to encoder: inout CBOREncoder, withTimes: Bool) {
        if !withTimes { encoder.encodeArrayHeader(count: 2) }
        encoder.encodeArrayHeader(count: longTerm.count)
        for key in longTerm {
            encoder.encodeArrayHeader(count: withTimes ? 4 : 3)
            encoder.encode(unsigned: key.number)
            // EXPOSE: private keys, into the buffer that is sealed and zeroed.
            unsafe key.signing.duplicateSeed().withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            unsafe key.box.duplicateSecret().withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            if withTimes { encoder.encode(signed: key.since) }
        }
        encoder.encodeArrayHeader(count: transients.count)
        for key in transients {
            encoder.encodeArrayHeader(count: withTimes ? 3 : 2)
            encoder.encode(unsigned: key.number)
            // EXPOSE: the same.
            unsafe key.key.duplicateSecret().withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            if withTimes { encoder.encode(signed: key.since) }
        }
    }

    init(from decoder: inout CBORDecoder, withTimes: Bool) throws(CBORError) {
        let start = decoder.byteOffset
        if !withTimes { try decoder.readArrayHeader(count: 2) }
        var (longTerm, transients): ([LongTerm], [Transient]) = ([], [])
        let longTermCount = try decoder.readArrayHeader()
        guard longTermCount <= Self.countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        for _ in 0..<longTermCount {
            try decoder.readArrayHeader(count: withTimes ? 4 : 3)
            let number = try decoder.readUnsigned()
            let signing = SigningKey(seed: try decoder.readSecret())
            let box = AgreementKey(try decoder.readSecret())
            longTerm.append(
                LongTerm(
                    number: number, signing: signing, box: box, since: withTimes ? try decoder.readSigned() : 0))
        }
        let transientCount = try decoder.readArrayHeader()
        guard transientCount <= Self.countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        for _ in 0..<transientCount {
            try decoder.readArrayHeader(count: withTimes ? 3 : 2)
            let number = try decoder.readUnsigned()
            let key = AgreementKey(try decoder.readSecret())
            transients.append(
                Transient(number: number, key: key, since: withTimes ? try decoder.readSigned() : 0))
        }
        self.init(longTerm: longTerm, transients: transients)
    }

    /// These keys with those of `other` that are new here.
    ///
    /// - Returns: nil if none is.
    func joined(by other: IdentityKeys, at now: Milliseconds) -> IdentityKeys? {
        var keys = self
        for key in other.longTerm where keys.longTerm.count < Self.countMax {
            let isKnown = keys.longTerm.contains {
                $0.number == key.number && $0.box.publicKey == key.box.publicKey
                    && $0.signing.verifyingKey == key.signing.verifyingKey
            }
            if !isKnown {
                keys.longTerm.append(LongTerm(number: key.number, signing: key.signing, box: key.box, since: now))
            }
        }
        for key in other.transients where keys.transients.count < Self.countMax {
            let isKnown = keys.transients.contains {
                $0.number == key.number && $0.key.publicKey == key.key.publicKey
            }
            if !isKnown { keys.transients.append(Transient(number: key.number, key: key.key, since: now)) }
        }
        let isSame = keys.longTerm.count == longTerm.count && keys.transients.count == transients.count
        return isSame ? nil : keys
    }
}

/// An identity's record before its chain is verified.
struct UnverifiedIdentity {
    let links: [UnverifiedLink]
    let seen: [UInt64: Milliseconds]
    let keys: IdentityKeys

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 4)
        links = try decoder.readLinks()
        var seen: [UInt64: Milliseconds] = [:]
        var map = try decoder.readMapHeader()
        while let number = try decoder.readUnsignedKey(in: &map) { seen[number] = try decoder.readSigned() }
        self.seen = seen
        keys = try IdentityKeys(from: &decoder, withTimes: true)
    }

    /// The chain was verified before it was kept: hashes are checked, and no signature.
    func verified(by devices: AccountDevices) throws(TrustError) -> IdentityRecord {
        let chain = links.isEmpty ? nil : try VerifiedIdentityChain.resume(links, devices: devices)
        return IdentityRecord(chain: chain, seen: seen, keys: keys)
    }
}

extension KeyringBody {
    /// The account's devices with the lines that recoveries replaced.
    var accountDevices: AccountDevices {
        AccountDevices(deviceChain, replaced: formerChains.filter { $0.accountID == deviceChain.accountID })
    }

    /// Takes private halves that another device sent.
    mutating func takeIdentity(_ keys: IdentityKeys, at now: Milliseconds) {
        guard let joined = (identity?.keys ?? IdentityKeys()).joined(by: keys, at: now) else { return }
        var record = identity ?? IdentityRecord()
        record.keys = joined
        identity = record
    }
}
