// The log of programs that asked a store. Invariant: an entry holds ids and names of operations, never a title, a text or a secret, and
// it is sealed; the file never grows beyond its bound.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
package import CoffretWire
internal import Glibc

extension AccessEntry {
    /// Whether this says the same as another one of the same session.
    fileprivate func isAlike(_ other: AccessEntry) -> Bool {
        event == other.event && session == other.session && operation == other.operation && vault == other.vault
            && item == other.item && code == other.code
    }
}

/// The log of a store on this machine.
///
/// File `<state>/<store id>/access-log`: 2,048 slots of 512 bytes. Entry n lies in slot n mod 2048, as ENV(access key,
/// "access/log", store id ‖ instance id, CBOR of the entry, filled with zeros to 435 bytes), not filled further. Spec:
/// Spec/access.md.
package final class AccessLog {
    static let slotCount = 2_048
    static let slotByteCount = 512
    private static let contentByteCount = slotByteCount - Envelope.overheadByteCount - 4
    private static let programByteCountMax = 120

    private let path: String
    private let associatedData: [UInt8]
    private let key: AccessKey
    private let environment: StoreEnvironment
    /// The last one of this object, which the next one may be equal to.
    private var last: AccessEntry?

    package init(_ store: Store) throws {
        let storeID = store.keyring.storeID
        path = PathText.join(PathText.join(store.environment.stateDirectory, storeID.hex), "access-log")
        associatedData = try storeID.bytes + store.keyring.instanceID().bytes
        key = try store.keyring.accessKey()
        environment = store.environment
    }

    /// A program that holds the lock keeps others from writing, and nobody from working.
    private static func lock(_ file: any OpenFile, _ kind: FileLockKind) throws {
        for _ in 0..<20 {
            if (try? file.lock(kind, waits: false)) != nil { return }
            usleep(5_000)
        }
        throw FileSystemError(.wouldBlock, place: "access-log")
    }

    /// Adds an entry, or counts it with the last one if that says the same and nobody else has written since.
    ///
    /// A log that cannot be written keeps nobody from working.
    package func add(_ entry: AccessEntry) { try? write(entry) }

    private func write(_ new: AccessEntry) throws {
        try environment.fileSystem.makeDirectories(PathText.parent(of: path))
        let file = try environment.fileSystem.open(path, .createIfAbsent)
        try Self.lock(file, .exclusive)
        let newest = try newestNumber(file)
        var entry = new
        if let last, last.number == newest, last.isAlike(new) {
            entry = last
            entry.count = (last.count ?? 1) + 1
            entry.last = new.time
        } else {
            entry.number = newest + 1
        }
        entry.program = entry.program.map { String(decoding: $0.utf8.suffix(Self.programByteCountMax), as: UTF8.self) }
        var content = entry.encoded
        guard content.count <= Self.contentByteCount else { return }
        content += [UInt8](repeating: 0, count: Self.contentByteCount - content.count)
        let sealed = Envelope.seal(
            content, key: key, context: .accessLog, associatedData: associatedData, fill: .none,
            random: environment.random)
        try file.write(sealed, at: entry.number % Self.slotCount * Self.slotByteCount)
        last = entry
    }

    /// The number of the newest entry; -1 for an empty log.
    ///
    /// - Complexity: before the first round it follows from the size; later each slot is looked at once for each object.
    private func newestNumber(_ file: any OpenFile) throws -> Int {
        let count = try file.byteCount() / Self.slotByteCount
        if count < Self.slotCount { return count - 1 }
        // Others may have written since: only those slots are looked at.
        var newest = last?.number ?? -1
        if newest < 0 { return try entries(file).map(\.number).max() ?? Self.slotCount - 1 }
        while let next = try entry((newest + 1) % Self.slotCount, file), next.number > newest { newest = next.number }
        return newest
    }

    /// All entries, oldest first.
    package func entries() throws -> [AccessEntry] {
        guard try environment.fileSystem.exists(path) else { return [] }
        let file = try environment.fileSystem.open(path, .read)
        try Self.lock(file, .shared)
        return try entries(file).sorted { $0.number < $1.number }
    }

    private func entries(_ file: any OpenFile) throws -> [AccessEntry] {
        let count = min(Self.slotCount, try file.byteCount() / Self.slotByteCount)
        return try (0..<count).compactMap { try entry($0, file) }
    }

    /// Nil for a slot that was altered, or that a crash left half written.
    private func entry(_ slot: Int, _ file: any OpenFile) throws -> AccessEntry? {
        let sealed = try file.read(byteCount: Self.slotByteCount, at: slot * Self.slotByteCount)
        let opened = unsafe try? Envelope.open(
            sealed, key: key, context: .accessLog, associatedData: associatedData, fill: .none,
            { (content) throws(CryptoError) in unsafe [UInt8](content) })
        guard let opened else { return nil }
        // Zeros follow the entry.
        let entry = unsafe opened.span.withUnsafeBytes { buffer in
            var decoder = unsafe CBORDecoder(over: buffer)
            return try? AccessEntry(from: &decoder)
        }
        return entry.flatMap { $0.number >= 0 && $0.number % Self.slotCount == slot ? $0 : nil }
    }
}
