// Errors between a store and its account's server. Invariant: the server's words are shown as the server's, never
// taken for more.

internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretPairing
internal import CoffretTrust

/// Why something with the account did not work. `cause` is the layer's own error, if there is one.
package struct AccountError: Error, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// The store has no server yet.
        case notJoined = "account.not-joined"
        /// The store has a server already.
        case alreadyJoined = "account.already-joined"
        /// The server refused; `place` is its code.
        case refused = "account.server.refused"
        /// The server's answer is not what its interface says.
        case answerMalformed = "account.server.answer-malformed"
        /// The server calls itself otherwise than when it was joined.
        case serverNameDiffers = "account.server.name-differs"
        /// Other devices changed the chain again and again meanwhile, or another process of this one does not let go of it.
        case chainBusy = "account.chain.busy"
        /// The other side of a pairing went away.
        case relayClosed = "account.relay.closed"
        /// The pairing id is not known to the server, or was used or expired.
        case relayUnknown = "account.relay.unknown"
        /// The account does not trust the paper device whose sheet was typed in.
        case paperNotTrusted = "account.paper.not-trusted"
        /// No device has sealed keys to the paper device, or the server withholds them.
        case paperWithoutKeys = "account.paper.no-keys"
        /// The server has no such account, or hides it.
        case personUnknown = "account.person.unknown"
        /// Other devices alone have the private halves of the account's identity: they were asked.
        case keysAwaited = "account.identity.keys-awaited"
        /// An error of another layer.
        case failed = "account.failed"
    }

    package let code: Code
    package let place: String?
    package let cause: (any Error)?

    package init(_ code: Code, at place: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.place = place
        self.cause = cause
    }
}

/// Evaluates `value`, turning errors of the layers below into `.failed` with a cause.
func inAccount<Result>(_ value: @autoclosure () throws -> Result) throws -> Result {
    do {
        return try value()
    } catch {
        throw AccountError(.failed, cause: error)
    }
}

/// The same for several statements.
func inAccount<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws -> Result {
    try inAccount(body())
}
