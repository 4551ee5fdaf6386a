// The server's log of keys, read while a store is unlocked. The one thing to keep true: it is read after all chains were
// followed, so that a link which it has and no chain shows was withheld.

internal import CoffretApp
internal import CoffretMessages
internal import CoffretSync

/// When the log is read: after news of a link, and a day after the last time. Pure.
package struct KeyLogSchedule {
    package static let restMilliseconds: Int64 = 86_400_000
    /// After a failure that may pass.
    package static let retryMilliseconds: Int64 = 600_000

    /// Vaults whose chains are to be followed before.
    private var waiting: Set<String> = []
    private var isNoticed = false
    private var readAgainAt: Int64 = .max
    /// The failure that a person was told of.
    private var problem: String?

    package init() {}

    /// A link came somewhere, or may have come.
    package mutating func noticed(_ vaults: some Sequence<String>, at now: Int64) {
        isNoticed = true
        waiting = Set(vaults)
        // A vault whose chains can not be followed is no reason to ask for them all the time.
        if now >= readAgainAt { readAgainAt = now + Self.restMilliseconds }
    }

    package mutating func followed(_ vault: String) { waiting.remove(vault) }

    /// Whether the log can be read now, or chains are to be followed first.
    package func isDue(at now: Int64) -> Bool { isNoticed && waiting.isEmpty || now >= readAgainAt }

    /// Whether all chains were followed since the news.
    package var isReady: Bool { isNoticed && waiting.isEmpty }

    package var nextAt: Int64 { readAgainAt }

    package mutating func wasRead(at now: Int64) {
        (isNoticed, readAgainAt, problem) = (false, now + Self.restMilliseconds, nil)
    }

    /// - Returns: whether a person is to be told: once of each failure.
    package mutating func failed(_ code: String, isTransient: Bool, at now: Int64) -> Bool {
        isNoticed = false
        readAgainAt = now + (isTransient ? Self.retryMilliseconds : Self.restMilliseconds)
        guard !isTransient, problem != code else { return false }
        problem = code
        return true
    }
}

extension SyncRound {
    /// Follows all chains, and then reads the log.
    func lookAtChains() {
        log.noticed(vaults.keys, at: now)
        for id in vaults.keys { schedule.noticed(id, .pull) }
    }

    func readLog() {
        guard log.isReady else { return lookAtChains() }
        guard let sync = openedSync() else { return }
        do {
            try sync.readKeyLog()
            log.wasRead(at: now)
            problems.ended(SyncProblems.log)
        } catch {
            let code = FailureCode.of(error)
            guard log.failed(code, isTransient: SyncTrouble.isTransient(error), at: now),
                problems.isNews(code, of: SyncProblems.log)
            else { return }
            note(.needsAttention(words: FailureCode.words(for: error, vault: nil)))
        }
    }
}
