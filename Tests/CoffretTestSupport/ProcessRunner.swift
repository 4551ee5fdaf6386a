// Real processes in tests. The one thing to keep true: output is drained while the process runs, so
// that a full pipe never stops it, and a process that hangs is ended.

internal import Foundation
internal import Glibc

/// What a finished process left.
package struct ProcessResult: Sendable {
    package let exitCode: Int32
    /// Whether a signal ended it; then `exitCode` is the signal.
    package let isSignalled: Bool
    package let standardOutput: [UInt8]
    package let standardError: [UInt8]

    package var text: String { String(decoding: standardOutput, as: UTF8.self) }
    package var errorText: String { String(decoding: standardError, as: UTF8.self) }
}

package enum ProcessRunner {
    /// Runs a program to its end, feeding it `input`.
    package static func run(
        _ executable: String, _ arguments: [String], input: [UInt8] = [], environment: [String: String]? = nil,
        directory: String? = nil, timeoutSeconds: Double = 300
    ) throws -> ProcessResult {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        if let environment { process.environment = environment }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let inputPipe = Pipe()
        let output = Drain()
        let error = Drain()
        process.standardInput = inputPipe
        process.standardOutput = output.pipe
        process.standardError = error.pipe
        try process.run()
        output.start()
        error.start()
        let watchdog = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeoutSeconds, execute: watchdog)
        // A program that ends without reading its input breaks the pipe, which is its right.
        withoutBrokenPipeSignal { try? inputPipe.fileHandleForWriting.write(contentsOf: Data(input)) }
        try? inputPipe.fileHandleForWriting.close()
        process.waitUntilExit()
        watchdog.cancel()
        return ProcessResult(
            exitCode: process.terminationStatus, isSignalled: process.terminationReason == .uncaughtSignal,
            standardOutput: output.finish(), standardError: error.finish())
    }

    /// Lets a write to a broken pipe fail, where its signal would end the whole test run.
    ///
    /// The signal is held back on this thread only, so no child process ever inherits another disposition.
    private static func withoutBrokenPipeSignal(_ body: () -> Void) {
        var (brokenPipe, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&brokenPipe)
        unsafe sigaddset(&brokenPipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
        body()
        // The signal of a failed write is pending for this thread; it is taken before the mask goes.
        var now = timespec()
        while unsafe sigtimedwait(&brokenPipe, nil, &now) == SIGPIPE {}
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// Runs a Python program given as text.
    package static func python(_ program: String, _ arguments: [String] = [], input: [UInt8] = []) throws
        -> ProcessResult
    {
        try run("/usr/bin/env", ["python3", "-c", program] + arguments, input: input)
    }

    private final class Drain: @unchecked Sendable {
        // SAFETY: `bytes` is written by the one reader, and read after `group` says it is done.
        let pipe = Pipe()
        private let group = DispatchGroup()
        private var bytes: [UInt8] = []

        func start() {
            DispatchQueue.global().async(group: group) {
                self.bytes = [UInt8]((try? self.pipe.fileHandleForReading.readToEnd()) ?? Data())
            }
        }

        func finish() -> [UInt8] {
            group.wait()
            return bytes
        }
    }
}
