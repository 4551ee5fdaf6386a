// Calls that wait for hardware or for a person. Invariant: the caller is released when the time is up or the task is
// cancelled, even if the call itself cannot be interrupted.

package import CoffretKeys
internal import Dispatch
internal import Synchronization

/// Runs blocking work on a queue of its own and waits for it without blocking anybody.
package final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    /// - Parameter isConcurrent: whether calls run side by side, for work that waits for a person; otherwise
    ///   one runs after another, for a device that takes one at a time.
    package init(name: String, isConcurrent: Bool = false) {
        queue = DispatchQueue(label: name, attributes: isConcurrent ? .concurrent : [])
    }

    /// Runs `body` on the queue.
    ///
    /// - Parameter limit: after this the caller gets `.cancelled`; the work itself goes on to its end, and later
    ///   calls wait behind it unless they run side by side.
    /// - Parameter cancel: called when the caller no longer waits, so that work that can stop does.
    package func run<Value: Sendable>(
        limit: Duration, cancel: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () -> Result<Value, KeyError>
    ) async throws(KeyError) -> Value {
        let answer = Answer<Value>()
        let result: Result<Value, KeyError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                queue.async { answer.give(body()) }
                let nanoseconds =
                    limit.components.seconds * 1_000_000_000 + limit.components.attoseconds / 1_000_000_000
                DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: nanoseconds))) {
                    if answer.give(.failure(Self.givenUp)) { cancel() }
                }
            }
        } onCancel: {
            if answer.give(.failure(Self.givenUp)) { cancel() }
        }
        return try result.get()
    }

    private static var givenUp: KeyError { KeyError(.keyStoreFailed, cause: KeyStoreError(.cancelled)) }
}

/// The first answer counts; later ones are dropped.
private final class Answer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Result<Value, KeyError>, Never>)
        case answered(Result<Value, KeyError>)
        case done
    }

    private let state = Mutex<State>(.open)

    func wait(_ continuation: CheckedContinuation<Result<Value, KeyError>, Never>) {
        let ready: Result<Value, KeyError>? = state.withLock { state in
            if case .answered(let result) = state {
                state = .done
                return result
            }
            state = .waiting(continuation)
            return nil
        }
        if let ready { continuation.resume(returning: ready) }
    }

    /// - Returns: whether this was the first answer.
    @discardableResult
    func give(_ result: Result<Value, KeyError>) -> Bool {
        let (isFirst, waiter) = state.withLock {
            state -> (Bool, CheckedContinuation<Result<Value, KeyError>, Never>?) in
            switch state {
            case .open:
                state = .answered(result)
                return (true, nil)
            case .waiting(let continuation):
                state = .done
                return (true, continuation)
            case .answered, .done: return (false, nil)
            }
        }
        waiter?.resume(returning: result)
        return isFirst
    }
}
