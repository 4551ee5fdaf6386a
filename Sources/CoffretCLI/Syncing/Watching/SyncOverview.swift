// How all synced vaults of a store stand, as `coffret sync --status` says it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretWire

/// What is known of syncing at one moment, without asking anybody.
typealias SyncOverview = SyncRead.Answer

extension SyncOverview {
    /// The line to the server of a process that listens by itself.
    enum Line: Equatable {
        case connected
        case waiting(problem: String, until: Milliseconds)
    }

    var line: Line? {
        get {
            if isListening { return .connected }
            guard agentSync != .waiting, let problem, let nextTry else { return nil }
            return .waiting(problem: problem, until: nextTry.milliseconds)
        }
        set {
            isListening = newValue == .connected
            if case .waiting(let code, let until)? = newValue { (problem, nextTry) = (code, WireMoment(until)) }
        }
    }
}
