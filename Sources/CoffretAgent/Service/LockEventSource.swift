// The seam to what tells that the person leaves: the session's lock, the machine's sleep.

package enum LockEvent: Equatable, Sendable {
    case screenLocked
    /// The machine goes to sleep once `didLock` was called.
    case preparingForSleep
}

/// Something to listen to in the agent's loop.
package protocol LockEventSource: AnyObject {
    /// For `poll`; changes never.
    var descriptor: Int32 { get }
    /// The events of `poll` to wait for now.
    var pollEvents: Int16 { get }
    /// After how many milliseconds to call `takeEvents` even if nothing came; -1 for never.
    var timeoutMilliseconds: Int32 { get }
    /// What happened, without waiting.
    func takeEvents() -> [LockEvent]
    /// After `preparingForSleep`: all stores are locked; the machine may sleep.
    func didLock()
}
