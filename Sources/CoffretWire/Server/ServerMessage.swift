// The common rules of all messages between a device and the server. Invariant: bytes that decode encode to themselves,
// and every count and length is bounded before memory is allocated for it.

package import CoffretBase

/// A body of a request or a response: one item of deterministic CBOR.
package protocol ServerMessage: Equatable, Sendable {
    /// As Spec/server.md writes it.
    static var notation: String { get }
    func encode(to encoder: inout CBOREncoder)
    init(from decoder: inout CBORDecoder) throws(CBORError)
}

extension ServerMessage {
    package func encoded() -> [UInt8] { CBOREncoder.encode { encode(to: &$0) } }

    /// Reads a message that is all of `bytes`.
    ///
    /// - Throws: `.malformed`.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        self = try withCBORDecoder(bytes, convert: { WireError($0) }) { (decoder) throws(CBORError) in
            try Self(from: &decoder)
        }
    }
}

/// Bounds of version 1 of the server's interface.
///
/// Spec: Spec/server.md.
package enum ServerLimits {
    package static let idByteCount = 32
    package static let addressByteCount = 32
    package static let nonceByteCount = 32
    package static let tokenByteCount = 32
    package static let signatureByteCount = 64
    package static let serverNameByteCountMax = 255
    package static let invitationByteCountMax = 64
    package static let cursorByteCountMax = 64
    /// One link of a chain, encoded.
    package static let linkByteCountMax = 160 << 10
    /// Links of one chain; twice as many where a link ends a device's power.
    package static let chainLinkCountMax = 4_096
    package static let linkCountMaxPerRequest = 1_000
    /// Links that are taken together, or not at all.
    package static let linkCountMaxPerPost = 256
    /// Chains that one question names: those of a vault of 256 accounts.
    package static let chainCountMaxPerRequest = 258
    /// Accounts of one vault.
    package static let memberCountMax = 256
    /// Vaults in which one account is a participant.
    package static let membershipCountMax = 4_096
    package static let letterByteCountMax = 4 << 10
    /// Letters that wait for one account.
    package static let letterCountMax = 64
    /// Vaults that wait for one account's answer.
    package static let waitingVaultCountMax = 16
    package static let contactCountMax = 4_096
    /// Tokens of invitations that one account has open.
    package static let contactTokenCountMax = 32
    /// All older keys of a vault, sealed under its newest.
    package static let historyByteCountMax = 256 << 10
    /// Branches of a device chain that recoveries replaced.
    package static let branchCountMax = 1_024
    /// One sealed blob: a blob's content, its header and its padding.
    package static let objectByteCountMax = Limits.blobByteCountMax + (64 << 10)
    /// One sealed chunk of an attachment.
    package static let chunkByteCountMax = Limits.attachmentChunkByteCount + (64 << 10)
    /// Shorter ones than any sealed blob is.
    package static let objectByteCountMin = 64
    /// Variants of one address that are kept and served.
    package static let variantCountMax = 64
    /// A part of a chunk, but the last.
    package static let partByteCountMin = 64 << 10
    /// The body of one push.
    package static let pushByteCountMax = 16 << 20
    package static let pushObjectCountMax = 16_384
    /// Addresses that one request may name.
    package static let addressCountMax = 16_384
    /// Addresses of each kind that one garbage collection may name.
    package static let sweepAddressCountMax = 4_096
    /// Statements of collections in one answer.
    package static let collectionCountMaxPerAnswer = 64
    /// The first bits of an account's id that a full address has, in so many bytes.
    package static let addressBitCount = 130
    package static let addressPrefixByteCount = 17
    /// Those of a short one.
    package static let shortAddressByteCount = 5
    package static let acknowledgementByteCountMax = 4 << 10
    package static let deviceCountMax = 4_096
    package static let mailboxEntryByteCountMax = 64 << 10
    package static let mailboxEntryCountMax = 1_024
    /// So many, the newest, wait for one device.
    package static let mailboxEntryCountMaxPerDevice = 256
    /// One frame of a stream: an object and what goes with it.
    package static let frameByteCountMax = objectByteCountMax + 1_024
    package static let eventByteCountMax = 1_024
    /// One message through the relay.
    package static let relayMessageByteCountMax = 64 << 10
    package static let errorTextByteCountMax = 1_024
    /// The first bytes of an account's id, which a new device names it by.
    package static let accountNameByteCount = 8
    /// New devices that may wait for one account with its knowledge; more wait without.
    package static let pairingRequestCountMax = 4
}

extension ServerMessage where Self: CBORRecord {
    package static var notation: String { layout.notation }
}

extension CBORForm<[UInt8]> {
    static var account: Self { .bytes(count: ServerLimits.idByteCount) }
    static var zone: Self { .bytes(count: ServerLimits.idByteCount) }
    static var hash: Self { .bytes(count: ServerLimits.idByteCount) }
    static var address: Self { .bytes(count: ServerLimits.addressByteCount) }
    static var nonce: Self { .bytes(count: ServerLimits.nonceByteCount) }
    static var signature: Self { .bytes(count: ServerLimits.signatureByteCount) }
    static var cursor: Self { .bytes(countMax: ServerLimits.cursorByteCountMax).named("cursor") }
    static var ciphertext: Self { .bytes(countMax: ServerLimits.objectByteCountMax).named("ciphertext") }
    static var link: Self { .bytes(countMax: ServerLimits.linkByteCountMax).named("link") }
    /// A head that may be none, told from one that is not stated.
    static var headBytes: Self {
        CBORForm<[UInt8]?>.addressOrEmpty.mapped(to: { $0 ?? [] }, from: { $0.isEmpty ? nil : $0 })
    }
    static var mail: Self { .bytes(countMax: ServerLimits.mailboxEntryByteCountMax) }
}

extension CBORForm<[UInt8]?> {
    /// An address, or an empty string: a zone without a head.
    static var addressOrEmpty: Self { .bytesOrEmpty(count: ServerLimits.addressByteCount).named("head") }
}

extension CBORForm<[[UInt8]]> {
    static func addresses(countMax: Int, name: String = "address") -> Self {
        CBORForm<[UInt8]>.address.list(countMax: countMax, name: name)
    }
}
