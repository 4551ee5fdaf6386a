// Chains on their way to and from the server. Invariant: links travel as the bytes that were signed, and their
// receiver verifies them.

package import CoffretBase

/// `GET /v1/chains/{kind}/{id}?from=N`: [link…] in order, each a byte string. Fewer than asked for may come: ask again.
package struct ChainLinks: ServerMessage {
    package let links: [[UInt8]]

    package init(_ links: [[UInt8]]) { self.links = links }

    package static let form = CBORForm<[UInt8]>.link.list(countMax: ServerLimits.linkCountMaxPerRequest)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(links, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { links = try Self.form.decode(&decoder) }
}

/// `POST /v1/chains/{kind}/{id}`: [link], the next one of the chain.
package struct ChainAppend: ServerMessage, CBORRecord {
    package let link: [UInt8]

    package init(link: [UInt8]) { self.link = link }

    package static let layout = CBORLayout(Self.init, CBORField("link", \.link, .link))
}

/// Where a chain ends: [sequence number, link hash(32)]. Answers an append, with 200 or, if another link was there first, 409.
package struct ChainHead: ServerMessage, CBORRecord {
    package let sequenceNumber: UInt64
    package let linkHash: [UInt8]

    package init(sequenceNumber: UInt64, linkHash: [UInt8]) {
        self.sequenceNumber = sequenceNumber
        self.linkHash = linkHash
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("sequence number", \.sequenceNumber, .unsigned), CBORField("link hash", \.linkHash, .hash))
}
