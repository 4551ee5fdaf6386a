// The request that is being performed, as an operation sees it. Invariant: an operation stops where it asks whether it is to
// stop, and nowhere else, so that what it has done until then is whole.

package import CoffretWire
internal import Glibc

/// Takes progress, and knows whether anybody still wants the result.
package struct OperationWork {
    /// Takes progress; called as often as it suits the operation.
    package var report: (OperationProgress) -> Void = { _ in }
    /// Whether the client wants the result no more, or is gone. Costs one call of the system.
    package var isCancelled: () -> Bool = { false }
    /// Whether this request may still be performed, such as that of a token that may be removed meanwhile.
    package var checkAccess: () throws -> Void = {}
    /// Hands over the descriptors that came with the request, in their order; the caller closes them.
    package var takeDescriptors: () -> [Int32] = { [] }

    /// Takes a part of the answer before the answer; nil if it is wanted as a whole.
    package var part: ((any Record) throws -> Void)?

    package init() {}

    /// A place at which the operation can stop.
    ///
    /// - Throws: `OperationError.cancelled`.
    package func checkCancelled() throws {
        if isCancelled() { throw OperationError(.cancelled) }
        try checkAccess()
    }

    /// Says how far the work is, and stops if nobody wants it.
    ///
    /// - Throws: `OperationError.cancelled`.
    package func step(_ done: Int, of total: Int?, stage: String? = nil) throws {
        try checkCancelled()
        report(OperationProgress(done: done, total: total, stage: stage))
    }
}
