// What an account vault holds of people, as values of facts. The one thing to keep true: a contact's entity follows from its
// account id, so that two devices that met the same person wrote about one thing.

package import CoffretBase
internal import CoffretCrypto
package import CoffretTrust

/// The code of an invitation that was handed out.
///
/// Layout, deterministic CBOR: [code (16), made, expires, uses left, null].
package struct GivenCode: Equatable, Sendable {
    package let code: ContactCode
    package let made: Milliseconds
    package let expires: Milliseconds
    package let usesLeft: UInt64

    package init(code: ContactCode, made: Milliseconds, expires: Milliseconds, usesLeft: UInt64) {
        self.code = code
        self.made = made
        self.expires = expires
        self.usesLeft = usesLeft
    }

    /// The same code with one use less.
    package var used: GivenCode {
        GivenCode(code: code, made: made, expires: expires, usesLeft: usesLeft - min(usesLeft, 1))
    }

    package func isOpen(at now: Milliseconds) -> Bool { usesLeft > 0 && expires > now }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(bytes: code.bytes)
            encoder.encode(signed: made)
            encoder.encode(signed: expires)
            encoder.encode(unsigned: usesLeft)
            encoder.encodeNull()
        }
    }

    /// Reads what `encoded` wrote; nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> GivenCode in
            try decoder.readArrayHeader(count: 5)
            let start = decoder.byteOffset
            guard let code = ContactCode(try decoder.readBytes(count: Card.codeByteCount)) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let (made, expires) = (try decoder.readSigned(), try decoder.readSigned())
            let usesLeft = try decoder.readUnsigned()
            try decoder.readNull()
            return GivenCode(code: code, made: made, expires: expires, usesLeft: usesLeft)
        }
        guard let read else { return nil }
        self = read
    }
}

/// Values of a contact's facts.
package enum ContactFacts {
    /// The longest name that somebody gives a contact, in UTF-8 bytes.
    package static let nameByteCountMax = 128

    /// Of the entity of an account: the first 16 bytes of BLAKE2b-256(account id).
    package static func uuid(of account: ChainID) -> UniqueID {
        guard let id = UniqueID(bytes: BLAKE2b.hash(account.bytes).prefix(UniqueID.byteCount)) else {
            preconditionFailure("a hash has 32 bytes")
        }
        return id
    }

    package static func encode(_ bytes: [UInt8]) -> [UInt8] { CBOREncoder.encode { $0.encode(bytes: bytes) } }
    package static func encode(_ text: String) -> [UInt8] { CBOREncoder.encode { $0.encode(text: text) } }
    package static func encode(_ time: Milliseconds) -> [UInt8] { CBOREncoder.encode { $0.encode(signed: time) } }

    package static func bytes(_ value: [UInt8]) -> [UInt8]? {
        try? withCBORDecoder(value) { (decoder) throws(CBORError) in try decoder.readBytes() }
    }

    package static func text(_ value: [UInt8]) -> String? {
        try? withCBORDecoder(value) { (decoder) throws(CBORError) in
            try decoder.readText(byteCountMax: nameByteCountMax)
        }
    }

    package static func time(_ value: [UInt8]) -> Milliseconds? {
        try? withCBORDecoder(value) { (decoder) throws(CBORError) in try decoder.readSigned() }
    }

    /// Whether a contact can be called so: what is no address, no link and no id, and has nothing that is not seen.
    package static func isName(_ name: String) -> Bool {
        let isPlain = 1...nameByteCountMax ~= name.utf8.count && ClaimedName(name).shown == name
        return isPlain && !name.contains("#") && !Card.isLink(name) && ChainID((try? Hex.decode(name)) ?? []) == nil
    }
}
