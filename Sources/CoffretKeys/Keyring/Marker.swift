// This machine's record of a store, outside the store. Invariant: an old copy of the keyring, or a copied store, is
// noticed here and never taken for the current one in silence.

package import CoffretBase
internal import CoffretCrypto

/// The newest generation and the instance that this machine has seen of a store.
///
/// Layout, deterministic CBOR: ["coffret marker", version 1, store id, generation, instance id, MAC],
/// MAC = BLAKE2b-256(key = KDF(marker key, "marker/mac", store id), CBOR without its last item).
/// Lies at <state directory>/<store id in hex>/marker.
struct Marker: Equatable {
    private static let magic = "coffret marker"
    private static let byteCountMax = 4_096

    let storeID: UniqueID
    let generation: UInt64
    let instanceID: UniqueID

    static func path(storeID: UniqueID, stateDirectory: String) -> String {
        PathText.join(PathText.join(stateDirectory, storeID.hex), "marker")
    }

    /// The result of reading the marker.
    enum Finding: Equatable {
        case present(Marker)
        case missing
        /// There is something that this store's key did not authenticate.
        case invalid
    }

    static func read(
        storeID: UniqueID, key: AuthenticationKey, stateDirectory: String, fileSystem: any FileSystem
    ) throws(KeyError) -> Finding {
        let path = path(storeID: storeID, stateDirectory: stateDirectory)
        let bytes: [UInt8]
        do throws(FileSystemError) {
            guard try fileSystem.exists(path) else { return .missing }
            bytes = try fileSystem.readFile(path, byteCountMax: byteCountMax)
        } catch {
            // A file too large to be a marker is something else.
            if error.code == .noSpace { return .invalid }
            throw KeyError(error)
        }
        guard let (marker, mac) = decode(bytes), marker.storeID == storeID,
            ConstantTime.isEqual(marker.computeMAC(key), mac)
        else { return .invalid }
        return .present(marker)
    }

    func write(key: AuthenticationKey, stateDirectory: String, fileSystem: any FileSystem) throws(KeyError) {
        let path = Self.path(storeID: storeID, stateDirectory: stateDirectory)
        let bytes = CBOREncoder.encode { encode(to: &$0, mac: computeMAC(key)) }
        try withFiles { () throws(FileSystemError) in
            try fileSystem.makeDirectories(PathText.parent(of: path))
            try fileSystem.replaceFile(path, with: bytes)
        }
    }

    private func computeMAC(_ key: AuthenticationKey) -> [UInt8] {
        let derived: AuthenticationKey = KDF.derive(from: key, .markerMAC, storeID.bytes)
        // EXPOSE: into the hash state, which is zeroed.
        return unsafe derived.withUnsafeBytes { key in
            var hasher = unsafe BLAKE2bHasher(byteCount: 32, keyBytes: key)
            hasher.update(CBOREncoder.encode { encode(to: &$0, mac: nil) })
            return hasher.finish()
        }
    }

    private func encode(to encoder: inout CBOREncoder, mac: [UInt8]?) {
        encoder.encodeArrayHeader(count: mac == nil ? 5 : 6)
        encoder.encode(text: Self.magic)
        encoder.encode(unsigned: 1)
        encoder.encode(bytes: storeID.bytes)
        encoder.encode(unsigned: generation)
        encoder.encode(bytes: instanceID.bytes)
        if let mac { encoder.encode(bytes: mac) }
    }

    private static func decode(_ bytes: [UInt8]) -> (Marker, mac: [UInt8])? {
        try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 6)
            guard try decoder.readText(byteCountMax: 64) == magic, try decoder.readUnsigned() == 1,
                let storeID = UniqueID(bytes: try decoder.readBytes(count: 16))
            else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let generation = try decoder.readUnsigned()
            guard let instanceID = UniqueID(bytes: try decoder.readBytes(count: 16)) else {
                throw CBORError(.unexpectedItem, byteOffset: 0)
            }
            return (
                Marker(storeID: storeID, generation: generation, instanceID: instanceID),
                mac: try decoder.readBytes(count: 32)
            )
        }
    }
}

extension KeyringSummary {
    /// Whether this machine remembers anything of the store.
    package static func isRemembered(
        at path: String, stateDirectory: String, fileSystem: any FileSystem
    ) throws(KeyError) -> Bool {
        let storeID = try read(at: path, fileSystem: fileSystem).storeID
        return try withFiles(fileSystem.exists(Marker.path(storeID: storeID, stateDirectory: stateDirectory)))
    }
}
