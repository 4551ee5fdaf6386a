// The surroundings of the command of `coffret run`. Invariant: it finds everything as it would without coffret in
// front, except for the variables that were filled; values are in memory that is zeroed.

internal import CoffretBase
internal import Glibc

/// Environment, file mode mask, limits and signals for a command that runs in the name of the person.
package final class ChildSurroundings {
    /// `NAME=VALUE` and a zero byte each.
    private var entries: [[UInt8]]
    private let original = ProcessHardening.original

    /// - Parameter variables: in the order in which they are to stand; names without `=`, values without zero bytes.
    package init(variables: [(name: [UInt8], value: [UInt8])]) {
        entries = variables.map { name, value in
            var entry: [UInt8] = []
            // In one piece, so that growing leaves no copy behind.
            entry.reserveCapacity(name.count + value.count + 2)
            entry += name
            entry.append(UInt8(ascii: "="))
            entry += value
            entry.append(0)
            return entry
        }
    }

    /// - Parameter entries: `NAME=VALUE` each.
    package init(entries: [[UInt8]]) {
        self.entries = entries.map { $0 + [0] }
    }

    deinit {
        for index in entries.indices { entries[index].zero() }
    }

    /// The signals that hardening has changed for this process and the command gets back as they were.
    package var defaultSignals: [Int32] { original.ignoresBrokenPipe ? [] : [SIGPIPE] }

    /// Lends the environment as `execve` takes it.
    package func withVariables<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var flat: [UInt8] = []
        flat.reserveCapacity(entries.reduce(0) { $0 + $1.count })
        for entry in entries { flat += entry }
        defer { flat.zero() }
        return unsafe flat.withUnsafeMutableBytes { bytes in
            var pointers: [UnsafeMutablePointer<CChar>?] = unsafe []
            var offset = 0
            for entry in entries {
                unsafe pointers.append(
                    (bytes.baseAddress! + offset).assumingMemoryBound(to: CChar.self))
                offset += entry.count
            }
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeMutableBufferPointer { list in unsafe body(list.baseAddress!) }
        }
    }

    /// Gives the process back the mask and limits it was started with, for the child to inherit.
    package func enter() {
        umask(original.fileModeMask)
        var limit = original.coreLimit
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }

    /// Takes them away again.
    package func leave() {
        ProcessHardening.applyLimits()
    }

    /// Becomes the program; returns only if that fails.
    package func replaceProcess(_ words: [String]) -> SystemFailure {
        var pointers = unsafe words.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        enter()
        if !original.ignoresBrokenPipe { _ = signal(SIGPIPE, SIG_DFL) }
        return unsafe withVariables { variables in
            unsafe execve(words[0], &pointers, variables)
            let failure = SystemFailure.last
            leave()
            _ = signal(SIGPIPE, SIG_IGN)
            return failure
        }
    }
}
