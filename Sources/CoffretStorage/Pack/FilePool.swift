// Few open files, however many a vault has. The one thing to keep true: a file that is opened again is the same one,
// because sealed files never change and their names are never used twice.

internal import CoffretBase
internal import Glibc
internal import Synchronization

/// Opens sealed files when they are read, and closes those that were read longest ago.
final class FilePool: Sendable {
    private struct State {
        var open: [String: (file: any OpenFile, use: UInt64)] = [:]
        var useCount: UInt64 = 0
        var capacity: Int
    }

    private let fileSystem: any FileSystem
    private let state: Mutex<State>

    init(_ fileSystem: any FileSystem, capacity: Int) {
        self.fileSystem = fileSystem
        state = Mutex(State(capacity: max(capacity, 1)))
    }

    /// The file at a path, open for reading.
    func file(at path: String) throws(FileSystemError) -> any OpenFile {
        let known = state.withLock { state -> (any OpenFile)? in
            state.useCount += 1
            state.open[path]?.use = state.useCount
            return state.open[path]?.file
        }
        if let known { return known }
        let file: any OpenFile
        do throws(FileSystemError) {
            file = try fileSystem.open(path, .read)
        } catch {
            // Others in this process have the descriptors: this pool does with fewer from now on.
            guard error.code == .tooManyOpen, giveUpAll() else { throw error }
            file = try fileSystem.open(path, .read)
        }
        state.withLock { state in
            while state.open.count >= state.capacity,
                let oldest = state.open.min(by: { $0.value.use < $1.value.use })
            {
                state.open[oldest.key] = nil
            }
            state.open[path] = (file, state.useCount)
        }
        return file
    }

    func close(_ path: String) { state.withLock { $0.open[path] = nil } }

    /// Closes all files; each is opened again when it is read.
    func closeAll() { state.withLock { $0.open = [:] } }

    /// How many files are open.
    var openCount: Int { state.withLock { $0.open.count } }

    private func giveUpAll() -> Bool {
        state.withLock { state in
            defer { state.open = [:] }
            state.capacity = max(1, state.capacity / 2)
            return !state.open.isEmpty
        }
    }
}

/// A sealed file, open only while the pool has room for it.
final class PooledFile: OpenFile {
    let path: String
    private let pool: FilePool

    init(_ path: String, pool: FilePool) {
        self.path = path
        self.pool = pool
    }

    deinit { pool.close(path) }

    func byteCount() throws(FileSystemError) -> Int { try pool.file(at: path).byteCount() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int) throws(FileSystemError) -> Int {
        try unsafe pool.file(at: path).read(into: buffer, at: byteOffset)
    }

    func synchronizeData() throws(FileSystemError) { try pool.file(at: path).synchronizeData() }

    func map(byteCount: Int) throws(FileSystemError) -> MappedFile { try pool.file(at: path).map(byteCount: byteCount) }

    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) throws(FileSystemError) { throw sealed }

    func truncate(to byteCount: Int) throws(FileSystemError) { throw sealed }

    func preallocate(byteCount: Int) throws(FileSystemError) { throw sealed }

    func lock(_ kind: FileLockKind, waits: Bool) throws(FileSystemError) { throw sealed }

    func unlock() throws(FileSystemError) { throw sealed }

    private var sealed: FileSystemError { FileSystemError(.permission, place: path) }
}

extension StorageTuning {
    /// A quarter of what the process may open, at most 64: the rest is for the index, sockets and terminals.
    static let openFileCountDefault: Int = {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 16 }
        return min(64, max(4, Int(clamping: limit.rlim_cur) / 4))
    }()
}
