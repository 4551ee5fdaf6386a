// How far the journal of each vault was, in the state directory. Invariant: a record that is lost or put back makes this
// device remember an earlier end; never anything else.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretTrust

/// Small files, sealed under a key of this store, written in place and not synced: what a crash leaves of one does not open.
///
/// `<state>/<store id>/<vault's directory>`: ENV(heads/local key, "heads/record", vault id ‖ instance id ‖ 02, the number of
/// the journal's last transaction (8)). Spec: Spec/keys.md section 4.
final class JournalPositions {
    private static let byteCountMax = 32 << 10
    private static let kind: UInt8 = 2

    private let storeID: UniqueID
    private let instance: UniqueID
    private let key: HeadsKey
    private let environment: StoreEnvironment
    /// The file that was written to last; it stays open, since each transaction writes.
    private var written: (vault: VaultID, file: any OpenFile, byteCount: Int)?

    init(keyring: UnlockedKeyring, environment: StoreEnvironment) throws(KeyError) {
        self.environment = environment
        storeID = keyring.storeID
        instance = try keyring.instanceID()
        key = try keyring.headRecordKey()
    }

    private func path(_ vault: VaultID) -> String {
        PathText.join(PathText.join(environment.stateDirectory, storeID.hex), StoreLayout.directoryName(of: vault))
    }

    private func associatedData(_ vault: VaultID) -> [UInt8] { vault.bytes + instance.bytes + [Self.kind] }

    /// How far the vault's journal was when this store last wrote to it, or less; nil if that is not known.
    func position(of vault: VaultID) -> UInt64? {
        guard
            let sealed = try? environment.fileSystem.readFile(path(vault), byteCountMax: Self.byteCountMax),
            let content = unsafe try? Envelope.open(
                sealed, key: key, context: .headRecord, associatedData: associatedData(vault),
                { content in unsafe [UInt8](content) }), content.count == 8
        else { return nil }
        return UInt64(bigEndianBytes: content)
    }

    func note(position: UInt64, of vault: VaultID) {
        let sealed = Envelope.seal(
            position.bigEndianBytes, key: key, context: .headRecord, associatedData: associatedData(vault),
            random: environment.random)
        do throws(FileSystemError) {
            if let written, written.vault == vault, written.byteCount == sealed.count {
                return try written.file.write(sealed, at: 0)
            }
            let file = try environment.fileSystem.open(path(vault), .createIfAbsent)
            try file.write(sealed, at: 0)
            try file.truncate(to: sealed.count)
            written = (vault, file, sealed.count)
        } catch {
            // Less is remembered.
            written = nil
        }
    }
}
