// This device's records of the heads of its vaults, beside them, for witnesses in entries of the others. Invariant: a record that is lost or put back makes this device record fewer heads, or
// earlier ones; never anything else.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage

/// Small files in the directories of vaults, sealed under a key of this store, written in place and not synced: one that a
/// crash left does not open.
///
/// Layout: ENV(heads/local key, "heads/record", vault id ‖ instance id ‖ kind (1), content). `zone-head`, kind 0, is
/// written with each sync: CBOR [2, statement of one head (Spec/history.md section 3), time]. `stated`, kind 1,
/// is written with an entry: CBOR [1, [* [vault id, head]]], the witnesses that this instance recorded last here.
/// `log-note` is kind 3 (`VaultLogNotes`), `rest` kind 4 (`VaultRest`). Spec: Spec/sync.md, Spec/log.md.
struct VaultWitnesses {
    private static let byteCountMax = 32 << 10
    private static let statedCountMax = 256

    enum Kind: UInt8 {
        case head = 0
        case stated = 1
        case logNote = 3
        case rest = 4
    }

    struct Head: Equatable {
        var seen: WitnessedHead
        /// By the own clock: of many the newest are said first.
        var time: Milliseconds
    }

    private let layout: StoreLayout
    private let instance: UniqueID
    private let key: HeadsKey
    private let environment: StoreEnvironment

    init(layout: StoreLayout, keyring: UnlockedKeyring, environment: StoreEnvironment) throws(KeyError) {
        self.layout = layout
        self.environment = environment
        instance = try keyring.instanceID()
        key = try keyring.headRecordKey()
    }

    private func path(_ vault: VaultID, _ kind: Kind) -> String {
        switch kind {
        case .head: PathText.join(layout.vaultPath(vault), "zone-head")
        case .stated: PathText.join(layout.vaultPath(vault), "stated")
        case .logNote: PathText.join(layout.vaultPath(vault), "log-note")
        case .rest: PathText.join(layout.vaultPath(vault), "rest")
        }
    }

    func read(_ vault: VaultID, _ kind: Kind) -> [UInt8]? {
        guard
            let sealed = try? environment.fileSystem.readFile(path(vault, kind), byteCountMax: Self.byteCountMax)
        else { return nil }
        return try? unsafe Envelope.open(
            sealed, key: key, context: .headRecord, associatedData: vault.bytes + instance.bytes + [kind.rawValue]
        ) { content in unsafe [UInt8](content) }
    }

    func write(_ content: [UInt8], _ vault: VaultID, _ kind: Kind) {
        let sealed = Envelope.seal(
            content, key: key, context: .headRecord, associatedData: vault.bytes + instance.bytes + [kind.rawValue],
            random: environment.random)
        do throws(FileSystemError) {
            let file = try environment.fileSystem.open(path(vault, kind), .createIfAbsent)
            try file.write(sealed, at: 0)
            try file.truncate(to: sealed.count)
        } catch {
            // Less is said.
        }
    }

    // MARK: Heads

