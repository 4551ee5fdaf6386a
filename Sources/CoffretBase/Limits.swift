// Bounds that several modules share. Invariant: every length, depth and count that comes from outside is compared with
// a limit before memory is allocated for it.

package enum Limits {
    /// Nesting of arrays, maps and tags that a CBOR item may have.
    package static let cborDepthMax = 16
    /// Nesting of arrays and objects that a JSON text may have.
    package static let jsonDepthMax = 64
    /// Bytes of one JSON string, after escapes are resolved.
    package static let jsonStringByteCountMax = 64 << 20
    /// Bytes of a passphrase in UTF-8, before and after normalisation.
    package static let passphraseByteCountMax = 4096
    /// Content bytes of one blob.
    package static let blobByteCountMax = 1 << 20
    /// Bytes of one chunk of an attachment, before sealing.
    package static let attachmentChunkByteCount = 1 << 20
    /// Bytes of a store's keyring file.
    package static let keyringByteCountMax = 16 << 20
    /// Of a keyring file, what comes from elsewhere (chains, boxes) fills at most so many bytes; the rest is for the person's
    /// own changes.
    package static let keyringForeignByteCountMax = 12 << 20
    /// Names of slots, vaults, devices and servers, in UTF-8.
    package static let nameByteCountMax = 1_024
    /// The address of a server, in UTF-8.
    package static let addressByteCountMax = 2_048
    /// Vaults of one keyring or device box.
    package static let vaultCountMax = 1_024
    /// Epochs of one vault's key.
    package static let epochCountMax = 1_024
    /// Links of one trust chain.
    package static let chainLinkCountMax = 100_000
    /// All links of one trust chain, each counted as its parts and 160 bytes.
    package static let chainByteCountMax = 4 << 20
}
