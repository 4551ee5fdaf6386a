// This device's memory of a circle. The one thing to keep true: a server cannot go back behind it, and a time that is in it
// was measured here.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretSharing
internal import CoffretTrust

/// The file `circle-ID` of a store.
///
/// ENV(head record key, "heads/record", account id ‖ 05 ‖ circle id, content), content = CBOR [1, chains, memory]; both are byte
/// strings. Spec: Spec/recovery.md section 5.
struct CircleFile {
    private static let prefix = "circle-"
    private static let kind: UInt8 = 5
    private static let version: UInt64 = 1
    private static let byteCountMax = 64 << 20

    let circleID: VaultID
    private let path: String
    private let key: HeadsKey
    private let associatedData: [UInt8]
    private let store: Store

    init(_ circleID: VaultID, _ store: Store) throws {
        self.circleID = circleID
        self.store = store
        path = PathText.join(store.layout.path, Self.prefix + circleID.hex)
        key = try store.keyring.headRecordKey()
        associatedData = try store.keyring.accountID().bytes + [Self.kind] + circleID.bytes
    }

    /// All circles that this device remembers.
    static func circles(of store: Store) -> [VaultID] { circles(in: store.layout, store.fileSystem) }

    static func circles(in layout: StoreLayout, _ fileSystem: any FileSystem) -> [VaultID] {
        let names = ((try? fileSystem.list(layout.path)) ?? []).map(\.name)
        return names.filter { $0.hasPrefix(prefix) }.compactMap { name in
            (try? Hex.decode(String(name.dropFirst(prefix.count)))).flatMap { VaultID($0) }
        }
    }

    /// nil for a file that is missing, damaged or of another store: the wait then begins anew.
    func read() -> (chains: FollowedChains, memory: CircleMemory)? {
        guard let sealed = try? store.fileSystem.readFile(path, byteCountMax: Self.byteCountMax),
            let content = unsafe try? Envelope.open(
                sealed, key: key, context: .headRecord, associatedData: associatedData,
                { content in unsafe [UInt8](content) })
        else { return nil }
        let parts = try? withCBORDecoder(content) { (decoder) throws(CBORError) -> ([UInt8], [UInt8]) in
            let start = decoder.byteOffset
            try decoder.readArrayHeader(count: 3)
            guard try decoder.readUnsigned() == Self.version else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return (try decoder.readBytes(), try decoder.readBytes())
        }
        guard let parts, let chains = FollowedChains(decoding: parts.0), chains.vaultID == circleID,
            let memory = CircleMemory(decoding: parts.1)
        else { return nil }
        return (chains, memory)
    }

    func write(_ chains: FollowedChains, _ memory: CircleMemory) throws {
        let content = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: Self.version)
            encoder.encode(bytes: chains.encoded)
            encoder.encode(bytes: memory.encoded)
        }
        let sealed = Envelope.seal(
            content, key: key, context: .headRecord, associatedData: associatedData, random: store.environment.random)
        try store.fileSystem.replaceFile(path, with: sealed)
    }

    func remove() { try? store.fileSystem.remove(path) }
}

extension StoreDesk {
    /// Paper devices that nobody holds, of own circles that this device knows.
    var circlePapers: Set<UniqueID> {
        guard let own = try? store.keyring.accountID() else { return [] }
        return Set(
            CircleFile.circles(of: store).compactMap { id in
                guard let chains = (try? CircleFile(id, store))?.read()?.chains,
                    let view = (try? chains.circleRights())?.circle(known: chains.devices), view.founder == own
                else { return nil }
                return view.arming?.paper
            })
    }
}
