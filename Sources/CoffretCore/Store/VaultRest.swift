// Vaults that a sync left with nothing to do. Invariant: a record that is lost, put back or of another place makes the next sync do
// more, and never less than the record's time allows.

package import CoffretBase
package import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs

/// How a vault and its place at the server stood when a sync left nothing to do.
///
/// File `rest` of the vault, kind 4 of `VaultWitnesses`: CBOR [1, server, head / empty, cursor, people, words, files, generation,
/// version / empty, time]. Spec: Spec/sync.md.
package struct VaultRest: Equatable, Sendable {
    package var server: String
    package var head: [UInt8]
    package var cursor: [UInt8]
    package var people: UInt64
    package var words: UInt64
    /// A hash over the files of the vault's journal.
    package var files: [UInt8]
    /// Of the keyring.
    package var generation: UInt64
    /// The state, in hexadecimal digits; nil in a vault in which nothing was written.
    package var version: String?
    /// By the own clock.
    package var time: Milliseconds

    package init(
        server: String, head: [UInt8], cursor: [UInt8], people: UInt64, words: UInt64, files: [UInt8],
        generation: UInt64, version: String?, time: Milliseconds
    ) {
        (self.server, self.head, self.cursor) = (server, head, cursor)
        (self.people, self.words, self.files) = (people, words, files)
        (self.generation, self.version, self.time) = (generation, version, time)
    }

    fileprivate var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 10)
            encoder.encode(unsigned: 1)
            encoder.encode(text: server)
            encoder.encode(bytes: head)
            encoder.encode(bytes: cursor)
            encoder.encode(unsigned: people)
            encoder.encode(unsigned: words)
            encoder.encode(bytes: files)
            encoder.encode(unsigned: generation)
            encoder.encode(text: version ?? "")
            encoder.encode(signed: time)
        }
    }

    fileprivate init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> VaultRest in
            try decoder.readArrayHeader(count: 10)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let server = try decoder.readText(byteCountMax: 1_024)
            let (head, cursor) = (try decoder.readBytes(countMax: 32), try decoder.readBytes(countMax: 64))
            let (people, words) = (try decoder.readUnsigned(), try decoder.readUnsigned())
            let (files, generation) = (try decoder.readBytes(countMax: 32), try decoder.readUnsigned())
            let version = try decoder.readText(byteCountMax: 128)
            return VaultRest(
                server: server, head: head, cursor: cursor, people: people, words: words, files: files,
                generation: generation, version: version.isEmpty ? nil : version, time: try decoder.readSigned())
        }
        guard let read else { return nil }
        self = read
    }
}

extension Store {
    /// Nil where no sync left the vault like that, as far as is known.
    package func rest(of vault: VaultID) throws -> VaultRest? {
        try witnesses().read(vault, .rest).flatMap(VaultRest.init(decoding:))
    }

    package func note(_ rest: VaultRest, of vault: VaultID) throws {
        try witnesses().write(rest.encoded, vault, .rest)
    }
}
