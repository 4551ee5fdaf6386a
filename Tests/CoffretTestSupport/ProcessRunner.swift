// Real processes in tests, run to their end. The one thing to keep true: output is drained while the process runs,
// so that a full pipe never stops it, and a process that hangs is ended.

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
        directory: String? = nil, timeoutSeconds: Double = 900
    ) throws -> ProcessResult {
        let process = try SpawnedProcess(
            executable, arguments, environment: environment, directory: directory, input: .pipe, output: .pipe,
            error: .pipe)
        let exchanged = process.exchange(input: input, timeoutSeconds: timeoutSeconds)
        let status = exchanged.isInTime ? process.wait() : process.kill(SIGTERM)
        return ProcessResult(
            exitCode: status.code, isSignalled: status.isSignalled, standardOutput: exchanged.output,
            standardError: exchanged.error)
    }

    /// Runs a Python program given as text.
    package static func python(_ program: String, _ arguments: [String] = [], input: [UInt8] = []) throws
        -> ProcessResult
    {
        try run("/usr/bin/env", ["python3", "-c", program] + arguments, input: input)
    }
}
