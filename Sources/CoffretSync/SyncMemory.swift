// What a device remembers of a zone. The one thing to keep true: it becomes durable together with what it speaks
// of, in the same transaction of the vault.

package import CoffretBase
package import CoffretStorage

/// What was last seen of one server's zone; lies in the vault's state.
///
/// Layout: deterministic CBOR [1, server (text), cursor, head or empty, acknowledgement counter,
/// {device (16): [counter, head]}, epoch]. Spec: Spec/sync.md.
package struct SyncMemory: Equatable, Sendable {
    /// What another device acknowledged last.
    package struct Acknowledged: Equatable, Sendable {
        package var counter: UInt64
        package var head: BlobName
    }

    static let serverByteCountMax = 1_024
    static let deviceCountMax = 256

    /// The address under which the person knows the server.
    package var server: String
    /// Where to go on reading; empty for the beginning.
    package var cursor: [UInt8] = []
    /// The head that the server showed last and that was verified, or took from this device.
    package var head: BlobName?
    /// Of this device's acknowledgements.
    package var counter: UInt64 = 0
    package var others: [UniqueID: Acknowledged] = [:]
    package var epoch: UInt32 = 0

    package init(server: String) { self.server = server }

    package func encode() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: 1)
            encoder.encode(text: server)
            encoder.encode(bytes: cursor)
            encoder.encode(bytes: head?.bytes ?? [])
            encoder.encode(unsigned: counter)
            encoder.encodeMapHeader(count: others.count)
            for (device, acknowledged) in others.sorted(by: { $0.key < $1.key }) {
                encoder.encode(bytes: device.bytes)
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: acknowledged.counter)
                encoder.encode(bytes: acknowledged.head.bytes)
            }
            encoder.encode(unsigned: UInt64(epoch))
        }
    }

    /// - Returns: nil for bytes that are none of ours, such as the empty ones of a vault that was never synced.
    package static func decode(_ bytes: [UInt8]) -> SyncMemory? {
        try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try SyncMemory(from: &decoder) }
    }

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        try decoder.readArrayHeader(count: 7)
        guard try decoder.readUnsigned() == 1 else { throw malformed }
        server = try decoder.readText(byteCountMax: Self.serverByteCountMax)
        cursor = try decoder.readBytes(countMax: 64)
        let head = try decoder.readBytes(countMax: 32)
        guard head.isEmpty || head.count == 32 else { throw malformed }
        self.head = BlobName(bytes: head)
        counter = try decoder.readUnsigned()
        var map = try decoder.readMapHeader()
        guard map.remaining <= Self.deviceCountMax else { throw malformed }
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: UniqueID.byteCount) })
        {
            try decoder.readArrayHeader(count: 2)
            let counter = try decoder.readUnsigned()
            guard let device = UniqueID(bytes: key), let head = BlobName(bytes: try decoder.readBytes(count: 32)) else {
                throw malformed
            }
            others[device] = Acknowledged(counter: counter, head: head)
        }
        epoch = try decoder.readUnsigned(as: UInt32.self)
    }
}
