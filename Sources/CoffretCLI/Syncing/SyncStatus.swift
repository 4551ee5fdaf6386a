// How syncing stands, in the words of a person. The one thing to keep true: it says what is known and since when, and
// never that something arrived which nobody has confirmed.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal

enum SyncStatus {
    /// What the agent's sync does, in a few words; nil if none runs.
    ///
    /// - Parameter name: what a vault is called, by its id in hex.
    static func words(
        _ state: AgentSyncState?, nowMilliseconds: Milliseconds, name: (String) -> String? = { _ in nil }
    ) -> String? {
        switch state {
        case nil: nil
        case .off?: "switched off: coffret agent settings --sync on"
        case .idle?: "nothing to sync"
        case .connected?: "connected, in both directions at once"
        case .moving(let work)?: words(work, name(work.vault))
        case .waiting(let problem, let until)?:
            "\(FailureMeaning.find(problem).plainText); trying again \(moment(until, nowMilliseconds))"
        }
    }

    /// `sending 1,204 of 5,000 items of "Personal", 3.1 MB so far`; `receiving 2 files of "Personal", 3.1 MB of 90 MB`.
    private static func words(_ work: AgentSyncWork, _ name: String?) -> String {
        let way = work.isSending ? "sending" : "receiving"
        let vault = name.map { " of \"\(TextWidth.displaySafe($0))\"" } ?? ""
        if let total = work.totalByteCount {
            let files = work.totalCount.map { NumberText.counted($0, "file") } ?? "files"
            return "\(way) \(files)\(vault), \(NumberText.bytes(work.byteCount)) of \(NumberText.bytes(total))"
        }
        let count =
            work.totalCount.map { "\(NumberText.grouped(work.doneCount)) of \(NumberText.counted($0, "item"))" }
            ?? NumberText.counted(work.doneCount, "item")
        return "\(way) \(count)\(vault), \(NumberText.bytes(work.byteCount)) so far"
    }

    static func moment(_ until: Milliseconds, _ now: Milliseconds) -> String {
        let left = until - now
        return left < 1_000 ? "now" : "in \(NumberText.duration(milliseconds: Int(left)))"
    }

    /// The word for programs.
    static func json(_ state: AgentSyncState?) -> JSONValue {
        switch state {
        case nil: .null
        case .off?: .string("off")
        case .idle?: .string("idle")
        case .connected?, .moving?: .string("connected")
        case .waiting?: .string("waiting")
        }
    }
}
