// Codes and words of errors for the agent, which passes them on to a client.

internal import CoffretTerminal

/// The code of an error as the agent reports it.
package enum FailureCode {
    /// The stable code that tells most.
    package static func of(_ error: any Error) -> String {
        // The code of a server's refusal is more precise than the fact of the refusal.
        if let refusal = FailureTranslation.refusal(in: error), FailureMeaning.refusals[refusal] != nil {
            return refusal
        }
        return FailureTranslation.failure(from: error).code
    }

    /// Seconds until another try is possible, if that is why this one was not.
    package static func waitSeconds(_ error: any Error) -> UInt64? {
        (error as? any CodedError)?.waitSeconds.map { UInt64($0) }
    }

    /// One line for people.
    ///
    /// - Parameter vault: the name of the one that it is about, where there are several.
    package static func words(for error: any Error, vault: String? = nil) -> String {
        let message = FailureTranslation.failure(from: error).message
        return vault.map { "\"\(TextWidth.displaySafe($0))\": \(message)" } ?? message
    }
}
