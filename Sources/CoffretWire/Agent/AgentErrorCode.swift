// Why the agent refuses, as the words that travel.

/// Codes of `AgentResponse.failed` that arise in the agent itself; others are those of the layers below.
package enum AgentErrorCode: String, Sendable, CaseIterable {
    /// The settings cannot be written down, so nothing was changed.
    case recordsUnwritable = "agent.records.unwritable"
    /// Nobody can be asked: there is no pinentry, or no place for it to ask at.
    case pinentryMissing = "agent.pinentry.missing"
    /// The person did not want to answer.
    case pinentryCancelled = "agent.pinentry.cancelled"
    /// Presence opens no store; it was locked.
    case storeLocked = "agent.store.locked"
    /// The store was locked while the command ran, which ended it.
    case commandLocked = "agent.command.locked"
    /// The command's process ended without an exit code.
    case commandFailed = "agent.command.failed"
    /// An interval out of its bounds.
    case intervalInvalid = "agent.interval.invalid"
    /// The agent cannot start another process.
    case exhausted = "agent.exhausted"
    /// A request that does not fit here.
    case requestInvalid = "agent.request.invalid"
}
