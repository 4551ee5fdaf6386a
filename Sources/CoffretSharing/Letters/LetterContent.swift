// What letters carry. The one thing to keep true: a purpose has one subject and one content, and secrets go from locked
// memory into the sealed bytes and back.

internal import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// Numbers that a letter is bound to.
///
/// Layout in the header, deterministic CBOR: [epoch, member head] of a vault key, [epoch] of a key that is wanted, [] else.
package enum LetterSubject: Equatable, Sendable {
    case none
    case epoch(UInt32)
    /// An epoch and the member link at which the sender knew its key.
    case key(epoch: UInt32, memberHead: StatedLink)

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .none: encoder.encodeArrayHeader(count: 0)
            case .epoch(let epoch):
                encoder.encodeArrayHeader(count: 1)
                encoder.encode(unsigned: UInt64(epoch))
            case .key(let epoch, let head):
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: UInt64(epoch))
                head.encode(to: &encoder)
            }
        }
    }

    /// Reads the subject of a purpose; nil: it is not of that purpose's form.
    package init?(decoding bytes: [UInt8], of purpose: LetterPurpose) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> LetterSubject in
            switch purpose {
            case .vaultKey:
                try decoder.readArrayHeader(count: 2)
                let epoch = try decoder.readUnsigned(as: UInt32.self)
                return .key(epoch: epoch, memberHead: try StatedLink(from: &decoder))
            case .keyWanted:
                try decoder.readArrayHeader(count: 1)
                return .epoch(try decoder.readUnsigned(as: UInt32.self))
            case .contactRequest, .contactAnswer, .recoveryShare:
                try decoder.readArrayHeader(count: 0)
                return .none
            }
        }
        guard let read else { return nil }
        self = read
    }
}

/// The keys of a vault, for a member.
package struct VaultKeyContent: Sendable {
    package let vaultKey: VaultKey
    package let splitKey: SplitKey
    /// The sender's word of what the server has, for a member that has not accepted yet; else empty.
    package let word: [UInt8]

    /// Bytes of a word.
    package static let wordByteCountMax = 2_048

    package init(vaultKey: VaultKey, splitKey: SplitKey, word: [UInt8] = []) {
        self.vaultKey = vaultKey
        self.splitKey = splitKey
        self.word = word
    }
}

/// A share of a recovery key, for one of its keepers.
package struct RecoveryShareContent: Sendable {
    package let x: UInt8
    package let threshold: UInt8
    package let count: UInt8
    /// 32 bytes.
    package let share: SymmetricKey<KeyPurposes.Authentication>

    package init(x: UInt8, threshold: UInt8, count: UInt8, share: SymmetricKey<KeyPurposes.Authentication>) {
        self.x = x
        self.threshold = threshold
        self.count = count
        self.share = share
    }
}

/// Who asks to be a contact, or answers.
package struct ContactContent: Equatable, Sendable {
    package static let textByteCountMax = 256

    /// The sender's card; whether it is signed by the sender's account is not checked yet.
    package let card: Card
    /// That the sender has the code of an invitation, 32 bytes; nil: none.
    package let proof: [UInt8]?
    /// A request's words, up to 256 bytes of UTF-8; empty in answers.
    package let text: String

    package init(card: Card, proof: [UInt8]?, text: String = "") {
        self.card = card
        self.proof = proof
        self.text = text
    }
}

