// The place of the person, where it is not this process. Invariant: it is set once, before the command that it is for begins.

package import Glibc
internal import Synchronization

/// The terminal of a client, and the client's hand to start programs: for a process that works for somebody elsewhere.
package protocol ClientSide: Sendable {
    /// The client's controlling terminal; nil if it has none.
    var terminal: Int32? { get }
    /// Whether the client starts programs; otherwise this process starts its own.
    var startsPrograms: Bool { get }
    /// Readable when a program has ended; -1 without a client.
    var descriptor: Int32 { get }

    /// Has the client start a program.
    ///
    /// - Returns: its process id there.
    /// - Throws: why it was not started.
    func start(
        _ words: [String], streams: [ChildProcess.Stream], environment: [String: String], isDetached: Bool
    ) throws(SystemFailure) -> pid_t

    /// Waits until a program of the client has ended.
    func waitForEnd(of processID: pid_t) -> ChildOutcome
    /// Whether a program of the client has ended, and how.
    func pollEnd(of processID: pid_t) -> ChildOutcome?
}

/// Where the person of this process is.
package enum PersonPlace {
    private static let slot = Mutex<(any ClientSide)?>(nil)

    /// The client that this process works for; nil where the person is at this process itself.
    package static var client: (any ClientSide)? { slot.withLock { $0 } }

    /// Says that this process works for a client from now on.
    package static func move(to client: any ClientSide) { slot.withLock { $0 = client } }
}
