// Tests that mostly wait for other programs. The one thing to keep true: they keep no thread of the pool, which has one for each
// processor, so that other tests run meanwhile.

import Foundation
import Testing

/// Runs each test of a suite on a thread of its own, at most two of all these at once.
struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Turns.shared.take()
        let outcome: Result<Void, any Error> = await withTaskExecutorPreference(Threads.shared) {
            do { return .success(try await function()) } catch { return .failure(error) }
        }
        await Turns.shared.giveBack()
        try outcome.get()
    }

    /// Each piece of work gets a new thread: they are few.
    private final class Threads: TaskExecutor {
        static let shared = Threads()

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let thread = Thread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    private actor Turns {
        static let shared = Turns()
        private var free = 2
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func take() async {
            guard free == 0 else {
                free -= 1
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func giveBack() {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
    }
}

extension Trait where Self == OwnThread {
    static var ownThread: Self { OwnThread() }
}
