// Drafts on this device. Invariant: a draft is sealed before it reaches the disk, and it is removed only once its text is in the
// vault. A session holds the lock of each draft that it writes, so that nobody else takes a text that somebody is typing.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretWire

/// A draft as it is kept.
struct KeptDraft: Record {
    static let recordName = "kept-draft"

    var item = ""
    var baseText = ""
    var text = ""

    init() {}

    init(_ item: EntityID, _ text: String, over baseText: String) {
        (self.item, self.text, self.baseText) = (item.uuid.hex, text, baseText)
    }

    static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id"), RecordField("baseText", \.baseText, "the text before"),
        RecordField("text", \.text, "the text as it was typed"))
}

/// The drafts of a store on this machine.
///
/// File `<state>/<store id>/drafts/<vault id>/<draft id>`: ENV(draft key, "draft/text", store id ‖ instance id ‖ vault id ‖ draft
/// id, CBOR of `KeptDraft`). Spec: Spec/drafts.md.
final class DraftBook {
    /// A session keeps no more at once.
    static let countMax = 64
    private static let byteCountMax = 64 << 20
    /// The ending of a file that `replaceFile` is about to put in the place of another.
    private static let unfinished = ".new"

    /// Names a draft; only hexadecimal digits, as it is a file's name too.
    struct Name: Hashable {
        let vault: VaultID
        fileprivate let draft: UniqueID

        /// - Throws: `OperationError.requestInvalid` for anything but 32 hexadecimal digits.
        init(_ vault: VaultID, _ text: String) throws {
            guard let bytes = try? Hex.decode(text), let id = UniqueID(bytes: bytes), id.hex == text else {
                throw OperationError(.requestInvalid, at: "draft")
            }
            (self.vault, draft) = (vault, id)
        }
    }

    private let folder: String
    private let binding: [UInt8]
    private let key: DraftKey
    private let environment: StoreEnvironment
    private var held: [Name: any OpenFile] = [:]

    private var files: any FileSystem { environment.fileSystem }

    init(_ store: Store) throws {
        let storeID = store.keyring.storeID
        folder = PathText.join(PathText.join(store.environment.stateDirectory, storeID.hex), "drafts")
        binding = try storeID.bytes + store.keyring.instanceID().bytes
        key = try store.keyring.draftKey()
        environment = store.environment
    }

    private func folder(of vault: VaultID) -> String { PathText.join(folder, vault.hex) }
    private func path(_ name: Name) -> String { PathText.join(folder(of: name.vault), name.draft.hex) }
    private func associatedData(_ name: Name) -> [UInt8] { binding + name.vault.bytes + name.draft.bytes }

    /// Replaces what the draft said before; a crash leaves one of both whole.
    ///
    /// - Throws: `FileSystemError` with `.wouldBlock` if another session writes it.
    func keep(_ draft: KeptDraft, as name: Name) throws {
        guard held[name] != nil || held.count < Self.countMax else {
            throw OperationError(.requestInvalid, at: "draft")
        }
        try claim(name)
        var content = draft.encoded
        defer { content.zero() }
        let sealed = Envelope.seal(
            content, key: key, context: .draftText, associatedData: associatedData(name), random: environment.random)
        try files.replaceFile(path(name), with: sealed, isLocked: true)
    }

    /// Replaces what the draft says, if this session writes it: it says the same as the change that follows, so that a crash between the
    /// change and its end leaves nothing to merge.
    func update(_ draft: KeptDraft, as name: Name) throws {
        if held[name] != nil { try keep(draft, as: name) }
    }

    /// Its text is in the vault, or was taken back.
    func drop(_ name: Name) throws {
        guard try held[name] != nil || files.exists(path(name)) else { return }
        try claim(name)
        try exclusively(name.vault) {
            for ending in ["", Self.unfinished, ".lock"] {
                let path = path(name) + ending
                if try files.exists(path) { try files.remove(path) }
            }
        }
        held[name] = nil
    }

    /// Lets go of the drafts that this session writes: they lie there for whoever comes.
    func release() { held = [:] }

    /// Lets go of drafts that were taken and stay.
    func release(_ names: [Name]) { for name in names { held[name] = nil } }

    /// Takes the drafts of a vault that nobody writes, to be dropped once they are saved.
    ///
    /// - Returns: nil for one that cannot be read.
    func abandoned(in vault: VaultID) throws -> [(name: Name, draft: KeptDraft?)] {
        guard try files.exists(folder(of: vault)) else { return [] }
        // A process that ended while it wrote the first version of a draft left the beginning of one.
        var names: [Name] = []
        for file in try files.list(folder(of: vault)) {
            let isUnfinished = file.name.hasSuffix(Self.unfinished)
            let text = isUnfinished ? String(file.name.dropLast(Self.unfinished.count)) : file.name
            if let name = try? Name(vault, text), held[name] == nil, !names.contains(name) { names.append(name) }
        }
        return try names.compactMap { name in
            do {
                try claim(name)
            } catch let error as FileSystemError where error.code == .wouldBlock {
                return nil
            }
            // The session that had it may have saved it meanwhile.
            guard try files.exists(path(name)) else {
                try drop(name)
                return nil
            }
            return (name, opened(name))
        }
    }

    /// Removes all drafts of a vault that goes.
    func removeAll(of vault: VaultID) throws {
        held = held.filter { $0.key.vault != vault }
        try files.removeTree(folder(of: vault))
    }

    private func opened(_ name: Name) -> KeptDraft? {
        guard let sealed = try? files.readFile(path(name), byteCountMax: Self.byteCountMax) else { return nil }
        var content = unsafe try? Envelope.open(
            sealed, key: key, context: .draftText, associatedData: associatedData(name),
            { (content) throws(CryptoError) in unsafe [UInt8](content) })
        defer { content?.zero() }
        return content.flatMap { try? KeptDraft(decoding: $0) }
    }

    private func claim(_ name: Name) throws {
        guard held[name] == nil else { return }
        try files.makeDirectories(folder(of: name.vault))
        held[name] = try exclusively(name.vault) {
            let lock = try files.open(path(name) + ".lock", .createIfAbsent)
            try lock.lock(.exclusive, waits: false)
            return lock
        }
    }

    /// A lock's file stays while another session takes the lock.
    private func exclusively<Result>(_ vault: VaultID, _ body: () throws -> Result) throws -> Result {
        let lock = try files.open(PathText.join(folder(of: vault), "lock"), .createIfAbsent)
        try lock.lock(.exclusive, waits: true)
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}
