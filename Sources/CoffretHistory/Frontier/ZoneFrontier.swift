// A zone's head, and what it says was applied. The one thing to keep true: a frontier holds pointers and no more; a bad
// one hides nothing, and the next writer replaces it.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage

/// The body of a blob of type 10.
///
/// Layout: {1: context (name), 2: base (link number) / null, ? 3: full frontier (name), 4: {* instance => [number, name]},
/// ? 6: {+ instance => number}, 7: digest, 8: time} ‖ signature (64), message = BLAKE2b-256("coffret/frontier/1" ‖ body).
/// Spec: Spec/history.md section 9.
package struct ZoneFrontier: Equatable, Sendable {
    /// Key 1: the name of the author's `EntryContext`.
    package var context: BlobName
    /// Key 2: the number of the link whose checkpoint the state is built on; nil for none.
    package var base: UInt64?
    /// Key 3: the full frontier that this one says the difference to; nil in a full one.
    package var full: BlobName?
    /// Key 4: what differs from the base's `accept` or, with key 3, from that frontier.
    package var marks: Frontier
    /// Key 6: numbers that the replaced head named and that never came (F3).
    package var missing: [InstanceID: EntryNumber]
    /// Key 7: of the author's state at this frontier (S9).
    package var digest: StateDigest
    /// Key 8: the author's clock.
    package var time: Milliseconds

    package init(
        context: BlobName, base: UInt64?, full: BlobName? = nil, marks: Frontier,
        missing: [InstanceID: EntryNumber] = [:], digest: StateDigest, time: Milliseconds
    ) {
        self.context = context
        self.base = base
        self.full = full
        self.marks = marks
        self.missing = missing
        self.digest = digest
        self.time = time
    }
}

extension ZoneFrontier {
    /// More instances than this make a new full frontier (F1).
    package static let differenceCountMax = 16

    /// What key 4 says of the frontier `now`, and whether over `last`.
    ///
    /// - Parameter accept: what the base accepts.
    /// - Parameter last: the full frontier that the author wrote last on this base, with its name; nil if there is none.
    /// - Returns: the difference to `last` if at most 16 instances differ, else a new full frontier: the difference to
    ///   `accept`.
    package static func difference(
        _ now: Frontier, accept: Frontier, last: (name: BlobName, frontier: Frontier)?
    ) -> (full: BlobName?, marks: Frontier) {
        if let last {
            let marks = now.differing(from: last.frontier)
            if marks.count <= differenceCountMax { return (last.name, marks) }
        }
        return (nil, now.differing(from: accept))
    }

    /// The frontier that this body says, over what it rests on.
    ///
    /// - Parameter below: what the base accepts or, with key 3, the frontier that the named one says.
    package func frontier(over below: Frontier) -> Frontier {
        var result = below
        for (instance, mark) in marks.marks { result[instance] = mark }
        return result
    }

    fileprivate static let prefix = Array("coffret/frontier/1".utf8)

    func encode() -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: 160 + 64 * marks.count) { encoder in
            encoder.encodeMapHeader(count: 5 + (full == nil ? 0 : 1) + (missing.isEmpty ? 0 : 1))
            encoder.encode(unsigned: 1)
            encoder.encode(name: context)
            encoder.encode(unsigned: 2)
            if let base { encoder.encode(unsigned: base) } else { encoder.encodeNull() }
            if let full {
                encoder.encode(unsigned: 3)
                encoder.encode(name: full)
            }
            encoder.encode(unsigned: 4)
            encoder.encode(frontier: marks)
            if !missing.isEmpty {
                encoder.encode(unsigned: 6)
                encoder.encodeMapHeader(count: missing.count)
                for (instance, number) in missing.sorted(by: { $0.key < $1.key }) {
                    encoder.encode(id: instance)
                    encoder.encode(unsigned: number)
                }
            }
            encoder.encode(unsigned: 7)
            encoder.encode(bytes32: digest.bytes32)
            encoder.encode(unsigned: 8)
            encoder.encode(signed: time)
        }
    }

    /// The content of the blob of type 10.
    ///
    /// - Parameter author: the context whose name the body has.
    package func sign(in author: EntryContext, with key: SigningKey) -> [UInt8] {
        let body = encode()
        return body
            + key.sign(.frontier, scope: author.vaultID.bytes, message: BLAKE2b.hash(ZoneFrontier.prefix, body))
    }

    fileprivate init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(1, in: &map)
        let context = try decoder.readName()
        try decoder.expectKey(2, in: &map)
        var base: UInt64?
        if decoder.isNextNull { try decoder.readNull() } else { base = try decoder.readUnsigned() }
        var full: BlobName?
        var marks: Frontier?
        var missing: [InstanceID: EntryNumber] = [:]
        var digest: StateDigest?
        var time: Milliseconds?
        while let key = try decoder.readUnsignedKey(in: &map) {
            switch key {
            case 3: full = try decoder.readName()
            case 4: marks = try decoder.readFrontier()
            case 6: missing = try decoder.readMissing()
            case 7: digest = StateDigest(try decoder.readBytes32())
            case 8: time = try decoder.readSigned()
            default: throw CBORError(.unexpectedKey, byteOffset: start)
            }
        }
        guard let marks, let digest, let time else { throw CBORError(.unexpectedItem, byteOffset: start) }
        self.init(
            context: context, base: base, full: full, marks: marks, missing: missing, digest: digest, time: time)
    }
}

extension CBORDecoder {
    fileprivate mutating func readMissing() throws(CBORError) -> [InstanceID: EntryNumber] {
        let start = byteOffset
        var map = try readMapHeader()
        guard map.remaining > 0 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var missing: [InstanceID: EntryNumber] = [:]
        while let instance = try readKey(in: &map, { (decoder) throws(CBORError) in try decoder.readID() }) {
            missing[instance] = try readNumber()
        }
        return missing
    }
}

/// A frontier whose author signed it, with the right to write at the links that his context states. It says what he
/// applied, and nobody has to believe it (F3 to F6).
package struct SignedFrontier: Equatable, Sendable {
    package let name: BlobName
    package let body: ZoneFrontier
    package let context: EntryContext

    /// Reads and checks a blob of type 10.
    ///
    /// - Parameter content: of the blob, which was checked against `name`.
    /// - Parameter context: gives the context of that name.
    /// - Throws: `.headRefused` at the name for what is no frontier of this vault by a device that may write; the cause
    ///   tells more.
    package static func verify(
        _ content: [UInt8], name: BlobName, vaultID: VaultID, authority: some EntryAuthority,
        context read: (BlobName) throws(HistoryError) -> EntryContext
    ) throws(HistoryError) -> SignedFrontier {
        let place = name.description
        guard content.count > signatureByteCount else { throw HistoryError(.headRefused, place: place) }
        let bytes = Array(content.dropLast(signatureByteCount))
        do {
            let body = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in
                try ZoneFrontier(from: &decoder)
            }
            let context = try read(body.context)
            guard context.vaultID == vaultID else { throw HistoryError(.entryMalformed, place: place) }
            let key = try authority.signerKey(for: context, of: name)
            try key.verify(
                Array(content.suffix(signatureByteCount)), .frontier, scope: vaultID.bytes,
                message: BLAKE2b.hash(ZoneFrontier.prefix, bytes))
            return SignedFrontier(name: name, body: body, context: context)
        } catch {
            throw HistoryError(.headRefused, place: place, cause: error)
        }
    }
}
