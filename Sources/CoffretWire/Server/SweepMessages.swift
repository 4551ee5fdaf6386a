// Messages of garbage collection. Invariant: a request names a link and addresses, and does not say what they are.

package import CoffretBase

/// A part of the addresses of a zone: [next(0..64), [address(32)…]]; `next` is empty at the end.
///
/// Answers `GET /v1/zones/{zone}/objects` and `GET /v1/zones/{zone}/chunks`.
package struct AddressPage: ServerMessage, CBORRecord {
    package let next: [UInt8]
    package let addresses: [[UInt8]]

    package init(next: [UInt8], addresses: [[UInt8]]) {
        self.next = next
        self.addresses = addresses
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("next", \.next, .cursor),
        CBORField("", \.addresses, .addresses(countMax: ServerLimits.addressCountMax)))
}

/// `POST /v1/zones/{zone}/sweep`: [link hash(32), [object address(32)…], [chunk address(32)…], signature(64)].
package struct ZoneSweep: ServerMessage, CBORRecord {
    /// That of the member link whose checkpoint covers what is named.
    package let linkHash: [UInt8]
    package let objects: [[UInt8]]
    package let chunks: [[UInt8]]
    /// By the session's device.
    package let signature: [UInt8]

    package init(linkHash: [UInt8], objects: [[UInt8]], chunks: [[UInt8]], signature: [UInt8]) {
        self.linkHash = linkHash
        self.objects = objects
        self.chunks = chunks
        self.signature = signature
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("link hash", \.linkHash, .hash),
        CBORField("", \.objects, .addresses(countMax: ServerLimits.sweepAddressCountMax, name: "object address")),
        CBORField("", \.chunks, .addresses(countMax: ServerLimits.sweepAddressCountMax, name: "chunk address")),
        CBORField("signature", \.signature, .signature))
}

/// The objects that a garbage collection removed: [count, bytes].
package struct SweepReceipt: ServerMessage, CBORRecord {
    package let count: UInt64
    package let byteCount: UInt64

    package init(count: UInt64, byteCount: UInt64) {
        self.count = count
        self.byteCount = byteCount
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("count", \.count, .unsigned), CBORField("bytes", \.byteCount, .unsigned))
}
