// Keys on paper. Invariant: a typed key is the seed that was printed, or an error; a typing mistake is distinguished
// from a wrong key.

package import CoffretBase
internal import CoffretCrypto

/// The purpose of a sheet.
package enum RecoveryKeyKind: UInt8, Sendable {
    /// Opens one store.
    case store = 1
    /// A device of its own on paper: opens all stores of the account, and brings the account back.
    case paper = 2
}

/// A key on paper: 256 random bits that open a slot.
///
/// Text: 56 characters of Crockford's base32 in groups of 4, which are version and kind (4 bits, 1 for
/// a store recovery key, 2 for a paper device) ‖ seed (256 bits) ‖ checksum (20 bits): the first 20 bits of
/// BLAKE2b-256("coffret/recovery/1" ‖ version and kind in one byte ‖ seed).
/// Spec: Spec/keys.md. Source: protocol decision 18.
package final class RecoveryKey: Sendable, CustomStringConvertible, CustomReflectable {
    package static let seedByteCount = 32
    package static let groupCount = 14
    package static let groupCharacterCount = 4

    package let kind: RecoveryKeyKind
    private let seed: SecretBytes

    private init(_ kind: RecoveryKeyKind, _ seed: consuming SecretBytes) {
        self.kind = kind
        self.seed = seed
    }

    package static func generate(_ kind: RecoveryKeyKind = .store, from random: any RandomSource) -> RecoveryKey {
        RecoveryKey(kind, random.secret(byteCount: seedByteCount))
    }

    /// The key of a paper device that nobody printed: its seed came together out of shares.
    ///
    /// - Parameter seed: 32 bytes.
    package init(paperSeed seed: consuming SecretBytes) {
        precondition(seed.byteCount == Self.seedByteCount, "a seed has 32 bytes")
        kind = .paper
        self.seed = seed
    }

    /// Reads the text, with or without spaces and hyphens, in either case; O counts as 0, I and L as 1.
    ///
    /// - Throws: `.recoveryKeyMalformed` with the group at fault, `.recoveryKeyMistyped`,
    ///   `.recoveryKeyUnsupported`.
    package static func parse(_ text: String) throws(KeyError) -> RecoveryKey {
        var (version, bytes) = try SheetText.decode(text)
        defer { bytes.zero() }
        guard let kind = RecoveryKeyKind(rawValue: version) else { throw KeyError(.recoveryKeyUnsupported) }
        return RecoveryKey(kind, SecretBytes(consuming: &bytes))
    }

    /// How many characters of a key some text has, without what stands between groups.
    package static func characterCount(of text: String) -> Int {
        text.utf8.count { !SheetText.isBetweenGroups($0) }
    }

    /// The text in 14 groups of 4 characters.
    ///
    /// It is a secret in ordinary memory: for printing, once.
    package func textGroups() -> [String] {
        // EXPOSE: onto paper.
        var bytes = unsafe seed.withUnsafeBytes { unsafe [UInt8]($0) }
        defer { bytes.zero() }
        return SheetText.encode(kind.rawValue, bytes)
    }

    /// The groups joined by hyphens.
    package func text() -> String { textGroups().joined(separator: "-") }

    /// The key pair whose public half stands in a slot with this anchor.
    ///
    /// A slot without one is a paper device's, which has the same key in every store and in the account's chain.
    func deriveBoxKey(anchor: [UInt8]) -> AgreementKey {
        guard kind == .store || !anchor.isEmpty else { return derivePaperBoxKey() }
        return AgreementKey(KDF.derive(from: seed, .recoveryBox, anchor))
    }

    /// A slot that the key opens, for as long as the device of the anchor wrote what is behind it.
    func slot(id: UniqueID, anchor: [UInt8]) -> KeySlot {
        KeySlot(
            id: id, kind: .recovery, algorithm: .x25519, publicKey: deriveBoxKey(anchor: anchor).publicKey.bytes,
            anchor: anchor, password: nil, reference: [], sealedStorageKey: [])
    }

    /// Of a paper device: what boxes are sealed to.
    func derivePaperBoxKey() -> AgreementKey { AgreementKey(KDF.derive(from: seed, .paperBox)) }

    /// Of a paper device.
    func deriveSigningKey() -> SigningKey { SigningKey(seed: KDF.derive(from: seed, .paperSigning)) }

    /// Of a paper device.
    func deriveNoiseKey() -> AgreementKey { AgreementKey(KDF.derive(from: seed, .paperNoise)) }

    package var description: String { "recovery key (redacted)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// 32 bytes as people write them down: 14 groups of 4 characters, with what they are and a checksum.
enum SheetText {
    /// - Parameter version: what the bytes are, below 16.
    static func encode(_ version: UInt8, _ bytes: [UInt8]) -> [String] {
        let checksum = checksum(version, bytes)
        var packed: [UInt8] = []
        packed.reserveCapacity(35)
        defer { packed.zero() }
        var carry = version
        for byte in bytes {
            packed.append(carry << 4 | byte >> 4)
            carry = byte & 15
        }
        packed.append(carry << 4 | UInt8(checksum >> 16))
        packed.append(UInt8(checksum >> 8 & 0xFF))
        packed.append(UInt8(checksum & 0xFF))
        let text = Array(Base32.crockford.encode(packed))
        return stride(from: 0, to: text.count, by: RecoveryKey.groupCharacterCount).map {
            String(text[$0..<$0 + RecoveryKey.groupCharacterCount])
        }
    }

    /// - Throws: `.recoveryKeyMalformed`, with the group at fault unless it is the length; `.recoveryKeyMistyped`.
    static func decode(_ text: String) throws(KeyError) -> (version: UInt8, bytes: [UInt8]) {
        var characters = text.utf8.filter { !isBetweenGroups($0) }
        defer { characters.zero() }
        let expectedCount = RecoveryKey.groupCount * RecoveryKey.groupCharacterCount
        guard characters.count == expectedCount else { throw KeyError(.recoveryKeyMalformed) }
        var packed: [UInt8]
        do throws(TextCodingError) {
            packed = try Base32.crockford.decode(String(decoding: characters, as: UTF8.self))
        } catch {
            throw KeyError(
                .recoveryKeyMalformed, at: "group \(error.byteOffset / RecoveryKey.groupCharacterCount + 1)")
        }
        defer { packed.zero() }
        // 280 bits: a nibble of version and kind, the bytes shifted by it, 20 bits of checksum.
        let version = packed[0] >> 4
        var bytes = (0..<RecoveryKey.seedByteCount).map { packed[$0] << 4 | packed[$0 + 1] >> 4 }
        let checksum = UInt32(packed[32] & 15) << 16 | UInt32(packed[33]) << 8 | UInt32(packed[34])
        guard checksum == self.checksum(version, bytes) else {
            bytes.zero()
            throw KeyError(.recoveryKeyMistyped)
        }
        return (version, bytes)
    }

    static func isBetweenGroups(_ character: UInt8) -> Bool { [0x20, 0x2D, 0x0A, 0x0D, 0x09].contains(character) }

    private static func checksum(_ version: UInt8, _ bytes: [UInt8]) -> UInt32 {
        let hash = BLAKE2b.hash(Array("coffret/recovery/1".utf8), [version], bytes)
        return UInt32(hash[0]) << 12 | UInt32(hash[1]) << 4 | UInt32(hash[2]) >> 4
    }
}

/// The other text on the sheet, for when a program asks for the account of a sheet.
///
/// 80 bits of an id, as 16 characters of Crockford's base32 in groups of 4.
package struct Fingerprint: Equatable, Sendable, CustomStringConvertible {
    private static let byteCount = 10

    private let bytes: [UInt8]

    /// The first 80 bits of an id of at least 10 bytes.
    package init(of id: [UInt8]) { bytes = Array(id.prefix(Self.byteCount)) }

    package var description: String {
        let text = Array(Base32.crockford.encode(bytes))
        return stride(from: 0, to: text.count, by: 4).map { String(text[$0..<$0 + 4]) }.joined(separator: "-")
    }
}

/// A check that a sheet was written down: some of its groups, typed back.
package struct RecoveryChallenge: Sendable {
    /// Which groups are asked for, from 1, ascending.
    package let groupNumbers: [Int]

    /// Asks for `count` different groups.
    package static func generate(count: Int = 2, from random: any RandomSource) -> RecoveryChallenge {
        precondition((1...RecoveryKey.groupCount).contains(count), "there are 14 groups")
        var numbers: Set<Int> = []
        while numbers.count < count {
            numbers.insert(Int(random.uniform(below: UInt64(RecoveryKey.groupCount))) + 1)
        }
        return RecoveryChallenge(groupNumbers: numbers.sorted())
    }

    /// Whether `answers` are the groups asked for, in that order; case and look-alikes do not matter.
    package func isAnswered(by answers: [String], for key: RecoveryKey) -> Bool {
        guard answers.count == groupNumbers.count else { return false }
        let groups = key.textGroups()
        var isRight = true
        for (number, answer) in zip(groupNumbers, answers) {
            let expected = Array(groups[number - 1].utf8)
            if !ConstantTime.isEqual(Self.normalized(answer), expected) { isRight = false }
        }
        return isRight
    }

    private static func normalized(_ answer: String) -> [UInt8] {
        answer.uppercased().utf8.filter { $0 != 0x20 }.map { character in
            switch character {
            case UInt8(ascii: "O"): UInt8(ascii: "0")
            case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
            default: character
            }
        }
    }
}
