// Tables that the agent fills once for all of its processes. Invariant: nothing of a store, and nothing of a client, is in it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal

enum AgentTables {
    /// Fills, in the agent itself, tables that each of its processes would fill alike; called once, before any client.
    static func fill() {
        _ = ProcessHardening.original
        _ = try? SecretReference(typed: "coffret://a/b/c")
        _ = FailureMeaning.find("core.item.not-found")
        Operations.rehearse()
        Store.rehearse(random: SystemRandomSource())
    }
}
