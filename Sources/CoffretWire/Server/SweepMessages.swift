// Messages of garbage collection. Invariant: a request names a head and addresses, and does not say what they are.

package import CoffretBase

/// A part of the addresses of a zone: [next(0..64), [address(32)…]]; `next` is empty at the end.
///
/// Answers `GET /v1/zones/{zone}/objects` and `GET /v1/zones/{zone}/chunks`.
package struct AddressPage: ServerMessage {
    package let next: [UInt8]
    package let addresses: [[UInt8]]

    package init(next: [UInt8], addresses: [[UInt8]]) {
        self.next = next
        self.addresses = addresses
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(bytes: next)
        encoder.encode(addresses: addresses)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        next = try decoder.readBytes(countMax: ServerLimits.cursorByteCountMax)
        addresses = try decoder.readAddresses(countMax: ServerLimits.addressCountMax)
    }
}

/// `POST /v1/zones/{zone}/sweep`: [expected head(32), [object address(32)…], [chunk address(32)…], signature(64)].
package struct ZoneSweep: ServerMessage {
    package let expectedHead: [UInt8]
    package let objects: [[UInt8]]
    package let chunks: [[UInt8]]
    /// By the session's device.
    package let signature: [UInt8]

    package init(expectedHead: [UInt8], objects: [[UInt8]], chunks: [[UInt8]], signature: [UInt8]) {
        self.expectedHead = expectedHead
        self.objects = objects
        self.chunks = chunks
        self.signature = signature
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 4)
        encoder.encode(bytes: expectedHead)
        encoder.encode(addresses: objects)
        encoder.encode(addresses: chunks)
        encoder.encode(bytes: signature)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 4)
        expectedHead = try decoder.readBytes(count: ServerLimits.addressByteCount)
        objects = try decoder.readAddresses(countMax: ServerLimits.sweepAddressCountMax)
        chunks = try decoder.readAddresses(countMax: ServerLimits.sweepAddressCountMax)
        signature = try decoder.readBytes(count: ServerLimits.signatureByteCount)
    }
}

/// The objects that a garbage collection removed: [count, bytes].
package struct SweepReceipt: ServerMessage {
    package let count: UInt64
    package let byteCount: UInt64

    package init(count: UInt64, byteCount: UInt64) {
        self.count = count
        self.byteCount = byteCount
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(unsigned: count)
        encoder.encode(unsigned: byteCount)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        count = try decoder.readUnsigned()
        byteCount = try decoder.readUnsigned()
    }
}

extension CBOREncoder {
    mutating func encode(addresses: [[UInt8]]) {
        encodeArrayHeader(count: addresses.count)
        for address in addresses { encode(bytes: address) }
    }
}

extension CBORDecoder {
    mutating func readAddresses(countMax: Int) throws(CBORError) -> [[UInt8]] {
        var addresses: [[UInt8]] = []
        for _ in 0..<(try readArrayHeader(countMax: countMax)) {
            addresses.append(try readBytes(count: ServerLimits.addressByteCount))
        }
        return addresses
    }
}
