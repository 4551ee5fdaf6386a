// What a vault lives through in the crash tests: commits, checkpoints, rollovers, a large transaction,
// compaction, closing and opening. It remembers what was acknowledged, which is all that counts.

import CoffretBase
import CoffretStorage
import CoffretTestSupport

/// A history of one store, the same for the same seed, and what of it was acknowledged.
final class CrashWorkload {
    let fixture: StoreFixture
    /// Whether entries are appended alone; else each state is told.
    let appends: Bool
    /// The state after the last call that returned.
    private(set) var acknowledged: RepositoryState?
    /// The state that the call under way tries to reach.
    private(set) var attempted: RepositoryState?
    /// All blobs that states may refer to.
    private(set) var contents: [BlobName: (type: BlobType, bytes: [UInt8])] = [:]

    init(disk: any FileSystem, seed: UInt64, appends: Bool = false) {
        self.appends = appends
        var fixture = StoreFixture(fileSystem: disk, seed: seed)
        fixture.tuning = StoreFixture.smallTuning
        self.fixture = fixture
    }

    /// The same knowledge, for a second look at another outcome.
    func copy() -> CrashWorkload {
        let copy = CrashWorkload(
            disk: fixture.fileSystem, seed: fixture.generator.seed, appends: appends)
        copy.acknowledged = acknowledged
        copy.attempted = attempted
        copy.contents = contents
        return copy
    }

    /// Runs the whole history, or as far as it gets.
    func run() throws(StorageError) {
        attempted = firstState
        var store = try fixture.create(firstState)
        acknowledged = attempted
        for index in 0..<12 { try commit(to: store, byteCount: 200 + 150 * index, isCheckpoint: index % 5 == 4) }
        store.close()
        store = try fixture.open()
        for _ in 0..<3 { try commit(to: store, byteCount: 2_500, isCheckpoint: false) }
        try bulk(store)
        try compact(store)
        for index in 0..<6 { try commit(to: store, byteCount: 2_000, isCheckpoint: index == 3) }
        try compact(store)
        try commit(to: store, byteCount: 10, isCheckpoint: false)
        try remember(store)
        store.close()
    }

    private let firstState = RepositoryState(kept: [1, 2, 3])

    /// Changes what the sync remembers, and nothing else.
    private func remember(_ store: BlobStore) throws(StorageError) {
        var next = store.state
        next.memory.append(7)
        try finish(try store.beginTransaction(), next, isCheckpoint: false)
    }

    private func write(
        _ transaction: any BlobTransactionWriter, _ type: BlobType, _ byteCount: Int
    ) throws(StorageError) -> BlobName {
        let bytes = fixture.generator.bytes(count: byteCount)
        let name = try transaction.writeBlob(type: type, bytes: bytes)
        contents[name] = (type, bytes)
        return name
    }

    private func finish(
        _ transaction: any BlobTransactionWriter, _ state: RepositoryState, isCheckpoint: Bool
    ) throws(StorageError) {
        attempted = state
        try transaction.commit(state: state, isCheckpoint: isCheckpoint)
        acknowledged = state
    }

    func commit(to store: BlobStore, byteCount: Int, isCheckpoint: Bool) throws(StorageError) {
        let transaction = try store.beginTransaction()
        let name = try write(transaction, .entry, byteCount)
        var next = store.state
        next.entries.append(name)
        if isCheckpoint { (next.kept, next.entries) = (try write(transaction, .treeInner, 700).bytes, []) }
        guard appends, !isCheckpoint else { return try finish(transaction, next, isCheckpoint: isCheckpoint) }
        attempted = next
        try transaction.commit(appendingHead: name)
        acknowledged = next
        if byteCount % 100 == 0 { try remember(store) }
    }

    private func bulk(_ store: BlobStore) throws(StorageError) {
        let transaction = try store.beginTransaction()
        var next = store.state
        next.entries = []
        for _ in 0..<40 {
            let name = try write(transaction, .value, 1_500)
            next.entries.append(name)
        }
        try finish(transaction, next, isCheckpoint: true)
    }

    private func compact(_ store: BlobStore) throws(StorageError) {
        let next = store.state
        attempted = next
        try store.compact(state: next) { (keep) throws(StorageError) in
            for name in Self.names(in: next) { _ = keep(name) }
        }
        acknowledged = next
    }

    static func names(in state: RepositoryState) -> [BlobName] {
        state.entries + [BlobName(bytes: state.kept)].compactMap(\.self)
    }

    /// Opens the store on `disk` as the next process would, and holds it against what was acknowledged.
    func verify(on disk: any FileSystem) throws {
        var fixture = fixture
        fixture.fileSystem = disk
        let reader: BlobStore
        do {
            reader = try fixture.open(.readOnly)
        } catch {
            try require(error.code == .notFound && acknowledged == nil, "opening for reading: \(error)")
            let store = try fixture.create(firstState)
            try require(store.check().isClean)
            return
        }
        try verify(reader, "reader")
        let store = try fixture.open()
        try verify(store, "writer")
        let report = store.check()
        try require(report.isClean, "check: \(report.problems) \(report.repairable)")
        let isSame = store.state == reader.state
        try require(isSame, "reader and writer differ")
        acknowledged = store.state
        try commit(to: store, byteCount: 100, isCheckpoint: false)
        try require(try reader.refresh())
        try verify(reader, "refreshed reader")
        store.close()
        try verify(try fixture.open(.readOnly), "last reader")
    }

    private func verify(_ store: BlobStore, _ who: String) throws {
        let isExpected = store.state == acknowledged || store.state == attempted
        try require(isExpected, "\(who): a state that nobody wrote, or an older one")
        for name in Self.names(in: store.state) {
            let content = contents[name] ?? (.value, [])
            try require(contents[name] != nil, "\(who): unknown name")
            try require(try store.blobBytes(name, type: content.type) == content.bytes, "\(who): other bytes")
        }
    }
}
