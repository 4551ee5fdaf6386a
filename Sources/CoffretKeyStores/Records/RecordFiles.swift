// The folder that records lie in, and the locks that keep programs apart.

internal import CoffretBase
internal import CoffretKeys
internal import Dispatch
internal import Synchronization

/// Files of one folder, for its owner only.
struct RecordFiles: Sendable {
    let folder: String
    let fileSystem: any FileSystem

    /// Runs `body` while no other process, and no other thread of this one, does under this name.
    func exclusively<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
        try fileSystem.makeDirectories(folder)
        let lock = try fileSystem.open(path(name + ".lock"), .createIfAbsent)
        try lock.lock(.exclusive, waits: true)
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// nil where there is none.
    func read(_ name: String, byteCountMax: Int) throws(KeyStoreError) -> [UInt8]? {
        do throws(FileSystemError) {
            guard try fileSystem.exists(path(name)) else { return nil }
            return try fileSystem.readFile(path(name), byteCountMax: byteCountMax)
        } catch {
            throw KeyStoreError(.malformed, place: name)
        }
    }

    func replace(_ name: String, with bytes: [UInt8]) throws(KeyStoreError) {
        do throws(FileSystemError) {
            try fileSystem.replaceFile(path(name), with: bytes, isLocked: true)
        } catch {
            throw KeyStoreError(.failed, place: error.place)
        }
    }

    private func path(_ name: String) -> String { PathText.join(folder, name) }
}

/// A blocking call that lets its caller go when the time is up.
enum LimitedCall {
    /// - Parameter cancel: called when the caller no longer waits.
    /// - Throws: `.cancelled` when the time is up; what `body` throws.
    static func run<Value: Sendable>(
        limit: Duration, cancel: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () throws(KeyStoreError) -> Value
    ) throws(KeyStoreError) -> Value {
        let answer = Answer<Value>()
        let isDone = DispatchSemaphore(value: 0)
        let thread = DispatchQueue(label: "coffret.limited-call")
        thread.async {
            do throws(KeyStoreError) {
                answer.give(.success(try body()))
            } catch {
                answer.give(.failure(error))
            }
            isDone.signal()
        }
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        guard isDone.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success, let result = answer.value else {
            cancel()
            throw KeyStoreError(.cancelled)
        }
        return try result.get()
    }

    private final class Answer<Value: Sendable>: Sendable {
        private let state = Mutex<Result<Value, KeyStoreError>?>(nil)
        var value: Result<Value, KeyStoreError>? { state.withLock(\.self) }
        func give(_ result: Result<Value, KeyStoreError>) { state.withLock { $0 = result } }
    }
}
