// Whether a store has a server, readable without opening it. Invariant: this record saves people a passphrase, is
// bound to one generation of the keyring, and nothing is ever opened, sent or believed because of it.

package import CoffretBase

/// That a store has no server, as this machine knew it last.
///
/// Layout: deterministic CBOR, the generation of the keyring that has none. Lies at <state directory>/<store id in
/// hex>/serverless; a keyring of another generation may have one. Spec: Spec/keys.md.
package enum ServerNote {
    private static func path(_ storeID: UniqueID, _ stateDirectory: String) -> String {
        PathText.join(PathText.join(stateDirectory, storeID.hex), "serverless")
    }

    /// Whether this very keyring is known to name no server; false where that is not known.
    package static func saysNone(
        for keyring: KeyringSummary, stateDirectory: String, fileSystem: any FileSystem
    ) -> Bool {
        let path = path(keyring.storeID, stateDirectory)
        guard let bytes = try? fileSystem.readFile(path, byteCountMax: 16) else { return false }
        let noted = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try decoder.readUnsigned() }
        return noted == keyring.generation
    }

    /// Writes the record; a failure does not concern the change of the keyring.
    static func writeNone(
        storeID: UniqueID, generation: UInt64, stateDirectory: String, fileSystem: any FileSystem
    ) {
        let bytes = CBOREncoder.encode { $0.encode(unsigned: generation) }
        try? fileSystem.replaceFile(path(storeID, stateDirectory), with: bytes)
    }
}