/// What a letter carries.
///
/// Layouts, deterministic CBOR: 1 [vault key (32), split key (32), word or empty], 2 [card, proof (32) or empty,
/// text], 3 [card, proof or empty], 4 [x, threshold, count, share (32)], 5 [].
package enum LetterContent: Sendable {
    case vaultKey(VaultKeyContent)
    case contactRequest(ContactContent)
    case contactAnswer(ContactContent)
    case recoveryShare(RecoveryShareContent)
    case keyWanted

    package var purpose: LetterPurpose {
        switch self {
        case .vaultKey: .vaultKey
        case .contactRequest: .contactRequest
        case .contactAnswer: .contactAnswer
        case .recoveryShare: .recoveryShare
        case .keyWanted: .keyWanted
        }
    }

    /// Bytes of the longest content, so that a buffer with secrets never grows.
    private static let byteCountMax = UnverifiedLetter.byteCountMax

    /// Encodes, lends the bytes, and zeroes them.
    func withEncoded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var encoder = CBOREncoder(reservingByteCount: Self.byteCountMax)
        encode(to: &encoder)
        precondition(encoder.bytes.count <= Self.byteCountMax, "the buffer grew and left a copy")
        defer { encoder.zero() }
        return unsafe encoder.bytes.withUnsafeBytes { unsafe body($0) }
    }

    private func encode(to encoder: inout CBOREncoder) {
        switch self {
        case .vaultKey(let content):
            encoder.encodeArrayHeader(count: 3)
            // EXPOSE: two keys, into the buffer that is sealed and zeroed.
            unsafe content.vaultKey.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            unsafe content.splitKey.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
            encoder.encode(bytes: content.word)
        case .contactRequest(let content), .contactAnswer(let content):
            encoder.encodeArrayHeader(count: purpose == .contactRequest ? 3 : 2)
            encoder.appendEncoded(content.card.encoded)
            encoder.encode(bytes: content.proof ?? [])
            if purpose == .contactRequest { encoder.encode(text: content.text) }
        case .recoveryShare(let content):
            encoder.encodeArrayHeader(count: 4)
            for number in [content.x, content.threshold, content.count] { encoder.encode(unsigned: UInt64(number)) }
            // EXPOSE: a share, into the buffer that is sealed and zeroed.
            unsafe content.share.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        case .keyWanted:
            encoder.encodeArrayHeader(count: 0)
        }
    }

    /// Reads an opened letter; nil: it is not of that purpose's form.
    static func decode(_ bytes: UnsafeRawBufferPointer, purpose: LetterPurpose) -> LetterContent? {
        try? unsafe withCBORDecoder(over: bytes) { (decoder) throws(CBORError) in try read(&decoder, purpose) }
    }

    private static func read(
        _ decoder: inout CBORDecoder, _ purpose: LetterPurpose
    ) throws(CBORError) -> LetterContent {
        switch purpose {
        case .vaultKey:
            try decoder.readArrayHeader(count: 3)
            let vaultKey = VaultKey(try decoder.readSecret(counts: 32...32))
            let splitKey = SplitKey(try decoder.readSecret(counts: 32...32))
            let word = try decoder.readBytes(countMax: VaultKeyContent.wordByteCountMax)
            return .vaultKey(VaultKeyContent(vaultKey: vaultKey, splitKey: splitKey, word: word))
        case .contactRequest, .contactAnswer:
            try decoder.readArrayHeader(count: purpose == .contactRequest ? 3 : 2)
            let card = try Card(from: &decoder)
            let proof = try readHashOrEmpty(&decoder)?.bytes
            guard purpose == .contactRequest else { return .contactAnswer(ContactContent(card: card, proof: proof)) }
            let text = try decoder.readText(byteCountMax: ContactContent.textByteCountMax)
            return .contactRequest(ContactContent(card: card, proof: proof, text: text))
        case .recoveryShare:
            try decoder.readArrayHeader(count: 4)
            let numbers = (
                try decoder.readUnsigned(as: UInt8.self), try decoder.readUnsigned(as: UInt8.self),
                try decoder.readUnsigned(as: UInt8.self)
            )
            return .recoveryShare(
                RecoveryShareContent(
                    x: numbers.0, threshold: numbers.1, count: numbers.2,
                    share: SymmetricKey(try decoder.readSecret(counts: 32...32))))
        case .keyWanted:
            try decoder.readArrayHeader(count: 0)
            return .keyWanted
        }
    }

    private static func readHashOrEmpty(_ decoder: inout CBORDecoder) throws(CBORError) -> Bytes32? {
        let start = decoder.byteOffset
        let bytes = try decoder.readBytes(countMax: 32)
        guard bytes.isEmpty || bytes.count == 32 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return Bytes32(bytes)
    }
}
