// What waits for a word of the person, and what he was told of. The one thing to keep true: nobody decides by it about people;
// it has counts and hashes, and no name.

package import CoffretBase
internal import CoffretCrypto

/// What waits for the person, as the agent saw it last.
package struct WaitingForPerson: Equatable, Sendable {
    /// Requests and answers of people who want to be contacts.
    package var letterCount = 0
    /// Vaults that others share with the account.
    package var vaultCount = 0
    /// People who ask for help as a recovery contact.
    package var helpCount = 0
    /// Requests of recovery contacts for an account, the own one or another, that nobody has forbidden.
    package var requestCount = 0

    package init() {}

    fileprivate var counts: [Int] { [letterCount, vaultCount, helpCount, requestCount] }

    fileprivate init?(_ counts: [Int]) {
        guard counts.count == 4 else { return nil }
        (letterCount, vaultCount, helpCount, requestCount) = (counts[0], counts[1], counts[2], counts[3])
    }
}

/// The things that a person was told of.
package struct ToldNotices: Equatable, Sendable {
    package static let countMax = 512
    /// What cannot wait is told again after so long: an hour.
    package static let repeatMilliseconds: Milliseconds = 3_600_000
    private static let keyByteCount = 16

    private var told: [[UInt8]: Milliseconds] = [:]

    package init() {}

    private static func key(_ kind: UInt8, _ subject: [UInt8]) -> [UInt8] {
        [kind] + BLAKE2b.hash([kind], subject).prefix(keyByteCount - 1)
    }

    /// Notes that a person is told of something.
    ///
    /// - Parameters:
    ///   - subject: what it is about.
    ///   - isRepeated: it is news again after an hour.
    /// - Returns: whether it is news.
    package mutating func take(
        _ kind: UInt8, _ subject: [UInt8], isRepeated: Bool = false, now: Milliseconds
    ) -> Bool {
        let key = Self.key(kind, subject)
        // A clock that was put back begins the hour anew.
        if let at = told[key], !isRepeated || 0..<Self.repeatMilliseconds ~= now &- at { return false }
        told[key] = now
        if told.count > Self.countMax, let oldest = told.min(by: { $0.value < $1.value }) { told[oldest.key] = nil }
        return true
    }

    /// Of a kind, these are all that there are: another one that comes again is news again.
    package mutating func keepOnly(_ kind: UInt8, _ subjects: [[UInt8]]) {
        let keys = Set(subjects.map { Self.key(kind, $0) })
        told = told.filter { $0.key.first != kind || keys.contains($0.key) }
    }

    fileprivate var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 1)
            encoder.encodeArrayHeader(count: told.count)
            for (key, time) in told.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(bytes: key)
                encoder.encode(signed: time)
            }
        }
    }

    fileprivate init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            var notices = ToldNotices()
            let count = try decoder.readArrayHeader()
            guard count <= Self.countMax else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            for _ in 0..<count {
                try decoder.readArrayHeader(count: 2)
                let key = try decoder.readBytes(count: Self.keyByteCount)
                notices.told[key] = try decoder.readSigned()
            }
            return notices
        }
        guard let read else { return nil }
        self = read
    }
}

/// `people` = [1, letters, vaults, people to help, requests]; `told` = [1, [* [kind (1) ‖ 15 bytes of a hash, time]]];
/// `members-VAULT` = [1, links].
extension SyncRecords {
    private static let toldByteCountMax = 32 << 10

    /// What waits for the person, as the agent saw it last; nil: no agent looked.
    package var waitingForPerson: WaitingForPerson? {
        guard let bytes = try? fileSystem.readFile(path("people"), byteCountMax: Self.byteCountMax) else { return nil }
        let counts = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            var counts: [Int] = []
            for _ in 1..<max(1, count) { counts.append(Int(try decoder.readUnsigned(as: UInt32.self))) }
            return counts
        }
        return counts.flatMap { WaitingForPerson($0) }
    }

    package func note(_ waiting: WaitingForPerson) {
        guard waiting != waitingForPerson else { return }
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(unsigned: 1)
            for count in waiting.counts { encoder.encode(unsigned: UInt64(clamping: count)) }
        }
        try? makeFolder()
        try? fileSystem.replaceFile(path("people"), with: bytes)
    }

    /// What the person was told of; nothing where that cannot be read: he is told again.
    package var toldNotices: ToldNotices {
        let bytes = try? fileSystem.readFile(path("told"), byteCountMax: Self.toldByteCountMax)
        return bytes.flatMap { ToldNotices(decoding: $0) } ?? ToldNotices()
    }

    /// The person was told of what so many links of a vault's chain did to its people; nil: of none yet.
    package func toldLinkCount(of vaultHex: String) -> Int? {
        guard let bytes = try? fileSystem.readFile(path("members-" + vaultHex), byteCountMax: Self.byteCountMax) else {
            return nil
        }
        return try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            return Int(try decoder.readUnsigned(as: UInt32.self))
        }
    }

    package func note(toldLinkCount count: Int, of vaultHex: String) {
        guard count != toldLinkCount(of: vaultHex) else { return }
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 1)
            encoder.encode(unsigned: UInt64(count))
        }
        try? makeFolder()
        try? fileSystem.replaceFile(path("members-" + vaultHex), with: bytes)
    }

    package func note(_ told: ToldNotices) {
        guard told != toldNotices else { return }
        try? makeFolder()
        try? fileSystem.replaceFile(path("told"), with: told.encoded)
    }
}
