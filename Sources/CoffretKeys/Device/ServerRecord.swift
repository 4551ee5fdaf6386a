// The record of an account's server in the store. Invariant: the server's key is part of it, so that no other server
// is spoken to in its place.

internal import CoffretBase
package import CoffretTrust

/// The server that an account lives on, as this device knows it.
///
/// Layout in the keyring: [url, fingerprint (32), name, confirmed, {sequence number: time}].
package struct ServerRecord: Equatable, Sendable {
    package let url: String
    /// SHA-256 of the server's public key; zeros for a server without TLS on this machine.
    package let fingerprint: [UInt8]
    /// The server's own name; logins are signed for it.
    package let name: String
    /// Times of the device chain by this device's clock.
    package let watch: ChainWatch

    package init(url: String, fingerprint: [UInt8], name: String, watch: ChainWatch) {
        precondition(fingerprint.count == 32, "a fingerprint has 32 bytes")
        self.url = url
        self.fingerprint = fingerprint
        self.name = name
        self.watch = watch
    }

    package func watching(_ watch: ChainWatch) -> ServerRecord {
        ServerRecord(url: url, fingerprint: fingerprint, name: name, watch: watch)
    }

    var encodedByteCountMax: Int { 128 + url.utf8.count + name.utf8.count + watch.announcedAfter.count * 32 }

    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 5)
        encoder.encode(text: url)
        encoder.encode(bytes: fingerprint)
        encoder.encode(text: name)
        encoder.encode(signed: watch.confirmedAt)
        let announced = watch.announcedAfter.sorted { $0.key < $1.key }
        encoder.encodeMapHeader(count: announced.count)
        for (number, time) in announced {
            encoder.encode(unsigned: number)
            encoder.encode(signed: time)
        }
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 5)
        url = try decoder.readText(byteCountMax: Limits.addressByteCountMax)
        fingerprint = try decoder.readBytes(count: 32)
        name = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
        let confirmed = try decoder.readSigned()
        var announced: [UInt64: Milliseconds] = [:]
        var map = try decoder.readMapHeader()
        while let number = try decoder.readUnsignedKey(in: &map) { announced[number] = try decoder.readSigned() }
        watch = ChainWatch(confirmedAt: confirmed, announcedAfter: announced)
    }
}
