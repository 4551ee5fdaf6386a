// One writer per vault. The one thing to keep true: who holds the lock is the only one to change
// files; the system gives it back when the process ends, however it ends.

internal import CoffretBase
internal import Glibc

enum StoreLock {
    private static let pauseMilliseconds = 10

    /// Takes the writer's lock, trying again until the time is up.
    ///
    /// - Throws: `.lockBusy` naming the lock file.
    static func take(_ context: StorageContext, timeoutMilliseconds: Int) throws(StorageError) -> any OpenFile {
        let path = context.path("lock")
        let file: any OpenFile
        do throws(FileSystemError) {
            file = try context.fileSystem.open(path, .createIfAbsent)
        } catch {
            throw error.code == .notFound
                ? StorageError(.notFound, place: context.directory, cause: error) : StorageError(file: error)
        }
        var waitedMilliseconds = 0
        while true {
            do throws(FileSystemError) {
                try file.lock(.exclusive, waits: false)
                return file
            } catch {
                guard error.code == .wouldBlock else { throw StorageError(file: error) }
                guard waitedMilliseconds < timeoutMilliseconds else {
                    throw StorageError(.lockBusy, place: path, cause: error)
                }
                var pause = timespec(tv_sec: 0, tv_nsec: pauseMilliseconds * 1_000_000)
                unsafe nanosleep(&pause, nil)
                waitedMilliseconds += pauseMilliseconds
            }
        }
    }
}
