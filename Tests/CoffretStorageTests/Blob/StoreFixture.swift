// A store for tests: on any file system, with keys from a seed.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Foundation

/// Collects notices from whatever thread they come.
final class NoticeLog: @unchecked Sendable {
    // SAFETY: `list` is touched under `lock` only.
    private let lock = NSLock()
    private var list: [StorageNotice] = []

    var notices: [StorageNotice] { lock.withLock { list } }
    func add(_ notice: StorageNotice) { lock.withLock { list.append(notice) } }
}

/// Everything needed to make and open one store again and again.
struct StoreFixture {
    var fileSystem: any FileSystem
    let directory: String
    let generator: SeededGenerator
    let keys: VaultKeys
    var tuning = StorageTuning()
    let log = NoticeLog()

    init(fileSystem: any FileSystem, directory: String = "vault", seed: UInt64 = 1) {
        self.fileSystem = fileSystem
        self.directory = directory
        generator = SeededGenerator(seed: seed)
        keys = VaultKeys.generate(vaultID: VaultID(generator.bytes(count: 32))!, from: generator)
    }

    /// Sizes small enough that a few kilobytes meet every path.
    static var smallTuning: StorageTuning {
        var tuning = StorageTuning()
        tuning.segmentByteCountMin = 12 << 10
        tuning.segmentByteCountMax = 24 << 10
        tuning.bulkByteCountMin = 16 << 10
        tuning.bulkSegmentByteCountMax = 32 << 10
        tuning.packByteCountMin = 8 << 10
        return tuning
    }

    var environment: StorageEnvironment {
        let log = log
        return StorageEnvironment(
            fileSystem: fileSystem, random: generator, clock: ManualClock(), tuning: tuning, notify: { log.add($0) })
    }

    func create(_ state: RepositoryState = RepositoryState()) throws(StorageError) -> BlobStore {
        try BlobStore.create(directory: directory, keys: keys, environment: environment, state: state)
    }

    func open(
        _ mode: BlobStore.Mode = .readWrite(lockTimeoutMilliseconds: 0), damagedTail: DamagedTailPolicy = .refuse
    ) throws(StorageError) -> BlobStore {
        try BlobStore.open(
            directory: directory, keys: keys, environment: environment, mode: mode, damagedTail: damagedTail)
    }
}

extension BlobRepositoryBackend {
    /// Commits one blob as an entry, or as what is kept.
    @discardableResult
    func commitHead(_ content: [UInt8], isCheckpoint: Bool = false) throws(StorageError) -> BlobName {
        let transaction = try beginTransaction()
        let name = try transaction.writeBlob(type: .commit, bytes: content)
        guard isCheckpoint else {
            try transaction.commit(appendingHead: name)
            return name
        }
        var next = state
        next.entries = []
        next.kept = name.bytes
        try transaction.commit(state: next, isCheckpoint: true)
        return name
    }
}
