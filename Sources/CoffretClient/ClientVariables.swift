// The variables that a client hands to the agent. Invariant: libraries in the agent's processes load what variables
// name, so a client's count only if they stand in the list here.

internal import CoffretBase
internal import CoffretTerminal

/// Variables of a client, each of which may count in a process of the agent.
package struct ClientVariables: Sendable {
    /// By name.
    package let values: [String: String]

    /// Where a client's terminal is, and its language; no command reads these, a pinentry does.
    private static let others: Set<String> = ["GPG_TTY", "LANG", "LANGUAGE"]

    /// - Returns: nil if one of them may not come from a client.
    package init?(_ values: [String: String]) {
        guard values.allSatisfy({ Self.isListed($0.key) && !$0.value.utf8.contains(0) }) else { return nil }
        self.values = values
    }

    private static func isListed(_ name: String) -> Bool {
        if let variable = ProcessEnvironment.Variable(rawValue: name) { return variable.travels }
        return others.contains(name) || name.hasPrefix("LC_")
    }

    /// Where this machine keeps what it remembers of the client's stores.
    package var stateDirectory: String? { AgentLocation.stateDirectory(of: ProcessEnvironment(values)) }

    /// Whose PIN is meant; nil for that of the usual profile.
    package var profile: String? { ProcessEnvironment(values).value(.profile) }

    /// For the process of a command: with the TPM that the agent was told of.
    package func forCommand(agent own: [String: String]) -> [String: String] {
        let name = ProcessEnvironment.Variable.tpm.rawValue
        return values.merging(own.filter { $0.key == name }) { $1 }
    }
}
