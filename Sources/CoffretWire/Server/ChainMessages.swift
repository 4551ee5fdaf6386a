// Chains on their way to and from the server. Invariant: links travel as the bytes that were signed, and their
// receiver verifies them.

package import CoffretBase

/// `GET /v1/chains/{kind}/{id}?from=N`: [link…] in order, each a byte string. Fewer than asked for may come: ask again.
package struct ChainLinks: ServerMessage {
    package let links: [[UInt8]]

    package init(_ links: [[UInt8]]) { self.links = links }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: links.count)
        for link in links { encoder.encode(bytes: link) }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        var links: [[UInt8]] = []
        for _ in 0..<(try decoder.readArrayHeader(countMax: ServerLimits.linkCountMaxPerRequest)) {
            links.append(try decoder.readBytes(countMax: ServerLimits.linkByteCountMax))
        }
        self.links = links
    }
}

/// `POST /v1/chains/{kind}/{id}`: [link], the next one of the chain.
package struct ChainAppend: ServerMessage {
    package let link: [UInt8]

    package init(link: [UInt8]) { self.link = link }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 1)
        encoder.encode(bytes: link)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 1)
        link = try decoder.readBytes(countMax: ServerLimits.linkByteCountMax)
    }
}

/// Where a chain ends: [sequence number, link hash(32)]. Answers an append, with 200 or, if another link was there first, 409.
package struct ChainHead: ServerMessage {
    package let sequenceNumber: UInt64
    package let linkHash: [UInt8]

    package init(sequenceNumber: UInt64, linkHash: [UInt8]) {
        self.sequenceNumber = sequenceNumber
        self.linkHash = linkHash
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(unsigned: sequenceNumber)
        encoder.encode(bytes: linkHash)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        sequenceNumber = try decoder.readUnsigned()
        linkHash = try decoder.readID()
    }
}