    func head(of vault: VaultID) -> Head? {
        guard let content = read(vault, .head) else { return nil }
        return try? withCBORDecoder(content) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 3)
            guard try decoder.readUnsigned() == 2,
                let seen = EntryStatement.decode(try decoder.readBytes(countMax: 512))?.first, seen.vaultID == vault
            else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            return Head(seen: seen, time: try decoder.readSigned())
        }
    }

    func note(_ head: Head) {
        let content = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: EntryStatement.encode([head.seen]))
            encoder.encode(signed: head.time)
        }
        write(content, head.seen.vaultID, .head)
    }

    func forgetHead(of vault: VaultID) { try? environment.fileSystem.remove(path(vault, .head)) }

    // MARK: What was stated

    func stated(in vault: VaultID) -> [VaultID: BlobName] {
        guard let content = read(vault, .stated) else { return [:] }
        let stated = try? withCBORDecoder(content) { (decoder) throws(CBORError) -> [VaultID: BlobName] in
            let malformed = CBORError(.unexpectedItem, byteOffset: 0)
            try decoder.readArrayHeader(count: 2)
            guard try decoder.readUnsigned() == 1 else { throw malformed }
            let count = try decoder.readArrayHeader()
            guard count <= Self.statedCountMax else { throw malformed }
            var stated: [VaultID: BlobName] = [:]
            for _ in 0..<count {
                try decoder.readArrayHeader(count: 2)
                guard let vault = VaultID(try decoder.readBytes(count: VaultID.byteCount)),
                    let head = BlobName(bytes: try decoder.readBytes(count: 32))
                else { throw malformed }
                stated[vault] = head
            }
            return stated
        }
        return stated ?? [:]
    }

    func note(stated: [VaultID: BlobName], in vault: VaultID) {
        let sorted = stated.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
            .prefix(Self.statedCountMax)
        let content = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 1)
            encoder.encodeArrayHeader(count: sorted.count)
            for (vault, head) in sorted {
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(bytes: vault.bytes)
                encoder.encode(bytes: head.bytes)
            }
        }
        write(content, vault, .stated)
    }
}

/// The witnesses of other vaults in entries of one vault.
final class VaultStatements: LogStatementSource {
    private let vaultID: VaultID
    private let others: [VaultID]
    private let records: VaultWitnesses
    private let key: HeadsKey
    private let random: any RandomSource
    private var pending: [VaultID: BlobName]?

    init(
        vaultID: VaultID, others: [VaultID], records: VaultWitnesses, key: HeadsKey, random: any RandomSource
    ) {
        self.vaultID = vaultID
        self.others = others
        self.records = records
        self.key = key
        self.random = random
    }

    func next(of instance: InstanceID) -> [UInt8]? {
        pending = nil
        let heads = others.compactMap { records.head(of: $0) }
        guard !heads.isEmpty else { return nil }
        var stated = records.stated(in: vaultID)
        let news = heads.filter { stated[$0.seen.vaultID] != $0.seen.frontier }.sorted { $0.time > $1.time }
            .prefix(EntryStatement.countMax).map(\.seen)
        guard !news.isEmpty else { return nil }
        stated = stated.filter { others.contains($0.key) }
        for head in news { stated[head.vaultID] = head.frontier }
        pending = stated
        return EntryStatement.seal(Array(news), key: key, vaultID: vaultID, instance: instance, random: random)
    }

    func written() {
        guard let stated = pending else { return }
        pending = nil
        records.note(stated: stated, in: vaultID)
    }
}

extension Store {
    func witnesses() throws -> VaultWitnesses {
        try inKeys(VaultWitnesses(layout: layout, keyring: keyring, environment: environment))
    }

    /// The witnesses for entries in a vault; nil unless both it and another one are synced.
    func statements(for record: VaultRecord) throws -> (any LogStatementSource)? {
        guard record.kind == .synced else { return nil }
        let synced = try inKeys(keyring.vaults()).filter { $0.kind == .synced }
        guard synced.count > 1 else { return nil }
        let key = try inKeys(keyring.headsKey())
        return VaultStatements(
            vaultID: record.vaultID, others: synced.map(\.vaultID).filter { $0 != record.vaultID },
            records: try witnesses(), key: key, random: environment.random)
    }

    /// Remembers a head that was seen at a vault's place at the server, to be stated in entries of the others.
    ///
    /// - Parameter time: by the own clock.
    package func noteZoneHead(_ seen: WitnessedHead, time: Milliseconds) throws {
        let records = try witnesses()
        guard records.head(of: seen.vaultID)?.seen != seen else { return }
        records.note(VaultWitnesses.Head(seen: seen, time: time))
    }

    package func forgetZoneHead(of vault: VaultID) throws { try witnesses().forgetHead(of: vault) }
}
