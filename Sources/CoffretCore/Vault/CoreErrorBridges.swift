// Errors of the layers below as errors of this one. Invariant: the cause travels along, so that nothing of what the
// layers below know is lost on the way to the person.

internal import CoffretLogs
internal import CoffretStorage

extension CoreError {
    /// Wraps a failure of storage.
    init(_ error: StorageError) {
        self.init(.storage, at: error.place ?? error.code.rawValue, cause: error)
    }
}

extension CoreError {
    /// Whether a stored value is one that no writer may store.
    var isMalformedValue: Bool { (cause as? StorageError)?.isMalformedValue ?? false }
}

/// Evaluates `value`, turning storage's errors into this module's.
func inStorage<Result>(_ value: @autoclosure () throws(StorageError) -> Result) throws -> Result {
    do throws(StorageError) {
        return try value()
    } catch {
        throw CoreError(error)
    }
}

/// The same for several statements.
func inStorage<Result>(_ body: () throws(StorageError) -> Result) throws -> Result {
    try inStorage(body())
}
